/** The bytes of an export, piece by piece. */
import type { Encoding } from '#src/history/history.ts'

import { parquetPieces } from './parquet.ts'
import type { Progress, Rows, Shape, Source } from './rows.ts'
import type { Format } from './schema.ts'
import { csvPieces, memberPieces, ndjsonPieces } from './text.ts'

export type Job = {
  format: Format
  shape: Shape
  rows: Rows
  /** Of what is sent as it is stored. */
  encoding?: Encoding | undefined
}

/** A piece is its reader's. Those that are empty end a step, at which others have their turn. */
export function makePieces(
  history: Source['history'],
  { format, shape, rows, encoding }: Job,
  progress: Progress,
): Generator<Uint8Array> {
  const source = { ...rows, history }
  if (encoding !== undefined) return ndjsonPieces(source, progress, encoding)
  if (format === 'ndjson') return memberPieces(source, progress, shape)
  return (format === 'csv' ? csvPieces : parquetPieces)(source, progress, shape)
}
