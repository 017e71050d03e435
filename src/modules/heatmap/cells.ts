/**
 * Sizes by price and time. A state prevails from its moment to that of the next one, as far as the
 * book is known then: what lies in a gap is in no cell.
 */
import type { Span } from '#src/core/coverage.ts'
import { MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import type { RowRun } from '#src/history/history.ts'

export const aggregations = ['max', 'last', 'time-weighted'] as const
export type Aggregation = (typeof aggregations)[number]

export type Grid = Span & { stepMs: number; priceBins: number; agg: Aggregation }

/** A side of one state, or of many: a size for each bin of price. */
export type Side = 'bids' | 'asks'
const NONE = -1

/** Adds a state that prevailed for some time to the cells of a column. */
const joins: Record<Aggregation, (cells: Float64Array, now: Float64Array, ms: number) => void> = {
  last: (cells, now) => cells.set(now),
  max(cells, now) {
    for (let bin = 0; bin < now.length; bin++) {
      const size = now[bin] ?? 0
      if (size > (cells[bin] ?? 0)) cells[bin] = size
    }
  },
  'time-weighted'(cells, now, ms) {
    for (let bin = 0; bin < now.length; bin++) cells[bin] = (cells[bin] ?? 0) + (now[bin] ?? 0) * ms
  },
}

export class HeatCells {
  readonly #grid: Grid
  readonly #known: readonly Span[]
  readonly #binWidth: number
  readonly #now: Record<Side, Float64Array>
  readonly #cells: Record<Side, Float64Array>
  readonly columns: number
  /** Of each column. */
  readonly knownMs: Float64Array
  readonly bestBids: Float64Array
  readonly bestAsks: Float64Array
  #sinceMs: number | undefined
  #bestBid = NONE
  #bestAsk = NONE
  #firstKnown = 0

  /** `known` is ascending and does not overlap. */
  constructor(grid: Grid, known: readonly Span[]) {
    const { fromMs, toMs, stepMs, priceBins } = grid
    this.#grid = grid
    this.#known = known
    this.#binWidth = MILLIONTHS_PER_UNIT / priceBins
    this.columns = Math.ceil((toMs - fromMs) / stepMs)
    const sides = (length: number) => ({
      bids: new Float64Array(length),
      asks: new Float64Array(length),
    })
    this.#now = sides(priceBins)
    this.#cells = sides(priceBins * this.columns)
    this.knownMs = new Float64Array(this.columns)
    this.bestBids = new Float64Array(this.columns).fill(NONE)
    this.bestAsks = new Float64Array(this.columns).fill(NONE)
  }

  /** Takes states that follow on those before. */
  add({ rows, ends, prices, sizes }: RowRun): void {
    let at = 0
    for (const [index, { timestampMs }] of rows.entries()) {
      this.endState(timestampMs)
      const bidsEnd = ends[index * 2] ?? at
      const asksEnd = ends[index * 2 + 1] ?? bidsEnd
      this.#bestBid = bidsEnd > at ? (prices[at] ?? NONE) : NONE
      this.#bestAsk = asksEnd > bidsEnd ? (prices[bidsEnd] ?? NONE) : NONE
      const levels = { prices, sizes }
      this.#put(this.#now.bids, levels, { from: at, to: bidsEnd })
      this.#put(this.#now.asks, levels, { from: bidsEnd, to: asksEnd })
      at = asksEnd
      this.#sinceMs = timestampMs
    }
  }

  #put(
    bins: Float64Array,
    { prices, sizes }: Pick<RowRun, 'prices' | 'sizes'>,
    { from, to }: { from: number; to: number },
  ): void {
    bins.fill(0)
    const width = this.#binWidth
    const last = bins.length - 1
    for (let at = from; at < to; at++) {
      const bin = Math.min(last, Math.floor((prices[at] ?? 0) / width))
      bins[bin] = (bins[bin] ?? 0) + (sizes[at] ?? 0)
    }
  }

  /** Fills the cells of the state that prevails until a moment. */
  endState(untilMs: number): void {
    if (this.#sinceMs === undefined) return
    const { fromMs, toMs, stepMs } = this.#grid
    const endMs = Math.min(untilMs, toMs)
    const startMs = Math.max(this.#sinceMs, fromMs)
    while ((this.#known[this.#firstKnown]?.toMs ?? Infinity) <= startMs) this.#firstKnown++
    for (let index = this.#firstKnown; index < this.#known.length; index++) {
      const known = this.#known[index]
      if (known === undefined || known.fromMs >= endMs) break
      const knownEndMs = Math.min(known.toMs, endMs)
      let atMs = Math.max(known.fromMs, startMs)
      while (atMs < knownEndMs) {
        const column = Math.floor((atMs - fromMs) / stepMs)
        const nextMs = Math.min(knownEndMs, fromMs + (column + 1) * stepMs)
        this.#fill(column, nextMs - atMs)
        atMs = nextMs
      }
    }
  }

  #fill(column: number, ms: number): void {
    this.knownMs[column] = (this.knownMs[column] ?? 0) + ms
    this.bestBids[column] = this.#bestBid
    this.bestAsks[column] = this.#bestAsk
    for (const side of ['bids', 'asks'] as const)
      joins[this.#grid.agg](this.cellsOf(side, column), this.#now[side], ms)
  }

  /** Of one column; sums weighted by milliseconds where they are to be averaged. */
  cellsOf(side: Side, column: number): Float64Array {
    const { priceBins } = this.#grid
    return this.#cells[side].subarray(column * priceBins, (column + 1) * priceBins)
  }

  bestOf(column: number): { bid: number | undefined; ask: number | undefined } {
    const [bid, ask] = [this.bestBids[column], this.bestAsks[column]]
    return { bid: bid === NONE ? undefined : bid, ask: ask === NONE ? undefined : ask }
  }
}
