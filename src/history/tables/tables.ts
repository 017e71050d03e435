/** The tables of a history: everything else is made of them. */
import type { Database } from '#src/sqlite/database.ts'

import { createChunkTable } from './chunk-table.ts'
import { createGapTable } from './gap-table.ts'
import { createMarketTable } from './market-table.ts'
import { createMetaTable } from './meta-table.ts'
import { createSnapshots } from './snapshots.ts'
import { createTailTable } from './tail-table.ts'
import { createTradeTable } from './trade-table.ts'

/** `chunkCacheBytes` bounds the chunks kept in memory. */
export function createTables(db: Database, chunkCacheBytes: number) {
  const chunks = createChunkTable(db, chunkCacheBytes)
  return {
    db,
    chunks,
    meta: createMetaTable(db),
    markets: createMarketTable(db),
    tails: createTailTable(db),
    gaps: createGapTable(db),
    trades: createTradeTable(db),
    /** Rows read back from chunks and tails. */
    snapshots: createSnapshots(chunks),
  }
}

export type Tables = ReturnType<typeof createTables>
