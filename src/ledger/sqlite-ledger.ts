/** The embedded engine: accounts, keys and the rest in one SQLite file. */

import type { Database } from '#src/database/database.ts'
import { closeFile } from '#src/database/sqlite/database.ts'
import { probe, type StoreHandles } from '#src/database/transact.ts'

import { createAccounts } from './accounts.ts'
import { createActivity } from './activity.ts'
import { verifyAudit } from './audit.ts'
import { createLedgerCore } from './core.ts'
import { createKeys } from './keys.ts'
import type { Ledger, LedgerReads, LedgerTransaction, LedgerVerbs } from './ledger.ts'
import { createMeta, createMoved, readChallengeKey } from './meta.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { promised } from './promised.ts'
import { createRevision } from './revision.ts'
import { createScreenings } from './screenings.ts'
import { createUsage } from './usage.ts'

export type LedgerOptions = {
  /** The maximum delay of commits by other connections; 0, the default, asks at each use. */
  lagMs?: number
  /** Opened for verification: a missing challenge key is read as an empty one. */
  isAsItIs?: boolean
}

/** A write that changes nothing. */
const TOUCH = "UPDATE meta SET value = value WHERE key = 'challenge_key'"

/** Opens a ledger prepared by `prepareLedger`. */
export function createSqliteLedger(
  { reading, writing, transact }: StoreHandles,
  { lagMs = 0, isAsItIs = false }: LedgerOptions = {},
): Ledger {
  const revision = createRevision(writing, lagMs)
  const bodies = createBodies(writing, revision.raise)
  const { reads, payments } = reading === writing ? bodies : createBodies(reading, revision.raise)

  /**
   * Runs a body in a transaction. With `waits: false` it waits neither for the disk nor for other
   * processes.
   */
  function run<T>(body: () => T, options?: { waits: boolean }): Promise<T> {
    let isRaised = false
    const done = transact(() => {
      const before = revision.raises()
      const end = revision.during(body)
      isRaised = revision.raises() !== before
      return end
    }, options)
    // With a single handle nothing reads between a body and its commit.
    if (reading === writing) return done
    return done.finally(() => {
      if (isRaised) revision.raise()
    })
  }
  const transaction: LedgerTransaction = {
    ...bodies.reads,
    ...bodies.verbs,
    ...bodies.counters,
    payments: { ...bodies.payments.reads, ...bodies.payments.verbs },
  }
  return {
    revision: revision.current,
    atomically: (body) => run(() => body(transaction)),
    probeWrite: () => probe({ reading, writing, transact }, TOUCH),
    movedTo: createMoved(reading).get,
    challengeKey: readChallengeKey(reading, isAsItIs),
    ...reads,
    ...promised(bodies.verbs, run),
    ...promised(bodies.counters, (body) => run(body, { waits: false })),
    payments: { ...payments.reads, ...promised(bodies.payments.verbs, run) },
    dispose: close,
    [Symbol.dispose]: close,
  }

  function close(): void {
    for (const db of new Set([reading, writing])) closeFile(db)
  }
}

/** The reads of a ledger, and the bodies of its verbs, which run in a transaction. */
function createBodies(db: Database, onAccess: () => void) {
  const core = createLedgerCore(db, onAccess)
  const { chain } = core
  const accounts = createAccounts(core)
  const keys = createKeys(core, accounts)
  const screenings = createScreenings(core)
  const usage = createUsage(core)
  const activity = createActivity(db)
  return {
    reads: {
      ...accounts.reads,
      ...keys.reads,
      ...screenings.reads,
      ...usage.reads,
      ...activity.reads,
      listAudit: chain.list,
      listAuditOfOperator: chain.listOfOperator,
      verifyAudit: () => verifyAudit(core),
      auditHead() {
        const head = chain.head()
        return head && { seq: head.seq, hash: head.hash.toHex() }
      },
    } satisfies LedgerReads,
    verbs: {
      ...accounts.verbs,
      ...keys.verbs,
      ...screenings.verbs,
      ...createMeta(db),
      noteJob(job, by) {
        chain.append(by, { action: 'job.started', subject: job.name, state: JSON.stringify(job) })
      },
    } satisfies Omit<LedgerVerbs, keyof typeof usage.counters | keyof typeof activity.counters>,
    /** Verbs that never wait: a power cut may lose their writes. */
    counters: { ...usage.counters, ...activity.counters },
    payments: createPayments(core, accounts, keys),
  }
}
