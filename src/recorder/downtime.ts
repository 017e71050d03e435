/** What passed while nobody recorded: windows that were missed, and those that were cut short. */
import { silenceMs } from '#src/core/coverage.ts'
import { type Coin, type Market, outcomes, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { DAY_MS } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** The catalogue is asked for windows of this long ago, and how they ended. */
export const LOOK_BACK_MS = 2 * DAY_MS
/** Of a coin and timeframe in that time there are some 600. */
const MARKETS_MAX = 1000

type Recorded = {
  history: Pick<MarketHistory, 'listMarkets'>
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
}
export type MissedWindow = { coin: Coin; timeframe: Timeframe; startMs: number; endMs: number }

/** Windows that are over, since the first one that was recorded, of which no market is held. */
export function listMissed(options: Recorded, nowMs: number): MissedWindow[] {
  const { history, coins, timeframes } = options
  return coins.flatMap((coin) =>
    timeframes.flatMap((timeframe) => {
      const range = { fromMs: nowMs - LOOK_BACK_MS, toMs: nowMs, limit: MARKETS_MAX }
      const held = history
        .listMarkets({ coin, timeframe, ...range, order: 'asc' })
        .flatMap(({ source, windowStartMs }) =>
          source === 'recorded' ? (windowStartMs ?? []) : [],
        )
      const [firstMs] = held
      if (firstMs === undefined) return []
      const count = Math.ceil((nowMs - firstMs) / timeframeMs[timeframe])
      const starts = options.windowStarts(timeframe, firstMs, count + 1)
      return starts.slice(0, -1).flatMap((startMs, at) => {
        const endMs = starts[at + 1] ?? 0
        return endMs > nowMs || held.includes(startMs) ? [] : { coin, timeframe, startMs, endMs }
      })
    }),
  )
}

/**
 * Notes that nobody listened from the last states of a market to the end of its window. Gaps that
 * were open when the recorder stopped end there.
 */
export function putDowntime(
  history: Pick<MarketHistory, 'putGaps' | 'record'>,
  market: Market,
): void {
  const { conditionId, timeframe, windowStartMs, windowEndMs: toMs, spans } = market
  if (windowStartMs === undefined || toMs === undefined) return
  const ended = outcomes.map(
    (outcome) => ({ kind: 'ended', conditionId, outcome, atMs: toMs }) as const,
  )
  history.record({ snapshots: [], trades: [], gaps: ended })
  const gaps = outcomes.map((outcome) => {
    const fromMs = Math.max(windowStartMs, (spans[outcome]?.lastMs ?? 0) + 1)
    return { outcome, fromMs, toMs, reason: 'recorder_down' } as const
  })
  // A shorter silence is usual.
  history.putGaps(
    conditionId,
    gaps.filter(({ fromMs }) => toMs - fromMs > silenceMs(timeframe)),
  )
}
