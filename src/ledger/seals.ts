/**
 * Seals of rows that change too often for the audit chain, or are made by others' requests: usage,
 * requests of packs, stored answers, the sanctions list. A seal is a number that only the holder of
 * the ledger's own key can make for what is in the row, so a row that was changed by hand, or by a
 * fault of the disk, is found by `verifyAudit`. Like the chain, it does not stop who has both the
 * file and the program.
 *
 * The seal of a counter is linear: adding to the counter adds to the seal, in one statement of SQL.
 */
import { createHmac } from 'node:crypto'

import type { PaidAnswer } from '#src/domain/selling/credit.ts'

/** The largest prime below 2^52: the sum of two seals is an exact number in every engine. */
export const SEAL_PRIME = 4_503_599_627_370_449
const PRIME = BigInt(SEAL_PRIME)
/** Bytes of the digest that make one number below the prime. */
const NUMBER_BYTES = 6

export type Seals = ReturnType<typeof createSeals>

export function createSeals(key: Uint8Array) {
  const digestOf = (name: readonly unknown[]): Buffer =>
    createHmac('sha256', key).update(JSON.stringify(name)).digest()

  /** A seal of counters that are all 0, and what each counter adds for one. */
  function weightsOf(name: readonly unknown[], counters: number): bigint[] {
    const digest = digestOf(name)
    return Array.from({ length: counters + 1 }, (_, index) =>
      BigInt(digest.readUIntBE(index * NUMBER_BYTES, NUMBER_BYTES)),
    )
  }

  return {
    /** Of a row as a whole. */
    ofRow: (name: readonly unknown[]): number => digestOf(name).readUIntBE(0, NUMBER_BYTES),

    /** Of counters of a row that `name` names. */
    ofCounters(name: readonly unknown[], counters: readonly number[]): number {
      // Written by hand: no seal is of it.
      if (!counters.every(Number.isSafeInteger)) return Number.NaN
      const [base = 0n, ...weights] = weightsOf(name, counters.length)
      return Number((base + sumOf(weights, counters)) % PRIME)
    },

    /** What a seal grows by, modulo the prime, when counters grow; they may be negative. */
    ofGrowth(name: readonly unknown[], counters: readonly number[]): number {
      const [, ...weights] = weightsOf(name, counters.length)
      const growth = sumOf(weights, counters) % PRIME
      return Number(growth < 0n ? growth + PRIME : growth)
    },

    /** Of the key itself, which all other seals depend on. */
    ofKey: (): Uint8Array => new Uint8Array(digestOf(['challenge_key'])),
  }
}

const sumOf = (weights: readonly bigint[], counters: readonly number[]): bigint =>
  weights.reduce((sum, weight, index) => sum + weight * BigInt(counters[index] ?? 0), 0n)

/** Of the addresses of a list, in any order. */
export const addressesDigest = (addresses: Iterable<string>): string =>
  new Bun.CryptoHasher('sha256').update([...addresses].toSorted().join('\n')).digest('hex')

type UsageName = { keyId: string; day: string; route: string }
type AnswerRow = { id: string; fingerprint: string; sealed: Uint8Array; createdMs: number }
type ListFacts = { publishedOn: string; confirmedMs: number; sha256: string; entryCount: number }

/** What the seal of each kind of row is of. */
export const sealNames = {
  usage: ({ keyId, day, route }: UsageName) => ['usage', keyId, day, route],
  credit: (id: string) => ['credit', id],
  paidAnswer: ({ id, address, answers, deliveredMs }: PaidAnswer) => [
    'paid answer',
    id,
    address,
    answers,
    deliveredMs ?? null,
  ],
  answer: ({ id, fingerprint, sealed, createdMs }: AnswerRow) => [
    'answer',
    id,
    fingerprint,
    // Written by hand, it may be anything.
    sealed instanceof Uint8Array ? sealed.toHex() : sealed,
    createdMs,
  ],
  sanctions: (
    { publishedOn, confirmedMs, sha256, entryCount }: ListFacts,
    addresses: Iterable<string>,
  ) => ['sanctions', publishedOn, confirmedMs, sha256, entryCount, addressesDigest(addresses)],
}
