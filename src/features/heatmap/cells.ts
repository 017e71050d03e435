/**
 * Sizes by price and time. A state prevails until the next one, and only while the book is known: a
 * gap adds to no cell.
 */
import type { Span } from '#src/domain/coverage.ts'
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { RowRun } from '#src/history/history.ts'

export const aggregations = ['max', 'last', 'time-weighted'] as const
export type Aggregation = (typeof aggregations)[number]

export type Grid = Span & {
  stepMs: number
  priceBins: number
  agg: Aggregation
  /** True if removed sizes are requested: then the sizes at the end of each column are kept. */
  withRemoved: boolean
}

/** One side of one or more states: a size for each price bin. */
export type Side = 'bids' | 'asks'
const NONE = -1

type Join = (cell: number, size: number, ms: number) => number

/** Updates a cell after a size has prevailed for some time. */
const joins: Record<Aggregation, Join> = {
  last: (_, size) => size,
  max: (cell, size) => Math.max(cell, size),
  'time-weighted': (cell, size, ms) => cell + size * ms,
}

type Levels = Pick<RowRun, 'prices' | 'sizes'> & { from: number; to: number }
const nothing = (): Levels => ({
  prices: new Int32Array(0),
  sizes: new Float64Array(0),
  from: 0,
  to: 0,
})

/** The prevailing sizes of one side, and their cells: a cell is updated when its bin changes. */
class SideCells {
  readonly cells: Float64Array
  /** Sizes at the end of each column in which the book is known then. */
  readonly ends: Float64Array
  best = NONE
  readonly #now: Float64Array
  /** Known milliseconds up to which each bin is included in its cell. */
  readonly #joined: Float64Array
  readonly #binWidth: number
  readonly #join: Join
  readonly #worse: 1 | -1
  #levels = nothing()
  #column = 0
  #knownMs = 0

  constructor({ priceBins, agg, withRemoved }: Grid, columns: number, worse: 1 | -1) {
    this.cells = new Float64Array(priceBins * columns)
    this.ends = new Float64Array(withRemoved ? priceBins * columns : 0)
    this.#now = new Float64Array(priceBins)
    this.#joined = new Float64Array(priceBins)
    this.#binWidth = MILLIONTHS_PER_UNIT / priceBins
    this.#join = joins[agg]
    this.#worse = worse
  }

  /** Extends the prevailing sizes within a column. */
  hold(column: number, ms: number): void {
    if (column !== this.#column) this.endColumn()
    this.#column = column
    this.#knownMs += ms
  }

  /** Keeps the prevailing sizes as those of the column's end. */
  keepEnd(column: number): void {
    if (this.ends.length > 0) this.ends.set(this.#now, column * this.#now.length)
  }

  endColumn(): void {
    for (let bin = 0; bin < this.#now.length; bin++) this.#settle(bin)
  }

  #settle(bin: number): void {
    const ms = this.#knownMs - (this.#joined[bin] ?? 0)
    if (ms === 0) return
    const at = this.#column * this.#now.length + bin
    this.cells[at] = this.#join(this.cells[at] ?? 0, this.#now[bin] ?? 0, ms)
    this.#joined[bin] = this.#knownMs
  }

  #add(price: number, size: number): void {
    const bin = Math.min(this.#now.length - 1, Math.floor(price / this.#binWidth))
    this.#settle(bin)
    this.#now[bin] = (this.#now[bin] ?? 0) + size
  }

  /** Sets new prevailing levels; most of them are usually unchanged. */
  change(next: Levels): void {
    const { prices, sizes, from, to } = next
    const { prices: formerPrices, sizes: formerSizes } = this.#levels
    let former = this.#levels.from
    for (let at = from; at < to; at++) {
      const price = prices[at] ?? 0
      let size = sizes[at] ?? 0
      if (formerPrices[former] !== price) former = this.#remove(former, price)
      if (former < this.#levels.to && formerPrices[former] === price)
        size -= formerSizes[former++] ?? 0
      if (size !== 0) this.#add(price, size)
    }
    this.#remove(former, this.#worse * Number.POSITIVE_INFINITY)
    this.best = to > from ? (prices[from] ?? NONE) : NONE
    this.#levels = next
  }

  /** Removes former levels better than a price, starting at `first`. */
  #remove(first: number, price: number): number {
    const { prices, sizes, to } = this.#levels
    let at = first
    while (at < to && ((prices[at] ?? 0) - price) * this.#worse < 0) {
      this.#add(prices[at] ?? 0, -(sizes[at++] ?? 0))
    }
    return at
  }

  /** Copies the prevailing levels, because their columns are reused. */
  keep(): void {
    const { prices, sizes, from, to } = this.#levels
    const kept = prices.slice(from, to)
    const keptSizes = sizes.slice(from, to)
    this.#levels = { prices: kept, sizes: keptSizes, from: 0, to: kept.length }
  }
}

export class HeatCells {
  readonly #grid: Grid
  readonly #known: readonly Span[]
  readonly #sides: Record<Side, SideCells>
  readonly columns: number
  /** Known milliseconds of each column. */
  readonly knownMs: Float64Array
  readonly #bests: Record<Side, Float64Array>
  #sinceMs: number | undefined
  #firstKnown = 0

  /** `known` is ascending and without overlaps. */
  constructor(grid: Grid, known: readonly Span[]) {
    const { fromMs, toMs, stepMs } = grid
    this.#grid = grid
    this.#known = known
    this.columns = Math.ceil((toMs - fromMs) / stepMs)
    this.#sides = {
      bids: new SideCells(grid, this.columns, -1),
      asks: new SideCells(grid, this.columns, 1),
    }
    const perColumn = () => new Float64Array(this.columns)
    this.knownMs = perColumn()
    this.#bests = { bids: perColumn().fill(NONE), asks: perColumn().fill(NONE) }
  }

  /** Adds states that follow the ones added before. */
  add({ rows, ends, prices, sizes }: RowRun): void {
    const { bids, asks } = this.#sides
    let at = 0
    for (const [index, { timestampMs }] of rows.entries()) {
      this.#hold(timestampMs)
      const bidsEnd = ends[index * 2] ?? at
      const asksEnd = ends[index * 2 + 1] ?? bidsEnd
      bids.change({ prices, sizes, from: at, to: bidsEnd })
      asks.change({ prices, sizes, from: bidsEnd, to: asksEnd })
      at = asksEnd
      this.#sinceMs = timestampMs
    }
    bids.keep()
    asks.keep()
  }

  /** Extends the last state to the end. */
  end(): void {
    this.#hold(this.#grid.toMs)
    for (const side of Object.values(this.#sides)) side.endColumn()
  }

  /** Extends the last state to a moment, as far as the book is known. */
  #hold(untilMs: number): void {
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
        const columnEndMs = Math.min(toMs, fromMs + (column + 1) * stepMs)
        const nextMs = Math.min(knownEndMs, columnEndMs)
        this.#fill(column, nextMs - atMs)
        if (nextMs === columnEndMs) this.#keepEnd(column)
        atMs = nextMs
      }
    }
  }

  #fill(column: number, ms: number): void {
    this.knownMs[column] = (this.knownMs[column] ?? 0) + ms
    for (const side of ['bids', 'asks'] as const) {
      this.#sides[side].hold(column, ms)
      this.#bests[side][column] = this.#sides[side].best
    }
  }

  #keepEnd(column: number): void {
    for (const side of Object.values(this.#sides)) side.keepEnd(column)
  }

  /** Sizes at the end of a column; needs `withRemoved`, and a column whose end is known. */
  endsOf(side: Side, column: number): Float64Array {
    const { priceBins } = this.#grid
    return this.#sides[side].ends.subarray(column * priceBins, (column + 1) * priceBins)
  }

  /** Cells of a column; for averages, sums weighted by milliseconds. */
  cellsOf(side: Side, column: number): Float64Array {
    const { priceBins } = this.#grid
    return this.#sides[side].cells.subarray(column * priceBins, (column + 1) * priceBins)
  }

  /** Best price of a side at the last known moment of a column. */
  bestOf(side: Side, column: number): number | undefined {
    const best = this.#bests[side][column]
    return best === NONE ? undefined : best
  }
}
