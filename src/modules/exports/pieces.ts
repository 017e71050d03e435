/** The bytes of an export that is not sent as it is stored, piece by piece. */
import type { Format } from './model.ts'
import { parquetPieces } from './parquet.ts'
import type { Progress, Rows, Shape, Source } from './rows.ts'
import { csvPieces, memberPieces } from './text.ts'

export type Job = { format: Format; shape: Shape; rows: Rows }

/** A piece is its reader's. Those that are empty end a step, at which others have their turn. */
export function makePieces(
  history: Source['history'],
  { format, shape, rows }: Job,
  progress: Progress,
): Generator<Uint8Array> {
  const source = { ...rows, history }
  if (format === 'ndjson') return memberPieces(source, progress, shape)
  return (format === 'csv' ? csvPieces : parquetPieces)(source, progress, shape)
}
