/** Downtime of the recorder: windows that were missed and windows that were cut short. */

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

/** The period before now in which the catalogue is searched for windows and their outcomes. */
export const LOOK_BACK_MS = 2 * DAY_MS
/** A coin and timeframe have some 600 markets in that time. */
const MARKETS_MAX = 1000

/** Lists ended windows that the history lacks, since the first recorded one. */
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

/**
 * Closes ended markets as soon as the history can store the reason why their last part is missing.
 */
export function createClosing(
  history: Pick<MarketHistory, 'findMarket' | 'putGaps' | 'record' | 'gaps' | 'close'>,
  clock: Clock,
  reporter: Reporter,
) {
  const waiting = new Map<string, GapReason>()
  let closing: Promise<void> | undefined

  /**
   * Stores the gap from the last states of a market to the end of its window, unless it is stored
   * already. Gaps that were open when the recorder stopped end there.
   */
  async function noteTails(market: Market, reason: GapReason): Promise<void> {
    const { conditionId, windowEndMs } = market
    const tails = listTails(market)
    if (windowEndMs === undefined || (tails.length === 0 && market.isClosed)) return
    const ended = outcomes.map(
      (outcome) => ({ kind: 'ended', conditionId, outcome, atMs: windowEndMs }) as const,
    )
    await history.record({ snapshots: [], trades: [], gaps: ended })
    const known = history.gaps(market)
    const gaps = tails.filter((tail) =>
      coverageOf({ market, gaps: known, nowMs: clock(), ...tail }).some((outcome) =>
        outcome.gaps.some((gap) => gap.reason === 'import'),
      ),
    )
    await history.putGaps(
      conditionId,
      gaps.map((tail) => ({ ...tail, reason })),
    )
  }

  /** Returns true if nothing is left to do for the market. */
  async function tryToClose(conditionId: string, reason: GapReason): Promise<boolean> {
    try {
      const market = history.findMarket(conditionId)
      if (market === undefined) return true
      const isHeld = market.spans.up !== undefined || market.spans.down !== undefined
      await noteTails(market, isHeld ? reason : 'recorder_down')
      if (!market.isClosed) await history.close(conditionId)
      return true
    } catch (error) {
      reporter.report(`market ${conditionId}`, messageOf(error))
      return isOfOneMarket(error)
    }
  }

  async function closeAll(): Promise<void> {
    for (const [conditionId, reason] of waiting) {
      if (!(await tryToClose(conditionId, reason))) return
      waiting.delete(conditionId)
    }
  }

  return {
    /** Adds a market; `reason` is why it has no states to the end of its window. */
    add: (conditionId: string, reason: GapReason): void => void waiting.set(conditionId, reason),
    /** Retries the waiting markets. Call it about once a second. */
    tick(): Promise<void> {
      closing ??= closeAll().finally(() => {
        closing = undefined
      })
      return closing
    },
  }
}

/**
 * Periods from the last states of a market to the end of its window; short silences are normal and
 * omitted.
 */
export function listTails({ timeframe, windowStartMs, windowEndMs: toMs, spans }: Market) {
  if (windowStartMs === undefined || toMs === undefined) return []
  return outcomes.flatMap((outcome) => {
    const fromMs = Math.max(windowStartMs, (spans[outcome]?.lastMs ?? 0) + 1)
    return toMs - fromMs > silenceMs(timeframe) ? { outcome, fromMs, toMs } : []
  })
}
