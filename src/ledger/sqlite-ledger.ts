/** The embedded engine: accounts, keys and the rest in one SQLite file. */

import { type Database, nest, transact } from '#src/database/database.ts'
import { coins } from '#src/domain/market.ts'
import { defaultTiers, type Tier } from '#src/domain/selling/tier.ts'

import { createAccounts } from './accounts.ts'
import { createActivity } from './activity.ts'
import { createAuditChain, createAuditedRows, type RowAction, verifyAudit } from './audit.ts'
import { createKeys } from './keys.ts'
import type { AuditContext, Ledger } from './ledger.ts'
import { createKnownCoins, createMeta, createMoved } from './meta.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { createScreenings } from './screenings.ts'
import { assertSealed, createSeals, sealKey, type Seals } from './seals.ts'
import { createUsage } from './usage.ts'

/** What all verbs share: the file, its transactions and its audit chain. */
export type LedgerCore = ReturnType<typeof createCore>

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** How late commits of other connections may show; 0, the default, asks at each use. */
  lagMs?: number
  /** Another connection has opened the ledger before; what writes to it fails. */
  isReadOnly?: boolean
  /** Adds no row: neither a key or seals, nor the tiers and coins of this version. */
  isAsItIs?: boolean
}

export function createSqliteLedger(db: Database, options: LedgerOptions): Ledger {
  const { nowMs, lagMs = 0, isReadOnly = false, isAsItIs = false } = options
  assertSealed(db)
  const meta = createMeta(db, { isAsItIs })
  const core = createCore(db, { lagMs, seals: createSeals(meta.challengeKey) })
  const { chain, seals, atomically } = core
  const accounts = createAccounts(core)
  const keys = createKeys(core, accounts)
  // A ledger without a trace of any tier is new; another process may be making the same one.
  const knownCoins = createKnownCoins(db)
  const seed = () => {
    sealKey(db, seals, chain.head() === undefined)
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
    ...createUsage(db, seals),
    ...createActivity(db),
    ...createScreenings(core),
    noteJob: (job, by) =>
      atomically(() => {
        const state = JSON.stringify(job)
        chain.append(by, { action: 'job.started', subject: job.name, state })
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

function createCore(db: Database, { lagMs, seals }: { lagMs: number; seals: Seals }) {
  const chain = createAuditChain(db)
  const rows = createAuditedRows(db)
  const { raise, ...transactions } = createTransactions(db, lagMs)

  /** Ends every change of an audited row: what became of it goes into the chain. */
  const note = (by: AuditContext, action: RowAction, subject: string): void =>
    chain.append(by, { action, subject, state: rows.stateOf(action, subject) })

  return {
    db,
    chain,
    rows,
    seals,
    note,
    /** As `note`, where the change decides who may do what. */
    record(by: AuditContext, action: RowAction, subject: string): void {
      note(by, action, subject)
      raise()
    },
    ...transactions,
  }
}

/**
 * Transactions, and the revision: one number that changes with everything that decides who may do
 * what. Our own changes raise it at once; for those of other connections SQLite is asked, at each
 * use or as seldom as `lagMs` allows, because asking takes about a microsecond.
 */
function createTransactions(db: Database, lagMs: number) {
  const commitCount = db.engine.createCommitCount(db)
  let revision = 0
  /** No revision is given twice, even after a rollback: something may be cached under it. */
  let last = 0
  let seenCommits = commitCount()
  let askedMs = Number.NEGATIVE_INFINITY

  function raise(): void {
    revision = ++last
  }

  function ask(): number {
    const now = commitCount()
    if (now !== seenCommits) raise()
    seenCommits = now
    return revision
  }

  return {
    revision(): number {
      const nowMs = performance.now()
      if (nowMs - askedMs < lagMs) return revision
      askedMs = nowMs
      return ask()
    },

    /** For every change of our own, which SQLite does not count. */
    raise,

    /** The outermost call is the transaction. Verbs check first, so one that threw left nothing. */
    atomically<T>(body: () => T): T {
      if (db.inTransaction) {
        const result = nest(db, body)
        // The outer transaction would commit without what it still had to do.
        if (result instanceof Promise) throw new Error('A transaction must be synchronous.')
        return result
      }
      let atStart: { revision: number; commits: unknown } | undefined
      try {
        return transact(db, () => {
          // Others cannot commit from here on, so this holds again after a rollback.
          atStart = { revision: ask(), commits: seenCommits }
          const result = body()
          // Some engines count our own changes, too.
          seenCommits = commitCount()
          return result
        })
      } catch (error) {
        if (atStart !== undefined) {
          revision = atStart.revision
          seenCommits = atStart.commits
        }
        throw error
      }
    },
  }
}
