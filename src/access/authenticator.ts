/**
 * Resolves the header `Authorization` to a caller. Results are cached until the ledger changes, in
 * any process, or the caller's subscription may change: a revoked key is refused from the next
 * request, and a valid one costs a hash. If keys are looked up in a copy of the ledger, an unknown
 * key is looked up once in the database, and a key is refused after the copy has been unconfirmed
 * for `UNCONFIRMED_MS_MAX`, because it may have been revoked.
 */
import { timingSafeEqual } from 'node:crypto'

import { AppError } from '#src/domain/errors.ts'
import {
  DIGEST_LENGTH,
  digestOf,
  isWellFormedKey,
  KEY_LENGTH,
  tokenOf,
} from '#src/domain/selling/api-key.ts'
import { type Caller, uncheckedError } from '#src/domain/selling/caller.ts'
import { onPack, standingAt } from '#src/domain/selling/subscription.ts'
import type { Terms, Tier } from '#src/domain/selling/tier.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import { type ApiKey, isValidKey, type Ledger } from '#src/ledger/ledger.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

const CALLERS_MAX = 100_000
/**
 * The longest time for which keys are accepted without the database; it bounds how long a revoked
 * key works.
 */
export const UNCONFIRMED_MS_MAX = 10_000
/** The maximum number of callers with unknown keys that wait for the copy; others must retry. */
const WAITING_MAX = 1_000
const RETRY_AFTER_SECONDS = 5

/** A local copy of a ledger in a database, in which keys are looked up. */
export type LedgerCopy = {
  /** Resolves when the copy includes everything committed before the call. */
  pull(): Promise<void>
  /**
   * The time up to which the copy is complete, in Unix milliseconds; undefined while it is current.
   */
  behindSince(): number | undefined
}

export type Authenticator = {
  /**
   * The caller with the valid key in the header; undefined otherwise. `addressOf` returns the
   * network address of the caller. Throws `unavailable` while keys cannot be checked.
   */
  authenticate(authorization: string | null, addressOf: () => string): Caller | undefined
  /**
   * Like `authenticate`, but also finds a key that another server has just created: returns a
   * promise only if a well-formed key is unknown here and may be in the database. Rejects with
   * `unavailable`.
   */
  find(authorization: string | null, addressOf: () => string): MaybePromise<Caller | undefined>
  /** Like `find`, by the id of the key: the owner of a link. Throws `unavailable`. */
  findKeyHolder(keyId: string): MaybePromise<Caller | undefined>
  /** The live catalogue by ascending rank. */
  listTiers(): readonly Tier[]
}

type Entry = { caller: Caller; untilMs: number; revision: number }
type DigestEntry = Entry & { digest: Uint8Array }

export function createAuthenticator({
  ledger,
  clock,
  copy,
  findPack,
}: {
  ledger: Ledger
  clock: Clock
  /** The copy, if `ledger` is one. */
  copy?: LedgerCopy | undefined
  /** Finds the pack that an account bought last; undefined if no packs are sold. */
  findPack?: ((accountId: string) => { terms: Terms } | undefined) | undefined
}): Authenticator {
  /** Entries by the first bits of the digest; the whole digest is compared. */
  const entries = new Map<number, DigestEntry>()
  /** Holders of links by the ids of their keys. */
  const holders = new Map<string, Entry>()
  const digest = new Uint8Array(DIGEST_LENGTH)
  const bits = new DataView(digest.buffer)
  let revision = Number.NaN
  let tiers: readonly Tier[] = []

  function refresh(): void {
    const now = ledger.revision()
    if (now === revision) return
    tiers = ledger.listTiers()
    revision = now
  }

  /** Makes the entry of a key; `since` is the revision from which it is valid. */
  function toEntry(key: ApiKey | undefined, since: number): Entry | undefined {
    const nowMs = clock()
    if (key === undefined || !isValidKey(key, nowMs)) return undefined
    const account = ledger.findAccount(key.accountId)
    if (account === undefined) throw new Error(`Key ${key.id} has no account.`)
    const bought = standingAt(ledger.listSubscriptions(account.id), tiers, nowMs)
    const pack = bought.subscription === undefined ? findPack?.(account.id) : undefined
    const standing = pack === undefined ? bought : onPack(bought, pack)
    const { id: keyId, familyId } = key
    const isBlocked = account.blockedMs !== undefined
    const caller: Caller = { keyId, accountId: account.id, familyId, isBlocked, standing }
    const untilMs = Math.min(key.expiresMs ?? Infinity, standing.untilMs)
    return { caller, untilMs, revision: since }
  }

  function keep<Name, Found>(kept: Map<Name, Found>, name: Name, found: Found | undefined): void {
    if (found === undefined) kept.delete(name)
    else {
      if (kept.size >= CALLERS_MAX) kept.clear()
      kept.set(name, found)
    }
  }

  /** Throws `unavailable` if keys may have been revoked without this server's knowledge. */
  function assertConfirmed(): void {
    const sinceMs = copy?.behindSince()
    if (sinceMs === undefined || clock() - sinceMs <= UNCONFIRMED_MS_MAX) return
    throw new AppError(
      'unavailable',
      `Keys cannot be checked: the server has not heard from its ledger since ${toIso(sinceMs)}. Try again in a moment.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    )
  }

  function authenticate(authorization: string | null): Caller | undefined {
    const token = tokenOf(authorization)
    if (token?.length !== KEY_LENGTH) return undefined
    assertConfirmed()
    refresh()
    digestOf(token, digest)
    const slot = bits.getUint32(0) * 2 ** 16 + bits.getUint16(4)
    const kept = entries.get(slot)
    const isKnown = kept && clock() < kept.untilMs && timingSafeEqual(kept.digest, digest)
    if (isKnown && kept.revision === revision) return kept.caller
    if (!isWellFormedKey(token)) return undefined
    const sought = digest.slice()
    const found = toEntry(ledger.findKeyByDigest(sought), revision)
    keep(entries, slot, found && { ...found, digest: sought })
    return found?.caller
  }

  function keyHolder(keyId: string): Caller | undefined {
    assertConfirmed()
    refresh()
    const kept = holders.get(keyId)
    if (kept?.revision === revision && clock() < kept.untilMs) return kept.caller
    const found = toEntry(ledger.findKey(keyId), revision)
    keep(holders, keyId, found)
    return found?.caller
  }

  const pull = copy && createSharedPull(copy.pull)

  /** Reads again after a pull. Rejects with `unavailable`. */
  const afterPull = <T>(pulled: Promise<void>, read: () => T): Promise<T> =>
    pulled.then(read, (cause: unknown) => {
      throw uncheckedError(cause)
    })

  return {
    authenticate,

    findKeyHolder(keyId) {
      const known = keyHolder(keyId)
      return known !== undefined || pull === undefined
        ? known
        : afterPull(pull(), () => keyHolder(keyId))
    },

    find(authorization) {
      const known = authenticate(authorization)
      if (known !== undefined || pull === undefined) return known
      if (!isWellFormedKey(tokenOf(authorization) ?? '')) return undefined
      return afterPull(pull(), () => authenticate(authorization))
    },

    listTiers() {
      refresh()
      return tiers
    },
  }
}

/** Pulls for several callers at once; each waits for a pull that began after its call. */
function createSharedPull(pull: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let waiting = 0

  function begin(): Promise<void> {
    running = pull().finally(() => {
      running = undefined
    })
    return running
  }

  function join(): Promise<void> {
    if (running === undefined && next === undefined) return begin()
    next ??= Promise.resolve(running)
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return begin()
      })
    return next
  }

  return async () => {
    if (waiting >= WAITING_MAX) throw new Error('Too many keys are looked for.')
    waiting++
    try {
      await join()
    } finally {
      waiting--
    }
  }
}
