import { ifSound } from '#src/core/errors.ts'
import { type Market, timeframeMs } from '#src/core/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

/**
 * Closes every open market whose window is over, and returns how many. It asks the history, not the
 * memory of a run, so that a run that was killed leaves nothing open once another one has ended. A
 * market that is damaged is left as it is.
 */
export function closeEndedMarkets(history: MarketHistory, nowMs: number): number {
  let closed = 0
  for (const conditionId of history.listUnclosed()) {
    const market = ifSound(() => history.findMarket(conditionId))
    if (market === undefined || !isOver(market, nowMs)) continue
    ifSound(() => {
      history.close(conditionId)
      closed++
    })
  }
  return closed
}

/**
 * A market without snapshots has nothing to seal, and they may yet come. One without a known window
 * lasts at most its timeframe beyond the last snapshot held.
 */
function isOver({ windowEndMs, lastSnapshotMs, timeframe }: Market, nowMs: number): boolean {
  if (lastSnapshotMs === undefined) return false
  return (windowEndMs ?? lastSnapshotMs + timeframeMs[timeframe]) < nowMs
}
