import { snapshotFields } from '#src/core/snapshot.ts'
import type { Encoding } from '#src/history/history.ts'
import { ByteWriter } from '#src/lib/byte-writer.ts'
import { release } from '#src/lib/release.ts'
import { createRowCut } from '#src/wire/row-cut.ts'

import { type Progress, queriesOf, type Source } from './source.ts'

/**
 * Snapshots as lines of JSON, the same objects as on a page. With gzip nothing is compressed:
 * stored bits are joined. A piece is gone when the next is asked for.
 */
export function* ndjsonPieces(
  source: Source,
  progress: Progress,
  encoding: Encoding,
): Generator<Uint8Array> {
  const lines = source.history.lines(encoding)
  for (const query of queriesOf(source)) {
    for (const { bytes, rows } of lines.rows(query)) {
      progress.snapshots += rows
      // The store writes the next piece over this one.
      const piece = bytes.slice()
      yield piece
      // The next is asked for when this one was taken.
      release(piece)
    }
  }
  const end = lines.end()
  if (end.length > 0) yield end.slice()
}

/** Snapshots of a piece: a few milliseconds of work. */
const PIECE_SNAPSHOTS = 100
const PIECE_BYTES = 524_288

/** The same lines, each with its `receivedAt`: rows of pages, not compressed. */
export function* receivedPieces(source: Source, progress: Progress): Generator<Uint8Array> {
  const cutRow = createRowCut({
    depth: undefined,
    fields: new Set([...snapshotFields, 'receivedAt'] as const),
  })
  for (const query of queriesOf(source)) {
    const rows = { ...query, order: 'asc', limit: PIECE_SNAPSHOTS, withReceived: true } as const
    let { after } = query
    for (let hasMore = true; hasMore;) {
      const page = source.history.page({ ...rows, after })
      const piece = new ByteWriter(PIECE_BYTES)
      let row = 0
      for (const text of page.texts()) {
        piece.bytes(cutRow(text, page.received[row++]))
        piece.text('\n')
      }
      after = page.last
      hasMore = page.hasMore
      progress.snapshots += page.count
      yield piece.view()
    }
  }
}
