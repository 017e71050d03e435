/**
 * Sizes that left a book between two columns, split into traded and pulled. Defined for a column
 * only if its book, the moment before it and its trades are known.
 */
import type { Span } from '#src/domain/coverage.ts'
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { Trade } from '#src/domain/trade.ts'

import type { Grid, HeatCells, Side } from './cells.ts'

/** Sizes for each bin of price, in millionths. */
export type Removed = { pulled: Float64Array; traded: Float64Array }

export class RemovedSizes {
  readonly #grid: Grid
  readonly #outcome: Outcome
  readonly #traded: Record<Side, Float64Array>
  /** 1 for a column with a trade whose outcome, side or size is unknown. */
  readonly #isUnclear: Uint8Array
  readonly #recorded: Span
  readonly #removed: Removed

  /** `recorded` is the time in which trades of the market are recorded. */
  constructor(grid: Grid, outcome: Outcome, recorded: Span) {
    const columns = Math.ceil((grid.toMs - grid.fromMs) / grid.stepMs)
    this.#grid = grid
    this.#outcome = outcome
    this.#recorded = recorded
    this.#traded = {
      bids: new Float64Array(grid.priceBins * columns),
      asks: new Float64Array(grid.priceBins * columns),
    }
    this.#isUnclear = new Uint8Array(columns)
    this.#removed = {
      pulled: new Float64Array(grid.priceBins),
      traded: new Float64Array(grid.priceBins),
    }
  }

  /**
   * Adds a trade of the range. A trade of the other outcome at p takes liquidity at 1 − p of this
   * one.
   */
  add({ timestampMs, outcome, price, size, side }: Trade): void {
    const { fromMs, stepMs, priceBins } = this.#grid
    const column = Math.floor((timestampMs - fromMs) / stepMs)
    if (outcome === undefined || size === undefined || side === undefined) {
      this.#isUnclear[column] = 1
      return
    }
    const isOwn = outcome === this.#outcome
    const hit = (side === 'sell') === isOwn ? 'bids' : 'asks'
    const ownPrice = isOwn ? price : MILLIONTHS_PER_UNIT - price
    const bin = Math.min(priceBins - 1, Math.floor((ownPrice * priceBins) / MILLIONTHS_PER_UNIT))
    const sizes = this.#traded[hit]
    const at = column * priceBins + bin
    sizes[at] = (sizes[at] ?? 0) + size
  }

  /**
   * True if removed sizes are defined for a column; `known` are the spans in which the book is
   * known.
   */
  isKnown(column: number, known: readonly Span[]): boolean {
    const { fromMs, toMs, stepMs } = this.#grid
    const startMs = fromMs + column * stepMs
    const endMs = Math.min(toMs, startMs + stepMs)
    if (column === 0 || this.#isUnclear[column] === 1) return false
    if (startMs < this.#recorded.fromMs || endMs > this.#recorded.toMs) return false
    return known.some((span) => span.fromMs < startMs && span.toMs >= endMs)
  }

  /** Removed sizes of a known column; valid until the next call. */
  of(cells: HeatCells, side: Side, column: number): Removed {
    const { priceBins } = this.#grid
    const before = cells.endsOf(side, column - 1)
    const after = cells.endsOf(side, column)
    const { pulled, traded } = this.#removed
    for (let bin = 0; bin < priceBins; bin++) {
      const fall = Math.max(0, (before[bin] ?? 0) - (after[bin] ?? 0))
      const part = Math.min(fall, this.#traded[side][column * priceBins + bin] ?? 0)
      traded[bin] = part
      pulled[bin] = fall - part
    }
    return this.#removed
  }
}
