/** A cursor over prices of coins as they are recorded, which waits for new ones at the end. */

import type { Coin } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { compareTicks, seriesOf, type SpotQuery, type StoredTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** Maximum delay of a late price: recorded this long after a later one of another source. */
const LATE_MS = 30_000
const PAGE_TICKS = 200
/** This many of the latest prices contain the last one of every series that continues. */
const LATEST_TICKS = 64

export type SpotFilter = {
  coin: Coin
  source?: string | undefined
  windowSeconds?: number | undefined
}
/** All prices up to the position were read, except those with an id above `seen`. */
export type SpotPosition = Position & { seen: number }
export type SpotReads = Pick<MarketHistory, 'spot' | 'lastSpotId'>

export class SpotCursor {
  position: SpotPosition
  /** True if there may be prices that were not read. */
  hasMore: boolean
  readonly #history: SpotReads
  readonly #filter: SpotFilter

  /** Without a position it begins after all recorded prices. */
  constructor(history: SpotReads, filter: SpotFilter, position?: SpotPosition) {
    this.#history = history
    this.#filter = filter
    this.position = position ?? findEnd(history, filter)
    this.hasMore = position !== undefined
  }

  next(limit: number): { tick: StoredTick; position: SpotPosition }[] {
    const uptoId = this.#history.lastSpotId()
    if (uptoId === this.position.seen && !this.hasMore) return []
    const found = [...this.#ticks(uptoId).take(limit)]
    this.hasMore = found.length === limit
    this.position = found.at(-1)?.position ?? this.position
    if (!this.hasMore) this.position = { ...this.position, seen: uptoId }
    return found
  }

  /** Identifies what comes next: cursors of a filter with the same step return the same. */
  get step(): string {
    const { timestampMs, id, seen } = this.position
    return `${timestampMs} ${id} ${seen} ${this.hasMore}`
  }

  /** Returns a second cursor at the same position. */
  fork(): SpotCursor {
    const copy = new SpotCursor(this.#history, this.#filter, this.position)
    copy.hasMore = this.hasMore
    return copy
  }

  /** Prices that were recorded late come first, by id, then the others by time, up to an id. */
  *#ticks(uptoId: number): Generator<{ tick: StoredTick; position: SpotPosition }, void> {
    const { position } = this
    const { timestampMs, id, seen } = position
    const filter = { ...this.#filter, uptoId }
    const times = { fromMs: Math.max(0, timestampMs - LATE_MS), toMs: timestampMs + 1 }
    const late = [...this.#pages({ ...filter, ...times, aboveId: seen })]
    const last = late.some((tick) => tick.timestampMs === timestampMs) ? this.#last() : undefined
    for (const tick of late.sort((a, b) => a.id - b.id))
      if (tick.timestampMs < timestampMs || (last && compareTicks(tick, last) <= 0))
        yield { tick, position: { timestampMs, id, seen: tick.id } }
    for (const tick of this.#pages({ ...filter, after: position }))
      yield { tick, position: { timestampMs: tick.timestampMs, id: tick.id, seen: uptoId } }
  }

  /** The tick at the position, if there is one: others of its time may come before or after it. */
  #last(): StoredTick | undefined {
    const { timestampMs, id } = this.position
    const moment = { ...this.#filter, fromMs: timestampMs, toMs: timestampMs + 1 }
    return [...this.#pages(moment)].find((tick) => tick.id === id)
  }

  *#pages(query: Omit<SpotQuery, 'order' | 'limit'>): Generator<StoredTick, void> {
    for (let { after } = query; ;) {
      const page = this.#history.spot({ ...query, after, order: 'asc', limit: PAGE_TICKS })
      yield* page
      if (page.length < PAGE_TICKS) return
      after = page.at(-1)
    }
  }
}

function findEnd(history: SpotReads, filter: SpotFilter): SpotPosition {
  const seen = history.lastSpotId()
  const [last] = history.spot({ ...filter, order: 'desc', limit: 1 })
  return { timestampMs: last?.timestampMs ?? 0, id: last?.id ?? 0, seen }
}

/** The last price of each series, before `toMs` if that is set. */
export function latestTicks(
  history: Pick<SpotReads, 'spot'>,
  filter: SpotFilter & { toMs?: number | undefined },
): StoredTick[] {
  const latest = new Map<string, StoredTick>()
  for (const tick of history.spot({ ...filter, order: 'desc', limit: LATEST_TICKS })) {
    const series = seriesOf(tick)
    if (!latest.has(series)) latest.set(series, tick)
  }
  return [...latest.values()].reverse()
}
