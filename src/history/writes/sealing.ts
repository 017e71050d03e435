/**
 * Gives the markets of a file of 0.4.0 or older the checksums that are written with everything
 * since. What does not agree with itself gets none, so that it is found and never served.
 */
import { silenceMs } from '#src/core/coverage.ts'
import { crc32 } from '#src/lib/crc32.ts'
import { checksumOf } from '#src/sqlite/checksum.ts'

import { type ChunkRef, sealBlobs } from '../tables/chunk-table.ts'
import { type StoredMarket, toMarket } from '../tables/market-row.ts'
import type { Tables } from '../tables/tables.ts'
import { createChunkVerify, newTally, type Tally } from '../verify-run.ts'

/** Returns the function that seals one market, if it is not; it needs a transaction around it. */
export function createSealing(tables: Tables) {
  const { markets, chunks, gaps, tails, trades } = tables
  const verifyChunk = createChunkVerify(tables)

  function isSound(ref: ChunkRef, market: StoredMarket, tally: Tally): boolean {
    try {
      return verifyChunk(ref, market, tally).length === 0
    } catch {
      return false
    }
  }

  /** Seals a chunk, unless its rows, tops and hashes do not agree. */
  function sealChunk(ref: ChunkRef, market: StoredMarket, tally: Tally): void {
    const blobs = chunks.findBlobs(ref.id)
    if (blobs === undefined) return
    const { hashes } = blobs
    chunks.putBlobs(ref.id, sealBlobs(ref, { ...blobs, hashes: hashes.subarray(0, -4) }))
    if (!areHashesSound(hashes) || !isSound(ref, market, tally)) chunks.putBlobs(ref.id, blobs)
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
