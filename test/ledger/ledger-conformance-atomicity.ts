/** The ledger's conformance suite on transactions, the revision and the audit chain. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import type { Ledger, LedgerReads, LedgerTransaction } from '#src/ledger/ledger.ts'

import type { UseLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  createKeyOne,
  deedsOf,
  keyIdOf,
  NOW_MS,
  someUsage,
  tierOf,
} from './ledger-records.ts'

export function conformAtomicity(use: UseLedger): void {
  describe('atomically', () => {
    conformAtomically(use)
  })
  describe('revision', () => {
    conformRevision(use)
  })
  describe('listAudit', () => {
    conformAudit(use)
  })
}

const someAnswer = { id: 'a', fingerprint: 'f', sealed: Uint8Array.of(1) }

/** One of everything that a transaction may hold. */
function changeAll(transaction: LedgerTransaction): void {
  transaction.createAccount({ id: accountIdOf(2), address: '0xbb' }, by())
  transaction.setBlocked(accountIdOf(1), true, by())
  transaction.createKey(aKey(2), by())
  transaction.revokeKey(keyIdOf(1), by())
  transaction.addSubscription(aSubscription(1), by())
  transaction.putTier({ ...tierOf('pro'), name: 'Changed' }, by())
  transaction.signUp(aSignup(4), NOW_MS)
  transaction.putAnswer(someAnswer, NOW_MS)
  transaction.addUsage([someUsage(1)])
  const list = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab', entryCount: 1 }
  transaction.putSanctionsList({ ...list, addresses: new Set(['0xcc']) }, by())
}

const stateOf = (ledger: Ledger) => ({ revision: ledger.revision(), ...rowsOf(ledger) })

const rowsOf = (ledger: LedgerReads) => ({
  tiers: ledger.listTiers(),
  accounts: [ledger.listAddressedAccounts(), ledger.findAccount(accountIdOf(1))],
  keys: ledger.listKeys(),
  subscriptions: ledger.listSubscriptions(accountIdOf(1)),
  answer: ledger.findAnswer('a', NOW_MS),
  usage: ledger.usageOf(accountIdOf(1), ''),
  sanctions: [ledger.sanctionsList(), ledger.isSanctioned('0xcc')],
  audit: ledger.listAudit(0, 1000),
  head: ledger.auditHead(),
})

function conformAtomically(use: UseLedger): void {
  test(
    'default: keeps all of it and returns what the body returns',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const answer = await ledger.atomically((transaction) => {
        changeAll(transaction)
        return transaction.listKeys().length
      })
      expect(answer).toBe(3)
      expect(deedsOf(ledger)).toHaveLength(2 + 9)
      expect(ledger.usageOf(accountIdOf(1), '')).toHaveLength(1)
    }),
  )

  test(
    'behavior: a throw keeps nothing, of the audit and the revision neither',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const before = stateOf(ledger)
      const fail = (transaction: LedgerTransaction): never => {
        changeAll(transaction)
        throw new Error('broken')
      }
      await expect(ledger.atomically(fail)).rejects.toThrow('broken')
      expect(stateOf(ledger)).toEqual(before)
      await ledger.atomically(changeAll)
      expect(ledger.findKey(keyIdOf(4))).toBeDefined()
      expect(stateOf(ledger)).not.toEqual(before)
    }),
  )

  test(
    'behavior: a verb that is refused and caught leaves nothing of itself, and the rest is kept',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.atomically((transaction) => {
        const { createKey, createAccount, putTier } = transaction
        const before = rowsOf(transaction)
        expect(() => createKey(aKey(1), by())).toThrow()
        expect(() => createAccount({ id: accountIdOf(1) }, by())).toThrow()
        expect(() => putTier({ ...tierOf('pro'), rank: 1 }, by())).toThrow()
        expect(rowsOf(transaction)).toEqual(before)
        createKey(aKey(2), by())
      })
      expect(ledger.listKeys()).toHaveLength(2)
    }),
  )

  test(
    'error: refuses a promise, and keeps nothing',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const before = rowsOf(ledger)
      const late = async (transaction: LedgerTransaction) => changeAll(transaction)
      await expect(ledger.atomically(late)).rejects.toThrow('synchronous')
      expect(rowsOf(ledger)).toEqual(before)
    }),
  )
}

function conformRevision(use: UseLedger): void {
  const changes: [string, boolean, (ledger: Ledger) => unknown][] = [
    ['a tier', true, (ledger) => ledger.putTier(tierOf('pro'), by())],
    ['an account', true, (ledger) => ledger.createAccount({ id: accountIdOf(2) }, by())],
    ['blocking', true, (ledger) => ledger.setBlocked(accountIdOf(1), true, by())],
    ['a key', true, (ledger) => ledger.createKey(aKey(2), by())],
    ['an expiry', true, (ledger) => ledger.expireKey(keyIdOf(1), NOW_MS, by())],
    ['a revocation', true, (ledger) => ledger.revokeKey(keyIdOf(1), by())],
    ['a subscription', true, (ledger) => ledger.addSubscription(aSubscription(1), by())],
    ['usage', false, (ledger) => ledger.addUsage([someUsage(1)])],
    ['a signup', true, (ledger) => ledger.signUp(aSignup(4), NOW_MS)],
    ['an answer', false, (ledger) => ledger.putAnswer(someAnswer, NOW_MS)],
    ['reading', false, (ledger) => stateOf(ledger)],
  ]
  for (const [name, isChange, act] of changes) {
    test(
      `behavior: ${name} ${isChange ? 'raises' : 'leaves'} it`,
      use(async (ledger) => {
        await createKeyOne(ledger)
        const before = ledger.revision()
        await act(ledger)
        if (isChange) expect(ledger.revision()).toBeGreaterThan(before)
        else expect(ledger.revision()).toBe(before)
      }),
    )
  }

  test(
    'behavior: what it was in a transaction that was rolled back, it never is again',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const before = ledger.revision()
      let within = before
      const fail = () =>
        ledger.atomically((transaction) => {
          transaction.revokeKey(keyIdOf(1), by())
          within = ledger.revision()
          throw new Error('broken')
        })
      await expect(fail()).rejects.toThrow('broken')
      expect(within).not.toBe(before)
      expect(ledger.revision()).toBe(before)
      await ledger.createKey(aKey(2), by())
      expect([before, within]).not.toContain(ledger.revision())
    }),
  )
}

function conformAudit(use: UseLedger): void {
  test(
    'default: each row carries the hash of all before it, as anybody can work out again',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.atomically(changeAll)
      const rows = ledger.listAudit(0, 1000)
      let hash: Uint8Array = new Uint8Array(32)
      for (const [index, row] of rows.entries()) {
        const { seq, timeMs, actor, action, subject, state } = row
        const json = JSON.stringify([seq, timeMs, actor, action, subject, state])
        hash = new Uint8Array(createHash('sha256').update(hash).update(json).digest())
        expect(seq).toBe(index + 1)
        expect(row.hash.toHex()).toBe(hash.toHex())
      }
      expect(ledger.auditHead()).toEqual({ seq: rows.length, hash: hash.toHex() })
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'behavior: pages of any size put together are the whole chain',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const whole = ledger.listAudit(0, 1000).map(({ seq }) => seq)
      expect(whole).toHaveLength(6)
      for (const limit of [1, 2, 5, 6, 7]) {
        const pages: number[] = []
        for (let page = ledger.listAudit(0, limit); page.length > 0;) {
          pages.push(...page.map(({ seq }) => seq))
          page = ledger.listAudit(pages.at(-1) ?? 0, limit)
        }
        expect(pages).toEqual(whole)
      }
    }),
  )
}
