/** `GET /v1/{coin}/calibration`: how often Up won, as last counted. */
import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'

import { CalibrationList, CalibrationQuery } from './schema.ts'
import type { TableStore } from './store.ts'

export const calibrationRoutes = (api: Api, store: Pick<TableStore, 'read'>) =>
  new Elysia({ name: 'calibration' }).use(api).get(
    '/v1/:coin/calibration',
    ({ reply, request, coin, query: { timeframe } }) => {
      // The compiler compares the stored type with the documented one.
      const data: CalibrationList['data'] = store
        .read(coin)
        .filter((each) => (timeframe ?? each.timeframe) === each.timeframe)
      return reply(request, { body: JSON.stringify({ data, nextCursor: null }) })
    },
    {
      access: 'markets',
      coin: true,
      neverFails: ['damaged'],
      query: CalibrationQuery,
      caching: 'digest',
      response: { 200: CalibrationList },
      answers: { description: 'Calibration tables of the coin.' },
      detail: {
        operationId: 'getCalibration',
        summary: 'Get how often Up won, by distance from the strike',
        description:
          'Share of windows that Up won, by time left and by the distance of the price from the strike, in standard deviations of the time that is left. Counted once a day from up to 5,000 expired windows of each timeframe that have a strike, a winner, and a price of the coin within ten seconds of each moment; void windows are left out. If windows of the coin are recorded, simulated ones are not counted. The board shows the share for the current distance of a window as its fair price.',
        tags: ['markets'],
      },
    },
  )
