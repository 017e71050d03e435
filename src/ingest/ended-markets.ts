import { type Coin, coins, type Market, timeframeMs } from '#src/core/market.ts'
import type { HistoryStore } from '#src/store/history.ts'

/** Markets looked at in one read of the list. */
const PAGE_MARKETS = 500

/**
 * Closes every open market whose window is over, and returns how many. It asks the history, not the
 * memory of a run, so that a run that was killed leaves nothing open once another one has ended.
 */
export function closeEndedMarkets(history: HistoryStore, nowMs: number): number {
  let closed = 0
  for (const coin of coins) {
    for (const market of listAll(history, coin)) {
      if (market.isClosed || !isOver(market, nowMs)) continue
      history.close(market.conditionId)
      closed++
    }
  }
  return closed
}

/**
 * A market without snapshots has nothing to seal, and they may yet come. One without a known window lasts at
 * most its timeframe beyond the last snapshot held.
 */
function isOver({ windowEndMs, lastSnapshotMs, timeframe }: Market, nowMs: number): boolean {
  if (lastSnapshotMs === undefined) return false
  return (windowEndMs ?? lastSnapshotMs + timeframeMs[timeframe]) < nowMs
}

function* listAll(history: HistoryStore, coin: Coin): Generator<Market> {
  let after: Market | undefined
  do {
    const page = history.listMarkets({ coin, limit: PAGE_MARKETS, after })
    yield* page
    after = page.length < PAGE_MARKETS ? undefined : page.at(-1)
  } while (after !== undefined)
}
