/**
 * Nonces of messages that wallets sign. A nonce is stateless: it holds the time of issue, random
 * bytes, and a seal over both and the address that it is issued to.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const TIME_BYTES = 6
const RANDOM_BYTES = 10
const SEAL_BYTES = 16
const SEALED_BYTES = TIME_BYTES + RANDOM_BYTES
const noncePattern = new RegExp(`^[0-9a-f]{${2 * (SEALED_BYTES + SEAL_BYTES)}}$`)

/** The time of a nonce that this ledger did not issue: 1970. */
export const NO_NONCE = '0'.repeat(2 * TIME_BYTES)

/** `key` is a secret. `holder` is an address in any case. */
export function createNonces({
  key,
  randomBytes,
}: {
  key: Uint8Array
  randomBytes: (length: number) => Uint8Array
}) {
  function sealOf(holder: string, sealed: Uint8Array): Uint8Array {
    const hmac = createHmac('sha256', key).update('challenge').update(holder.toLowerCase())
    return hmac.update(sealed).digest().subarray(0, SEAL_BYTES)
  }
  return {
    issue(holder: string, nowMs: number): string {
      const sealed = Buffer.alloc(SEALED_BYTES)
      sealed.writeUIntBE(nowMs, 0, TIME_BYTES)
      sealed.set(randomBytes(RANDOM_BYTES), TIME_BYTES)
      return Buffer.concat([sealed, sealOf(holder, sealed)]).toString('hex')
    },

    isGenuine(holder: string, nonce: string): boolean {
      if (!noncePattern.test(nonce)) return false
      const bytes = Buffer.from(nonce, 'hex')
      const seal = sealOf(holder, bytes.subarray(0, SEALED_BYTES))
      return timingSafeEqual(seal, bytes.subarray(SEALED_BYTES))
    },
  }
}

/** Time of issue of a genuine nonce, Unix milliseconds. */
export const issuedMsOf = (nonce: string): number =>
  Number.parseInt(nonce.slice(0, 2 * TIME_BYTES), 16)
