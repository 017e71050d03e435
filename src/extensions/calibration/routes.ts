/** `GET /v1/{coin}/calibration`: how often Up won, as it was counted last. */
import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'

import { CalibrationList, CalibrationQuery } from './schema.ts'
import type { TableStore } from './store.ts'

export const calibrationRoutes = (api: Api, store: Pick<TableStore, 'read'>) =>
  new Elysia({ name: 'calibration' }).use(api).get(
    '/v1/:coin/calibration',
    ({ reply, request, coin, query: { timeframe } }) => {
      // The compiler compares what is stored with what is documented.
      const data: CalibrationList['data'] = store
        .read(coin)
        .filter((each) => (timeframe ?? each.timeframe) === each.timeframe)
      return reply.data(request, { body: JSON.stringify({ data, nextCursor: null }) })
    },
    {
      access: 'prices',
      coin: true,
      readsFiles: true,
      query: CalibrationQuery,
      caching: 'digest',
      response: { 200: CalibrationList },
      answers: { description: 'The tables of the coin.' },
      detail: {
        operationId: 'getCalibration',
        summary: 'How often Up won, by distance from the strike',
        description:
          'In how many windows Up won, by the distance of the price of the coin from the strike, in standard deviations of the time that is left, and by that time. Counted once a day from at most 5,000 windows of each length that are over and have a strike, a winner and prices of the coin within ten seconds of each moment; windows that are void are left out. If windows of the coin are recorded, simulated ones are not counted. The share of the entry nearest to a window is what the board shows as its fair price.',
        tags: ['prices'],
      },
    },
  )
