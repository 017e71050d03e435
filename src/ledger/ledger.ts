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
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import type { AuditContext } from './actor.ts'
import type { PaymentStore } from './payments.ts'
import type { Row } from './rows.ts'

/**
 * Accounts, keys, tiers, subscriptions, payments, usage and the audit chain behind verbs;
 * `test/ledger/ledger-conformance.ts` is the contract as tests. Every verb is synchronous and
 * atomic, and what it returned survives kill -9 and a power cut (usage: see `addUsage`). Other
 * processes may read and write the same ledger at the same time. Every change of an account, key,
 * tier or subscription, and every screening, is a row of the audit chain in the same transaction.
 * Times are Unix milliseconds, and always the caller's.
 */
export type Ledger = Disposable & {
  /** Offers and payments, in the same transactions. */
  readonly payments: PaymentStore

  /** Changes with what decides who may do what: by others, within the store's lag. Cheap. */
  revision(): number

  /** Runs a synchronous `body` in one transaction with every verb it calls. May be nested. */
  atomically<T>(body: () => T): T

  /** Writes what changes nothing. Throws `storage_unavailable` while the disk takes no writes. */
  probeWrite(): MaybePromise<void>

  /** Where it was copied to, which goes on in its place; undefined where it is in use. */
  movedTo(): string | undefined

  /** The catalogue by ascending rank; the default tiers in a new ledger. */
  listTiers(): readonly Tier[]
  /** Packs of the catalogue by ascending rank; none in a new ledger. */
  listPacks(): readonly Pack[]
  /** Adds or replaces an entry of the catalogue. Throws if another tier has its rank. */
  putTier(tier: Tier, by: AuditContext): void

  findAccount(id: string): Account | undefined
  /** `address` in lower case. */
  findAccountByAddress(address: string): Account | undefined
  listAddressedAccounts(): Account[]
  /**
   * Accounts, newest first, after one (exclusive). `search`: what their id, address or label holds,
   * or the id or label of a key of theirs, in lower case; or what one of their keys ends in; or the id
   * or the name of the tier that they have at `nowMs`, which is Free without another.
   */
  listAccounts(page: {
    search?: string | undefined
    nowMs: number
    after?: Pick<Account, 'createdMs' | 'id'> | undefined
    limit: number
  }): Account[]
  /** Those made since a moment (inclusive). */
  countAccounts(sinceMs: number): number
  /** Accounts of wallets that were made since a moment (inclusive), by steps of some length. */
  countSignups(since: { sinceMs: number; stepMs: number }): { stepMs: number; count: number }[]
  /** Accounts whose subscription to a tier runs at `nowMs`: bought, or granted by the operator. */
  countHolders(tierId: string, nowMs: number): { bought: number; granted: number }
  /** Throws if the address has one. */
  createAccount(account: Pick<Account, 'id' | 'address' | 'label'>, by: AuditContext): Account
  /** Nothing happens if it is so already. */
  setBlocked(accountId: string, isBlocked: boolean, by: AuditContext): void

  /** True if nothing was paid for or granted, and the operator made no key of it, nor itself. */
  isFree(accountId: string): boolean
  /**
   * Looks at some accounts by id and forgets those that are free, not blocked, have no payment or
   * recent offer, and of which no key was made or used since `idleSinceMs`, with keys and usage.
   * The audit chain keeps that they were, and their ids are not used again. Returns the ids that
   * are gone, and where to go on; undefined after the last account.
   */
  forgetIdle(
    range: IdleRange,
    by: AuditContext,
  ): { forgotten: string[]; nextId: string | undefined }

  /** Throws if there is no such account. */
  createKey(key: KeyDraft, by: AuditContext): ApiKey
  /** The key with this digest, whatever became of it. Compares in constant time. */
  findKeyByDigest(digest: Uint8Array): ApiKey | undefined
  findKey(id: string): ApiKey | undefined
  /** Keys by creation, of one account or of all, those that are no longer valid included. */
  listKeys(accountId?: string): ApiKey[]
  countValidKeys(accountId: string, nowMs: number): number
  /** Gives a key another label; nothing happens if it is so already. */
  labelKey(id: string, label: string, by: AuditContext): void
  /** Ends a key's validity at `expiresMs`, unless it ends sooner already. */
  expireKey(id: string, expiresMs: number, by: AuditContext): void
  /** Revokes a key for good from now on; false if it was revoked already. */
  revokeKey(id: string, by: AuditContext): boolean

  /**
   * Takes a signed challenge as answered, which must not have expired, and gives the wallet a key.
   * Its account is made where there is none (`accountId`); where it is free (see `isFree`), its
   * valid keys are revoked, so that it has one. With `keepKeys` a valid key of any account refuses:
   * `has_key`.
   */
  signUp(
    signup: KeyAsked & { nonce: string; expiresMs: number; address: string; keepKeys?: boolean },
    nowMs: number,
  ): KeyMade | Replayed | { kind: 'nonce_used' | 'blocked' | 'has_key' | 'key_limit' }
  /**
   * Makes a key in place of one of an account's, in its family, which is valid for `overlapMs` yet.
   * A key without label has that of the old one. `caller_invalid`: the asking key has ended.
   */
  rotateKey(
    rotation: KeyAsked & { id: string; callerKeyId: string; overlapMs: number },
    by: AuditContext,
  ):
    | KeyMade
    | Replayed
    | { kind: 'caller_invalid' | 'blocked' | 'unknown_key' | 'key_limit' }
    | { kind: 'replaced'; expiresMs: number }

  /** By start. */
  listSubscriptions(accountId: string): Subscription[]
  addSubscription(subscription: Omit<Subscription, 'createdMs'>, by: AuditContext): Subscription

  /** 32 secret bytes made with the ledger, which sign challenges. */
  readonly challengeKey: Uint8Array
  /**
   * Passes on the latest time of the servers that a ledger of a version before 0.9.0 kept, then
   * removes it. The time is not removed if `keep` throws.
   */
  takeTimeFloor(keep: (floorMs: number) => void): void

  /** What was answered under an id less than a day ago. */
  findAnswer(id: string, nowMs: number): StoredAnswer | undefined
  /** Keeps an answer unless its id has one; returns the kept one. Forgets those a day old. */
  putAnswer(answer: StoredAnswer, nowMs: number): StoredAnswer

  /**
   * Judges an address (lower case) by the sanctions list (see `isStale`) and by what the chain
   * answered, and writes the verdict into the audit chain, with the list that was asked.
   */
  recordScreening(
    asked: {
      address: string
      chain: Pick<ScreeningGrounds, 'oracle' | 'issuers'>
      staleAfterMs: number
    },
    by: AuditContext,
  ): Verdict
  /** Facts about the current sanctions list; none if its addresses are not all there. */
  sanctionsList(): SanctionsList | undefined
  /**
   * Replaces the list, or confirms it where only `confirmedMs` differs, which never goes back.
   * Nothing changes if it is `older` than the current one, or `lossy`: without more than
   * `lossPercentMax` (undefined: whatever is lost) of the addresses of that one.
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
  /** `address` in lower case. */
  isSanctioned(address: string): boolean

  /**
   * Adds to the counters of keys, and remembers when each was last used. Never waits, except within
   * `atomically`: a power cut may take the last ones, and while another process writes it throws
   * and adds nothing. Where the ledger is on another machine, the outcome of a call that throws is
   * not known; the same call with the same `flush` adds nothing twice.
   */
  addUsage(entries: readonly UsageEntry[], flush?: UsageFlush): void
  /** Counters of an account from a day on (inclusive), summed over its keys, by day and route. */
  usageOf(accountId: string, fromDay: string): UsageRow[]
  /** Forgets what is older than a day (exclusive). Never waits, as `addUsage`. */
  pruneUsage(beforeDay: string): void

  /**
   * Writes what a server did, step by step, in place of what it wrote of the same steps before, and
   * forgets all steps before a moment. Never waits: throws while another process writes.
   */
  putActivity(steps: readonly Activity[], keptSinceMs: number): void
  /** Of all servers, since a moment (inclusive), by step. */
  listActivity(sinceMs: number): Activity[]

  /** Writes into the audit chain that the operator starts a job of the server. */
  noteJob(job: { name: string; acceptsLoss: boolean }, by: AuditContext): void

  /** Rows of the audit chain after a number, oldest first. */
  listAudit(afterSeq: number, limit: number): AuditRow[]
  /** Rows of what the operator did to a subject, newest first. */
  listAuditOfOperator(subject: string, limit: number): AuditRow[]
  /**
   * Re-reads the whole chain. Faults are a row that does not carry the hash of all before it, a
   * number left out, a table that differs from the last audited state of one of its rows, and a row
   * of credits, answers or the sanctions list, or the ledger's key, that differs from its checksum.
   */
  verifyAudit(): Iterable<string>
  /** Number and hash (hex) of the last row, to be noted elsewhere; undefined in an empty chain. */
  auditHead(): { seq: number; hash: string } | undefined

  /** True as long as no key was ever made. */
  isNew(): boolean

  dispose(): void
}

/** Accounts after an id (exclusive), and since when (inclusive) one must have been idle. */
export type IdleRange = { afterId: string; limit: number; idleSinceMs: number }

/** `id`: `acc_` and letters and digits. An account of the operator's making has no address. */
export type Account = Row<typeof account>

/** `id`: `key_` and letters and digits. */
export type KeyDraft = Pick<
  Row<typeof apiKey>,
  'id' | 'accountId' | 'digest' | 'hint' | 'label' | 'familyId' | 'expiresMs'
>

export type ApiKey = Omit<Row<typeof apiKey>, 'digest' | 'seq'>

export const isValidKey = ({ revokedMs, expiresMs }: ApiKey, nowMs: number): boolean =>
  revokedMs === undefined && (expiresMs === undefined || nowMs < expiresMs)

export type KeySecret = Pick<KeyDraft, 'id' | 'digest' | 'hint' | 'label'>

/** A key for an account that may have `keysMax` valid ones. */
type KeyAsked = {
  accountId: string
  key: KeySecret
  keysMax: number
  once?: Once | undefined
}

export type KeyMade = { kind: 'made'; key: ApiKey; account: Account; tierId: string }

/** What was asked for was done before: this was answered. */
export type Replayed = { kind: 'replayed'; answer: StoredAnswer }

/** Makes what is kept of a change, in its transaction, so that it is not done twice. */
export type Once = { id: string; answer: (made: KeyMade) => StoredAnswer }

export type StoredAnswer = Pick<Row<typeof idempotency>, 'id' | 'fingerprint' | 'sealed'>

export type SanctionsList = Omit<Row<typeof sanctionsList>, 'id' | 'checksum'>

/** True if a list is not to be relied upon; nor is one that a wrong clock dated far ahead. */
export const isStale = (
  { confirmedMs }: Pick<SanctionsList, 'confirmedMs'>,
  { nowMs, staleAfterMs }: { nowMs: number; staleAfterMs: number },
): boolean => Math.abs(nowMs - confirmedMs) > staleAfterMs

export type UsageEntry = Row<typeof usage> & { lastUsedMs: number }

/**
 * What a meter adds in one go. `meter` names it by a UTC day and a random text; `number` rises by
 * each flush that was done.
 */
export type UsageFlush = { meter: string; number: number }

export const ACTIVITY_STEP_MS = 300_000
export const ACTIVITY_KEPT_MS = 30 * 86_400_000

/** What a server did in the five minutes that begin at `stepMs`. */
export type Activity = Pick<Row<typeof activity>, 'stepMs' | 'server' | 'requests' | 'errors'> & {
  /** Requests by their duration: below each of `boundsMs` (`src/http/meters.ts`), and above. */
  durations: readonly number[]
  /** Refusals and failures by their code. */
  problems: Readonly<Record<string, number>>
  /** The recorder on its data folder: when it began, what it stored, and its largest lag. */
  recorder: { startedMs: number; rows: number; lagMs: number | undefined } | undefined
}

export type UsageRow = Pick<UsageEntry, 'day' | 'route' | 'requests' | 'bytes'>

/** `seq` is 1, 2, 3, …; for `hash` see `audit.ts`. */
export type AuditRow = Row<typeof audit>
