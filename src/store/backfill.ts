/** What a migration leaves to be done, because it follows from columns that SQL cannot read. */
import type { ChunkTable } from './chunk-table.ts'
import { type Database, transact } from './database.ts'
import { isDamage } from './market-read.ts'
import type { MarketTable } from './market-table.ts'
import type { MetaTable } from './meta-table.ts'
import { createSealing, type SealingTables } from './sealing.ts'
import type { Silences } from './silences.ts'

type Tables = SealingTables & {
  db: Database
  meta: MetaTable
  markets: MarketTable
  chunks: ChunkTable
  silences: Silences
}

/** Does it once; what was done by a process that was killed is not done again. */
export function backfill(tables: Tables): void {
  const { db, markets } = tables
  const seal = createSealing(tables)
  for (const id of markets.unsealedIds()) {
    try {
      transact(db, () => seal(id))
    } catch (error) {
      // What cannot be read stays without a checksum, and so is never served; all else is.
      if (!isDamage(error)) throw error
    }
  }
  deriveCoverage(tables)
}

/**
 * Derives spans, silences and gaps of the markets of a file that was made before these were kept.
 * Why nothing was recorded is not known of them; a simulated venue was silent.
 */
function deriveCoverage({ db, meta, markets, silences }: Tables): void {
  if (!meta.isCoverageDue()) return
  transact(db, () => {
    // Another process may have been faster.
    if (!meta.isCoverageDue()) return
    for (const id of markets.ids()) {
      const market = markets.findById(id)
      if (market === undefined || market.firstSnapshotMs === undefined) continue
      const reason = market.source === 'simulated' ? 'venue_silent' : 'import'
      markets.update(silences.derive(market, reason))
    }
    meta.settleCoverage()
  })
}
