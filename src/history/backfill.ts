/** What a migration leaves to be done, because it follows from columns that SQL cannot read. */
import { ifSound } from '#src/core/errors.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'
import { transact } from '#src/sqlite/database.ts'
import { venues } from '#src/venue/venues.ts'

import { hasHashes } from './codec/beside.ts'
import { naming } from './reads/market-read.ts'
import type { Tables } from './tables/tables.ts'
import type { Coverage } from './writes/coverage.ts'
import { createSealing } from './writes/sealing.ts'

type Changed = Tables & { coverage: Coverage }

/**
 * Brings the markets of a file of an older format up to date, once, each in transactions of its
 * own, so that a process that was killed continues where it was: first the checksums, then the
 * verdicts of rows with a hash, spans, pauses and gaps. A market may be done twice, by two
 * processes or after one was killed: it stays as it is.
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
  const verifier = venues.polymarket.createBookVerifier()
  const verify = (row: StoredSnapshot): StoredSnapshot => ({
    ...row,
    isVerified: verifier.verify(row),
  })
  for (const ref of chunks.listRefs(marketId)) {
    if (hasHashes(chunks.readBlob('hashes', ref)))
      chunks.putNotes(ref, snapshots.ofChunk(ref).map(verify))
  }
  const tail = tails.read(marketId)
  if (tail !== undefined) tails.putNotes(marketId, snapshots.ofTail(tail).map(verify))
}
