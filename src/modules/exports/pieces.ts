/** The bytes of an export, piece by piece. */
import type { Encoding } from '#src/history/history.ts'

import type { Format } from './model.ts'
import { parquetPieces } from './parquet.ts'
import type { Progress, Rows, Shape, Source } from './rows.ts'
import { csvPieces, memberPieces, ndjsonPieces } from './text.ts'

/** Only what is stored is there in another encoding. */
export type Job = { format: Format; shape: Shape; rows: Rows; encoding?: Encoding }

/** Sent as it is stored, which is compressed. */
export const isStored = ({ format, shape }: Pick<Job, 'format' | 'shape'>): boolean =>
  format === 'ndjson' && shape.withReceived === undefined && shape.withSource === undefined

/** A piece is its reader's. Those that are empty end a step, at which others have their turn. */
export function makePieces(
  history: Source['history'],
  job: Job,
  progress: Progress,
): Generator<Uint8Array> {
  const { format, shape, rows, encoding = 'identity' } = job
  const source = { ...rows, history }
  if (isStored(job)) return ndjsonPieces(source, progress, encoding)
  if (format === 'ndjson') return memberPieces(source, progress, shape)
  return (format === 'csv' ? csvPieces : parquetPieces)(source, progress, shape)
}
