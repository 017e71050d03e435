/** Best bid and ask of rows, from the compact columns alone: no book is opened. */
import type { ChunkTable } from './chunk-table.ts'
import { type Chunk, outcomeCodes } from './codec/chunk.ts'
import type { Slice } from './codec/page-encoder.ts'
import { decodeTops, type TopOfBook } from './codec/tops.ts'
import type { RowQuery, Top } from './history.ts'
import { findRef, select } from './page.ts'
import type { MarketView } from './views.ts'

/** Lists the tops of the rows of a query, in its order. */
export function listTops(view: MarketView, chunks: ChunkTable, query: RowQuery): Top[] {
  const { slices } = select(view, chunks, query)
  const tops = slices.flatMap((slice) => toTops(slice, load(view, chunks, slice.chunk)))
  return query.order === 'asc' ? tops : tops.reverse()
}

function load({ refs, tail }: MarketView, chunks: ChunkTable, chunk: Chunk): TopOfBook[] {
  if (chunk === tail?.chunk) return tail.tops
  const ref = refs[findRef(refs, { timestampMs: chunk.timeMs(0), id: chunk.id(0) })]
  const outcomes = Array.from({ length: chunk.count }, (_, row) => chunk.outcome(row))
  return ref === undefined ? [] : decodeTops(chunks.loadTops(ref.id), outcomes)
}

function toTops({ chunk, from, to, outcome }: Slice, tops: readonly TopOfBook[]): Top[] {
  const found: Top[] = []
  for (let row = from; row < to; row++) {
    const code = chunk.outcome(row)
    if (outcome !== undefined && code !== outcome) continue
    const [bidPrice = 0, bidSize = 0, askPrice = 0, askSize = 0] = tops[row] ?? []
    found.push({
      timestampMs: chunk.timeMs(row),
      id: chunk.id(row),
      outcome: code === outcomeCodes.up ? 'up' : 'down',
      ...{ bidPrice, bidSize, askPrice, askSize },
    })
  }
  return found
}
