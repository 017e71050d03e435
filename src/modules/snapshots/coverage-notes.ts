import { coverageText } from '#src/core/coverage.ts'
import type { Market, Outcome } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** Spans remembered of one market; a walk of it asks for one. */
const SPANS_MAX = 64

type Span = { outcome: Outcome | undefined; fromMs?: number | undefined; toMs?: number | undefined }

/**
 * What says how far a span is covered. That of a market that time changes no more is remembered
 * as long as the market is as it was found, because a page takes little longer than to count gaps.
 */
export function createCoverageNotes(history: MarketHistory, clock: Clock) {
  const notes = new WeakMap<Market, Map<string, string>>()

  const ask = (market: Market, span: Span): string =>
    coverageText({ market, gaps: history.gaps(market), ...span, nowMs: clock() })

  return (market: Market, span: Span): string => {
    const isFixed = market.isClosed || market.winner !== undefined
    if (!isFixed) return ask(market, span)
    const own = notes.get(market) ?? new Map<string, string>()
    const name = `${span.outcome}.${span.fromMs}.${span.toMs}`
    const known = own.get(name)
    if (known !== undefined) return known
    const made = ask(market, span)
    if (own.size === SPANS_MAX) own.clear()
    own.set(name, made)
    notes.set(market, own)
    return made
  }
}
