/** Fetches the archived parts of chunks that a read needs. */
import type { ChunkKind } from '#src/database/stores.ts'

import type { MarketHistory, RowRange } from '../history.ts'
import type { ArchivedPart } from '../tables/chunk-fetch.ts'
import type { ChunkRef } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { MarketView, Views } from './market-read.ts'
import { findPosition } from './pages.ts'
import { chunksById, chunksOf } from './selection.ts'

/** Most reads continue where the last one ended, so the next pages are fetched too. */
const AHEAD_PAGES = 10
const AHEAD_ROWS_MAX = 1000
/** Rounds after which the read itself reports missing parts: more is evicted than fetched. */
const ROUNDS_MAX = 4

export function createReady(
  { chunks, elsewhere }: Pick<Tables, 'chunks' | 'elsewhere'>,
  views: Views,
): MarketHistory['ready'] {
  function kindsOf({ withTops, withReceived }: RowRange): ChunkKind[] {
    const kinds: ChunkKind[] = ['rows']
    if (withTops) kinds.push('tops')
    if (withReceived) kinds.push('hashes', 'notes')
    return kinds
  }

  function lackingOf(refs: Iterable<ChunkRef>, kinds: readonly ChunkKind[]): ArchivedPart[] {
    const lacking: ArchivedPart[] = []
    for (const ref of refs) {
      for (const kind of kinds) {
        if (kind === 'rows' && chunks.isKept(ref)) continue
        const part = chunks.lackingPart(kind, ref)
        if (part !== undefined) lacking.push(part)
      }
    }
    return lacking
  }

  /** Undefined if the market cannot be read: the following read throws the reason. */
  function viewOf({ market }: RowRange): MarketView | undefined {
    try {
      return views.find(market.conditionId)
    } catch {
      return undefined
    }
  }

  function lackingById(view: MarketView, id: number): ArchivedPart[] {
    const { likely, others } = chunksById(view.refs, id)
    const lacking = lackingOf(likely, ['rows'])
    if (lacking.length > 0) return lacking
    const known = { ...view, refs: likely }
    return findPosition(known, chunks, id) === undefined ? lackingOf(others, ['rows']) : []
  }

  function lackingIn(range: RowRange): ArchivedPart[] {
    const view = viewOf(range)
    if (view === undefined) return []
    if (range.id !== undefined) return lackingById(view, range.id)
    const lacking = lackingOf(chunksOf(view, range), kindsOf(range))
    if (lacking.length === 0 || range.limit === undefined || range.stepMs !== undefined)
      return lacking
    const limit = range.limit + Math.min(AHEAD_ROWS_MAX, AHEAD_PAGES * range.limit)
    return lackingOf(chunksOf(view, { ...range, limit }), kindsOf(range))
  }

  async function fetchAll(ranges: readonly RowRange[], first: ArchivedPart[]): Promise<void> {
    let lacking = first
    for (let round = 0; lacking.length > 0 && round < ROUNDS_MAX; round++) {
      await elsewhere.fetch(lacking)
      lacking = ranges.flatMap(lackingIn)
    }
  }

  return (ranges) => {
    if (!elsewhere.mayLack()) return undefined
    const all = [...ranges]
    const lacking = all.flatMap(lackingIn)
    if (lacking.length === 0) return undefined
    const coming = fetchAll(all, lacking)
    // The caller may ignore the promise: its next call reports the fault.
    coming.catch(() => {})
    return coming
  }
}
