/**
 * Ledgers of 0.8.0 and older, whose rows have seals in place of checksums. The numbers are those
 * that 0.8.0 has written for these rows and this key.
 */
import { expect, test } from 'bun:test'

import { formatOf } from '#src/database/migrations.ts'
import { ledgerFormat } from '#src/database/sqlite/database.ts'
import { postgresLedger } from '#src/extensions/postgres/formats.ts'
import { migrateTables } from '#src/extensions/postgres/server-tables.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { openLedgerIn } from '../support/stores.ts'
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
  /** That of 0.8.0; in PostgreSQL later migrations follow. */
  const oldFormat = formatOf(formats.migrations) - (engine.isFile ? 1 : 3)

  /** A place with a ledger as 0.8.0 left it; `tamper` is what was changed by hand since. */
  async function makeOld(...tamper: string[]): Promise<string> {
    const place = engine.newPlace()
    using ledger = await openLedgerIn(place, { nowMs: NOW_MS })
    await createKeyOne(ledger)
    await ledger.addUsage([someUsage(1)])
    const pack = { terms: tierOf('pro'), periodDays: 0, requests: 1000 }
    const { id } = await claimUpTo(ledger, 1, { state: 'settled', offer: pack })
    await ledger.payments.provision(id, idsOf(1), by())
    for (let count = 0; count < 2; count++) await ledger.payments.useCredit(id)
    await ledger.payments.beginPaidAnswer(id, { address: 'a', nowMs: NOW_MS })
    await ledger.putAnswer({ id: 'a', fingerprint: 'f', sealed: Uint8Array.of(1, 2) }, NOW_MS)
    const addresses = new Set([addressOf(2), addressOf(3)])
    const facts = { publishedOn: '2026-11-20', confirmedMs: NOW_MS + 1, sha256: 'ab' }
    await ledger.putSanctionsList({ ...facts, addresses }, by())

    const seal = Object.entries(seals).flatMap(([table, seal]) => [
      `UPDATE ${table} SET checksum = ${seal}`,
      `ALTER TABLE ${table} RENAME COLUMN checksum TO seal`,
    ])
    await engine.run(
      place,
      ...seal,
      'ALTER TABLE usage ADD COLUMN seal bigint',
      'UPDATE usage SET seal = 7',
      `UPDATE meta SET value = ${engine.bytes(KEY)} WHERE key = 'challenge_key'`,
      `INSERT INTO meta (key, value) VALUES ('challenge_seal', ${engine.bytes(KEY_SEAL)})`,
      ...tamper,
      ...(engine.isFile ? [] : ['ALTER TABLE heartbeat DROP COLUMN ahead_ms']),
      `${engine.isFile ? 'PRAGMA user_version =' : 'UPDATE format SET version ='} ${oldFormat}`,
    )
    return place
  }

  async function open(place: string): Promise<Ledger> {
    if (!engine.isFile) await migrateTables(place, postgresLedger, true)
    return await openLedgerIn(place, { nowMs: NOW_MS })
  }

  test('default: a ledger with seals is sound, has its key, and counts on', async () => {
    const place = await makeOld()
    for (let opening = 0; opening < 2; opening++) {
      using ledger = await open(place)
      expect(ledger.verifyAudit()).toEqual([])
      expect(ledger.challengeKey.toHex()).toBe(KEY)
      expect(await ledger.payments.useCredit('pay_1')).toBe(true)
      await ledger.payments.beginPaidAnswer('pay_1', { address: 'a', nowMs: NOW_MS })
      expect(ledger.verifyAudit()).toEqual([])
    }
    using ledger = await open(place)
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
    test(`error: what was changed by hand before the conversion is found after it: ${what}`, async () => {
      const place = await makeOld(sql)
      for (let opening = 0; opening < 2; opening++) {
        using ledger = await open(place)
        expect(ledger.verifyAudit()).toEqual(faults)
      }
    })
  }
})
