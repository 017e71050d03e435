/** Pages of changes, whose books may be in the archive. */

import { outcomes } from '#src/domain/market.ts'

import type { ChangeRun, ChangesQuery, MarketHistory, RowRange } from '../history.ts'
import { NotReady } from './until-ready.ts'

export type ChangesRange = Omit<ChangesQuery, 'gaps'>

/** The rows that `changes` reads before the first row of its query: states that the reader may have. */
export function heldRanges({ market, outcome, after }: ChangesRange): RowRange[] {
  if (after?.other === undefined) return []
  const upTo = { timestampMs: after.timestampMs, id: after.id + 1 }
  return (outcome === undefined ? outcomes : [outcome]).map((each) => ({
    market,
    outcome: each,
    order: 'desc',
    after: upTo,
    limit: 1,
  }))
}

type Row = ChangeRun['rows'][number]

/** `texts` are JSON objects with commas between; a row's object is from `from` to `to`. */
export type ChangePage = { rows: Row[]; texts: Uint8Array; hasMore: boolean }

/** Reads a page, whose `texts` are valid until the next one is read. Throws `NotReady`. */
export function readChangePage(
  history: Pick<MarketHistory, 'changes' | 'gaps' | 'ready'>,
  { limit, ...range }: ChangesRange & { limit: number },
): ChangePage {
  const { market } = range
  const coming = history.ready([
    ...heldRanges(range),
    { ...range, order: 'asc', limit: limit + 1, withReceived: true },
  ])
  if (coming !== undefined) throw new NotReady(coming)
  const rows: Row[] = []
  let texts = new Uint8Array(0)
  const query = { ...range, gaps: history.gaps(market), limit: limit + 1 }
  for (const run of history.changes(query)) {
    rows.push(...run.rows)
    texts = run.texts
  }
  const hasMore = rows.length > limit
  if (hasMore) rows.pop()
  return { rows, texts: texts.subarray(0, rows.at(-1)?.to ?? 0), hasMore }
}
