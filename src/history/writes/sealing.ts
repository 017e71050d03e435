/**
 * Gives the markets of a file of 0.4.0 or older the checksums that are written with everything since. What
 * does not agree with itself gets none, so that it is found and never served.
 */
import { silenceMs } from '#src/core/coverage.ts'
import { crc32 } from '#src/lib/crc32.ts'
import { checksumOf } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { SnapshotReader } from '../reads/snapshot-reader.ts'
import { type ChunkRef, type ChunkTable, sealBlobs } from '../tables/chunk-table.ts'
import type { GapTable } from '../tables/gap-table.ts'
import { type MarketRow, type StoredMarket, toMarket } from '../tables/market-row.ts'
import type { MarketTable } from '../tables/market-table.ts'
import type { TradeTable } from '../tables/trade-table.ts'
import { createChunkVerify, newTally, type Tally } from '../verify-run.ts'

export type SealingTables = {
  db: Database
  markets: MarketTable
  chunks: ChunkTable
  gaps: GapTable
  trades: TradeTable
  reader: SnapshotReader
}

type Row = Record<string, unknown> & { place: number }
type Blobs = { tops: Uint8Array; rows: Uint8Array; hashes: Uint8Array; notes: Uint8Array }

/** Returns the function that seals one market, if it is not; it needs a transaction around it. */
export function createSealing({ db, markets, chunks, gaps, trades, reader }: SealingTables) {
  const find = db.prepare<MarketRow, [number]>(
    'SELECT * FROM market WHERE id = ? AND checksum IS NULL',
  )
  const putSums = db.prepare('UPDATE market SET trade_sum = ?, gap_sum = ? WHERE id = ?')
  const sealers = [createRowSealer(db, 'tail'), createRowSealer(db, 'trade')]
  const sealChunk = createChunkSealer(db, createChunkVerify({ chunks, reader }))

  return (id: number): void => {
    const row = find.get(id)
    // Another process may have been faster.
    if (row === null) return
    const market = toMarket({ ...row, checksum: checksumOf(row) })
    const tally = newTally(silenceMs(market.timeframe))
    for (const ref of chunks.listRefs(id)) sealChunk(ref, market, tally)
    for (const sealRows of sealers) sealRows(id)
    putSums.run(trades.sum(id), gaps.sum(id), id)
    markets.seal(id)
  }
}

/** Seals the rows of a market in a table that has a column for it. */
function createRowSealer(db: Database, table: 'tail' | 'trade') {
  const list = db.prepare<Row, [number]>(
    `SELECT rowid AS place, * FROM ${table} WHERE market_id = ?`,
  )
  const put = db.prepare(`UPDATE ${table} SET checksum = ? WHERE rowid = ?`)
  return (marketId: number): void => {
    for (const { place, ...row } of list.all(marketId)) put.run(checksumOf(row), place)
  }
}

/** Seals a chunk, unless its rows, tops and hashes do not agree. */
function createChunkSealer(db: Database, verifyChunk: ReturnType<typeof createChunkVerify>) {
  const find = db.prepare<Blobs, [number]>(
    'SELECT tops, rows, hashes, notes FROM chunk WHERE id = ?',
  )
  const put = db.prepare('UPDATE chunk SET tops = ?, rows = ?, hashes = ?, notes = ? WHERE id = ?')

  function isSound(ref: ChunkRef, market: StoredMarket, tally: Tally): boolean {
    try {
      return verifyChunk(ref, market, tally).length === 0
    } catch {
      return false
    }
  }

  return (ref: ChunkRef, market: StoredMarket, tally: Tally): void => {
    const blobs = find.get(ref.id)
    if (blobs === null) return
    const { tops, rows, hashes, notes } = blobs
    const write = (one: Blobs): void => {
      put.run(one.tops, one.rows, one.hashes, one.notes, ref.id)
    }
    write(sealBlobs(ref, { tops, rows, hashes: hashes.subarray(0, -4), notes }))
    if (!areHashesSound(hashes) || !isSound(ref, market, tally)) write(blobs)
  }
}

/** Hashes had a checksum of their own before. */
const areHashesSound = (hashes: Uint8Array): boolean =>
  hashes.length >= 4 &&
  crc32(hashes.subarray(0, -4)) ===
    new DataView(hashes.buffer, hashes.byteOffset).getUint32(hashes.length - 4, true)
