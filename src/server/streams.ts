/** Live streams of an app, over WebSocket and as server-sent events. */
import type { Authenticator } from '#src/access/authenticator.ts'
import type { Limits } from '#src/access/limits.ts'
import type { UsageMeter } from '#src/access/usage-meter.ts'
import type { CursorCodec } from '#src/domain/cursor.ts'
import {
  createMarketFinder,
  type FindMarket,
  type Market,
  type MarketAsOf,
} from '#src/domain/market.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { type StaleSince, unconfirmedSince } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import { type BoardStream, createBoardStream } from '#src/features/board/stream.ts'
import { type Board, createBoard } from '#src/features/board/windows.ts'
import { createLiveService, type LiveService } from '#src/features/live/service.ts'
import { createMarketText } from '#src/features/markets/routes.ts'
import { MarketAsOfBody, MarketBody } from '#src/features/markets/schema.ts'
import { readPrices } from '#src/features/prices/over-time.ts'
import { PriceRow } from '#src/features/prices/schema.ts'
import { readQuotes } from '#src/features/quotes/routes.ts'
import { QuoteRow } from '#src/features/quotes/schema.ts'
import { SpotRow } from '#src/features/spot/schema.ts'
import { describeTick } from '#src/features/spot/service.ts'
import { createStreamService, type StreamService } from '#src/features/stream/service.ts'
import { TradeRow } from '#src/features/trades/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'
import type { Unread } from '#src/http/unread.ts'
import type { Work } from '#src/http/work.ts'
import { createMarketWatch } from '#src/live/market-watch.ts'
import { createRowReader } from '#src/live/rows.ts'
import { createRunner } from '#src/live/runner.ts'
import { integerFrom } from '#src/platform/random.ts'

export const streamRows = {
  snapshots: SnapshotBody,
  quotes: QuoteRow,
  prices: PriceRow,
  trades: TradeRow,
  spot: SpotRow,
  market: MarketBody,
  marketAsOf: MarketAsOfBody,
}

/** What live streams read: the history, or what they follow in its place. */
type Source = { history: MarketHistory; clock: Clock }

export type Streams = {
  stream: StreamService
  live: LiveService
  board: Board
  boardStream: BoardStream
}

/** `followed` is what live streams follow, if it is not the history; replays read the history. */
export function createStreams({
  history: stored,
  clock: storedClock,
  followed,
  timer,
  randomBytes,
  cursors,
  findMarket,
  listTiers,
  authenticate,
  catchUp,
  meter,
  work,
  limits,
  unread,
  staleSince,
}: Source & {
  staleSince: StaleSince
  followed: Source | undefined
  timer: Clock
  randomBytes: (length: number) => Uint8Array
  cursors: CursorCodec
  findMarket: FindMarket
  listTiers: () => readonly Tier[]
  authenticate: Authenticator['authenticate']
  catchUp: (() => Promise<void>) | undefined
  meter: Pick<UsageMeter, 'addBytes'>
  work: Work
  limits: Pick<Limits, 'connections'>
  unread: Unread
}): Streams {
  let lastMs = 0
  // It stands still while the history is stale, and never runs backwards.
  const dataClock = (): number =>
    (lastMs = Math.max(lastMs, staleSince('history') ?? storedClock()))
  const { history, clock } = followed ?? { history: stored, clock: dataClock }
  const recorded = { history: stored, rows: rowsOf(stored), clock: dataClock }
  const isUnconfirmed = () => unconfirmedSince(staleSince, storedClock()) !== undefined
  const rows = followed === undefined ? recorded.rows : rowsOf(history)
  const markets = createMarketWatch(history, clock)
  const describeMarket = (market: Market | MarketAsOf, nowMs = clock()) =>
    createMarketText(history, nowMs)(market)
  const stream = createStreamService({
    history,
    markets,
    rows,
    cursors,
    findMarket: followed === undefined ? findMarket : createMarketFinder(history),
    clock: followed?.clock ?? storedClock,
    staleSince,
    isUnconfirmed,
    timer,
    describeMarket,
    recorded,
    describeTick,
    runner: createRunner({ turn: work.turn, timer }),
    connections: limits.connections,
    work,
    random: () => integerFrom(randomBytes) / 2 ** 32,
    authenticate,
    catchUp,
    entitle: (asked) => assertEntitled(asked, listTiers),
    used: (caller, bytes) => meter.addBytes(caller, 'stream', bytes),
    unread,
  })
  const live = createLiveService({
    history,
    rows,
    cursors,
    markets,
    clock,
    timer,
    describeMarket,
    randomBytes,
    staleSince,
    isUnconfirmed,
  })
  const board = createBoard({
    history,
    served: () => ({ nowMs: clock(), isStale: staleSince('history') !== undefined }),
    timer,
  })
  const boardStream = createBoardStream({ board, timer, clock, staleSince })
  return { stream, live, board, boardStream }
}

const rowsOf = (history: MarketHistory) =>
  createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })
