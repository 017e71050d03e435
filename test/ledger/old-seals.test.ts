/**
 * Ledgers of 0.8.0 and older, whose rows have seals in place of checksums. The numbers are those
 * that 0.8.0 has written for these rows and this key.
 */
import { expect, test } from 'bun:test'

import { formatOf } from '#src/database/migrations.ts'
import { ledgerFormat } from '#src/database/sqlite/database.ts'
import { migratePostgres } from '#src/extensions/postgres/database.ts'
import { postgresLedger } from '#src/extensions/postgres/formats.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { onEachEngine } from './ledger-engines.ts'
import { addressOf, by, createKeyOne, NOW_MS, someUsage, tierOf } from './ledger-records.ts'
import { claimUpTo, idsOf } from './payment-records.ts'

const KEY = '07'.repeat(32)
const KEY_SEAL = '0902a0491c166058fbe0e5e621863e582fdb776c600bc93e456f65cbe81f8369'
const seals = {
  credit: 385_060_535_837_406,
  paid_answer: 79_422_237_548_506,
  idempotency: 111_277_902_993_588,
  sanctions_list: 245_726_597_575_550,
}

onEachEngine((engine) => {
  const formats = engine.isFile ? ledgerFormat : postgresLedger
  const oldFormat = formatOf(formats.migrations) - 1

  /** A place with a ledger as 0.8.0 left it; `tamper` is what was changed by hand since. */
  function makeOld(...tamper: string[]): string {
    const place = engine.newPlace()
    using ledger = openLedger(place, { nowMs: NOW_MS })
    createKeyOne(ledger)
    ledger.addUsage([someUsage(1)])
    const pack = { terms: tierOf('pro'), periodDays: 0, requests: 1000 }
    const { id } = claimUpTo(ledger, 1, { state: 'settled', offer: pack })
    ledger.payments.provision(id, idsOf(1), by())
    for (let count = 0; count < 2; count++) ledger.payments.useCredit(id)
    ledger.payments.beginPaidAnswer(id, { address: 'a', nowMs: NOW_MS })
    ledger.putAnswer({ id: 'a', fingerprint: 'f', sealed: Uint8Array.of(1, 2) }, NOW_MS)
    const addresses = new Set([addressOf(2), addressOf(3)])
    const facts = { publishedOn: '2026-11-20', confirmedMs: NOW_MS + 1, sha256: 'ab' }
    ledger.putSanctionsList({ ...facts, addresses }, by())

    const db = engine.openDatabase(place)
    for (const [table, seal] of Object.entries(seals)) {
      db.run(`UPDATE ${table} SET checksum = ${seal}`)
      db.run(`ALTER TABLE ${table} RENAME COLUMN checksum TO seal`)
    }
    db.run('ALTER TABLE usage ADD COLUMN seal bigint')
    db.run('UPDATE usage SET seal = 7')
    db.run(`UPDATE meta SET value = ${engine.bytes(KEY)} WHERE key = 'challenge_key'`)
    db.run(`INSERT INTO meta (key, value) VALUES ('challenge_seal', ${engine.bytes(KEY_SEAL)})`)
    for (const sql of tamper) db.run(sql)
    const setFormat = engine.isFile ? 'PRAGMA user_version =' : 'UPDATE format SET version ='
    db.run(`${setFormat} ${oldFormat}`)
    db.close()
    return place
  }

  function open(place: string): Ledger {
    if (!engine.isFile) migratePostgres(place, postgresLedger, true)
    return openLedger(place, { nowMs: NOW_MS })
  }

  test('default: a ledger with seals is sound, has its key, and counts on', () => {
    const place = makeOld()
    for (let opening = 0; opening < 2; opening++) {
      using ledger = open(place)
      expect(ledger.verifyAudit()).toEqual([])
      expect(ledger.challengeKey.toHex()).toBe(KEY)
      expect(ledger.payments.useCredit('pay_1')).toBe(true)
      ledger.payments.beginPaidAnswer('pay_1', { address: 'a', nowMs: NOW_MS })
      expect(ledger.verifyAudit()).toEqual([])
    }
    using ledger = open(place)
    expect(ledger.payments.findCredit('pay_1')?.used).toBe(4)
    expect(ledger.usageOf('acc_1', '2026-01-01')).toHaveLength(1)
  })

  const keyFault = 'The key of the ledger in meta is not the one that it was made with.'
  const rowFaults = [
    'credit pay_1 is not what the program wrote.',
    'the answer to payment pay_1 is not what the program wrote.',
    'the stored answer a is not what the program wrote.',
    'the sanctions list, or an address on it, is not what the program wrote.',
  ]
  const tampered: [string, string, string[]][] = [
    ['used requests', 'UPDATE credit SET used = 0', rowFaults.slice(0, 1)],
    ['an answer of a payment', 'UPDATE paid_answer SET answers = 0', rowFaults.slice(1, 2)],
    ['a stored answer', "UPDATE idempotency SET fingerprint = 'g'", rowFaults.slice(2, 3)],
    [
      'the time of the sanctions list',
      'UPDATE sanctions_list SET confirmed_ms = confirmed_ms + 1',
      rowFaults.slice(3),
    ],
    [
      'the key',
      `UPDATE meta SET value = ${engine.bytes('77'.repeat(32))} WHERE key = 'challenge_key'`,
      [keyFault, ...rowFaults],
    ],
    [
      'the seal of the key, which is gone',
      "DELETE FROM meta WHERE key = 'challenge_seal'",
      [keyFault, ...rowFaults],
    ],
  ]
  for (const [what, sql, faults] of tampered) {
    test(`error: what was changed by hand before the conversion is found after it: ${what}`, () => {
      const place = makeOld(sql)
      for (let opening = 0; opening < 2; opening++) {
        using ledger = open(place)
        expect(ledger.verifyAudit()).toEqual(faults)
      }
    })
  }
})
