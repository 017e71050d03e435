/**
 * From the header `Authorization` to a caller. What was found stays in memory until the ledger
 * changes, by whichever process, or the caller's standing may: a revoked key is refused from the
 * next request on, and a valid one costs a hash. While the ledger cannot be read, it is as it was;
 * once it is known to have changed, for half a second, in which it is read without standing still.
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
import type { Caller } from '#src/domain/selling/caller.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import { isValidKey, type Ledger } from '#src/ledger/ledger.ts'

const CALLERS_MAX = 100_000
/** A revoked key is refused everywhere within a second, also while the ledger cannot be read. */
const STALE_MS_MAX = 500
/** The slot of the tiers; those of callers are not negative. */
const TIERS = -1

export type Authenticator = {
  /**
   * The caller whose valid key the header holds; undefined for anything else. `addressOf` returns
   * the network address of the caller.
   */
  authenticate(authorization: string | null, addressOf: () => string): Caller | undefined
  /** The live catalogue by ascending rank. */
  listTiers(): readonly Tier[]
}

type Entry = { digest: Uint8Array; caller: Caller; untilMs: number; revision: number }

export function createAuthenticator({
  ledger,
  clock,
}: {
  ledger: Ledger
  clock: Clock
}): Authenticator {
  /** By the first bits of the digest; the whole of it is compared. */
  const entries = new Map<number, Entry>()
  const digest = new Uint8Array(DIGEST_LENGTH)
  const bits = new DataView(digest.buffer)
  let revision = Number.NaN
  let tiers: readonly Tier[] = []
  /** When the ledger was found to have changed, the first time since it was read. */
  let changedMs: number | undefined
  let staleMs = 0

  /** Slots that are being read beside the requests. */
  const coming = new Set<number>()

  async function readAside<T>(slot: number, read: () => T, keep: (found: T) => void) {
    if (coming.has(slot)) return
    coming.add(slot)
    try {
      keep(await ledger.eventually(read))
    } catch {
      // It is tried again at the next use.
    } finally {
      coming.delete(slot)
    }
  }

  /**
   * Reads the ledger, and keeps what was found. While it is late, what is known holds for a while
   * from `sinceMs` on, and it is read once more beside the requests.
   */
  function readPatiently<T>(
    slot: number,
    read: () => T,
    keep: (found: T) => void,
    known: T | undefined,
    sinceMs: number,
  ): T {
    try {
      const found = read()
      keep(found)
      return found
    } catch (error) {
      const isPassing = error instanceof AppError && error.code === 'storage_unavailable'
      if (known === undefined || !isPassing) throw error
      void readAside(slot, read, keep)
      if (clock() - sinceMs > STALE_MS_MAX) throw error
      return known
    }
  }

  function refresh(): void {
    const now = ledger.revision()
    if (now === revision) return
    staleMs = changedMs ??= clock()
    const known = Number.isNaN(revision) ? undefined : tiers
    const keep = (found: readonly Tier[]) => {
      tiers = found
      revision = now
      changedMs = undefined
    }
    readPatiently(TIERS, ledger.listTiers, keep, known, changedMs)
  }

  /** `since`: the revision from which on it holds. */
  function find(sought: Uint8Array, since: number): Entry | undefined {
    const nowMs = clock()
    const key = ledger.findKeyByDigest(sought)
    if (key === undefined || !isValidKey(key, nowMs)) return undefined
    const account = ledger.findAccount(key.accountId)
    if (account === undefined) throw new Error(`Key ${key.id} has no account.`)
    const standing = standingAt(ledger.listSubscriptions(account.id), tiers, nowMs)
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
      refresh()
      digestOf(token, digest)
      const slot = bits.getUint32(0) * 2 ** 16 + bits.getUint16(4)
      const kept = entries.get(slot)
      const isKnown = kept && clock() < kept.untilMs && timingSafeEqual(kept.digest, digest)
      const known = isKnown ? kept : undefined
      if (known?.revision === revision) return known.caller
      if (!isWellFormedKey(token)) return undefined
      const sought = digest.slice()
      const since = revision
      const read = () => find(sought, since)
      return readPatiently(slot, read, (found) => keepAt(slot, found), known, staleMs)?.caller
    },

    listTiers() {
      refresh()
      return tiers
    },
  }
}
