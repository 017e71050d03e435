import { Elysia } from 'elysia'

import { withCursorParam } from '#src/domain/cursor.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Tier, TierRoute } from '#src/domain/selling/tier.ts'
import type { Api } from '#src/http/api.ts'
import { callOf } from '#src/http/call.ts'
import { openStream } from '#src/http/capacity.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { type Identify, identifyFollower } from '#src/http/rights.ts'
import { STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import { type RowChannel, rowChannels } from '#src/live/rows.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'

import { channelAccess, CoinLiveQuery, type LiveQuery, MarketLiveQuery } from './schema.ts'
import type { LiveService } from './service.ts'

const VARY = 'Accept-Encoding, Origin'
const LAST_EVENT_ID = 'Last-Event-ID'

const description = `Server-sent events (WHATWG HTML), as \`EventSource\` reads them. Unless the stream resumes from a cursor, it begins with \`snapshot\` events: the last row of each outcome; only the last of them has an \`id\`. Then each new row is a \`row\` event: \`data\` is the row as the channel's route returns it, and \`id\` is its cursor. \`gap\`: a gap began, changed or ended. A gap with the reason \`replica_behind\` is withdrawn once its rows have arrived: it then ends where it began. \`market_open\`, \`market_update\` (for example with the strike), \`market_closed\`, \`market_resolved\`: \`data\` is the market. \`end\` is the last event: your key or tier no longer includes the stream, or keys cannot be checked; \`data\` has \`code\` and \`detail\` of a problem document. Comment lines are heartbeats and padding. With \`Accept-Encoding: gzip\`, the events are one endless gzip member, flushed after each event: whole books (\`snapshots\` without \`depth\`) as stored, other rows as changes of the previous row. The stream counts as an export, and towards its limits. A connection that reads nothing for ${STREAM_SECONDS_MAX} seconds is closed; a slower reader gets every row later. \`EventSource\` cannot send \`Authorization\`: use \`fetch\`, and never put a key into a URL.`

const shared = {
  access: 'snapshots',
  accessAt: (search: URLSearchParams): TierRoute =>
    channelAccess[rowChannels.find((each) => each === search.get('channel')) ?? 'snapshots'],
  requestHeaders: [
    {
      name: LAST_EVENT_ID,
      in: 'header',
      required: false,
      description: 'Same as `cursor`; `EventSource` sends it when it reconnects.',
      schema: { type: 'string' },
    },
  ],
  answers: {
    description: 'Events, until the client disconnects or the server stops.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
    headers: {
      Vary: `\`${VARY}\`.`,
      'Content-Encoding': '`gzip` if `Accept-Encoding` includes it; otherwise absent.',
      'X-Accel-Buffering': '`no` keeps proxies from buffering events.',
    },
  },
  caching: 'no-store',
  fails: ['too_many_streams', 'cursor_invalid', 'cursor_mismatch'],
} as const

type Ports = {
  identify: Identify
  listTiers: () => readonly Tier[]
  streams: ConcurrencyLimit
}
type Asked = { request: Request; coin: Coin; market?: Market; query: LiveQuery }

export function liveRoutes(
  api: Api,
  service: LiveService,
  { identify, listTiers, streams }: Ports,
) {
  /** Reason why the caller may no longer follow the stream. */
  function refusalOf({ request, coin }: Asked, channel: RowChannel): AppError | undefined {
    const { guest, peers } = callOf(request)
    // The rights of a guest do not end.
    if (guest !== undefined) return undefined
    const needed = { access: channelAccess[channel], coin }
    const now = identifyFollower(needed, { request, peers }, identify, listTiers)
    return now instanceof AppError ? now : undefined
  }

  async function answer(asked: Asked): Promise<Response> {
    const { request, coin, market, query } = asked
    const { channel, outcome, depth, timeframe, heartbeat } = query
    if (depth !== undefined && channel !== 'snapshots')
      throw parameterError('depth', '`depth` is for `channel=snapshots` only.')
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
      takePlace: () => openStream(request, streams),
    }
    await service.fetchLast(start)
    const open = () => service.open(start)
    const stream = lastEventId === undefined ? open() : withCursorParam(LAST_EVENT_ID, open)
    const headers: Record<string, string> = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      Vary: VARY,
      'X-Accel-Buffering': 'no',
    }
    if (isGzip) headers['Content-Encoding'] = 'gzip'
    return streamResponse({ headers, ...stream })
  }

  return new Elysia({ name: 'live', tags: ['live'] })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/live',
      ({ request, coin, market, query }) => answer({ request, coin, market, query }),
      {
        market: true,
        coin: true,
        ...shared,
        query: MarketLiveQuery,
        detail: { operationId: 'followMarket', summary: 'Stream a market', description },
      },
    )
    .get('/v1/:coin/live', ({ request, coin, query }) => answer({ request, coin, query }), {
      coin: true,
      ...shared,
      query: CoinLiveQuery,
      detail: {
        operationId: 'followCoin',
        summary: 'Stream all open markets of a coin',
        description: `Markets join the stream when they open, with \`market_open\` and then their last rows as \`snapshot\` events; they leave it when they are resolved. The \`id\` of an event is a position in every market, so after reconnecting you get all rows that were recorded in between, including those of markets that opened. In \`quotes\`, \`prices\` and \`trades\`, whose rows do not name their market, \`conditionId\` is the first member of \`data\`. ${description}`,
      },
    })
}
