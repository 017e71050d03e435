/** The ledger's conformance suite on accounts. */
import { describe, expect, test } from 'bun:test'

import type { UseLedger } from './ledger-conformance.ts'
import { accountIdOf, addressOf, auditOf, by, deedsOf, NOW_MS } from './ledger-records.ts'

export function conformAccounts(use: UseLedger): void {
  describe('createAccount', () => {
    conformCreate(use)
  })
  describe('setBlocked', () => {
    conformBlock(use)
  })
}

function conformCreate(use: UseLedger): void {
  test(
    'default: makes an account that is found by its id and its address',
    use((ledger) => {
      const [id, address] = [accountIdOf(1), addressOf(1)]
      const made = ledger.createAccount({ id, address }, by(NOW_MS, `account:${id}`))
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
    use((ledger) => {
      for (const number of [1, 2])
        ledger.createAccount({ id: accountIdOf(number), label: 'friend' }, by())
      for (const number of [4, 3])
        ledger.createAccount({ id: accountIdOf(number), address: addressOf(number) }, by())
      expect(ledger.findAccount(accountIdOf(1))?.label).toBe('friend')
      expect(ledger.listAddressedAccounts().map(({ id }) => id)).toEqual(['acc_3', 'acc_4'])
    }),
  )

  test(
    'behavior: a label of any characters comes back, and its audit is sound',
    use((ledger) => {
      const labels = ['', "Robert'); DROP TABLE account;--", '\u0000"\\\n', '日本 🦊', '\u2028']
      for (const [number, label] of labels.entries())
        ledger.createAccount({ id: accountIdOf(number), label }, by())
      const stored = labels.map((_, number) => ledger.findAccount(accountIdOf(number))?.label)
      expect(stored).toEqual(labels)
      // Half of a surrogate pair is no text; whatever becomes of it, it must not look like tampering.
      ledger.createAccount({ id: accountIdOf(9), label: '\ud83e' }, by())
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'error: refuses an address or an id that is taken, and an address not in lower case',
    use((ledger) => {
      ledger.createAccount({ id: accountIdOf(1), address: addressOf(1) }, by())
      const before = [ledger.revision(), ...deedsOf(ledger)]
      for (const account of [
        { id: accountIdOf(2), address: addressOf(1) },
        { id: accountIdOf(1), address: addressOf(2) },
        { id: accountIdOf(1) },
        { id: accountIdOf(2), address: addressOf(2).toUpperCase() },
      ])
        expect(() => ledger.createAccount(account, by())).toThrow()
      expect(ledger.listAddressedAccounts()).toHaveLength(1)
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
    }),
  )
}

function conformBlock(use: UseLedger): void {
  test(
    'default: blocks from a moment on and unblocks again, each written down',
    use((ledger) => {
      const id = accountIdOf(1)
      ledger.createAccount({ id, address: addressOf(1) }, by())
      ledger.createAccount({ id: accountIdOf(2) }, by())
      ledger.setBlocked(id, true, by(NOW_MS + 1, 'system'))
      expect(ledger.findAccount(id)?.blockedMs).toBe(NOW_MS + 1)
      expect(ledger.findAccountByAddress(addressOf(1))?.blockedMs).toBe(NOW_MS + 1)
      expect(ledger.findAccount(accountIdOf(2))?.blockedMs).toBeUndefined()
      ledger.setBlocked(id, false, by(NOW_MS + 2))
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
    use((ledger) => {
      const id = accountIdOf(1)
      ledger.createAccount({ id }, by())
      ledger.setBlocked(id, false, by())
      ledger.setBlocked(id, true, by())
      const before = [ledger.revision(), ...deedsOf(ledger)]
      ledger.setBlocked(id, true, by(NOW_MS + 9))
      expect(ledger.findAccount(id)?.blockedMs).toBe(NOW_MS)
      expect([ledger.revision(), ...deedsOf(ledger)]).toEqual(before)
      expect(before).toHaveLength(3)
    }),
  )

  test(
    'error: refuses an account that is not there',
    use((ledger) => {
      expect(() => ledger.setBlocked('acc_9', true, by())).toThrow('no account acc_9')
    }),
  )
}
