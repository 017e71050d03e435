import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { coverageTexts, tallyHeader } from '#src/http/coverage-header.ts'
import { answerLargeData, dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import { CoinPath, readCoin } from '#src/http/market-path.ts'
import {
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import { parseQuery } from '#src/http/query.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { PanelList, PanelQuery } from './model.ts'
import type { PanelService } from './service.ts'

type Deps = { guard: AccessPlugin; service: PanelService; work: Work }

const placeTexts = {
  ...coverageTexts,
  'X-Resume-Cursor': textHeader(
    'The place behind the last market, also when `nextCursor` is null.',
  ),
}

const detail = {
  tags: ['snapshots'],
  operationId: 'getPanel',
  summary: 'Every market at moments before its close',
  description:
    'One row a market and offset: what was in force at that moment before the close, at or before it and never after, and who won. A market is in the panel once its close is past, so that no row changes later but by a backfill or when its winner becomes known; a market whose window is not known is in no panel, and if books of it are held in the range `X-Coverage` says `window_unknown`. `X-Coverage` counts the moments of windows that are not held, too, between `from`, the cursor or the first market and the last market or, on the last page, `to`. Follow `nextCursor` until it is null; go on later from `X-Resume-Cursor`.',
  parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(PanelQuery)],
  responses: {
    200: jsonContent('A page of the panel.', PanelList, { ...dataHeaderTexts, ...placeTexts }),
    ...notModified(placeTexts),
    ...problemResponses([
      ...accessCodes('snapshots'),
      'invalid_parameter',
      'cursor_invalid',
      'cursor_mismatch',
      'invalid_request',
      'unknown_coin',
      'internal',
    ]),
  },
}

/** `GET /v1/{coin}/panel`: markets at moments before their close. */
export const panel = ({ guard, service, work }: Deps) =>
  new Elysia({ name: 'panel' }).use(guard).get(
    '/v1/:coin/panel',
    async ({ params, request }) => {
      const coin = readCoin(params.coin)
      const query = parseQuery(PanelQuery, searchOf(request.url))
      const page = await work.run(request, service.page(coin, query))
      const { body, isFinal, resumeCursor, coverage } = page
      const headers = { ...tallyHeader(coverage), 'X-Resume-Cursor': resumeCursor }
      return answerLargeData(request, { body, isClosed: isFinal, headers })
    },
    // A copy: Elysia adds `security` to what it is given.
    { access: 'snapshots', detail: { ...detail } },
  )
