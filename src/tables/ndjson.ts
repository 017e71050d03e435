/** Snapshots as NDJSON: the stored lines, or lines with further members at the end. */

import { snapshotFields } from '#src/domain/snapshot.ts'
import { createRowCut } from '#src/domain/wire/row-cut.ts'
import {
  type Encoding,
  type MarketHistory,
  PIECE_ROWS,
  type StreamQuery,
} from '#src/history/history.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'

/** Number of snapshots per piece: a few milliseconds of work. */
const PIECE_SNAPSHOTS = 100
const PIECE_BYTES = 524_288

/** Pieces of a file. Each is its reader's. */
export type Pieces = AsyncGenerator<Uint8Array, void, undefined>

/** Counts the snapshots of the pieces that were yielded. */
export type Progress = { snapshots: number }

/** With gzip nothing is compressed: the stored bits are joined. */
export async function* storedLines(
  history: Pick<MarketHistory, 'ready' | 'lines'>,
  queries: Iterable<StreamQuery>,
  progress: Progress,
  encoding: Encoding,
): Pieces {
  const lines = history.lines(encoding)
  for (const query of queries) {
    const pieces = lines.rows(query)
    for (let { after } = query; ;) {
      await history.ready([{ ...query, after, order: 'asc', limit: PIECE_ROWS }])
      const { done, value } = pieces.next()
      if (done) break
      after = value.last
      progress.snapshots += value.rows
      // Copied, because the store overwrites the piece with the next one.
      yield value.bytes.slice()
    }
  }
  const end = lines.end()
  if (end.length > 0) yield end.slice()
}

/** Rows with further members after the stored ones. */
export async function* linesWithMembers(
  history: Pick<MarketHistory, 'ready' | 'page'>,
  queries: Iterable<StreamQuery>,
  progress: Progress,
  { withReceived, withSource }: { withReceived: boolean; withSource: boolean },
): Pieces {
  const fields = withReceived ? new Set([...snapshotFields, 'receivedAt'] as const) : undefined
  const cutRow = createRowCut({ depth: undefined, fields })
  for (const query of queries) {
    const end = withSource ? `,"source":"${query.market.source}"}\n` : '}\n'
    const rows = { ...query, order: 'asc', limit: PIECE_SNAPSHOTS, withReceived: true } as const
    let { after } = query
    for (let hasMore = true; hasMore;) {
      await history.ready([{ ...rows, after }])
      const page = history.page({ ...rows, after })
      const piece = new ByteWriter(PIECE_BYTES)
      let row = 0
      for (const text of page.texts()) {
        piece.bytes(cutRow(text, page.received[row++]).subarray(0, -1))
        piece.text(end)
      }
      after = page.last
      hasMore = page.hasMore
      progress.snapshots += page.count
      yield piece.view()
    }
  }
}
