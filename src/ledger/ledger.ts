import type {
  account,
  activity,
  apiKey,
  audit,
  idempotency,
  sanctionsList,
  usage,
} from '#db/ledger/schema.ts'
import type { ScreeningGrounds, Verdict } from '#src/domain/selling/screening.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import type { Pack, Tier } from '#src/domain/selling/tier.ts'

import type { AuditContext } from './actor.ts'
import type { PaymentReads, PaymentStore, PaymentVerbs } from './payments.ts'
import type { Promised } from './promised.ts'
import type { Row } from './rows.ts'

/** Reads of a ledger, all synchronous. */
export type LedgerReads = {
  /** The catalogue by ascending rank; a new ledger has the default tiers. */
  listTiers(): readonly Tier[]
  /** Packs of the catalogue by ascending rank; a new ledger has none. */
  listPacks(): readonly Pack[]
  findAccount(id: string): Account | undefined
  /** Finds an account by its address in lower case. */
  findAccountByAddress(address: string): Account | undefined
  listAddressedAccounts(): Account[]

  /**
   * Accounts after one (exclusive), newest first. `search` matches, in lower case, parts of their
   * id, address or label, parts of the id or label of one of their keys, the end of one of their
   * keys, or the id or the name of their tier at `nowMs`, which is Free by default.
   */
  listAccounts(page: {
    search?: string | undefined
    nowMs: number
    after?: Pick<Account, 'createdMs' | 'id'> | undefined
    limit: number
  }): Account[]
  /** Accounts created since a moment (inclusive). */
  countAccounts(sinceMs: number): number
  /** Accounts with a wallet created since a moment (inclusive), counted in steps. */
  countSignups(since: { sinceMs: number; stepMs: number }): { stepMs: number; count: number }[]
  /**
   * Accounts whose subscription to a tier is active at `nowMs`: bought, or granted by the operator.
   */
  countHolders(tierId: string, nowMs: number): { bought: number; granted: number }
  /**
   * True if nothing was paid for or granted, and the operator created neither the account nor a key
   * of it.
   */
  isFree(accountId: string): boolean
  /** The key with this digest, valid or not. Compares in constant time. */
  findKeyByDigest(digest: Uint8Array): ApiKey | undefined
  findKey(id: string): ApiKey | undefined
  /** Keys of one account or of all by creation, including those that are no longer valid. */
  listKeys(accountId?: string): ApiKey[]
  countValidKeys(accountId: string, nowMs: number): number
  /** Subscriptions by start. */
  listSubscriptions(accountId: string): Subscription[]
  /** The response stored under an id less than a day ago. */
  findAnswer(id: string, nowMs: number): StoredAnswer | undefined
  /** The current sanctions list; undefined if any of its addresses is missing. */
  sanctionsList(): SanctionsList | undefined
  /** True if an address, in lower case, is on the sanctions list. */
  isSanctioned(address: string): boolean
  /** Usage of an account from a day (inclusive), summed over its keys, by day and route. */
  usageOf(accountId: string, fromDay: string): UsageRow[]
  /** Activity of all servers since a moment (inclusive), by step. */
  listActivity(sinceMs: number): Activity[]
  /** Rows of the audit chain after a number, oldest first. */
  listAudit(afterSeq: number, limit: number): AuditRow[]
  /** Audited actions of the operator on a subject, newest first. */
  listAuditOfOperator(subject: string, limit: number): AuditRow[]

  /**
   * Verifies the whole chain. Faults are: a row without the hash of all rows before it; a missing
   * number; a table row that differs from its last audited state; and a row of credits, responses
   * or the sanctions list, or the ledger's key, that does not match its checksum.
   */
  verifyAudit(): Iterable<string>
  /** Number and hash (hex) of the last row, to be noted elsewhere; undefined for an empty chain. */
  auditHead(): { seq: number; hash: string } | undefined
  /** True until a key is created. */
  isNew(): boolean
}

/** The verbs that write. */
export type LedgerVerbs = {
  /** Adds or replaces an entry of the catalogue. Throws if another tier has its rank. */
  putTier(tier: Tier, by: AuditContext): void
  /** Throws if the address has an account. */
  createAccount(account: Pick<Account, 'id' | 'address' | 'label'>, by: AuditContext): Account
  /** Blocks or unblocks an account; does nothing if it is so already. */
  setBlocked(accountId: string, isBlocked: boolean, by: AuditContext): void

  /**
   * Examines some accounts by id and forgets, with their keys and usage, those that are free, not
   * blocked, without a payment or recent offer, and without a key created or used since
   * `idleSinceMs`. The audit chain keeps a record of them, and their ids are never reused. Returns
   * the forgotten ids and where to continue; undefined after the last account.
   */
  forgetIdle(
    range: IdleRange,
    by: AuditContext,
  ): { forgotten: string[]; nextId: string | undefined }
  /** Throws if the account does not exist. */
  createKey(key: KeyDraft, by: AuditContext): ApiKey
  /** Changes the label of a key; does nothing if it is the same. */
  labelKey(id: string, label: string, by: AuditContext): void
  /** Makes a key expire at `expiresMs`, unless it expires sooner. */
  expireKey(id: string, expiresMs: number, by: AuditContext): void
  /** Revokes a key permanently; false if it was revoked already. */
  revokeKey(id: string, by: AuditContext): boolean

  /**
   * Marks a signed challenge, which must not have expired, as used, and gives the wallet a key.
   * Creates its account if there is none (`accountId`). If the account is free (see `isFree`), its
   * valid keys are revoked, so that it has one. With `keepKeys`, refuses if the account has a valid
   * key: `has_key`.
   */
  signUp(
    signup: KeyAsked & { nonce: string; expiresMs: number; address: string; keepKeys?: boolean },
    nowMs: number,
  ): KeyMade | Replayed | { kind: 'nonce_used' | 'blocked' | 'has_key' | 'key_limit' }

  /**
   * Replaces a key of an account by a new one of its family; the old one stays valid for
   * `overlapMs`. Without a label the new key gets the label of the old one. `caller_invalid`: the
   * calling key has ended.
   */
  rotateKey(
    rotation: KeyAsked & { id: string; callerKeyId: string; overlapMs: number },
    by: AuditContext,
  ):
    | KeyMade
    | Replayed
    | { kind: 'caller_invalid' | 'blocked' | 'unknown_key' | 'key_limit' }
    | { kind: 'replaced'; expiresMs: number }
  addSubscription(subscription: Omit<Subscription, 'createdMs'>, by: AuditContext): Subscription

  /**
   * Passes on the latest server time stored by a version before 0.9.0, then removes it. The time is
   * not removed if `keep` throws.
   */
  takeTimeFloor(keep: (floorMs: number) => void): void
  /**
   * Stores a response unless its id has one; returns the stored one. Forgets responses older than a
   * day.
   */
  putAnswer(answer: StoredAnswer, nowMs: number): StoredAnswer

  /**
   * Judges an address (lower case) by the sanctions list (see `isStale`) and by the answer of the
   * chain, and audits the verdict with the list that was used.
   */
  recordScreening(
    asked: {
      address: string
      chain: Pick<ScreeningGrounds, 'oracle' | 'issuers'>
      staleAfterMs: number
    },
    by: AuditContext,
  ): Verdict

  /**
   * Replaces the list, or confirms it if only `confirmedMs` differs, which never decreases. Changes
   * nothing if the list is `older` than the current one, or `lossy`: if it lacks more than
   * `lossPercentMax` of the current addresses (undefined permits any loss).
   */
  putSanctionsList(
    list: Omit<SanctionsList, 'entryCount'> & {
      addresses: ReadonlySet<string>
      lossPercentMax?: number | undefined
    },
    by: AuditContext,
  ):
    | { kind: 'replaced' | 'confirmed'; list: SanctionsList }
    | { kind: 'older' }
    | { kind: 'lossy'; lost: number; of: number }

  /**
   * Adds to the counters of keys and notes when each was last used. Never waits, except within
   * `atomically`: a power cut may lose the last counters, and while another process writes it
   * throws and adds nothing. If the ledger is on another machine, the outcome of a call that throws
   * is unknown; repeating the call with the same `flush` adds nothing twice.
   */
  addUsage(entries: readonly UsageEntry[], flush?: UsageFlush): void
  /** Forgets usage before a day (exclusive). Like `addUsage`, never waits. */
  pruneUsage(beforeDay: string): void

  /**
   * Replaces the activity of a server step by step, and forgets all steps before a moment. Never
   * waits: throws while another process writes.
   */
  putActivity(steps: readonly Activity[], keptSinceMs: number): void
  /** Audits that the operator starts a job of the server. */
  noteJob(job: { name: string; acceptsLoss: boolean }, by: AuditContext): void
}

/** Reads and verbs within a transaction, in which reads see earlier writes. */
export type LedgerTransaction = LedgerReads &
  LedgerVerbs & { payments: PaymentReads & PaymentVerbs }

/**
 * Accounts, keys, tiers, subscriptions, payments, usage and the audit chain behind verbs;
 * `test/ledger/ledger-conformance.ts` is the contract as tests. Reads are synchronous. Each verb
 * that writes is a transaction behind a promise: after it resolves, the caller reads the change,
 * which survives kill -9 and a power cut (except usage: see `addUsage`). In a file, the change is
 * complete when the call returns. Other processes may use the same ledger at the same time. Every
 * change of an account, key, tier or subscription, and every screening, is a row of the audit chain
 * in the same transaction. Times are Unix milliseconds from the caller.
 */
export type Ledger = Disposable &
  LedgerReads &
  Promised<LedgerVerbs> & {
    /** Offers and payments, in the same transactions. */
    readonly payments: PaymentStore

    /** 32 secret bytes, created with the ledger, that sign challenges. */
    readonly challengeKey: Uint8Array

    /**
     * Changes with every change of access; changes by other processes appear within the store's
     * lag. Cheap.
     */
    revision(): number

    /** Runs a synchronous `body` in one transaction with every verb that it calls. */
    atomically<T>(body: (transaction: LedgerTransaction) => T): Promise<T>

    /**
     * Performs a write that changes nothing. Throws `storage_unavailable` if the disk takes no
     * writes.
     */
    probeWrite(): Promise<void>

    /** The place of the copy that replaces this ledger; undefined if it is in use. */
    movedTo(): string | undefined

    dispose(): void
  }

/** Accounts after an id (exclusive) that have been idle since a moment (inclusive). */
export type IdleRange = { afterId: string; limit: number; idleSinceMs: number }

/**
 * `id` is `acc_` followed by letters and digits. Accounts created by the operator have no address.
 */
export type Account = Row<typeof account>

/** `id` is `key_` followed by letters and digits. */
export type KeyDraft = Pick<
  Row<typeof apiKey>,
  'id' | 'accountId' | 'digest' | 'hint' | 'label' | 'familyId' | 'expiresMs'
>

export type ApiKey = Omit<Row<typeof apiKey>, 'digest' | 'seq'>

export const isValidKey = ({ revokedMs, expiresMs }: ApiKey, nowMs: number): boolean =>
  revokedMs === undefined && (expiresMs === undefined || nowMs < expiresMs)

export type KeySecret = Pick<KeyDraft, 'id' | 'digest' | 'hint' | 'label'>

/** A key for an account with at most `keysMax` valid keys. */
type KeyAsked = {
  accountId: string
  key: KeySecret
  keysMax: number
  once?: Once | undefined
}

export type KeyMade = { kind: 'made'; key: ApiKey; account: Account; tierId: string }

/** The stored response to a request that was executed before. */
export type Replayed = { kind: 'replayed'; answer: StoredAnswer }

/**
 * Creates the response that is stored in the transaction of a change, so that the change happens
 * only once.
 */
export type Once = { id: string; answer: (made: KeyMade) => StoredAnswer }

export type StoredAnswer = Pick<Row<typeof idempotency>, 'id' | 'fingerprint' | 'sealed'>

export type SanctionsList = Omit<Row<typeof sanctionsList>, 'id' | 'checksum'>

/** True if a list is too old to rely on, or was dated far ahead by a wrong clock. */
export const isStale = (
  { confirmedMs }: Pick<SanctionsList, 'confirmedMs'>,
  { nowMs, staleAfterMs }: { nowMs: number; staleAfterMs: number },
): boolean => Math.abs(nowMs - confirmedMs) > staleAfterMs

export type UsageEntry = Row<typeof usage> & { lastUsedMs: number }

/**
 * A flush of a meter. `meter` consists of a UTC day and a random text; `number` increases with each
 * completed flush.
 */
export type UsageFlush = { meter: string; number: number }

export const ACTIVITY_STEP_MS = 300_000
export const ACTIVITY_KEPT_MS = 30 * 86_400_000

/** The activity of a server in the five minutes from `stepMs`. */
export type Activity = Pick<Row<typeof activity>, 'stepMs' | 'server' | 'requests' | 'errors'> & {
  /** Requests by duration: below each of `boundsMs` (`src/http/meters.ts`), and above. */
  durations: readonly number[]
  /** Refusals and failures by code. */
  problems: Readonly<Record<string, number>>
  /** The recorder of the data folder: its start, the stored rows, and its largest lag. */
  recorder: { startedMs: number; rows: number; lagMs: number | undefined } | undefined
}

export type UsageRow = Pick<UsageEntry, 'day' | 'route' | 'requests' | 'bytes'>

/** `seq` is 1, 2, 3, …; `audit.ts` defines `hash`. */
export type AuditRow = Row<typeof audit>
