/** The ledger's conformance suite on accounts. */
import { describe, expect, test } from 'bun:test'

import type { AuditContext } from '#src/ledger/actor.ts'
import type { IdleRange, Ledger } from '#src/ledger/ledger.ts'

import type { UseLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSubscription,
  auditOf,
  by,
  deedsOf,
  keyIdOf,
  NOW_MS,
  someUsage,
} from './ledger-records.ts'

export function conformAccounts(use: UseLedger): void {
  describe('createAccount', () => {
    conformCreate(use)
  })
  describe('forgetIdle', () => {
    conformForget(use)
  })
  describe('listAccounts', () => {
    conformList(use)
  })
  describe('setBlocked', () => {
    conformBlock(use)
  })
}

const account = (number: number): AuditContext => by(NOW_MS, `account:${accountIdOf(number)}`)

/** An account that signed up by itself, with a key. */
async function signUp(ledger: Ledger, number: number): Promise<void> {
  const id = accountIdOf(number)
  await ledger.createAccount({ id, address: addressOf(number) }, account(number))
  await ledger.createKey(aKey(number, { accountId: id }), account(number))
}

const idleRange = (more: Partial<IdleRange> = {}): IdleRange => ({
  afterId: '',
  limit: 100,
  idleSinceMs: NOW_MS + 1,
  ...more,
})

function conformForget(use: UseLedger): void {
  test(
    'default: account, key and usage are gone, and the chain says so',
    use(async (ledger) => {
      await signUp(ledger, 1)
      await ledger.addUsage([someUsage(1)])
      const range = idleRange()
      expect(await ledger.forgetIdle(range, by(NOW_MS, 'system'))).toEqual({
        forgotten: [accountIdOf(1)],
        nextId: undefined,
      })
      expect(ledger.findAccountByAddress(addressOf(1))).toBeUndefined()
      expect([ledger.listKeys(), ledger.isNew()]).toEqual([[], false])
      expect(ledger.usageOf(accountIdOf(1), '2000-01-01')).toEqual([])
      expect(deedsOf(ledger).slice(-2)).toEqual([
        `system key.forgotten ${keyIdOf(1)}`,
        `system account.forgotten ${accountIdOf(1)}`,
      ])
      await signUp(ledger, 2)
      expect(ledger.findAccount(accountIdOf(2))).toBeDefined()
    }),
  )

  test(
    'behavior: what was made or used since stays, and so does what is not free',
    use(async (ledger) => {
      for (const number of [1, 2, 3, 4, 5]) await signUp(ledger, number)
      await ledger.addUsage([someUsage(1, { lastUsedMs: NOW_MS + 5 })])
      await ledger.addSubscription(aSubscription(1, { accountId: accountIdOf(2) }), by())
      await ledger.createKey(aKey(6, { accountId: accountIdOf(3) }), by(NOW_MS, 'operator'))
      await ledger.setBlocked(accountIdOf(4), true, by(NOW_MS, 'system'))
      await ledger.createAccount({ id: accountIdOf(7) }, by())
      const isFree = [1, 2, 3, 4, 5, 7].map((number) => ledger.isFree(accountIdOf(number)))
      expect(isFree).toEqual([true, false, false, true, true, false])
      const sweep = async (idleSinceMs: number) =>
        (await ledger.forgetIdle(idleRange({ idleSinceMs }), by(NOW_MS, 'system'))).forgotten
      expect(await sweep(NOW_MS)).toEqual([])
      expect(await sweep(NOW_MS + 5)).toEqual([accountIdOf(5)])
      expect(await sweep(NOW_MS + 6)).toEqual([accountIdOf(1)])
    }),
  )

  test(
    'behavior: goes on where it ended',
    use(async (ledger) => {
      for (const number of [1, 2, 3, 4, 5]) await signUp(ledger, number)
      const found: string[] = []
      for (let afterId: string | undefined = ''; afterId !== undefined;) {
        const range = idleRange({ afterId, limit: 2 })
        const { forgotten, nextId } = await ledger.forgetIdle(range, by(NOW_MS, 'system'))
        expect(forgotten.length).toBeLessThanOrEqual(2)
        found.push(...forgotten)
        afterId = nextId
      }
      expect(found).toEqual([1, 2, 3, 4, 5].map(accountIdOf))
    }),
  )
}

function conformCreate(use: UseLedger): void {
  test(
    'default: makes an account that is found by its id and its address',
    use(async (ledger) => {
      const id = accountIdOf(1)
      const address = addressOf(1)
      const made = await ledger.createAccount({ id, address }, by(NOW_MS, `account:${id}`))
      expect(made).toEqual({ id, address, createdMs: NOW_MS })
      expect(ledger.findAccount(id)).toEqual(made)
      expect(ledger.findAccountByAddress(address)).toEqual(made)
      expect(ledger.findAccount(accountIdOf(2))).toBeUndefined()
      expect(ledger.findAccountByAddress(addressOf(2))).toBeUndefined()
      expect(auditOf(ledger)).toEqual([
        {
          deed: `account:${id} account.created ${id}`,
          timeMs: NOW_MS,
          state: { id, address, createdMs: NOW_MS },
        },
      ])
    }),
  )

  test(
    'behavior: many accounts may have no address; only those with one are listed for screening',
    use(async (ledger) => {
      for (const number of [1, 2])
        await ledger.createAccount({ id: accountIdOf(number), label: 'friend' }, by())
      for (const number of [4, 3])
        await ledger.createAccount({ id: accountIdOf(number), address: addressOf(number) }, by())
      expect(ledger.findAccount(accountIdOf(1))?.label).toBe('friend')
      expect(ledger.listAddressedAccounts().map(({ id }) => id)).toEqual(['acc_3', 'acc_4'])
    }),
  )

  test(
    'behavior: a label of any characters comes back, and its audit is sound',
    use(async (ledger) => {
      const labels = ['', "Robert'); DROP TABLE account;--", '\u0001"\\\n', '日本 🦊', '\u2028']
      for (const [number, label] of labels.entries())
        await ledger.createAccount({ id: accountIdOf(number), label }, by())
      const stored = labels.map((_, number) => ledger.findAccount(accountIdOf(number))?.label)
      expect(stored).toEqual(labels)
      // Half of a surrogate pair is no text; whatever becomes of it, it must not look like
      // tampering.
      await ledger.createAccount({ id: accountIdOf(9), label: '\ud83e' }, by())
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'error: refuses an address or an id that is taken, and an address not in lower case',
    use(async (ledger) => {
      await ledger.createAccount({ id: accountIdOf(1), address: addressOf(1) }, by())
      const before = [ledger.revision(), ...deedsOf(ledger)]
      for (const account of [
        { id: accountIdOf(2), address: addressOf(1) },
        { id: accountIdOf(1), address: addressOf(2) },
        { id: accountIdOf(1) },
        { id: accountIdOf(2), address: addressOf(2).toUpperCase() },
      ])
        await expect(ledger.createAccount(account, by())).rejects.toThrow()
      expect(ledger.listAddressedAccounts()).toHaveLength(1)
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
    }),
  )
}

function conformList(use: UseLedger): void {
  test(
    'default: are listed newest first, in pages, and found by parts of what they are called',
    use(async (ledger) => {
      for (const number of [1, 2, 3]) {
        const draft = { id: accountIdOf(number), label: `Friend ${number}` }
        await ledger.createAccount(draft, { ...by(), nowMs: NOW_MS + number })
      }
      await ledger.createAccount({ id: accountIdOf(4), address: addressOf(4) }, by())
      type Query = Omit<Parameters<typeof ledger.listAccounts>[0], 'nowMs'>
      const idsOf = (query: Query, nowMs = NOW_MS) =>
        ledger.listAccounts({ ...query, nowMs }).map(({ id }) => id)
      expect(idsOf({ limit: 10 })).toEqual(['acc_3', 'acc_2', 'acc_1', 'acc_4'])
      const after = { createdMs: NOW_MS + 2, id: 'acc_2' }
      expect(idsOf({ limit: 1, after })).toEqual(['acc_1'])
      expect(idsOf({ limit: 10, search: 'END 2' })).toEqual(['acc_2'])
      expect(idsOf({ limit: 10, search: 'ACC_3' })).toEqual(['acc_3'])
      expect(idsOf({ limit: 10, search: addressOf(4).toUpperCase() })).toEqual(['acc_4'])
      expect(idsOf({ limit: 10, search: '%' })).toEqual([])
      expect(idsOf({ limit: 10, search: 'Starter' })).toEqual([])
      expect(ledger.countHolders('pro', NOW_MS)).toEqual({ bought: 0, granted: 0 })
      await ledger.addSubscription(aSubscription(1, { tierId: 'starter' }), by())
      await ledger.addSubscription(aSubscription(2, { accountId: accountIdOf(2) }), by())
      expect(idsOf({ limit: 10, search: 'Starter' })).toEqual(['acc_1'])
      expect(idsOf({ limit: 10, search: 'pro' })).toEqual(['acc_2'])
      expect(idsOf({ limit: 10, search: 'prop' })).toEqual([])
      expect(idsOf({ limit: 10, search: 'FREE' })).toEqual(['acc_3', 'acc_4'])
      // A higher tier hides a lower one, until it ends.
      const endMs = NOW_MS + 1_000
      await ledger.addSubscription(aSubscription(3, { endMs }), by())
      expect(idsOf({ limit: 10, search: 'Starter' })).toEqual([])
      expect(idsOf({ limit: 10, search: 'Pro' })).toEqual(['acc_2', 'acc_1'])
      expect(idsOf({ limit: 10, search: 'pro' }, endMs)).toEqual(['acc_2'])
      expect(idsOf({ limit: 10, search: 'starter' }, endMs)).toEqual(['acc_1'])
      expect(idsOf({ limit: 10, search: 'free' }, NOW_MS - 1)).toEqual([
        'acc_3',
        'acc_2',
        'acc_1',
        'acc_4',
      ])
    }),
  )
}

function conformBlock(use: UseLedger): void {
  test(
    'default: blocks from a moment on and unblocks again, each written down',
    use(async (ledger) => {
      const id = accountIdOf(1)
      await ledger.createAccount({ id, address: addressOf(1) }, by())
      await ledger.createAccount({ id: accountIdOf(2) }, by())
      await ledger.setBlocked(id, true, by(NOW_MS + 1, 'system'))
      expect(ledger.findAccount(id)?.blockedMs).toBe(NOW_MS + 1)
      expect(ledger.findAccountByAddress(addressOf(1))?.blockedMs).toBe(NOW_MS + 1)
      expect(ledger.findAccount(accountIdOf(2))?.blockedMs).toBeUndefined()
      await ledger.setBlocked(id, false, by(NOW_MS + 2))
      expect(ledger.findAccount(id)?.blockedMs).toBeUndefined()
      expect(deedsOf(ledger).slice(2)).toEqual([
        'system account.blocked acc_1',
        'operator account.unblocked acc_1',
      ])
      expect(auditOf(ledger)[2]?.state).toMatchObject({ id, blockedMs: NOW_MS + 1 })
    }),
  )

  test(
    'behavior: nothing happens to what is so already',
    use(async (ledger) => {
      const id = accountIdOf(1)
      await ledger.createAccount({ id }, by())
      await ledger.setBlocked(id, false, by())
      await ledger.setBlocked(id, true, by())
      const before = [ledger.revision(), ...deedsOf(ledger)]
      await ledger.setBlocked(id, true, by(NOW_MS + 9))
      expect(ledger.findAccount(id)?.blockedMs).toBe(NOW_MS)
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
      expect(before).toHaveLength(3)
    }),
  )

  test(
    'error: refuses an account that is not there',
    use(async (ledger) => {
      await expect(ledger.setBlocked('acc_9', true, by())).rejects.toThrow('no account acc_9')
    }),
  )
}
