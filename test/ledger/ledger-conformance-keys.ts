/** The ledger's conformance suite on keys and their use. */
import { describe, expect, test } from 'bun:test'

import type { UseLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  aKey,
  auditOf,
  by,
  createKeyOne,
  deedsOf,
  keyIdOf,
  NOW_MS,
  someUsage,
} from './ledger-records.ts'

export function conformKeys(use: UseLedger): void {
  describe('createKey', () => {
    conformCreate(use)
  })
  describe('listKeys', () => {
    conformList(use)
  })
  describe('expireKey', () => {
    conformExpire(use)
  })
  describe('labelKey', () => {
    conformLabel(use)
  })

  describe('revokeKey', () => {
    conformRevoke(use)
  })
  describe('addUsage', () => {
    conformUsage(use)
  })
}

function conformCreate(use: UseLedger): void {
  test(
    'default: makes a key that is found by its id and its digest, which is never given out',
    use(async (ledger) => {
      await ledger.createAccount({ id: accountIdOf(1) }, by())
      expect(ledger.isNew()).toBe(true)
      const draft = aKey(1, { label: 'bot', expiresMs: NOW_MS + 7, familyId: 'key_0' })
      const { digest, ...told } = draft
      const made = await ledger.createKey(draft, by(NOW_MS + 1))
      expect(made).toEqual({ ...told, createdMs: NOW_MS + 1 })
      expect(made).not.toContainKey('digest')
      expect(ledger.findKey(keyIdOf(1))).toEqual(made)
      expect(ledger.findKeyByDigest(digest)).toEqual(made)
      expect(ledger.isNew()).toBe(false)
      const [, created] = auditOf(ledger)
      expect(created).toEqual({
        deed: 'operator key.created key_1',
        timeMs: NOW_MS + 1,
        state: { ...told, digest: digest.toHex(), createdMs: NOW_MS + 1 },
      })
    }),
  )

  test(
    'behavior: another digest finds nothing, were it one bit or its length',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const { digest } = aKey(1)
      for (let at = 0; at < digest.length; at++) {
        const other = digest.slice()
        other[at] = (other[at] ?? 0) ^ 1
        expect(ledger.findKeyByDigest(other)).toBeUndefined()
      }
      for (const other of [digest.slice(0, 31), new Uint8Array([...digest, 0]), new Uint8Array(0)])
        expect(ledger.findKeyByDigest(other)).toBeUndefined()
      expect(ledger.findKey(keyIdOf(2))).toBeUndefined()
    }),
  )

  test(
    'error: refuses an account that is not there, and an id or a digest that is taken',
    use(async (ledger) => {
      await expect(ledger.createKey(aKey(1), by())).rejects.toThrow('no account acc_1')
      expect(ledger.isNew()).toBe(true)
      await createKeyOne(ledger)
      const before = deedsOf(ledger)
      await expect(ledger.createKey(aKey(2, { id: keyIdOf(1) }), by())).rejects.toThrow()
      await expect(ledger.createKey(aKey(2, { digest: aKey(1).digest }), by())).rejects.toThrow()
      expect([ledger.listKeys().length, deedsOf(ledger)]).toEqual([1, before])
    }),
  )
}

function conformList(use: UseLedger): void {
  test(
    'default: lists keys by creation, of one account or of all, those no longer valid included',
    use(async (ledger) => {
      for (const number of [1, 2]) await ledger.createAccount({ id: accountIdOf(number) }, by())
      await ledger.createKey(aKey(3), by(NOW_MS + 1))
      await ledger.createKey(aKey(2), by(NOW_MS + 1))
      await ledger.createKey(aKey(1, { accountId: accountIdOf(2) }), by(NOW_MS))
      await ledger.revokeKey(keyIdOf(3), by())
      expect(ledger.listKeys().map(({ id }) => id)).toEqual(['key_1', 'key_3', 'key_2'])
      expect(ledger.listKeys(accountIdOf(1)).map(({ id }) => id)).toEqual(['key_3', 'key_2'])
      expect(ledger.listKeys('acc_9')).toEqual([])
    }),
  )

  test(
    'behavior: countValidKeys leaves out the revoked and, from the moment of expiry on, the expired',
    use(async (ledger) => {
      for (const number of [1, 2]) await ledger.createAccount({ id: accountIdOf(number) }, by())
      await ledger.createKey(aKey(1), by())
      await ledger.createKey(aKey(2, { expiresMs: NOW_MS + 10 }), by())
      await ledger.createKey(aKey(3), by())
      await ledger.createKey(aKey(4, { accountId: accountIdOf(2) }), by())
      await ledger.revokeKey(keyIdOf(3), by())
      const count = (nowMs: number) => ledger.countValidKeys(accountIdOf(1), nowMs)
      expect([count(NOW_MS), count(NOW_MS + 9), count(NOW_MS + 10)]).toEqual([2, 2, 1])
      expect(ledger.countValidKeys('acc_9', NOW_MS)).toBe(0)
    }),
  )
}

function conformExpire(use: UseLedger): void {
  test(
    'default: ends a key at a time, and sooner again, but never later',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const id = keyIdOf(1)
      const expiries = await Array.fromAsync([50, 60, 50, 40], async (inMs) => {
        await ledger.expireKey(id, NOW_MS + inMs, by())
        return (ledger.findKey(id)?.expiresMs ?? 0) - NOW_MS
      })
      expect(expiries).toEqual([50, 50, 50, 40])
      const states = auditOf(ledger).slice(2)
      expect(states.map(({ deed }) => deed)).toEqual(Array(2).fill('operator key.expiring key_1'))
      expect(states.map(({ state }) => state.expiresMs - NOW_MS)).toEqual([50, 40])
    }),
  )

  test(
    'behavior: a revoked key ended sooner already',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.revokeKey(keyIdOf(1), by())
      const before = [ledger.revision(), ...deedsOf(ledger)]
      await ledger.expireKey(keyIdOf(1), NOW_MS + 1, by())
      expect(ledger.findKey(keyIdOf(1))?.expiresMs).toBeUndefined()
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
    }),
  )

  test(
    'error: refuses a key that is not there',
    use(async (ledger) => {
      await expect(ledger.expireKey('key_9', NOW_MS, by())).rejects.toThrow('no key key_9')
    }),
  )
}

function conformLabel(use: UseLedger): void {
  test(
    'default: gives another label once, and leaves other keys',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.createKey(aKey(2, { label: 'second' }), by())
      await ledger.labelKey(keyIdOf(1), 'first', by(NOW_MS + 5, 'account:acc_1'))
      const before = [ledger.revision(), ...deedsOf(ledger)]
      await ledger.labelKey(keyIdOf(1), 'first', by(NOW_MS + 9))
      expect([1, 2].map((number) => ledger.findKey(keyIdOf(number))?.label)).toEqual([
        'first',
        'second',
      ])
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
      expect(before.at(-1)).toBe('account:acc_1 key.labelled key_1')
    }),
  )

  test(
    'error: refuses a key that is not there',
    use(async (ledger) => {
      await expect(ledger.labelKey('key_9', 'x', by())).rejects.toThrow('no key key_9')
    }),
  )
}

function conformRevoke(use: UseLedger): void {
  test(
    'default: revokes for good, once, and leaves other keys',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.createKey(aKey(2), by())
      const id = keyIdOf(1)
      expect(await ledger.revokeKey(id, by(NOW_MS + 5, 'account:acc_1'))).toBe(true)
      const before = [ledger.revision(), ...deedsOf(ledger)]
      expect(await ledger.revokeKey(id, by(NOW_MS + 9))).toBe(false)
      expect(ledger.findKey(id)?.revokedMs).toBe(NOW_MS + 5)
      expect(ledger.findKeyByDigest(aKey(1).digest)?.revokedMs).toBe(NOW_MS + 5)
      expect(ledger.findKey(keyIdOf(2))?.revokedMs).toBeUndefined()
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
      expect(before.at(-1)).toBe('account:acc_1 key.revoked key_1')
    }),
  )

  test(
    'error: refuses a key that is not there',
    use(async (ledger) => {
      await expect(ledger.revokeKey('key_9', by())).rejects.toThrow('no key key_9')
    }),
  )
}

function conformUsage(use: UseLedger): void {
  test(
    'default: sums over the keys of an account by day and route, revoked ones included',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.createAccount({ id: accountIdOf(2) }, by())
      await ledger.createKey(aKey(2), by())
      await ledger.createKey(aKey(3, { accountId: accountIdOf(2) }), by())
      await ledger.addUsage([
        someUsage(1),
        someUsage(1, { requests: 2 }),
        someUsage(2, { bytes: 7 }),
      ])
      await ledger.addUsage([
        someUsage(1, { route: 'markets' }),
        someUsage(1, { day: '2026-11-22', bytes: 2 ** 40 }),
        someUsage(3, { requests: 50 }),
        someUsage(9),
      ])
      await ledger.revokeKey(keyIdOf(2), by())
      expect(ledger.usageOf(accountIdOf(1), '2026-11-21')).toEqual([
        { day: '2026-11-21', route: 'markets', requests: 1, bytes: 100 },
        { day: '2026-11-21', route: 'prices', requests: 4, bytes: 207 },
        { day: '2026-11-22', route: 'prices', requests: 1, bytes: 2 ** 40 },
      ])
      expect(ledger.usageOf(accountIdOf(1), '2026-11-22')).toHaveLength(1)
      expect(ledger.usageOf(accountIdOf(1), '2026-11-23')).toEqual([])
      expect(ledger.usageOf('acc_9', '2026-11-21')).toEqual([])
    }),
  )

  test(
    'behavior: remembers the last use, whatever the order, and writes no audit',
    use(async (ledger) => {
      await createKeyOne(ledger)
      expect(ledger.findKey(keyIdOf(1))?.lastUsedMs).toBeUndefined()
      const before = [ledger.revision(), ...deedsOf(ledger)]
      for (const at of [5, 9, 7]) await ledger.addUsage([someUsage(1, { lastUsedMs: NOW_MS + at })])
      await ledger.addUsage([])
      expect(ledger.findKey(keyIdOf(1))?.lastUsedMs).toBe(NOW_MS + 9)
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'behavior: a flush that is done again, also late, adds nothing',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const requests = () => ledger.usageOf(accountIdOf(1), '')[0]?.requests
      const flush = async (meter: string, number: number) => {
        await ledger.addUsage([someUsage(1)], { meter, number })
        return requests()
      }
      const one = '2026-11-21 one'
      const other = '2026-11-21 other'
      expect([await flush(one, 1), await flush(one, 1)]).toEqual([1, 1])
      expect([await flush(other, 1), await flush(one, 2)]).toEqual([2, 3])
      expect([await flush(one, 1), await flush(one, 2)]).toEqual([3, 3])
      expect([await flush(one, 300), await flush(one, 2)]).toEqual([4, 4])
      await ledger.pruneUsage('2026-11-21')
      expect([await flush(one, 300), await flush(other, 1)]).toEqual([4, 4])
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'behavior: pruneUsage forgets the days before one',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const days = ['2026-09-30', '2026-10-01', '2026-10-02']
      await ledger.addUsage(days.map((day) => someUsage(1, { day })))
      await ledger.pruneUsage('2026-10-01')
      expect(ledger.usageOf(accountIdOf(1), '').map(({ day }) => day)).toEqual(days.slice(1))
    }),
  )
}
