import { release } from '#src/lib/release.ts'
import type { Encoding } from '#src/store/history.ts'

import { type Progress, queriesOf, type Source } from './source.ts'

/** Snapshots as lines of JSON, the same objects as on a page. With gzip nothing is compressed: stored bits are joined. A piece is gone when the next is asked for. */
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
