import { Elysia } from 'elysia'

import { withCursorParam } from '#src/domain/cursor.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Tier, TierRoute } from '#src/domain/selling/tier.ts'
import type { Api } from '#src/http/api.ts'
import { type Identify, identifyFollower } from '#src/http/gate.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import { visitOf } from '#src/http/visit.ts'
import type { Work } from '#src/http/work.ts'
import { type RowChannel, rowChannels } from '#src/live/rows.ts'

import { channelAccess, CoinLiveQuery, type LiveQuery, MarketLiveQuery } from './schema.ts'
import type { LiveService } from './service.ts'

const VARY = 'Accept-Encoding, Origin'
const LAST_EVENT_ID = 'Last-Event-ID'

const description = `Server-sent events (WHATWG HTML), as \`EventSource\` reads them. First \`snapshot\` events with the last row of each outcome, unless a place is given to continue from, only the last of them with an \`id\`; then a \`row\` event for each row as it is written: \`data\` is exactly the row of the route of the channel, \`id\` its cursor. \`gap\`: a gap began, or is known better, or has ended. \`market_open\`, \`market_update\` (more is known of it, such as its strike), \`market_closed\`, \`market_resolved\`: \`data\` is the market. \`stale\`: the server has not heard from its database, and sends nothing of what was recorded \`since\`; \`current\`: that is over, and what was recorded came before it. \`end\`, the last event: your key or your tier does not include the stream any more, or keys cannot be checked; \`data\` has the \`code\` and \`detail\` of a problem document. Comment lines are heartbeats and padding. With \`Accept-Encoding: gzip\` the events are one gzip member without an end, each complete as it comes: whole books (\`snapshots\` without \`depth\`) as they are stored, other rows as what changed since the one before. Counted and bounded like an export. A connection that takes nothing for ${STREAM_SECONDS_MAX} seconds is cut off; a slow reader gets every row later. \`EventSource\` sends no \`Authorization\`: read the stream with \`fetch\`, and never put a key into an address.`

const shared = {
  access: 'snapshots',
  accessAt: (search: URLSearchParams): TierRoute =>
    channelAccess[rowChannels.find((each) => each === search.get('channel')) ?? 'snapshots'],
  requestHeaders: [
    {
      name: LAST_EVENT_ID,
      in: 'header',
      required: false,
      description: 'As `cursor`; `EventSource` sends it by itself when it connects again.',
      schema: { type: 'string' },
    },
  ],
  answers: {
    description: 'The events, until you leave or the server stops.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
    headers: {
      Vary: `\`${VARY}\`.`,
      'Content-Encoding': '`gzip` where `Accept-Encoding` has it; else absent.',
      'X-Accel-Buffering': '`no`: proxies pass events on as they come.',
    },
  },
  caching: 'no-store',
  fails: ['too_many_streams', 'cursor_invalid', 'cursor_mismatch'],
} as const

type Ports = {
  identify: Identify
  listTiers: () => readonly Tier[]
  work: Pick<Work, 'openStream' | 'run'>
}
type Asked = { request: Request; coin: Coin; market?: Market; query: LiveQuery }

export function liveRoutes(api: Api, service: LiveService, { identify, listTiers, work }: Ports) {
  /** Why the caller of a request may not follow any more. */
  function refusalOf({ request, coin }: Asked, channel: RowChannel): AppError | undefined {
    const { guest, peers } = visitOf(request)
    // What a guest may read does not end.
    if (guest !== undefined) return undefined
    const needed = { access: channelAccess[channel], coin }
    const now = identifyFollower(needed, { request, peers }, identify, listTiers)
    return now instanceof AppError ? now : undefined
  }

  async function answer(asked: Asked): Promise<Response> {
    const { request, coin, market, query } = asked
    const { channel, outcome, depth, timeframe, heartbeat } = query
    if (depth !== undefined && channel !== 'snapshots')
      throw parameterError('depth', '`depth` goes with `channel=snapshots`.')
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    const filter = { channel, outcome, depth }
    const conditionId = market?.conditionId
    const lastEventId = request.headers.get(LAST_EVENT_ID) || undefined
    const start = {
      options: { coin, conditionId, timeframe, filter, heartbeatMs: heartbeat * 1000 },
      market,
      isGzip,
      cursor: lastEventId ?? query.cursor,
      refusal: () => refusalOf(asked, channel),
      takePlace: () => work.openStream(request),
    }
    const stream = await work.run(
      request,
      (function* () {
        yield* service.fetchLast(start)
        const open = () => service.open(start)
        return lastEventId === undefined ? open() : withCursorParam(LAST_EVENT_ID, open)
      })(),
    )
    const headers: Record<string, string> = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      Vary: VARY,
      'X-Accel-Buffering': 'no',
    }
    if (isGzip) headers['Content-Encoding'] = 'gzip'
    return streamResponse(request, { headers, ...stream })
  }

  return new Elysia({ name: 'live', tags: ['live'] })
    .use(api)
    .get('/v1/:coin/markets/:conditionId/live', answer, {
      market: true,
      coin: true,
      ...shared,
      query: MarketLiveQuery,
      detail: { operationId: 'followMarket', summary: 'A market as it happens', description },
      description,
    })
    .get('/v1/:coin/live', answer, {
      coin: true,
      ...shared,
      query: CoinLiveQuery,
      detail: {
        operationId: 'followCoin',
        summary: 'Every open market of a coin as it happens',
        description: `Markets that open join, with \`market_open\` and then their last rows as \`snapshot\` events; they leave when they are resolved. The \`id\` of an event is a place in every market, so after reconnecting you get everything that was recorded of any of them in between, and what opened in between from its first row on. In \`quotes\`, \`prices\` and \`trades\`, whose rows do not name their market, \`conditionId\` is the first member of \`data\`, before those of the row. ${description}`,
      },
    })
}
