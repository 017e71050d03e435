/** The ledger's conformance suite on signup, rotation and the answers that are kept of them. */
import { describe, expect, test } from 'bun:test'

import type { KeyMade, Ledger, Once } from '#src/ledger/ledger.ts'

import type { UseLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  createKeyOne,
  deedsOf,
  keyIdOf,
  NOW_MS,
} from './ledger-records.ts'

export function conformKeyChanges(use: UseLedger): void {
  describe('signUp', () => {
    conformSignup(use)
    conformNonces(use)
  })
  describe('rotateKey', () => {
    conformRotation(use)
  })
  describe('once', () => {
    conformOnce(use)
  })
}

const kindOf = async (ledger: Ledger, number: number, changes = {}) =>
  (await ledger.signUp(aSignup(number, changes), NOW_MS)).kind

function conformSignup(use: UseLedger): void {
  test(
    'default: makes account and key, each a deed of the account itself',
    use(async (ledger) => {
      const made = await ledger.signUp(aSignup(2), NOW_MS)
      const account = { id: accountIdOf(2), address: addressOf(2), createdMs: NOW_MS }
      expect(made).toMatchObject({ kind: 'made', account, tierId: 'free' })
      expect(ledger.findAccountByAddress(addressOf(2))).toMatchObject(account)
      expect(ledger.findKeyByDigest(aKey(2).digest)).toMatchObject({
        id: keyIdOf(2),
        accountId: accountIdOf(2),
        familyId: keyIdOf(2),
      })
      expect(deedsOf(ledger)).toEqual([
        'account:acc_2 account.created acc_2',
        'account:acc_2 key.created key_2',
      ])
    }),
  )

  test(
    'behavior: with keepKeys no key ends, and nothing is written where that forbids a new one',
    use(async (ledger) => {
      const again = { ...aSignup(3), address: addressOf(2), keepKeys: true }
      expect(await kindOf(ledger, 2, { keepKeys: true })).toBe('made')
      const before = deedsOf(ledger)
      expect(await ledger.signUp(again, NOW_MS + 1)).toEqual({ kind: 'has_key' })
      expect(deedsOf(ledger)).toEqual(before)
      // The same signed message may be used for what the caller decides next.
      expect((await ledger.signUp({ ...again, keepKeys: false }, NOW_MS + 1)).kind).toBe('made')
    }),
  )

  test(
    'behavior: with keepKeys an account that has paid and has a valid key gets no other',
    use(async (ledger) => {
      const made = await ledger.signUp(aSignup(2), NOW_MS)
      const accountId = made.kind === 'made' ? made.account.id : ''
      await ledger.addSubscription(aSubscription(1, { accountId }), by())
      const again = { ...aSignup(3), address: addressOf(2), keysMax: 2 }
      expect(await ledger.signUp({ ...again, keepKeys: true }, NOW_MS + 1)).toEqual({
        kind: 'has_key',
      })
      expect((await ledger.signUp(again, NOW_MS + 1)).kind).toBe('made')
      expect(ledger.listKeys().filter(({ revokedMs }) => revokedMs === undefined)).toHaveLength(2)
    }),
  )

  test(
    'behavior: a free account has one key, in the family of the one that it ends',
    use(async (ledger) => {
      await ledger.signUp(aSignup(2), NOW_MS)
      await ledger.signUp({ ...aSignup(3), address: addressOf(2) }, NOW_MS + 1)
      const keys = ledger.listKeys()
      expect(keys.map(({ id, revokedMs }) => [id, revokedMs])).toEqual([
        [keyIdOf(2), NOW_MS + 1],
        [keyIdOf(3), undefined],
      ])
      expect(keys.map(({ familyId }) => familyId)).toEqual([keyIdOf(2), keyIdOf(2)])
      expect(ledger.findAccount(accountIdOf(3))).toBeUndefined()
    }),
  )

  test(
    'behavior: one that was granted something keeps its keys, up to their number',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.addSubscription(aSubscription(1), by())
      const address = addressOf(1)
      expect(await ledger.signUp({ ...aSignup(2), address, keysMax: 2 }, NOW_MS)).toMatchObject({
        kind: 'made',
        tierId: 'pro',
      })
      const before = deedsOf(ledger)
      expect(await kindOf(ledger, 3, { address, keysMax: 2 })).toBe('key_limit')
      expect(ledger.countValidKeys(accountIdOf(1), NOW_MS)).toBe(2)
      expect(deedsOf(ledger)).toEqual(before)
      expect(await kindOf(ledger, 3, { address, keysMax: 3 })).toBe('made')
    }),
  )

  test(
    'error: a blocked account gets none, and its message is not used up',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.setBlocked(accountIdOf(1), true, by())
      expect(await kindOf(ledger, 2, { address: addressOf(1) })).toBe('blocked')
      await ledger.setBlocked(accountIdOf(1), false, by())
      expect(await kindOf(ledger, 2, { address: addressOf(1), keysMax: 2 })).toBe('made')
    }),
  )
}

function conformNonces(use: UseLedger): void {
  test(
    'default: a challenge is answered once, each on its own',
    use(async (ledger) => {
      const kinds = await Array.fromAsync(['a', 'a', 'b', 'a', 'b'], (nonce, number) =>
        kindOf(ledger, number + 2, { nonce }),
      )
      expect(kinds).toEqual(['made', 'nonce_used', 'made', 'nonce_used', 'nonce_used'])
      expect(ledger.listKeys()).toHaveLength(2)
    }),
  )

  test(
    'behavior: is remembered to its very end, and forgotten once it has expired',
    use(async (ledger) => {
      const useNonce = async (number: number, lifeMs: number, afterMs: number) =>
        (
          await ledger.signUp(
            aSignup(number, { nonce: number === 4 ? 'b' : 'a', expiresMs: NOW_MS + lifeMs }),
            NOW_MS + afterMs,
          )
        ).kind
      expect(await useNonce(2, 10, 0)).toBe('made')
      expect(await useNonce(3, 10, 10)).toBe('nonce_used')
      expect(await useNonce(4, 90, 11)).toBe('made')
      expect(await useNonce(5, 90, 11)).toBe('made')
    }),
  )
}

const actor = `account:${accountIdOf(1)}` as const
const rotation = {
  id: keyIdOf(1),
  accountId: accountIdOf(1),
  callerKeyId: keyIdOf(1),
  key: aKey(2),
  overlapMs: 5,
  keysMax: 1,
}

function conformRotation(use: UseLedger): void {
  test(
    'default: makes a key of the same family, and the old one ends after the overlap',
    use(async (ledger) => {
      await createKeyOne(ledger)
      expect((await ledger.rotateKey(rotation, by(NOW_MS, actor))).kind).toBe('made')
      expect(ledger.findKey(keyIdOf(1))?.expiresMs).toBe(NOW_MS + 5)
      expect(ledger.findKey(keyIdOf(2))).toMatchObject({ familyId: keyIdOf(1) })
      expect(deedsOf(ledger).slice(2)).toEqual([
        `${actor} key.created key_2`,
        `${actor} key.expiring key_1`,
      ])
    }),
  )

  test(
    'error: what is refused changes nothing',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const rotate = (changes: object, nowMs = NOW_MS) =>
        ledger.rotateKey({ ...rotation, key: aKey(9), ...changes }, by(nowMs, actor))
      expect(await rotate({ callerKeyId: keyIdOf(7) })).toEqual({ kind: 'caller_invalid' })
      expect(await rotate({ id: keyIdOf(7) })).toEqual({ kind: 'unknown_key' })
      await ledger.setBlocked(accountIdOf(1), true, by())
      expect(await rotate({})).toEqual({ kind: 'blocked' })
      await ledger.setBlocked(accountIdOf(1), false, by())
      await ledger.createKey(aKey(3), by())
      expect(await rotate({})).toEqual({ kind: 'key_limit' })
      await ledger.expireKey(keyIdOf(1), NOW_MS + 9, by())
      expect(await rotate({})).toEqual({ kind: 'replaced', expiresMs: NOW_MS + 9 })
      expect(await rotate({}, NOW_MS + 9)).toEqual({ kind: 'caller_invalid' })
      expect(ledger.findKey(keyIdOf(9))).toBeUndefined()
    }),
  )
}

function conformOnce(use: UseLedger): void {
  const once: Once = {
    id: 'once',
    answer: ({ key }: KeyMade) => ({
      id: 'once',
      fingerprint: key.id,
      sealed: Uint8Array.of(1),
    }),
  }

  test(
    'default: keeps the answer with what was done, and does it once',
    use(async (ledger) => {
      expect((await ledger.signUp({ ...aSignup(2), once }, NOW_MS)).kind).toBe('made')
      const answer = { id: 'once', fingerprint: keyIdOf(2), sealed: Uint8Array.of(1) }
      expect(ledger.findAnswer('once', NOW_MS)).toEqual(answer)
      expect(await ledger.signUp({ ...aSignup(3), once }, NOW_MS)).toEqual({
        kind: 'replayed',
        answer,
      })
      expect(ledger.listKeys()).toHaveLength(1)
    }),
  )

  test(
    'behavior: an answer that cannot be made, or a refusal, keeps nothing',
    use(async (ledger) => {
      const fail = (): never => {
        throw new Error('broken')
      }
      const broken = { ...once, answer: fail }
      await expect(ledger.signUp({ ...aSignup(2), once: broken }, NOW_MS)).rejects.toThrow('broken')
      expect([ledger.listKeys(), deedsOf(ledger)]).toEqual([[], []])
      await ledger.signUp(aSignup(2), NOW_MS)
      const again = { ...aSignup(3), nonce: aSignup(2).nonce, once }
      expect((await ledger.signUp(again, NOW_MS)).kind).toBe('nonce_used')
      expect(ledger.findAnswer('once', NOW_MS)).toBeUndefined()
    }),
  )
}
