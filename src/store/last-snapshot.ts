/** Single snapshots: the last of one outcome before a moment. */
import type { Outcome } from '#src/core/market.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'

import type { ChunkTable } from './chunk-table.ts'
import { readHash } from './codec/hashes.ts'
import { findRef, select } from './page.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import type { MarketView } from './views.ts'

type Tables = { chunks: ChunkTable; reader: SnapshotReader }
/** `toMs` is exclusive; undefined for the end of what is held. */
type Moment = { outcome: Outcome; toMs: number | undefined }

/** Finds the last row of an outcome before a moment. */
export function findLastSnapshot(
  view: MarketView,
  { chunks, reader }: Tables,
  { outcome, toMs }: Moment,
): StoredSnapshot | undefined {
  const query = { market: view.market, outcome, toMs, order: 'desc', limit: 1 } as const
  const { slices, last } = select(view, chunks, query)
  const chunk = slices[0]?.chunk
  if (chunk === undefined || last === undefined) return undefined
  const row = chunk.seek(last.timestampMs, last.id)
  if (chunk === view.tail?.chunk) return reader.readRow(chunk, row, view.tail.hashes[row])
  const ref = view.refs[findRef(view.refs, last)]
  const hashes = ref === undefined ? new Uint8Array(0) : chunks.loadHashes(ref.id)
  return reader.readRow(chunk, row, readHash(hashes, row))
}
