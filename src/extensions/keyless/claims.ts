/**
 * Keys of purchases without a key. A payment is public as soon as another party has it, so it does
 * not prove who sends it. A response shows a key only if the account begins with this payment, the
 * payment was on no chain when it arrived, and this server submitted it. The holder of the claim gets
 * the same key again until the key is used. The ledger stores only digests of keys: the shown key is
 * in memory, and after a restart the server makes another one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import { ELSEWHERE, firstKeyIdOf, type Payment } from '#src/domain/selling/payment.ts'
import type { Clock } from '#src/domain/time.ts'
import { type ApiKey, isValidKey, type Ledger, type LedgerTransaction } from '#src/ledger/ledger.ts'
import { createCache } from '#src/platform/cache.ts'

const CLAIM_BYTES = 16
const form = /^(?<id>pay_[0-9a-z]+)\.(?<mac>[A-Za-z0-9_-]{22})$/
/** Cached purchases with an unused key. */
const SHOWN_MAX = 10_000
/** Keys of a purchase, over all servers and restarts. */
const KEYS_MAX = 5

export type Claims = ReturnType<typeof createClaims>

export function createClaims({
  ledger,
  clock,
  randomBytes,
  keysPerAccountMax,
}: {
  ledger: Ledger
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  keysPerAccountMax: number
}) {
  /** By payment id. The ledger learns of a use seconds later, so `isUsed` records it at once. */
  const shown = createCache<string, { id: string; key: string; isUsed: boolean }>(SHOWN_MAX)
  const macOf = (paymentId: string): string =>
    createHmac('sha256', ledger.challengeKey)
      .update('claim')
      .update(paymentId)
      .digest()
      .subarray(0, CLAIM_BYTES)
      .toString('base64url')

  function makeKey(
    { createKey, countValidKeys }: LedgerTransaction,
    { id: paymentId, accountId }: Payment,
    made: readonly ApiKey[],
  ) {
    const nowMs = clock()
    const isFull = countValidKeys(accountId, nowMs) >= keysPerAccountMax
    if (made.length >= KEYS_MAX || isFull) return undefined
    const familyId = firstKeyIdOf(paymentId)
    const id = keyIdOf(familyId, made.length)
    const key = createApiKey(randomBytes)
    const draft = { id, accountId, digest: digestOf(key), hint: hintOf(key), familyId }
    createKey(draft, { actor: `account:${accountId}`, nowMs })
    shown.set(paymentId, { id, key, isUsed: false }, { size: 1 })
    return key
  }

  return {
    /** The claim of a payment: the same for each response, and secret. */
    issue: ({ id }: Payment): string => `${id}.${macOf(id)}`,

    /** The payment of a claim; undefined for anything that this server has not issued. */
    async find(claim: string): Promise<Payment | undefined> {
      const { id = '', mac = '' } = form.exec(claim)?.groups ?? {}
      if (id === '' || !timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(id)))) return undefined
      // Another server may have stored it a moment ago.
      return (
        ledger.payments.findPayment(id) ??
        ledger.atomically(({ payments }) => payments.findPayment(id))
      )
    },

    /** The key of a completed purchase; undefined if none may be shown, or the key was used. */
    async showKey(payment: Payment): Promise<string | undefined> {
      const { id, accountId, attempts, reason } = payment
      if (attempts === 0 || reason === ELSEWHERE) return undefined
      const firstId = firstKeyIdOf(id)
      return ledger.atomically((transaction) => {
        const family = transaction
          .listKeys(accountId)
          .filter(({ familyId }) => familyId === firstId)
        const [first, ...made] = family
        // An account created by the payment has its first key, which was never valid, from the same
        // transaction.
        const isFirst = first?.id === firstId && first.expiresMs === first.createdMs
        if (!isFirst || shown.get(id)?.isUsed) return undefined
        const isUntouched = made.every((key, place) => isUnused(key, keyIdOf(firstId, place)))
        if (!isUntouched || !made.every((key) => isValidKey(key, clock()))) return undefined
        const known = shown.get(id)
        if (known !== undefined && made.some((key) => key.id === known.id)) return known.key
        return makeKey(transaction, payment, made)
      })
    },

    /** Notes that a key of a family was used, so that it is not shown again. */
    noteUse(familyId: string): void {
      const known = shown.get(familyId.replace('key_', 'pay_'))
      if (known !== undefined) known.isUsed = true
    },
  }
}

const keyIdOf = (firstId: string, place: number): string => `${firstId}n${place + 1}`

/** True if a key is unchanged since its creation: neither used nor rotated, nor from a signup. */
const isUnused = ({ id, lastUsedMs, expiresMs }: ApiKey, madeAs: string): boolean =>
  id === madeAs && lastUsedMs === undefined && expiresMs === undefined
