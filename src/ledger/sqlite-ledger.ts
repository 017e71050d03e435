/** The embedded engine: accounts, keys and the rest in one SQLite file. */

import { type Database, nest, transact } from '#src/database/database.ts'
import { coins } from '#src/domain/market.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { defaultTiers, isPack, type Tier } from '#src/domain/selling/tier.ts'
import { atOnce, type Eventual } from '#src/platform/eventually.ts'

import {
  createAccountTable,
  createAnswerTable,
  createKeyTable,
  createNonceTable,
  createSubscriptionTable,
  createTierTable,
} from './account-tables.ts'
import { createAuditChain, createAuditedRows, type RowAction, verifyAudit } from './audit.ts'
import {
  type ApiKey,
  type AuditContext,
  isValidKey,
  type KeyDraft,
  type KeyMade,
  type Ledger,
  type Once,
  type Replayed,
} from './ledger.ts'
import { createKnownCoins, createMeta, createMoved } from './meta.ts'
import { createPayments } from './payments/sqlite-payments.ts'
import { createScreenings } from './screenings.ts'
import { assertSealed, createSeals, sealKey, type Seals } from './seals.ts'
import { createUsage } from './usage.ts'

/** What the verbs share: the tables of the file, its transactions and its audit chain. */
export type Tables = ReturnType<typeof createTables>

export type LedgerOptions = {
  /** When the default tiers of a new ledger are audited as put. */
  nowMs: number
  /** How late commits of other connections may show; 0, the default, asks at each use. */
  lagMs?: number
  /** Another connection has opened the ledger before; what writes to it fails. */
  isReadOnly?: boolean
  /** Adds no row: neither a key or seals, nor the tiers and coins of this version. */
  isAsItIs?: boolean
  /** Runs reads of an engine on another machine. */
  eventually?: Eventual | undefined
}

export function createSqliteLedger(db: Database, options: LedgerOptions): Ledger {
  const { nowMs, lagMs = 0, isReadOnly = false, isAsItIs = false, eventually = atOnce } = options
  assertSealed(db)
  const meta = createMeta(db, { isAsItIs })
  const tables = createTables(db, { lagMs, seals: createSeals(meta.challengeKey) })
  const { chain, answers, atomically } = tables
  const accounts = createAccountVerbs(tables)
  // A ledger without a trace of any tier is new; another process may be making the same one.
  const knownCoins = createKnownCoins(db)
  const seed = () => {
    sealKey(db, tables.seals, chain.head() === undefined)
    const isNew = tables.tiers.list().length === 0 && chain.head() === undefined
    for (const tier of isNew ? defaultTiers : withEveryCoin())
      accounts.putTier(tier, { actor: 'system', nowMs })
    knownCoins.put()
  }
  /** Tiers that had every coin before this version added some; they have every coin still. */
  const withEveryCoin = (): Tier[] => {
    const before = knownCoins.get()
    if (coins.every((coin) => before.includes(coin))) return []
    return tables.tiers
      .list()
      .filter((tier) => before.every((coin) => tier.coins.some((each) => each === coin)))
      .map((tier) => ({ ...tier, coins }))
  }
  if (!isReadOnly && !isAsItIs) atomically(seed)
  return {
    revision: tables.revision,
    atomically,
    eventually,
    probeWrite: () => db.engine.probeWrite(db),
    movedTo: createMoved(db).get,
    ...meta,
    ...accounts,
    ...createKeyVerbs(tables),
    findAnswer: answers.find,
    putAnswer: (answer, nowMs) =>
      atomically(() => {
        const known = answers.find(answer.id, nowMs)
        if (known === undefined) answers.put(answer, nowMs)
        return known ?? answer
      }),
    ...createUsage(db, tables.seals),
    ...createScreenings(tables),
    noteJob: (job, by) =>
      atomically(() => {
        const state = JSON.stringify(job)
        chain.append(by, { action: 'job.started', subject: job.name, state })
      }),
    listAudit: chain.list,
    verifyAudit: () => verifyAudit(tables),
    auditHead() {
      const head = chain.head()
      return head && { seq: head.seq, hash: head.hash.toHex() }
    },
    payments: createPayments(tables),
    dispose: () => db.engine.close(db),
    [Symbol.dispose]: () => db.engine.close(db),
  }
}

function createTables(db: Database, { lagMs, seals }: { lagMs: number; seals: Seals }) {
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
    tiers: createTierTable(db),
    accounts: createAccountTable(db),
    keys: createKeyTable(db),
    subscriptions: createSubscriptionTable(db),
    nonces: createNonceTable(db),
    answers: createAnswerTable(db, seals),
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

function createAccountVerbs(tables: Tables) {
  const { atomically, record, tiers, accounts, keys, subscriptions } = tables
  return {
    listTiers: () => tiers.list().filter((tier) => !isPack(tier)),
    listPacks: () => tiers.list().filter(isPack),

    putTier: (tier, by) =>
      atomically(() => {
        tiers.put(tier)
        record(by, 'tier.put', tier.tierId)
      }),

    findAccount: accounts.find,
    findAccountByAddress: accounts.findByAddress,
    listAddressedAccounts: accounts.listAddressed,
    listAccounts: accounts.listPage,
    countAccounts: accounts.countSince,
    countHolders: subscriptions.countHolders,

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

    isFree: accounts.isFree,

    forgetIdle({ afterId, limit, idleSinceMs: sinceMs }, by) {
      const ids = accounts.listAfter(afterId, limit).map(({ id }) => id)
      const nextId = ids.length < limit ? undefined : ids.at(-1)
      if (!ids.some((id) => accounts.isIdle({ id, sinceMs }))) return { forgotten: [], nextId }
      return atomically(() => {
        const forgotten = ids.filter((id) => accounts.isIdle({ id, sinceMs }))
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
  } satisfies Partial<Ledger>
}

function createKeyVerbs(tables: Tables) {
  const { atomically, record, accounts, keys, answers } = tables

  /** With the kept answer, where the change must not be done twice. */
  const run = <End extends { kind: string }>(
    { once }: { once?: Once | undefined },
    nowMs: number,
    change: () => End,
  ): End | Replayed =>
    atomically(() => {
      const answer = once && answers.find(once.id, nowMs)
      if (answer !== undefined) return { kind: 'replayed', answer }
      const end = change()
      if (once !== undefined && isMade(end)) answers.put(once.answer(end), nowMs)
      return end
    })

  return {
    isNew: () => !keys.isAny(),
    findKeyByDigest: keys.findByDigest,
    findKey: keys.find,
    listKeys: keys.list,
    countValidKeys: keys.countValid,

    createKey: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        return insertKey(tables, draft, by)
      }),

    labelKey: (id, label, by) =>
      atomically(() => {
        keys.get(id)
        if (keys.label({ id, label })) record(by, 'key.labelled', id)
      }),

    expireKey: (id, expiresMs, by) =>
      atomically(() => {
        keys.get(id)
        if (keys.expire({ id, expiresMs })) record(by, 'key.expiring', id)
      }),

    revokeKey: (id, by) =>
      atomically(() => {
        keys.get(id)
        const isRevoked = keys.revoke({ id, revokedMs: by.nowMs })
        if (isRevoked) record(by, 'key.revoked', id)
        return isRevoked
      }),

    signUp: (signup, nowMs) => run(signup, nowMs, () => signUp(tables, signup, nowMs)),
    rotateKey: (rotation, by) => run(rotation, by.nowMs, () => rotateKey(tables, rotation, by)),
  } satisfies Partial<Ledger>
}

const isMade = (end: { kind: string }): end is KeyMade => end.kind === 'made'

/** Whatever refuses does so before anything is written. */
function signUp(
  tables: Tables,
  signup: Parameters<Ledger['signUp']>[0],
  nowMs: number,
): ReturnType<Ledger['signUp']> {
  const { record, accounts, keys, nonces } = tables
  const { nonce, expiresMs, address, key, keysMax, keepKeys = false } = signup
  nonces.forgetExpired(nowMs)
  if (nonces.has(nonce)) return { kind: 'nonce_used' }
  const known = accounts.findByAddress(address)
  if (known?.blockedMs !== undefined) return { kind: 'blocked' }
  const id = known?.id ?? signup.accountId
  const isFree = known === undefined || accounts.isFree(id)
  if (keepKeys && keys.countValid(id, nowMs) > 0) return { kind: 'has_key' }
  if (!isFree && keys.countValid(id, nowMs) >= keysMax) return { kind: 'key_limit' }

  nonces.insert({ nonce, expiresMs })
  const by = { actor: `account:${id}` as const, nowMs }
  if (known === undefined) {
    accounts.insert({ id, address, createdMs: nowMs })
    record(by, 'account.created', id)
  }
  const ended = isFree ? keys.list(id).filter((one) => isValidKey(one, nowMs)) : []
  for (const one of ended) {
    keys.revoke({ id: one.id, revokedMs: nowMs })
    record(by, 'key.revoked', one.id)
  }
  const familyId = findEndedFamily(keys.list(id), nowMs) ?? key.id
  return makeKey(tables, { ...key, accountId: id, familyId }, by)
}

/** A family whose keys have all ended, if any, so that making keys again opens no fresh windows. */
function findEndedFamily(keys: readonly ApiKey[], nowMs: number): string | undefined {
  const running = new Set(keys.filter((key) => isValidKey(key, nowMs)).map((key) => key.familyId))
  return keys.findLast(({ familyId }) => !running.has(familyId))?.familyId
}

function rotateKey(
  tables: Tables,
  rotation: Parameters<Ledger['rotateKey']>[0],
  by: AuditContext,
): ReturnType<Ledger['rotateKey']> {
  const { record, accounts, keys } = tables
  const { id, accountId, key, keysMax, overlapMs } = rotation
  const { nowMs } = by
  const asking = keys.find(rotation.callerKeyId)
  if (asking === undefined || !isValidKey(asking, nowMs)) return { kind: 'caller_invalid' }
  if (accounts.get(accountId).blockedMs !== undefined) return { kind: 'blocked' }
  const old = keys.find(id)
  if (old?.accountId !== accountId || !isValidKey(old, nowMs)) return { kind: 'unknown_key' }
  if (old.expiresMs !== undefined) return { kind: 'replaced', expiresMs: old.expiresMs }
  // The one that it replaces does not count.
  if (keys.countValid(accountId, nowMs) > keysMax) return { kind: 'key_limit' }

  const { familyId } = old
  const made = makeKey(tables, { ...key, label: key.label ?? old.label, accountId, familyId }, by)
  if (keys.expire({ id, expiresMs: nowMs + overlapMs })) record(by, 'key.expiring', id)
  return made
}

function insertKey({ record, keys }: Tables, draft: KeyDraft, by: AuditContext): ApiKey {
  keys.insert({ ...draft, createdMs: by.nowMs })
  record(by, 'key.created', draft.id)
  return keys.get(draft.id)
}

function makeKey(tables: Tables, draft: KeyDraft, by: AuditContext): KeyMade {
  const { accounts, subscriptions, tiers } = tables
  const key = insertKey(tables, draft, by)
  const account = accounts.get(draft.accountId)
  const { terms } = standingAt(subscriptions.list(account.id), tiers.list(), by.nowMs)
  return { kind: 'made', key, account, tierId: terms.tierId }
}
