import { outcomeCodes } from '../codec/chunk.ts'
import { TOP_FIELDS } from '../codec/tops.ts'
import type { RowQuery, Top } from '../history.ts'
/** Best bid and ask of rows, from the compact columns alone: no book is opened. */
import type { ChunkTable } from '../tables/chunk-table.ts'
import { listReceived } from '../tables/stored-row.ts'
import { type PageSlice, select } from './page.ts'
import type { MarketView } from './views.ts'

/** Lists the tops of the rows of a query, in its order. */
export function listTops(view: MarketView, chunks: ChunkTable, query: RowQuery): Top[] {
  const tops: Top[] = []
  const { slices } = select(view, chunks, query)
  for (const slice of slices) {
    const { chunk, ref } = slice
    const columns = ref === undefined ? view.tail?.tops : chunks.loadTops(ref, chunk)
    if (columns !== undefined) addTops(tops, slice, columns)
  }
  if (query.withReceived) {
    for (const [row, receivedMs] of listReceived(view, chunks, slices).entries()) {
      Object.assign(tops[row] ?? {}, { receivedMs })
    }
  }
  return query.order === 'asc' ? tops : tops.reverse()
}

/** Whole markets go through here: one object a row and nothing else. */
function addTops(
  tops: Top[],
  { chunk, from, to, outcome }: PageSlice,
  columns: Float64Array,
): void {
  for (let row = from; row < to; row++) {
    const code = chunk.outcome(row)
    if (outcome !== undefined && code !== outcome) continue
    const at = row * TOP_FIELDS
    tops.push({
      timestampMs: chunk.timeMs(row),
      id: chunk.id(row),
      outcome: code === outcomeCodes.up ? 'up' : 'down',
      bidPrice: columns[at] ?? 0,
      bidSize: columns[at + 1] ?? 0,
      askPrice: columns[at + 2] ?? 0,
      askSize: columns[at + 3] ?? 0,
    })
  }
}
