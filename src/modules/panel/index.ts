import { RESUME_HEADER } from '#src/http/data-response.ts'
import { route } from '#src/http/route.ts'

import { PanelList, PanelQuery } from './model.ts'
import type { PanelService } from './service.ts'

/** `GET /v1/{coin}/panel`: markets at moments before their expiry. */
export const panelRoutes = (service: PanelService) => [
  route({
    method: 'GET',
    path: '/v1/:coin/panel',
    access: 'snapshots',
    tag: 'snapshots',
    operationId: 'getPanel',
    summary: 'Every market at moments before its expiry',
    description:
      'One row a market and offset: the state prevailing at that moment before the expiry, at or before it and never after, and who won. A market is in the panel once its expiry is past, so that no row changes later but by a backfill or when its winner becomes known; a market whose window is not known is in no panel, and if books of it are held in the range `X-Coverage` says `window_unknown`. `X-Coverage` counts the moments of windows that are not held, too, between `from`, the cursor or the first market and the last market or, on the last page, `to`. Follow `nextCursor` until it is null; resume later from `X-Resume-Cursor`.',
    query: PanelQuery,
    ok: {
      description: 'A page of the panel.',
      schema: PanelList,
      headers: {
        [RESUME_HEADER]: 'The place after the last market, also when `nextCursor` is null.',
      },
    },
    isCovered: true,
    caching: 'digest',
    answer: ({ coin, query }) => service.page(coin, query),
  }),
]
