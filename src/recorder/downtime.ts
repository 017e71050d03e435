/** What passed while nobody recorded: windows that were missed, and those that were cut short. */
import { coverageOf, type Gap, type GapReason, silenceMs } from '#src/domain/coverage.ts'
import {
  type Coin,
  type Market,
  outcomes,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { messageOf } from '#src/platform/message.ts'

import type { Reporter } from './ports.ts'
import { isOfOneMarket } from './sink.ts'

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

type ClosingOptions = {
  history: Pick<MarketHistory, 'findMarket' | 'putGaps' | 'record' | 'gaps' | 'close'>
  clock: Clock
  reporter: Reporter
}

/** Closes markets that are over, once the history can note why their last time is not recorded. */
export function createClosing({ history, clock, reporter }: ClosingOptions) {
  const waiting = new Map<string, GapReason>()

  function close(market: Market, reason: GapReason): void {
    putTail(history, market, { reason: isHeld(market) ? reason : 'recorder_down', nowMs: clock() })
    if (!market.isClosed) history.close(market.conditionId)
  }

  /** Whether it is done with. */
  function tryToClose(conditionId: string, reason: GapReason): boolean {
    try {
      const market = history.findMarket(conditionId)
      if (market !== undefined) close(market, reason)
      return true
    } catch (error) {
      reporter.report(`market ${conditionId}`, messageOf(error))
      return isOfOneMarket(error)
    }
  }

  return {
    /** `reason` is why there are no states to the end of the window. */
    add: (conditionId: string, reason: GapReason): void => void waiting.set(conditionId, reason),
    /** To be called about every second. */
    tick(): void {
      for (const [conditionId, reason] of waiting) {
        if (!tryToClose(conditionId, reason)) return
        waiting.delete(conditionId)
      }
    },
  }
}

export type Closing = ReturnType<typeof createClosing>

const isHeld = ({ spans: { up, down } }: Market): boolean => up !== undefined || down !== undefined

/** Times from the last states of a market to the end of its window; a short silence is usual. */
export function tailsOf({ timeframe, windowStartMs, windowEndMs: toMs, spans }: Market) {
  if (windowStartMs === undefined || toMs === undefined) return []
  return outcomes.flatMap((outcome) => {
    const fromMs = Math.max(windowStartMs, (spans[outcome]?.lastMs ?? 0) + 1)
    return toMs - fromMs > silenceMs(timeframe) ? { outcome, fromMs, toMs } : []
  })
}

/**
 * Notes why there are no states from the last ones of a market to the end of its window, where
 * nobody did. Gaps that were open when the recorder stopped end there.
 */
function putTail(
  history: ClosingOptions['history'],
  market: Market,
  { reason, nowMs }: { reason: GapReason; nowMs: number },
): void {
  const { conditionId, windowEndMs: toMs } = market
  const tails = tailsOf(market)
  if (toMs === undefined || (tails.length === 0 && market.isClosed)) return
  const ended = outcomes.map(
    (outcome) => ({ kind: 'ended', conditionId, outcome, atMs: toMs }) as const,
  )
  history.record({ snapshots: [], trades: [], gaps: ended })
  const held = { market, gaps: history.gaps(market), nowMs }
  const isUnknown = (tail: Omit<Gap, 'reason'>): boolean =>
    coverageOf({ ...held, ...tail }).some(({ gaps }) => gaps.some((gap) => gap.reason === 'import'))
  const gaps = tails.filter(isUnknown).map((tail) => ({ ...tail, reason }))
  history.putGaps(conditionId, gaps)
}
