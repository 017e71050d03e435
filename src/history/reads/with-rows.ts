/**
 * A market as if some of its rows had never been recorded: `knownAt` leaves out rows that came later,
 * and filters leave out rows that do not match. The market itself stays as it is: its facts, its
 * gaps, the times of its first and last row.
 */

import type { RowPredicate } from '#src/domain/lists.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import type { StoredTrade, TradeQuery } from '#src/domain/trade.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { MarketHistory, Page, RowQuery, RowRange, StoredRow, Top } from '../history.ts'
import { fetched } from './fetched.ts'

/** Rows that one step examines: a millisecond of work. */
export const BLOCK = 2000
/** Rows whose texts are read at once. */
const TEXTS = 100
/** Rows of the first block, beside as many as a verb returns: most are left. */
const FIRST_ROWS = 24
/** Places, and blocks, that are remembered. */
const KEPT_MAX = 20_000
/** The factor by which more trades are read if too few of them match. */
const GROWTH = 4

type RowsLeft = Pick<RowPredicate, 'isState'> & {
  /** All trades match when absent. */
  isTrade?: RowPredicate['isTrade']
  /** No state at or after this time matches, so none is read. */
  endMs?: number
}

/** Rows of a range that follow each other, of which some are left. */
type Block = {
  after: Position | undefined
  /** Undefined where the range ends. */
  last: Position | undefined
  left: readonly Top[]
  /** All of them; empty where none is left. */
  rows: readonly Top[]
  /** Of the market when it was read. */
  revision: number | undefined
}

/**
 * A history whose verbs leave out other rows; `withSteps` finds its pages with a step. A verb looks
 * at all rows up to the last that it returns: `prepare` does so in steps before, and what it found
 * is remembered. Streams of rows (`lines`, `runs`, `events`) are of all rows.
 */
export function withRows(
  history: MarketHistory,
  { isState, isTrade, endMs }: RowsLeft,
): MarketHistory {
  const scanner = createSnapshotScanner()
  /** By range. */
  const known = new Map<string, Block[]>()
  let kept = 0
  const clamp = <Query extends RowRange>(query: Query): Query =>
    endMs === undefined ? query : { ...query, toMs: Math.min(query.toMs ?? endMs, endMs) }
  const rangeOf = ({ market, outcome, order, fromMs, toMs }: RowRange): string =>
    [market.conditionId, outcome, order, order === 'asc' ? toMs : fromMs].join(' ')
  const revisionOf = ({ market }: RowRange) => history.findMarket(market.conditionId)?.revision

  /**
   * What follows a place, as far as it is known. A row that came meanwhile is in no block without
   * rows that are left; another block is read again once the market has changed.
   */
  function findKnown(
    query: RowRange,
    after: Position | undefined,
    revision: number | undefined,
  ): Block | undefined {
    const blocks = known.get(rangeOf(query))
    if (blocks === undefined) return undefined
    const isAhead = aheadIn(query)
    const holds = (block: Block): boolean => {
      if (after === undefined) return block.after === undefined
      if (block.after !== undefined && isAhead(block.after, after)) return false
      return block.last === undefined || isAhead(block.last, after)
    }
    const block = blocks.find(holds)
    if (block === undefined) return undefined
    const isLasting = block.left.length === 0 && block.last !== undefined
    if (!isLasting && block.revision !== revision) return undefined
    if (block.after === after || after === undefined) return block
    const isLater = (place: Position): boolean => isAhead(place, after)
    return { ...block, after, left: block.left.filter(isLater), rows: block.rows.filter(isLater) }
  }

  function readBlock(
    query: RowRange,
    place: { after: Position | undefined; size: number; revision: number | undefined },
  ): Block {
    const { after, size, revision } = place
    const found = findKnown(query, after, revision)
    if (found !== undefined) return found
    const rows = history.tops({ ...query, stepMs: undefined, after, limit: size })
    const last = rows.length < size ? undefined : rows.at(-1)
    const left = rows.filter(isState)
    const block = { after, last, left, rows: left.length === 0 ? [] : rows, revision }
    if (kept > KEPT_MAX) {
      known.clear()
      kept = 0
    }
    kept += 1 + block.rows.length
    const range = rangeOf(query)
    const blocks = known.get(range)
    if (blocks === undefined) known.set(range, [block])
    else blocks.unshift(block)
    return block
  }

  /** All blocks of a range, as long as they are asked for. */
  function* blocksOf(query: RowRange): Generator<Block> {
    const revision = revisionOf(query)
    let after = startOf(query)
    let size = firstSize(query)
    for (;;) {
      const block = readBlock(query, { after, size, revision })
      yield block
      if (block.last === undefined) return
      after = block.last
      size = nextSize(size, block)
    }
  }

  /** Reads blocks, with a pause after each, up to those that hold what a verb returns. */
  function* prepare(ranges: readonly RowRange[]): Steps<void> {
    // Of several moments the latest first: what it finds may answer those before.
    const latestFirst = ranges.map(clamp).sort((a, b) => (b.toMs ?? 0) - (a.toMs ?? 0))
    for (const query of latestFirst) {
      const { limit = Number.POSITIVE_INFINITY } = query
      let after = startOf(query)
      let size = firstSize(query)
      let revision = revisionOf(query)
      for (let count = 0; count <= limit;) {
        const isKnown = findKnown(query, after, revision) !== undefined
        if (!isKnown && !history.isWhole()) {
          yield* fetched(history, blockRange(query, after, size))
          revision = revisionOf(query)
        }
        const block = readBlock(query, { after, size, revision })
        count += block.left.length
        if (block.last === undefined || count > limit) break
        after = block.last
        size = nextSize(size, block)
        if (isKnown) continue
        yield
        revision = revisionOf(query)
      }
    }
  }

  /**
   * A read goes on after rows that are left out, block after block: of each the next block is
   * fetched, up to where the read ends.
   */
  function fetchOne(range: RowRange): Promise<void> | undefined {
    const query = clamp(range)
    const { limit = Number.POSITIVE_INFINITY } = query
    const revision = revisionOf(query)
    let after = startOf(query)
    let size = firstSize(query)
    for (let count = 0; count <= limit;) {
      if (findKnown(query, after, revision)?.left.length !== 0) {
        const coming = history.fetch([blockRange(query, after, size)])
        if (coming !== undefined) return coming
      }
      const block = readBlock(query, { after, size, revision })
      if (block.last === undefined) break
      count += block.left.length
      after = block.last
      size = nextSize(size, block)
    }
    return undefined
  }

  function fetch(ranges: readonly RowRange[]): Promise<void> | undefined {
    if (history.isWhole()) return undefined
    const coming = ranges.flatMap((range) => fetchOne(range) ?? [])
    if (coming.length === 0) return undefined
    const all = Promise.all(coming).then(() => undefined)
    // As of `MarketHistory.fetch`, a caller need not wait for it.
    all.catch(() => {})
    return all
  }

  function tops(asked: RowQuery): Top[] {
    const found: Top[] = []
    for (const { left } of blocksOf(clamp(asked))) {
      found.push(...left)
      if (found.length >= asked.limit) break
    }
    return found.slice(0, asked.limit)
  }

  /** The rows that are left, with their places. */
  function* rowsOf(query: RowQuery) {
    const isAhead = aheadIn(query)
    /** What was read last. */
    let done: Position | undefined
    for (const { left, rows } of blocksOf(query)) {
      for (const next of left) {
        if (done !== undefined && !isAhead(next, done)) continue
        const from = rows.indexOf(next)
        const places = rows.slice(from, from + TEXTS)
        const part = { ...query, after: placeBefore(query, next), limit: places.length }
        const lastAt = places.findLastIndex(isState)
        const { received, texts } = history.page(part)
        let at = 0
        for (const text of texts()) {
          const place = places[at]
          const receivedMs = received[at]
          if (place !== undefined && isState(place)) yield { place, text: text.slice(), receivedMs }
          if (at++ >= lastAt) break
        }
        done = places.at(-1) ?? next
      }
    }
  }

  function page(query: RowQuery): Page {
    if (query.stepMs !== undefined) throw new Error('`withSteps` finds the steps of these rows.')
    const found = [...rowsOf(clamp(query)).take(query.limit + 1)]
    const rows = found.slice(0, query.limit)
    return toPage(query, {
      rows,
      last: rows.at(-1)?.place,
      hasMore: found.length > rows.length,
    })
  }

  function findLast(query: Pick<RowQuery, 'market' | 'outcome' | 'toMs'>): StoredRow | undefined {
    const [found] = tops({ ...query, order: 'desc', limit: 1 })
    if (found === undefined) return undefined
    const { market } = query
    const after = { timestampMs: found.timestampMs, id: found.id - 1 }
    const read = (withReceived: boolean): Page =>
      history.page({ market, order: 'asc', after, limit: 1, withReceived })
    const text = (): Uint8Array => firstOf(read(false).texts())
    return {
      timestampMs: found.timestampMs,
      id: found.id,
      text,
      snapshot() {
        const bytes = text()
        const { id, ...snapshot } = scanner.scan(bytes, 0, bytes.length)
        return { ...snapshot, id: Number(id) }
      },
      receivedMs: () => read(true).received[0],
    }
  }

  const verbs: Pick<MarketHistory, 'fetch' | 'prepare' | 'tops' | 'page' | 'at' | 'latest'> = {
    fetch,
    prepare,
    tops,
    page,
    at: ({ market, outcome, timestampMs }) => findLast({ market, outcome, toMs: timestampMs + 1 }),
    latest: ({ market, outcome }) => findLast({ market, outcome, toMs: undefined }),
  }
  const trades = isTrade === undefined ? history.trades : createTradesLeft(history, isTrade)
  return { ...history, ...verbs, trades, leavesOutRows: true }
}

/** What a block needs to be here. */
const blockRange = (query: RowRange, after: Position | undefined, size: number): RowRange => ({
  ...query,
  stepMs: undefined,
  after,
  limit: size,
  withTops: true,
})

const firstSize = ({ limit = BLOCK }: RowRange): number => Math.min(BLOCK, FIRST_ROWS + limit)

/** Larger where few rows were left. */
const nextSize = (size: number, { left }: Pick<Block, 'left'>): number =>
  left.length * 2 > size ? size : Math.min(BLOCK, 4 * size)

/** Whether a place comes after another in the order of a range. */
const aheadIn =
  ({ order }: RowRange) =>
  (place: Position, other: Position): boolean =>
    comparePositions(place, other) * (order === 'asc' ? 1 : -1) > 0

/** What a range begins after: of its place and its first moment the one that leaves less. */
function startOf(query: RowRange): Position | undefined {
  const { after, fromMs, toMs, order } = query
  const nearMs = order === 'asc' ? fromMs : toMs
  if (nearMs === undefined) return after
  const near = { timestampMs: nearMs, id: -1 }
  return after !== undefined && aheadIn(query)(after, near) ? after : near
}

/** What a range begins after whose first row is at a place. */
const placeBefore = ({ order }: RowRange, { timestampMs, id }: Position): Position => ({
  timestampMs,
  id: order === 'asc' ? id - 1 : id + 1,
})

function createTradesLeft(
  history: Pick<MarketHistory, 'trades'>,
  isTrade: RowPredicate['isTrade'],
): MarketHistory['trades'] {
  return (query: TradeQuery): StoredTrade[] => {
    const { first, last } = query
    const wanted = first ?? last ?? Number.POSITIVE_INFINITY
    for (let count = wanted; ; count *= GROWTH) {
      const size = first === undefined ? { last: last && count } : { first: count }
      const block = history.trades({ ...query, ...size })
      const left = block.filter(isTrade)
      if (left.length >= wanted || block.length < count)
        return last === undefined ? left : left.slice(-last)
    }
  }
}

export function firstOf(texts: Iterable<Uint8Array>): Uint8Array {
  for (const text of texts) return text.slice()
  throw new Error('A row that was found is there.')
}

type Rows = {
  rows: readonly { text: Uint8Array; receivedMs: number | undefined }[]
  last: Position | undefined
  hasMore: boolean
}

export function toPage({ market, withReceived }: RowQuery, { rows, last, hasMore }: Rows): Page {
  const joined = (prefix: string, suffix: string) =>
    Buffer.concat([
      Buffer.from(prefix),
      ...rows.flatMap(({ text }, at) => (at === 0 ? [text] : [Buffer.from(','), text])),
      Buffer.from(suffix),
    ])
  return {
    revision: market.revision,
    count: rows.length,
    last,
    hasMore,
    received: withReceived ? rows.map(({ receivedMs }) => receivedMs) : [],
    encode: (encoding, prefix, suffix) => {
      const bytes = new Uint8Array(joined(prefix, suffix))
      return encoding === 'gzip' ? Bun.gzipSync(bytes) : bytes
    },
    texts: () => rows.map(({ text }) => text),
  }
}
