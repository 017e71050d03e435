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
import type { Clock } from '#src/domain/time.ts'
import { type Board, createBoard } from '#src/features/board/board.ts'
import { boardTask } from '#src/features/board/rows.ts'
import { type BoardStream, createBoardStream } from '#src/features/board/stream.ts'
import { ChangeRow } from '#src/features/changes/schema.ts'
import { createLiveService, type LiveService } from '#src/features/live/service.ts'
import { createMarketText } from '#src/features/markets/routes.ts'
import { MarketAsOfBody, MarketBody } from '#src/features/markets/schema.ts'
import { PriceRow } from '#src/features/prices/schema.ts'
import { QuoteRow } from '#src/features/quotes/schema.ts'
import { SpotRow } from '#src/features/spot/schema.ts'
import { describeTick } from '#src/features/spot/service.ts'
import { createStreamService, type StreamService } from '#src/features/stream/service.ts'
import { AnnouncedTrade } from '#src/features/trades/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { assertEntitled } from '#src/http/rights.ts'
import type { Rounds } from '#src/http/rounds.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'
import type { Tasks } from '#src/http/tasks.ts'
import type { Unread } from '#src/http/unread.ts'
import { createMarketWatch } from '#src/live/market-watch.ts'
import { every, type Job } from '#src/platform/job.ts'
import { integerFrom } from '#src/platform/random.ts'

import { replayTask, rowsOf } from './live-rows.ts'

export const streamRows = {
  snapshots: SnapshotBody,
  changes: ChangeRow,
  quotes: QuoteRow,
  prices: PriceRow,
  trades: AnnouncedTrade,
  spot: SpotRow,
  market: MarketBody,
  marketAsOf: MarketAsOfBody,
}

/** A history, and the clock by which its rows are followed. */
export type Source = { history: MarketHistory; clock: Clock }

export type Streams = {
  stream: StreamService
  live: LiveService
  board: Board
  boardStream: BoardStream
  /** Sends new rows; true if some are left. */
  tick(): boolean
  /** Closes all connections with a reason. */
  stop(): void
}

/** `followed` is what live streams follow, if it is not the history. */
export function createStreams({
  history: stored,
  clock: now,
  followed,
  timer,
  randomBytes,
  cursors,
  findMarket,
  listTiers,
  authenticator,
  meter,
  tasks,
  rounds,
  limits,
  unread,
}: Source & {
  followed: Source | undefined
  timer: Clock
  randomBytes: (length: number) => Uint8Array
  cursors: CursorCodec
  findMarket: FindMarket
  listTiers: () => readonly Tier[]
  authenticator: Authenticator
  meter: Pick<UsageMeter, 'addBytes'>
  tasks: Pick<Tasks, 'own' | 'stream'>
  rounds: Rounds
  limits: Pick<Limits, 'connections'>
  unread: Unread
}): Streams {
  let lastMs = 0
  // Windows that closed stay closed.
  const dataClock = (): number => (lastMs = Math.max(lastMs, now()))
  const { history, clock } = followed ?? { history: stored, clock: dataClock }
  const rows = rowsOf(history)
  const markets = createMarketWatch(history, clock)
  const describeMarket = (market: Market | MarketAsOf, nowMs = clock()) =>
    createMarketText(history, nowMs)(market)
  const stream = createStreamService({
    history,
    markets,
    rows,
    cursors,
    findMarket: followed === undefined ? findMarket : createMarketFinder(history),
    clock: followed?.clock ?? now,
    timer,
    describeMarket,
    describeTick,
    connections: limits.connections,
    rounds,
    playReplay: (by, range) => tasks.stream(by, replayTask, range),
    random: () => integerFrom(randomBytes) / 2 ** 32,
    authenticator,
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
  })
  const readBoard = (nowMs: number) =>
    followed === undefined
      ? tasks.own(boardTask, { nowMs })
      : boardTask.run({ history, cursors, clock }, { nowMs })
  const board = createBoard({ read: readBoard, clock, timer })
  const boardStream = createBoardStream({ board, timer, clock })
  return {
    stream,
    live,
    board,
    boardStream,
    tick(): boolean {
      const hasBacklog = stream.tick()
      live.tick()
      boardStream.tick()
      return hasBacklog
    },
    stop(): void {
      stream.stop()
      live.stop()
      boardStream.stop()
    },
  }
}

/** The maximum delay of rows that another process commits. */
const STREAM_MS = 5

/** Sends new rows to live connections. If some are left, requests are answered before the rest. */
export function startStream({ tick }: { tick(): boolean }): Job & { wake: () => void } {
  let next: NodeJS.Immediate | undefined
  function step(): void {
    next = tick() ? setImmediate(step) : undefined
  }
  /** Call it after a commit of this process. */
  function wake(): void {
    if (next === undefined) step()
  }
  return { ...every(STREAM_MS, wake, () => clearImmediate(next)), wake }
}
