/**
 * A market as if some of its rows had never been recorded: `knownAt` leaves out rows that came later,
 * and filters leave out rows that do not match. The market itself stays as it is: its facts, its
 * gaps, the times of its first and last row.
 */

import type { RowPredicate } from '#src/domain/lists.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTrade, TradeQuery } from '#src/domain/trade.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'

import type { MarketHistory, Page, RowQuery, RowRange, StoredRow, Top } from '../history.ts'

/** Rows that one step examines: a millisecond of work. */
export const BLOCK = 2000
/** Rows whose texts are read at once. */
const TEXTS = 100
/** The factor by which more trades are read if too few of them match. */
const GROWTH = 4

type RowsLeft = Pick<RowPredicate, 'isState'> & {
  /** All trades match when absent. */
  isTrade?: RowPredicate['isTrade']
  /** No state at or after this time matches, so none is read. */
  endMs?: number
}

/**
 * A history whose verbs leave out other rows; `withSteps` finds its pages with a step. A verb looks
 * at all rows up to the last that it returns, without a pause. Streams of rows (`lines`, `runs`,
 * `events`) are of all rows.
 */
export function withRows(
  history: MarketHistory,
  { isState, isTrade, endMs }: RowsLeft,
): MarketHistory {
  const scanner = createSnapshotScanner()
  const clamp = <Query extends RowRange>(query: Query): Query =>
    endMs === undefined ? query : { ...query, toMs: Math.min(query.toMs ?? endMs, endMs) }

  /**
   * A read goes on after rows that are left out, block after block: of each the next block is
   * fetched, up to where the read ends.
   */
  function fetchOne(range: RowRange): Promise<void> | undefined {
    const query = clamp(range)
    const { limit = Number.POSITIVE_INFINITY } = query
    let { after } = query
    for (let count = 0; count <= limit;) {
      const block = { ...query, stepMs: undefined, after, limit: BLOCK, withTops: true }
      const coming = history.fetch([block])
      if (coming !== undefined) return coming
      const places = history.tops(block)
      if (places.length < BLOCK) break
      count += places.filter(isState).length
      after = places.at(-1)
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
    const query = clamp(asked)
    const found: Top[] = []
    let { after } = query
    for (;;) {
      const block = history.tops({ ...query, after, limit: BLOCK })
      found.push(...block.filter(isState))
      if (found.length >= query.limit || block.length < BLOCK) return found.slice(0, query.limit)
      after = block.at(-1)
    }
  }

  /** The rows that are left, with their places. */
  function* rowsOf(query: RowQuery) {
    let { after } = query
    for (;;) {
      const part = { ...query, after, limit: TEXTS }
      const places = history.tops(part)
      const { received, texts } = history.page(part)
      let at = 0
      for (const text of texts()) {
        const place = places[at]
        const receivedMs = received[at++]
        if (place !== undefined && isState(place)) yield { place, text: text.slice(), receivedMs }
      }
      if (places.length < TEXTS) return
      after = places.at(-1)
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

  const verbs: Pick<MarketHistory, 'fetch' | 'tops' | 'page' | 'at' | 'latest'> = {
    fetch,
    tops,
    page,
    at: ({ market, outcome, timestampMs }) => findLast({ market, outcome, toMs: timestampMs + 1 }),
    latest: ({ market, outcome }) => findLast({ market, outcome, toMs: undefined }),
  }
  const trades = isTrade === undefined ? history.trades : createTradesLeft(history, isTrade)
  return { ...history, ...verbs, trades, leavesOutRows: true }
}

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
