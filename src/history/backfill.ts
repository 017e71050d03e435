import type { StoredSnapshot } from '#src/core/snapshot.ts'
import { transact } from '#src/sqlite/database.ts'
/** What a migration leaves to be done, because it follows from columns that SQL cannot read. */
import { venues } from '#src/venue/venues.ts'

import { hasHashes } from './codec/hashes.ts'
import { isDamage } from './reads/market-read.ts'
import type { MetaTable } from './tables/meta-table.ts'
import type { TailTable } from './tables/tail-table.ts'
import { createSealing, type SealingTables } from './writes/sealing.ts'
import type { Silences } from './writes/silences.ts'

type Tables = SealingTables & { meta: MetaTable; tails: TailTable; silences: Silences }

/**
 * Brings the markets of a file of an older format up to date, once, each in a transaction of its own, so that a
 * process that was killed goes on where it was: first the checksums, then the verdicts of rows with a hash,
 * spans, silences and gaps. Why nothing was recorded is not known where nobody said it; a simulated venue was silent.
 */
export function backfill(tables: Tables): void {
  const { db, meta, markets } = tables
  const seal = createSealing(tables)
  for (const id of markets.unsealedIds()) ifSound(() => transact(db, () => seal(id)))
  let after = meta.coverageDueAfter()
  while (after !== undefined) {
    ifSound(() => transact(db, () => deriveNext(tables)))
    const next = meta.coverageDueAfter()
    // What cannot be read is left as it is, and the one after it is next.
    if (next === after) transact(db, () => skipNext(tables))
    after = meta.coverageDueAfter()
  }
}

/** What cannot be read stays without a checksum, and so is never served; all else is. */
function ifSound(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!isDamage(error)) throw error
  }
}

/** Goes to the market after the last one, which another process may have done in the meantime. */
function skipNext({ meta, markets }: Tables): number | undefined {
  const after = meta.coverageDueAfter()
  if (after === undefined) return undefined
  const id = markets.nextId(after)
  if (id === undefined) meta.settleCoverage()
  else meta.deferCoverage(id)
  return id
}

function deriveNext(tables: Tables): void {
  const id = skipNext(tables)
  const { markets, silences, gaps } = tables
  const market = id === undefined ? undefined : markets.findById(id)
  if (market?.firstSnapshotMs === undefined) return
  noteVerdicts(tables, market.id)
  const reason = market.source === 'simulated' ? 'venue_silent' : 'import'
  const sum = gaps.sum(market.id)
  const derived = silences.derive(market, reason)
  const isSame = gaps.sum(market.id) === sum && Bun.deepEquals(derived, market)
  if (!isSame) markets.update(derived)
}

/** The one place that changes a chunk: nothing that was read of its rows is wrong afterwards. */
function noteVerdicts({ chunks, tails, reader }: Tables, marketId: number): void {
  const verifier = venues.polymarket.createBookVerifier()
  const verify = (row: StoredSnapshot): StoredSnapshot => ({
    ...row,
    isVerified: verifier.verify(row),
  })
  for (const ref of chunks.listRefs(marketId)) {
    if (hasHashes(chunks.readHashes(ref))) chunks.putNotes(ref, reader.readChunk(ref).map(verify))
  }
  const tail = tails.read(marketId)
  if (tail !== undefined) tails.putNotes(marketId, reader.readTail(tail).map(verify))
}
