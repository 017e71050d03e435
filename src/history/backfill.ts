/** Brings the history file of an older version up to date. */

import { checksumOf } from '#src/database/checksum.ts'
import { transact } from '#src/database/database.ts'
import { silenceMs } from '#src/domain/coverage.ts'
import { ifSound } from '#src/domain/errors.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { naming } from './reads/market-read.ts'
import { type ChunkRef, sealBlobs } from './tables/chunk-table.ts'
import { type StoredMarket, toMarket } from './tables/market-table.ts'
import type { Tables } from './tables/tables.ts'
import { attempt, createChunkVerify, newTally, type Tally } from './verify.ts'
import type { Coverage } from './writes/coverage.ts'

type Changed = Tables & { coverage: Coverage }

/**
 * Brings the markets of an older file up to date, once, each in transactions of its own, so that a
 * process that was killed continues where it was. A market may be done twice: it stays as it is.
 */
export function backfill(tables: Changed): void {
  const { db, meta, markets } = tables
  const seal = createSealing(tables)
  for (const id of markets.unsealedIds()) tryMarket(() => transact(db, () => seal(id)))
  const after = meta.coverageDueAfter()
  if (after === undefined) return
  for (const id of markets.ids().filter((each) => each > after)) {
    tryMarket(() => transact(db, () => derive(tables, id)))
    transact(db, () => meta.deferCoverage(id))
  }
  transact(db, meta.settleCoverage)
}

/** What cannot be read stays without a checksum, and so is never served; all else is. */
const tryMarket = (work: () => void): void => ifSound(() => naming('A market', work))

/** Why nothing was recorded is not known where nobody said it; a simulated venue was silent. */
function derive(tables: Changed, id: number): void {
  const { markets, coverage, gaps } = tables
  const market = markets.findById(id)
  if (market?.firstSnapshotMs === undefined) return
  noteVerdicts(tables, id)
  const sum = gaps.sum(id)
  const reason = market.source === 'simulated' ? 'venue_silent' : 'import'
  const derived = coverage.derive(market, reason)
  if (gaps.sum(id) !== sum || !Bun.deepEquals(derived, market)) markets.update(derived)
}

/** The one place that changes a chunk: nothing that was read of its rows is wrong afterwards. */
function noteVerdicts({ chunks, tails, snapshots }: Tables, marketId: number): void {
  const verifier = homeVenue.createBookVerifier()
  const verify = (row: StoredSnapshot): StoredSnapshot => ({
    ...row,
    isVerified: verifier.verify(row),
  })
  for (const ref of chunks.listRefs(marketId)) {
    if (chunks.readBlob('hashes', ref).length > 0)
      chunks.putNotes(ref, snapshots.ofChunk(ref).map(verify))
  }
  const tail = tails.read(marketId)
  if (tail !== undefined) tails.putNotes(marketId, snapshots.ofTail(tail).map(verify))
}

/** Gives a market of 0.4.0 or older its checksums, but for what does not agree with itself. */
function createSealing(tables: Tables) {
  const { markets, chunks, gaps, tails, trades } = tables
  const verifyChunk = createChunkVerify(tables)

  /** Seals a chunk, unless its rows, tops and hashes do not agree. */
  function sealChunk(ref: ChunkRef, market: StoredMarket, tally: Tally): void {
    const blobs = chunks.findBlobs(ref.id)
    if (blobs === undefined) return
    const { hashes } = blobs
    chunks.putBlobs(ref.id, sealBlobs(ref, { ...blobs, hashes: hashes.subarray(0, -4) }))
    const faults = attempt(() => verifyChunk(ref, market, tally))
    if (!areHashesSound(hashes) || faults.length > 0) chunks.putBlobs(ref.id, blobs)
  }

  return (id: number): void => {
    const row = markets.findUnsealed(id)
    // Another process may have been faster.
    if (row === undefined) return
    const market = toMarket({ ...row, checksum: checksumOf(row) })
    const tally = newTally(silenceMs(market.timeframe))
    for (const ref of chunks.listRefs(id)) sealChunk(ref, market, tally)
    tails.sealAll(id)
    trades.sealAll(id)
    markets.putSums({ id, tradeSum: trades.sum(id), gapSum: gaps.sum(id) })
  }
}

/** Hashes had a checksum of their own before. */
const areHashesSound = (hashes: Uint8Array): boolean =>
  hashes.length >= 4 &&
  crc32(hashes.subarray(0, -4)) ===
    new DataView(hashes.buffer, hashes.byteOffset).getUint32(hashes.length - 4, true)
