import { Elysia } from 'elysia'

import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { encodedTag } from '#src/domain/tag.ts'
import type { PageAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { type Identify, identifyFollower } from '#src/http/gate.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import { visitOf } from '#src/http/visit.ts'
import type { Work } from '#src/http/work.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import type { PageCache } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { Board as BoardBody, BoardQuery } from './schema.ts'
import type { BoardStream } from './stream.ts'
import type { Board, Wanted } from './windows.ts'

type Ports = {
  board: Board
  stream: BoardStream
  pages: Pick<PageCache, 'find'>
  identify: Identify
  listTiers: () => readonly Tier[]
  work: Pick<Work, 'openStream' | 'run'>
  /** The limit of live connections: a follower of the board takes far less memory than an export. */
  connections: ConcurrencyLimit
}

const coinsOf = ({ standing }: Caller) => standing.terms.coins

/** `GET /v1/board`: every open window of every coin that the caller may read. */
export function boardRoutes(
  api: Api,
  { board, stream, pages, identify, listTiers, work, connections }: Ports,
) {
  /** The page is printed once for all callers of the same coins. */
  function* printPage(request: Request, wanted: Wanted): Steps<PageAnswer> {
    yield* board.refresh()
    const { text, tag: digest, coverage } = board.print(wanted)
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    const tag = encodedTag(`board.${digest}`, isGzip)
    return {
      tag,
      isGzip,
      isClosed: false,
      coverage,
      findPage: () => pages.find(tag),
      *make() {
        yield
        return { tag, body: new TextEncoder().encode(text) }
      },
    }
  }

  async function follow(
    request: Request,
    caller: Caller,
    { timeframe }: BoardQuery,
  ): Promise<Response> {
    await work.run(request, board.refresh())
    const leave = work.openStream(request, connections)
    const { guest, peers } = visitOf(request)
    const coins = () => {
      const needed = { access: 'prices', coin: undefined } as const
      // The right of a guest does not end.
      const now = guest ?? identifyFollower(needed, { request, peers }, identify, listTiers)
      return now instanceof AppError ? now : coinsOf(now ?? caller)
    }
    const headers = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    }
    const follower = { timeframe, coins, leave }
    return streamResponse(request, { headers, ...stream.open(follower, coinsOf(caller)) })
  }

  return new Elysia({ name: 'board' })
    .use(api)
    .get(
      '/v1/board',
      ({ reply, request, caller, query: { timeframe } }) =>
        reply.page(request, printPage(request, { coins: coinsOf(caller), timeframe })),
      {
        access: 'prices',
        isOfOwnCoins: true,
        query: BoardQuery,
        isCovered: true,
        caching: 'page',
        response: { 200: BoardBody },
        answers: { description: 'The open windows.' },
        detail: {
          operationId: 'getBoard',
          summary: 'Every open window now',
          description:
            'Every window that is open now, of every coin of your tier: time, strike, price of the coin, settlement average so far, best prices, depth, volume, the state of the recording, and how it came to this. Made at most four times a second. To follow it, use GET /v1/board/live. A market whose window is unknown is there until its history is closed. A window whose stored data is damaged has null for what is read of it, and `damaged` as the state of its recording. `X-Coverage` is of all windows together that are not damaged.',
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
        description: 'The events, until you leave or the server stops.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
        headers: { 'X-Accel-Buffering': '`no`: proxies pass events on as they come.' },
      },
      detail: {
        operationId: 'followBoard',
        summary: 'The board as it changes',
        description: `Server-sent events. \`board\`: \`data\` is an object with \`time\`, the moment that it is of, \`data\`, the rows of GET /v1/board that changed, without \`history\`, and \`closed\`, the condition ids of windows that are not open any more; the first has every row. An event without rows comes when nothing changed for five seconds. At most two a second: a row that changed more often is sent as it is then, and a slow reader skips what was in between. \`stale\`, \`current\` and \`end\` are those of GET /v1/{coin}/live. A connection that takes nothing for ${STREAM_SECONDS_MAX} seconds is cut off. Counted like an export, and bounded like connections of /v1/stream.`,
        tags: ['live'],
      },
    })
}
