/** Many rows at once: as lines, and as snapshots. */
import type { StoredSnapshot } from '#src/core/snapshot.ts'

import { GzipLines } from '../codec/gzip-lines.ts'
import { LineEncoder } from '../codec/line-encoder.ts'
import { PlainLines } from '../codec/plain-lines.ts'
import { RowReader } from '../codec/row-reader.ts'
import type { Encoding, LinePiece, LineStream, StreamQuery } from '../history.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import { BulkWalk } from './bulk-chunks.ts'
import type { ReadMarket } from './market-read.ts'
import type { PageSlice } from './page.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import type { MarketView } from './views.ts'

type Tables = { chunks: ChunkTable; reader: SnapshotReader }

/** Makes the verbs that read very much. */
export function createBulkReaders({ chunks, reader }: Tables, read: ReadMarket) {
  // Shared by all streams: no text outlives the step that reads it.
  const rows = new RowReader()

  function* pieces(encoder: LineEncoder, query: StreamQuery): Generator<LinePiece> {
    const walk = new BulkWalk(chunks, query)
    for (let isMore = true; isMore;) {
      encoder.begin()
      read(query.market, (view) => fill(encoder, walk, view))
      isMore = encoder.isFull
      const { rowCount, last } = encoder
      if (last !== undefined) yield { bytes: encoder.take(), rows: rowCount, last }
    }
  }

  function toSnapshots(
    { chunk, ref, from, to, outcome }: PageSlice,
    { tail }: MarketView,
  ): StoredSnapshot[] {
    const besideOf = ref === undefined ? tail?.beside : chunks.loadBeside(ref, chunk)
    const found: StoredSnapshot[] = []
    rows.forEach(chunk, (text, row) => {
      if (row < from || row >= to || (outcome ?? chunk.outcome(row)) !== chunk.outcome(row)) return
      found.push(reader.scan(text, besideOf?.(row, chunk.timeMs(row)) ?? {}))
    })
    return found
  }

  function* runs(query: StreamQuery): Generator<readonly StoredSnapshot[]> {
    const walk = new BulkWalk(chunks, query)
    for (;;) {
      const run = read(query.market, (view) => {
        const slice = walk.find(view)
        return slice && toSnapshots(slice, view)
      })
      const last = run?.at(-1)
      if (run === undefined || last === undefined) return
      walk.goBehind(last)
      yield run
    }
  }

  return {
    runs,

    lines(encoding: Encoding): LineStream {
      const encoder = new LineEncoder(
        encoding === 'gzip' ? new GzipLines(rows) : new PlainLines(rows),
      )
      return {
        rows: (query) => pieces(encoder, query),
        end: () => encoder.end(),
        get textBytes() {
          return encoder.textBytes
        },
        get textCrc() {
          return encoder.textCrc
        },
      }
    },
  }
}

/** Fills a piece from slice after slice, as far as they go. */
function fill(encoder: LineEncoder, walk: BulkWalk, view: MarketView): void {
  while (!encoder.isFull) {
    const slice = walk.find(view)
    if (slice === undefined) return
    encoder.add(slice)
    if (encoder.last !== undefined) walk.goBehind(encoder.last)
  }
}
