/**
 * From the header `Authorization` to a caller. What was found stays in memory until the ledger
 * changes, by whichever process, or the caller's standing may: a revoked key is refused from the
 * next request on, and a valid one costs a hash. While the ledger is stale for longer than keys are
 * honoured without it, no key is.
 */
import { timingSafeEqual } from 'node:crypto'

import {
  DIGEST_LENGTH,
  digestOf,
  isWellFormedKey,
  KEY_LENGTH,
  tokenOf,
} from '#src/domain/selling/api-key.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { onPack, standingAt } from '#src/domain/selling/subscription.ts'
import type { Terms, Tier } from '#src/domain/selling/tier.ts'
import { alwaysCurrent, assertConfirmed, type StaleSince } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import { isValidKey, type Ledger } from '#src/ledger/ledger.ts'

const CALLERS_MAX = 100_000

export type Authenticator = {
  /**
   * The caller whose valid key the header holds; undefined for anything else. `addressOf` returns
   * the network address of the caller. Throws `unavailable` while keys cannot be checked.
   */
  authenticate(authorization: string | null, addressOf: () => string): Caller | undefined
  /** The live catalogue by ascending rank. */
  listTiers(): readonly Tier[]
}

type Entry = { digest: Uint8Array; caller: Caller; untilMs: number; revision: number }

export function createAuthenticator({
  ledger,
  clock,
  staleSince = alwaysCurrent,
  findPack,
}: {
  ledger: Ledger
  clock: Clock
  staleSince?: StaleSince
  /** Finds the pack that an account bought last; undefined where no packs are sold. */
  findPack?: ((accountId: string) => { terms: Terms } | undefined) | undefined
}): Authenticator {
  /** By the first bits of the digest; the whole of it is compared. */
  const entries = new Map<number, Entry>()
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

  /** `since`: the revision from which on it holds. */
  function find(sought: Uint8Array, since: number): Entry | undefined {
    const nowMs = clock()
    const key = ledger.findKeyByDigest(sought)
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
    return { digest: sought, caller, untilMs, revision: since }
  }

  function keepAt(slot: number, found: Entry | undefined): void {
    if (found === undefined) entries.delete(slot)
    else {
      if (entries.size >= CALLERS_MAX) entries.clear()
      entries.set(slot, found)
    }
  }

  return {
    authenticate(authorization) {
      const token = tokenOf(authorization)
      if (token?.length !== KEY_LENGTH) return undefined
      assertConfirmed(staleSince, clock())
      refresh()
      digestOf(token, digest)
      const slot = bits.getUint32(0) * 2 ** 16 + bits.getUint16(4)
      const kept = entries.get(slot)
      const isKnown = kept && clock() < kept.untilMs && timingSafeEqual(kept.digest, digest)
      if (isKnown && kept.revision === revision) return kept.caller
      if (!isWellFormedKey(token)) return undefined
      const found = find(digest.slice(), revision)
      keepAt(slot, found)
      return found?.caller
    },

    listTiers() {
      refresh()
      return tiers
    },
  }
}
