/** The embedded engine: accounts, keys and the rest in one SQLite file. */
import { defaultTiers } from '#src/selling/tier.ts'
import { closeDatabase, type Database, probeWrite } from '#src/sqlite/database.ts'

import { createAccountTable } from './account-table.ts'
import { createAnswerTable } from './answer-table.ts'
import { createAuditChain } from './audit-chain.ts'
import { createAuditVerify } from './audit-verify.ts'
import { createAuditedRows, type RowAction } from './audited-rows.ts'
import { readChallengeKey } from './challenge-key.ts'
import { createKeyTable } from './key-table.ts'
import type { Deed, LedgerStore } from './ledger.ts'
import { createNonceTable } from './nonce-table.ts'
import type { Ledger } from './payments.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { createRevision } from './revision.ts'
import { createSanctionsTable } from './sanctions-table.ts'
import { createSubscriptionTable } from './subscription-table.ts'
import { createTierTable } from './tier-table.ts'
import { createTimeFloor } from './time-floor.ts'
import { createAtomically } from './transactions.ts'
import { createUsageTable } from './usage-table.ts'

type Tables = ReturnType<typeof createTables>

/** `nowMs` dates the seeds of a new ledger, `lagMs` bounds how late others' commits may show. */
export type EngineOptions = { nowMs: number; lagMs: number }

/** Makes the ledger of an open file. */
export function createSqliteLedger(db: Database, { nowMs, lagMs }: EngineOptions): Ledger {
  const tables = createTables(db, lagMs)
  const catalogue = createCatalogue(tables)
  seed(tables, catalogue, { actor: 'system', nowMs })
  return {
    revision: tables.revision.current,
    atomically: tables.atomically,
    probeWrite: () => probeWrite(db),
    ...createTimeFloor(db),
    ...catalogue,
    ...createAccounts(tables),
    ...createForgetting(tables),
    ...createKeys(tables),
    ...createRequests(tables),
    ...createScreenings(tables),
    ...createAudit(tables),
    payments: createPayments(tables),
    challengeKey: readChallengeKey(db),
    dispose: () => closeDatabase(db),
  }
}

function createTables(db: Database, lagMs: number) {
  const chain = createAuditChain(db)
  const rows = createAuditedRows(db)
  const revision = createRevision(db, lagMs)

  /** Ends every change of an audited row: what became of it goes into the chain. */
  function note(by: Deed, action: RowAction, subject: string): void {
    chain.append(by, { action, subject, state: rows.stateOf(action, subject) })
  }

  /** The same where the change decides who may do what. */
  function record(by: Deed, action: RowAction, subject: string): void {
    note(by, action, subject)
    revision.raise()
  }

  return {
    db,
    chain,
    rows,
    revision,
    note,
    record,
    atomically: createAtomically(db, revision),
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
  { putTier }: Pick<LedgerStore, 'putTier'>,
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
  }) satisfies Partial<LedgerStore>

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
        accounts.setBlockedMs(id, isBlocked ? by.nowMs : undefined)
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
  }) satisfies Partial<LedgerStore>

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
  }) satisfies Partial<LedgerStore>

const createKeys = ({ atomically, record, accounts, keys }: Tables) =>
  ({
    createKey: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        keys.insert(draft, by.nowMs)
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
  }) satisfies Partial<LedgerStore>

const createRequests = ({ atomically, nonces, answers, usage }: Tables) =>
  ({
    useNonce: (nonce, expiresMs, nowMs) =>
      atomically(() => {
        nonces.forgetExpired(nowMs)
        return nonces.insert(nonce, expiresMs)
      }),

    findAnswer: answers.find,

    putAnswer: (answer, nowMs) =>
      atomically(() => {
        answers.forgetOld(nowMs)
        answers.insert(answer, nowMs)
      }),

    addUsage: usage.add,
    usageOf: usage.listOf,
    pruneUsage: usage.removeBefore,
  }) satisfies Partial<LedgerStore>

function createScreenings({ atomically, chain, sanctions }: Tables) {
  return {
    recordScreening: (verdict, by) =>
      atomically(() =>
        chain.append(by, {
          action: `screening.${verdict.verdict}`,
          subject: verdict.address,
          state: JSON.stringify(verdict),
        }),
      ),

    sanctionsList: sanctions.find,

    putSanctionsList: ({ addresses, ...list }, by) =>
      atomically(() => {
        if (sanctions.isInForce(list, addresses)) return sanctions.confirm(list.confirmedMs)
        sanctions.replace(list, addresses)
        chain.append(by, {
          action: 'sanctions_list.replaced',
          subject: list.sha256,
          state: JSON.stringify({ ...list, entryCount: addresses.size }),
        })
      }),

    isSanctioned: sanctions.has,
  } satisfies Partial<LedgerStore>
}

const createAudit = ({ chain, verify }: Tables) =>
  ({
    listAudit: chain.list,
    verifyAudit: verify,

    auditHead() {
      const head = chain.head()
      return head && { seq: head.seq, hash: head.hash.toHex() }
    },
  }) satisfies Partial<LedgerStore>
