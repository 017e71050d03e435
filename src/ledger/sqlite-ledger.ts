/** The embedded engine: accounts, keys and the rest in one SQLite file. */
import { judge } from '#src/selling/screening.ts'
import { defaultTiers } from '#src/selling/tier.ts'
import { closeDatabase, type Database, probeWrite } from '#src/sqlite/database.ts'

import { createAccountTable } from './account-table.ts'
import { createAuditChain } from './audit-chain.ts'
import { createAuditVerify } from './audit-verify.ts'
import { createAuditedRows, type Note } from './audited-rows.ts'
import { createKeyChanges } from './key-changes.ts'
import { createKeyTable } from './key-table.ts'
import type { Deed, Ledger } from './ledger.ts'
import { createMetaTable } from './meta-table.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { createAnswerTable, createNonceTable } from './request-tables.ts'
import { createSanctionsTable } from './sanctions-table.ts'
import { createSubscriptionTable } from './subscription-table.ts'
import { createTierTable } from './tier-table.ts'
import { createTransactions } from './transactions.ts'
import { createUsageTable } from './usage-table.ts'

/** What the verbs share: the tables of the file, its transactions and its audit chain. */
export type Tables = ReturnType<typeof createTables>

/** `nowMs` dates the seeds of a new ledger, `lagMs` bounds how late others' commits may show. */
export type EngineOptions = { nowMs: number; lagMs: number }

/** Makes the ledger of an open file. */
export function createSqliteLedger(db: Database, { nowMs, lagMs }: EngineOptions): Ledger {
  const tables = createTables(db, lagMs)
  const catalogue = createCatalogue(tables)
  seed(tables, catalogue, { actor: 'system', nowMs })
  return {
    revision: tables.revision,
    atomically: tables.atomically,
    probeWrite: () => probeWrite(db),
    ...createMetaTable(db),
    ...catalogue,
    ...createAccounts(tables),
    ...createForgetting(tables),
    ...createKeys(tables),
    ...createKeyChanges(tables),
    ...createRequests(tables),
    ...createScreenings(tables),
    ...createAudit(tables),
    payments: createPayments(tables),
    dispose: () => closeDatabase(db),
    [Symbol.dispose]: () => closeDatabase(db),
  }
}

function createTables(db: Database, lagMs: number) {
  const chain = createAuditChain(db)
  const rows = createAuditedRows(db)
  const { raise, ...transactions } = createTransactions(db, lagMs)

  /** Ends every change of an audited row: what became of it goes into the chain. */
  const note: Note = (by, action, subject) =>
    chain.append(by, { action, subject, state: rows.stateOf(action, subject) })

  /** The same where the change decides who may do what. */
  const record: Note = (by, action, subject) => {
    note(by, action, subject)
    raise()
  }

  return {
    db,
    chain,
    note,
    record,
    ...transactions,
    tiers: createTierTable(db),
    accounts: createAccountTable(db),
    keys: createKeyTable(db),
    subscriptions: createSubscriptionTable(db),
    nonces: createNonceTable(db),
    answers: createAnswerTable(db),
    usage: createUsageTable(db),
    sanctions: createSanctionsTable(db),
    verify: createAuditVerify({ db, chain, rows }),
  }
}

/** A ledger without a trace of any tier is new; another process may be making the same one. */
function seed(
  { atomically, tiers, chain }: Tables,
  { putTier }: Pick<Ledger, 'putTier'>,
  by: Deed,
): void {
  atomically(() => {
    if (tiers.list().length > 0 || chain.head() !== undefined) return
    for (const tier of defaultTiers) putTier(tier, by)
  })
}

const createCatalogue = ({ atomically, record, tiers }: Tables) =>
  ({
    listTiers: tiers.list,

    putTier: (tier, by) =>
      atomically(() => {
        tiers.put(tier)
        record(by, 'tier.put', tier.tierId)
      }),
  }) satisfies Partial<Ledger>

const createAccounts = ({ atomically, record, accounts, subscriptions }: Tables) =>
  ({
    findAccount: accounts.find,
    findAccountByAddress: accounts.findByAddress,
    listAddressedAccounts: accounts.listAddressed,

    createAccount: (draft, by) =>
      atomically(() => {
        accounts.insert({ ...draft, createdMs: by.nowMs })
        record(by, 'account.created', draft.id)
        return accounts.get(draft.id)
      }),

    setBlocked: (id, isBlocked, by) =>
      atomically(() => {
        if ((accounts.get(id).blockedMs !== undefined) === isBlocked) return
        accounts.setBlockedMs({ id, blockedMs: isBlocked ? by.nowMs : undefined })
        record(by, isBlocked ? 'account.blocked' : 'account.unblocked', id)
      }),

    listSubscriptions: subscriptions.list,

    addSubscription: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        subscriptions.insert({ ...draft, createdMs: by.nowMs })
        record(by, 'subscription.added', draft.id)
        return subscriptions.get(draft.id)
      }),
  }) satisfies Partial<Ledger>

const createForgetting = ({ atomically, record, accounts, keys }: Tables) =>
  ({
    isFree: accounts.isFree,

    forgetIdle({ afterId, limit, idleSinceMs }, by) {
      const ids = accounts.idsAfter(afterId, limit)
      const nextId = ids.length < limit ? undefined : ids.at(-1)
      if (!ids.some((id) => accounts.isIdle(id, idleSinceMs))) return { forgotten: [], nextId }
      return atomically(() => {
        const forgotten = ids.filter((id) => accounts.isIdle(id, idleSinceMs))
        for (const id of forgotten) {
          for (const key of keys.list(id)) {
            record(by, 'key.forgotten', key.id)
            keys.remove(key.id)
          }
          record(by, 'account.forgotten', id)
          accounts.remove(id)
        }
        return { forgotten, nextId }
      })
    },
  }) satisfies Partial<Ledger>

const createKeys = ({ atomically, record, accounts, keys }: Tables) =>
  ({
    createKey: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        keys.insert({ ...draft, createdMs: by.nowMs })
        record(by, 'key.created', draft.id)
        return keys.get(draft.id)
      }),

    findKeyByDigest: keys.findByDigest,
    findKey: keys.find,
    listKeys: keys.list,
    countValidKeys: keys.countValid,

    expireKey: (id, expiresMs, by) =>
      atomically(() => {
        keys.get(id)
        if (keys.expire(id, expiresMs)) record(by, 'key.expiring', id)
      }),

    revokeKey: (id, by) =>
      atomically(() => {
        keys.get(id)
        const isRevoked = keys.revoke(id, by.nowMs)
        if (isRevoked) record(by, 'key.revoked', id)
        return isRevoked
      }),

    isNew: keys.isEmpty,
  }) satisfies Partial<Ledger>

const createRequests = ({ atomically, answers, usage }: Tables) =>
  ({
    findAnswer: answers.find,

    putAnswer: (answer, nowMs) =>
      atomically(() => {
        const known = answers.find(answer.id, nowMs)
        if (known === undefined) answers.put(answer, nowMs)
        return known ?? answer
      }),

    addUsage: usage.add,
    usageOf: usage.listOf,
    pruneUsage: usage.removeBefore,
  }) satisfies Partial<Ledger>

const createScreenings = ({ atomically, chain, sanctions }: Tables) =>
  ({
    recordScreening: ({ address, chain: asked, staleAfterMs }, by) =>
      atomically(() => {
        const list = sanctions.answer(address, { nowMs: by.nowMs, staleAfterMs })
        const grounds = { list, ...asked }
        const verdict = { verdict: judge(grounds), address, timeMs: by.nowMs, grounds }
        const action = `screening.${verdict.verdict}` as const
        chain.append(by, { action, subject: address, state: JSON.stringify(verdict) })
        return verdict
      }),

    sanctionsList: sanctions.find,

    putSanctionsList: (draft, by) =>
      atomically(() => {
        const put = sanctions.put(draft, by.nowMs)
        if (put.kind === 'replaced') {
          const [subject, state] = [put.list.sha256, JSON.stringify(put.list)]
          chain.append(by, { action: 'sanctions_list.replaced', subject, state })
        }
        return put
      }),

    isSanctioned: sanctions.has,
  }) satisfies Partial<Ledger>

const createAudit = ({ chain, verify }: Tables) =>
  ({
    listAudit: chain.list,
    verifyAudit: verify,

    auditHead() {
      const head = chain.head()
      return head && { seq: head.seq, hash: head.hash.toHex() }
    },
  }) satisfies Partial<Ledger>
