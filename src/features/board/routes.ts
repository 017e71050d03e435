import { Elysia } from 'elysia'

import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { encodedTag } from '#src/domain/tag.ts'
import { pack, type PageAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { callOf } from '#src/http/call.ts'
import { openStream } from '#src/http/capacity.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { type Identify, identifyFollower } from '#src/http/rights.ts'
import { STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import type { PageCache } from '#src/platform/page-cache.ts'

import type { Board, Wanted } from './board.ts'
import { Board as BoardBody, BoardQuery } from './schema.ts'
import type { BoardStream } from './stream.ts'

type Ports = {
  board: Board
  stream: BoardStream
  pages: Pick<PageCache, 'find'>
  identify: Identify
  listTiers: () => readonly Tier[]
  /** Limit of live connections: a board stream takes far less memory than an export. */
  connections: ConcurrencyLimit
}

const coinsOf = ({ standing }: Caller) => standing.terms.coins

/** `GET /v1/board` and `GET /v1/board/live`. */
export function boardRoutes(
  api: Api,
  { board, stream, pages, identify, listTiers, connections }: Ports,
) {
  /** Prints the page once for all callers of the same coins. */
  async function printPage(request: Request, wanted: Wanted): Promise<PageAnswer> {
    await board.refresh()
    const { text, tag: digest, coverage } = board.print(wanted)
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    const tag = encodedTag(`board.${digest}`, isGzip)
    return {
      tag,
      isGzip,
      isClosed: false,
      coverage,
      findPage: () => pages.find(tag),
      make: async () => ({ ...pack({ body: text }, isGzip, true), tag }),
    }
  }

  async function follow(
    request: Request,
    caller: Caller,
    { timeframe }: BoardQuery,
  ): Promise<Response> {
    await board.refresh()
    const leave = openStream(request, connections, 'live connection')
    const { guest, peers } = callOf(request)
    const coins = () => {
      const needed = { access: 'prices', coin: undefined } as const
      // A guest's right has no end to check.
      const now = guest ?? identifyFollower(needed, { request, peers }, identify, listTiers)
      return now instanceof AppError ? now : coinsOf(now ?? caller)
    }
    const headers = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    }
    const follower = { timeframe, coins, leave }
    return streamResponse({ headers, ...stream.open(follower, coinsOf(caller)) })
  }

  return new Elysia({ name: 'board' })
    .use(api)
    .get(
      '/v1/board',
      ({ reply, request, caller, query: { timeframe } }) =>
        reply(request, printPage(request, { coins: coinsOf(caller), timeframe })),
      {
        access: 'prices',
        isOfOwnCoins: true,
        query: BoardQuery,
        isCovered: true,
        caching: 'page',
        response: { 200: BoardBody },
        answers: { description: 'Open windows.' },
        detail: {
          operationId: 'getBoard',
          summary: 'List all open windows',
          description:
            'Every open window of the coins of your tier: times, strike, spot price, settlement average so far, best prices, depth, volume, recording status and price history. Updated up to four times a second. For a stream of changes, use GET /v1/board/live. A market whose window is unknown is listed until its history is closed. A window with damaged data has null in the affected members and the recording status `damaged`. `X-Coverage` covers all windows together, except damaged ones.',
          tags: ['prices'],
        },
      },
    )
    .get('/v1/board/live', ({ request, caller, query }) => follow(request, caller, query), {
      access: 'prices',
      isOfOwnCoins: true,
      query: BoardQuery,
      caching: 'no-store',
      fails: ['too_many_streams'],
      answers: {
        description: 'Events, until the client disconnects or the server stops.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
        headers: { 'X-Accel-Buffering': '`no` keeps proxies from buffering events.' },
      },
      detail: {
        operationId: 'followBoard',
        summary: 'Stream changes of the board',
        description: `Server-sent events. The \`data\` of a \`board\` event is an object: \`time\`, when the event was made; \`data\`, the changed rows of GET /v1/board without \`history\`; and \`closed\`, the condition ids of windows that have closed. The first event has every row. After five seconds without a change, an event without rows is sent. At most two events a second are sent: a row that changed several times is sent once, in its latest state, and a slow reader skips the states in between. The \`end\` event is the same as in GET /v1/{coin}/live. A connection that reads nothing for ${STREAM_SECONDS_MAX} seconds is closed. The stream counts as an export, and towards the limit of /v1/stream connections.`,
        tags: ['live'],
      },
    })
}
