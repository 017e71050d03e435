/** A cursor over the rows and gaps of a market, which waits for new ones at the end. */

import type { Gap } from '#src/domain/coverage.ts'
import type { ChangePosition } from '#src/domain/cursor.ts'
import type { Market } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'

import { gapKey, retractedGaps } from './gaps.ts'
import type { Coming, FeedQuery } from './rows.ts'

/** `resume` is the position to continue from, even if there was no row. */
type Page = { resume: Position; hasMore: boolean; seen?: number | undefined }

export type FeedSources = {
  findMarket: (conditionId: string) => Market | undefined
  /** Returns the same array until the gaps change. */
  gaps: (market: Market) => readonly Gap[]
}

const ALL_MS = Number.POSITIVE_INFINITY

export class MarketCursor {
  market: Market
  /** All rows up to here, inclusive, were read. */
  position: ChangePosition
  readonly #sources: FeedSources
  /** `seen` of the next query. */
  #seen: number | undefined
  /** The revision of which all rows before `#readMs` were read. */
  #readRevision: number | undefined
  #readMs = 0
  /** The list that the pending and the sent gaps were derived from. */
  #gaps: readonly Gap[] | undefined
  #pendingGaps: Gap[] = []
  /** By key: gaps that were returned, and gaps that had ended before the start. */
  #sentGaps: Map<string, Gap>
  /** Rows that are being fetched. */
  #coming: Coming | undefined
  #fault: { cause: unknown } | undefined

  constructor(
    sources: FeedSources,
    market: Market,
    start: Position,
    {
      seen,
      sentGaps = byKey(sources.gaps(market).filter(({ toMs }) => toMs <= start.timestampMs)),
    }: { seen?: number | undefined; sentGaps?: Map<string, Gap> } = {},
  ) {
    this.#sources = sources
    this.market = market
    this.position = start
    this.#seen = seen
    this.#sentGaps = sentGaps
  }

  /**
   * Reads at most `limit` rows, or the next gap, which follows the rows before its start. Returns
   * undefined if there is nothing new, or while rows are `coming`. An error of `read` is thrown
   * once; then the cursor waits until the market is written to.
   */
  next<Rows extends Page>(
    read: (query: FeedQuery) => Rows | Coming,
    limit: number,
  ): { kind: 'rows'; rows: Rows } | { kind: 'gap'; gap: Gap } | undefined {
    const { revision } = this.look()
    const gap = this.#pendingGaps[0]
    if (gap === undefined && revision === this.#readRevision && this.#readMs === ALL_MS)
      return undefined
    const toMs = gap && gap.fromMs + 1
    if (!this.#isRead(toMs)) {
      const rows = this.#read(read, toMs, limit)
      return rows && { kind: 'rows', rows }
    }
    if (gap === undefined) return undefined
    this.#pendingGaps.shift()
    this.#sentGaps = new Map(this.#sentGaps).set(gapKey(gap), gap)
    return { kind: 'gap', gap }
  }

  /** Refreshes the market and its gaps; returns the market. */
  look(): Market {
    this.market = this.#sources.findMarket(this.market.conditionId) ?? this.market
    const gaps = this.#sources.gaps(this.market)
    if (gaps === this.#gaps) return this.market
    this.#gaps = gaps
    const sent = gaps.filter((gap) => this.#sentGaps.has(gapKey(gap)))
    const pending = gaps.filter((gap) => !this.#sentGaps.has(gapKey(gap)))
    this.#pendingGaps = [...retractedGaps(this.#sentGaps.values(), gaps), ...pending]
    this.#sentGaps = byKey(sent)
    return this.market
  }

  /** Skips all rows that the market has now. */
  waitForRows(): void {
    this.#markRead()
  }

  /** Continues after a row, unless the cursor has passed it. */
  skipTo(position: Position): void {
    // At an equal row, the new position may also have the other outcome's state.
    if (comparePositions(position, this.position) >= 0) this.position = position
  }

  /** True if all current rows of the market were read. */
  get hasAllRows(): boolean {
    this.look()
    return this.#isRead()
  }

  /** Settles when `next` can continue; never rejects. */
  get coming(): Promise<unknown> | undefined {
    return this.#coming
  }

  /** Identifies the position and its state: cursors with the same step return the same. */
  get step(): string {
    const { timestampMs, id, other } = this.position
    const gaps = this.#pendingGaps.length === 0 ? this.#gaps : undefined
    return `${this.market.conditionId} ${timestampMs} ${id} ${other} ${this.#seen} ${toNumber(gaps)}`
  }

  /** Returns a second cursor at the same position. */
  fork(): MarketCursor {
    const copy = new MarketCursor(this.#sources, this.market, this.position, {
      seen: this.#seen,
      sentGaps: this.#sentGaps,
    })
    copy.#readRevision = this.#readRevision
    copy.#readMs = this.#readMs
    copy.#gaps = this.#gaps
    copy.#pendingGaps = [...this.#pendingGaps]
    return copy
  }

  #isRead(toMs = ALL_MS): boolean {
    const isReadNow = this.#readRevision === this.market.revision && toMs <= this.#readMs
    return isReadNow || toMs <= this.position.timestampMs
  }

  #read<Rows extends Page>(
    read: (query: FeedQuery) => Rows | Coming,
    toMs: number | undefined,
    limit: number,
  ): Rows | undefined {
    if (this.#coming !== undefined) return undefined
    const { market, position: after } = this
    try {
      const fault = this.#fault
      this.#fault = undefined
      if (fault !== undefined) throw fault.cause
      const rows = read({ market, after, toMs, limit, seen: this.#seen })
      if (rows instanceof Promise) {
        this.#wait(rows)
        return undefined
      }
      this.skipTo(rows.resume)
      this.#seen = rows.seen ?? this.#seen
      if (!rows.hasMore) this.#markRead(toMs)
      return rows
    } catch (error) {
      this.#markRead()
      throw error
    }
  }

  #wait(coming: Coming): void {
    this.#coming = coming
      .catch((cause: unknown) => {
        this.#fault = { cause }
      })
      .finally(() => {
        this.#coming = undefined
      })
  }

  #markRead(toMs = ALL_MS): void {
    this.#readRevision = this.market.revision
    this.#readMs = toMs
  }
}

const byKey = (gaps: readonly Gap[]): Map<string, Gap> =>
  new Map(gaps.map((gap) => [gapKey(gap), gap]))

/** Numbers lists of gaps; each undefined list gets its own number. */
const toNumber = (() => {
  const numbers = new WeakMap<readonly Gap[], number>()
  let count = 0
  return (gaps: readonly Gap[] | undefined): number => {
    const known = gaps && numbers.get(gaps)
    if (known !== undefined) return known
    count++
    if (gaps) numbers.set(gaps, count)
    return count
  }
})()
