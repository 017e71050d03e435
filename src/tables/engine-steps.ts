/** Changes and trades of a market as steps, which backtest engines replay. */

import type { Outcome } from '#src/domain/market.ts'
import type { StoredTrade } from '#src/domain/trade.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'

import { type Change, changeRuns, changesIn } from './changes.ts'
import type { Progress } from './ndjson.ts'

/** `localMs`: when a strategy receives it, never before `timeMs` or before an earlier step. */
export type EngineStep = { timeMs: number; localMs: number } & (
  { kind: 'book'; change: Change } | { kind: 'trade'; trade: EngineTrade }
)
export type EngineTrade = StoredTrade & { outcome: Outcome; size: number }

/**
 * Steps in order of time, in runs; each step is valid until the next. At equal times trades come
 * before books. Trades without an outcome or a size are left out.
 */
export async function* engineRuns(
  history: MarketHistory,
  query: StreamQuery,
  progress: Progress,
): AsyncGenerator<Iterable<EngineStep>, void, undefined> {
  const { market, outcome, fromMs, toMs } = query
  const trades = history
    .trades({ market, outcome, fromMs, toMs, isTrade: true })
    .filter(
      (trade): trade is EngineTrade => trade.outcome !== undefined && trade.size !== undefined,
    )
  let next = 0
  let lastMs = 0

  function toLocalMs(timeMs: number, receivedMs = timeMs): number {
    lastMs = Math.max(timeMs, receivedMs, lastMs)
    return lastMs
  }

  function* tradesUpTo(endMs: number): Generator<EngineStep, void> {
    for (let trade = trades[next]; trade && trade.timestampMs <= endMs; trade = trades[++next]) {
      const { timestampMs: timeMs } = trade
      yield { kind: 'trade', timeMs, localMs: toLocalMs(timeMs), trade }
    }
  }

  function* stepsOf(changes: Iterable<Change>): Generator<EngineStep, void> {
    for (const change of changes) {
      const { timestampMs: timeMs } = change.state
      yield* tradesUpTo(timeMs)
      progress.snapshots++
      yield { kind: 'book', timeMs, localMs: toLocalMs(timeMs, change.receivedMs), change }
    }
  }

  for await (const run of changeRuns(history, query)) yield stepsOf(changesIn(market, run))
  yield tradesUpTo(Number.POSITIVE_INFINITY)
}
