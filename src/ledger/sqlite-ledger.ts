/** The embedded engine: accounts, keys and the rest in one SQLite file. */

import type { Database } from '#src/database/database.ts'
import { coins } from '#src/domain/market.ts'
import { defaultTiers, type Tier } from '#src/domain/selling/tier.ts'

import { createAccounts } from './accounts.ts'
import { createActivity } from './activity.ts'
import { verifyAudit } from './audit.ts'
import { convertSeals } from './convert-seals.ts'
import { createLedgerCore } from './core.ts'
import { createKeys } from './keys.ts'
import type { Ledger } from './ledger.ts'
import { createKnownCoins, createMeta, createMoved } from './meta.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { createScreenings } from './screenings.ts'
import { createUsage } from './usage.ts'

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** How late commits of other connections may show; 0, the default, asks at each use. */
  lagMs?: number
  /** Another connection has opened the ledger before; what writes to it fails. */
  isReadOnly?: boolean
  /** Adds no row: neither a key, nor the tiers and coins of this version. */
  isAsItIs?: boolean
}

export function createSqliteLedger(db: Database, options: LedgerOptions): Ledger {
  const { nowMs, lagMs = 0, isReadOnly = false, isAsItIs = false } = options
  if (!isReadOnly) convertSeals(db)
  const meta = createMeta(db, { isAsItIs })
  const core = createLedgerCore(db, { lagMs })
  const { chain, atomically } = core
  const accounts = createAccounts(core)
  const keys = createKeys(core, accounts)
  // A ledger without a trace of any tier is new; another process may be making the same one.
  const knownCoins = createKnownCoins(db)
  const seed = () => {
    const isNew = accounts.listCatalogue().length === 0 && chain.head() === undefined
    for (const tier of isNew ? defaultTiers : withEveryCoin())
      accounts.verbs.putTier(tier, { actor: 'system', nowMs })
    knownCoins.put()
  }
  /** Tiers that had every coin before this version added some; they have every coin still. */
  const withEveryCoin = (): Tier[] => {
    const before = knownCoins.get()
    if (coins.every((coin) => before.includes(coin))) return []
    return accounts
      .listCatalogue()
      .filter((tier) => before.every((coin) => tier.coins.some((each) => each === coin)))
      .map((tier) => ({ ...tier, coins }))
  }
  if (!isReadOnly && !isAsItIs) atomically(seed)
  return {
    revision: core.revision,
    atomically,
    probeWrite: () => db.engine.probeWrite(db),
    movedTo: createMoved(db).get,
    ...meta,
    ...accounts.verbs,
    ...keys.verbs,
    ...createUsage(core),
    ...createActivity(db),
    ...createScreenings(core),
    noteJob: (job, by) =>
      atomically(() => {
        const state = JSON.stringify(job)
        chain.begin(by)({ action: 'job.started', subject: job.name, state })
      }),
    listAudit: chain.list,
    listAuditOfOperator: chain.listOfOperator,
    verifyAudit: () => verifyAudit(core),
    auditHead() {
      const head = chain.head()
      return head && { seq: head.seq, hash: head.hash.toHex() }
    },
    payments: createPayments(core, accounts, keys),
    dispose: () => db.engine.close(db),
    [Symbol.dispose]: () => db.engine.close(db),
  }
}
