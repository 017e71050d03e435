/** What passed while no recorder ran: windows that were missed, and those that were cut short. */

import { coverageOf, type GapReason, silenceMs } from '#src/domain/coverage.ts'
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
import type { MarketWindow } from '#src/venue/catalogue.ts'
import type { Venue } from '#src/venue/venue.ts'

import type { Reporter } from './ports.ts'
import { isOfOneMarket } from './sink.ts'

/** How far back the catalogue is asked for windows, and how they ended. */
export const LOOK_BACK_MS = 2 * DAY_MS
/** A coin and timeframe have some 600 markets in that time. */
const MARKETS_MAX = 1000

/** Lists windows that are over and not held, since the first one that was recorded. */
export function listMissed(
  history: Pick<MarketHistory, 'listMarkets'>,
  windowStarts: Venue['windowStarts'],
  { coin, timeframe }: { coin: Coin; timeframe: Timeframe },
  nowMs: number,
): MarketWindow[] {
  const range = { fromMs: nowMs - LOOK_BACK_MS, toMs: nowMs, limit: MARKETS_MAX }
  const held = history
    .listMarkets({ coin, timeframe, ...range, order: 'asc' })
    .flatMap(({ source, windowStartMs }) => (source === 'recorded' ? (windowStartMs ?? []) : []))
  const [firstMs] = held
  if (firstMs === undefined) return []
  const count = Math.ceil((nowMs - firstMs) / timeframeMs[timeframe])
  const starts = windowStarts(timeframe, firstMs, count + 1)
  return starts.slice(0, -1).flatMap((startMs, index) => {
    const endMs = starts[index + 1] ?? 0
    return endMs > nowMs || held.includes(startMs) ? [] : { coin, timeframe, startMs, endMs }
  })
}

/** Closes markets that are over, once the history can note why their last part is not recorded. */
export function createClosing(
  history: Pick<MarketHistory, 'findMarket' | 'putGaps' | 'record' | 'gaps' | 'close'>,
  clock: Clock,
  reporter: Reporter,
) {
  const waiting = new Map<string, GapReason>()

  /**
   * Notes why there are no states from the last ones of a market to the end of its window, unless
   * that is noted. Gaps that were open when the recorder stopped end there.
   */
  function noteTails(market: Market, reason: GapReason): void {
    const { conditionId, windowEndMs } = market
    const tails = listTails(market)
    if (windowEndMs === undefined || (tails.length === 0 && market.isClosed)) return
    const ended = outcomes.map(
      (outcome) => ({ kind: 'ended', conditionId, outcome, atMs: windowEndMs }) as const,
    )
    history.record({ snapshots: [], trades: [], gaps: ended })
    const known = history.gaps(market)
    const gaps = tails.filter((tail) =>
      coverageOf({ market, gaps: known, nowMs: clock(), ...tail }).some((outcome) =>
        outcome.gaps.some((gap) => gap.reason === 'import'),
      ),
    )
    history.putGaps(
      conditionId,
      gaps.map((tail) => ({ ...tail, reason })),
    )
  }

  /** Returns whether the market is done with. */
  function tryToClose(conditionId: string, reason: GapReason): boolean {
    try {
      const market = history.findMarket(conditionId)
      if (market === undefined) return true
      const isHeld = market.spans.up !== undefined || market.spans.down !== undefined
      noteTails(market, isHeld ? reason : 'recorder_down')
      if (!market.isClosed) history.close(conditionId)
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

/** Times from the last states of a market to the end of its window; a short silence is usual. */
export function listTails({ timeframe, windowStartMs, windowEndMs: toMs, spans }: Market) {
  if (windowStartMs === undefined || toMs === undefined) return []
  return outcomes.flatMap((outcome) => {
    const fromMs = Math.max(windowStartMs, (spans[outcome]?.lastMs ?? 0) + 1)
    return toMs - fromMs > silenceMs(timeframe) ? { outcome, fromMs, toMs } : []
  })
}
