import { describe, expect, test } from 'bun:test'

import type { Database } from '#src/database/database.ts'
import { createAuditChain, createAuditedRows, hashOf, verifyAudit } from '#src/ledger/audit.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import {
  type Column,
  columnsOf,
  dropTriggers,
  onFiles,
  openLedgerDatabase,
} from './ledger-engines.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSubscription,
  by,
  createKeyOne,
  keyIdOf,
  NOW_MS,
  someUsage,
  tierOf,
} from './ledger-records.ts'
import { aTransfer, claimUpTo, idsOf } from './payment-records.ts'

/** What a connection of another program finds in what it sees. */
const faultsOf = (db: Database): string[] =>
  verifyAudit({
    db,
    chain: createAuditChain(db),
    rows: createAuditedRows(db),
  })

type Tampered = { db: Database; ledger: Ledger; dispose: () => void }

const brokenHash = (seq: number): string =>
  `Audit row ${seq} does not carry the hash of all before it and itself.`

onFiles((engine) => {
  const zeros = engine.bytes('00'.repeat(32))

  /** A ledger that somebody else has opened as well. */
  function openBoth(): Tampered {
    const place = engine.newPlace()
    const ledger = openLedger(place, { nowMs: NOW_MS })
    const db = openLedgerDatabase(place)
    const dispose = (): void => {
      db.close()
      ledger.dispose()
    }
    return { db, ledger, dispose }
  }

  /** What is found once a value of the last row of a table is another one. */
  function faultsWith(db: Database, ledger: Ledger, column: Column): string[] {
    const { table, name, isNumber, isBytes } = column
    // Of many rows one will do, so that no unique index is in the way.
    const where = `id = (SELECT max(id) FROM ${table})`
    const before = db.prepare<unknown, []>(`SELECT ${name} FROM ${table} WHERE ${where}`).values()
    const text = isNumber ? '777' : "'777'"
    db.run(`UPDATE ${table} SET ${name} = ${isBytes ? engine.bytes('77') : text} WHERE ${where}`)
    const faults = [...ledger.verifyAudit()]
    db.prepare<unknown, [string]>(`UPDATE ${table} SET ${name} = $1 WHERE ${where}`).run(
      before[0]?.[0] as string,
    )
    return faults
  }

  /**
   * A ledger of ten audit rows, four tiers, an account, two keys, a revocation, a subscription
   * and a tier, which somebody else has opened as well.
   */
  async function openTampered(tamper: (db: Database) => void): Promise<Tampered> {
    const { ledger, db, dispose } = openBoth()
    await createKeyOne(ledger)
    await ledger.createKey(aKey(2, { label: 'bot' }), by())
    await ledger.revokeKey(keyIdOf(2), by())
    await ledger.addSubscription(aSubscription(1, { terms: tierOf('starter') }), by())
    await ledger.putTier({ ...tierOf('pro'), amountMillionths: 50_000_000 }, by())
    await ledger.addUsage([someUsage(1)])
    tamper(db)
    return { db, ledger, dispose }
  }

  async function faultsAfter(tamper: (db: Database) => void): Promise<string[]> {
    const { ledger, dispose } = await openTampered(tamper)
    const faults = [...ledger.verifyAudit()]
    dispose()
    return faults
  }

  const tamperChain =
    (...statements: string[]) =>
    (db: Database): void => {
      dropTriggers(db)
      for (const sql of statements) db.run(sql)
    }

  describe('verifyAudit', () => {
    test('error: finds a forgotten account that came back, by hand or under its old id', async () => {
      const { db, ledger, dispose } = await openTampered(() => {})
      const account = { id: accountIdOf(9), address: addressOf(9) }
      const itself = by(NOW_MS, `account:${account.id}`)
      await ledger.createAccount(account, itself)
      const range = { afterId: '', limit: 9, idleSinceMs: NOW_MS + 1 }
      expect((await ledger.forgetIdle(range, by())).forgotten).toEqual([account.id])
      expect(ledger.verifyAudit()).toEqual([])
      db.run(`INSERT INTO account (id, created_ms) VALUES ('${account.id}', 1)`)
      expect(ledger.verifyAudit()).toEqual([
        'account acc_9 is there, though audit row 12 says that it was forgotten.',
      ])
      db.run(`DELETE FROM account WHERE id = '${account.id}'`)
      await ledger.createAccount(account, itself)
      expect(ledger.verifyAudit()).toEqual([
        'account acc_9 was forgotten by audit row 12, and row 13 uses it again.',
      ])
      dispose()
    })

    test('default: finds nothing in a ledger that nobody touched', async () => {
      expect(await faultsAfter(() => {})).toEqual([])
    })

    /** A ledger with a row of each kind that has a checksum. */
    async function openChecked(): Promise<Tampered> {
      const both = await openTampered(() => {})
      const { ledger } = both
      const pack = { terms: tierOf('pro'), periodDays: 0, requests: 1000 }
      const { id } = await claimUpTo(ledger, 1, { state: 'settled', offer: pack })
      await ledger.payments.provision(id, idsOf(1), by())
      for (let count = 0; count < 3; count++) expect(await ledger.payments.useCredit(id)).toBe(true)
      await ledger.payments.returnCredit(id)
      await ledger.payments.beginPaidAnswer(id, { address: 'a', nowMs: NOW_MS })
      await ledger.putAnswer({ id: 'a', fingerprint: 'f', sealed: new Uint8Array([1, 2]) }, NOW_MS)
      const facts = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab' }
      const addresses = new Set([addressOf(2), addressOf(3)])
      await ledger.putSanctionsList({ ...facts, addresses }, by())
      await ledger.putSanctionsList({ ...facts, confirmedMs: NOW_MS + 1, addresses }, by())
      return both
    }

    const paidFault = 'the answer to payment pay_1 is not what the program wrote.'
    const listFault = 'the sanctions list, or an address on it, is not what the program wrote.'
    const keyFault = 'The key of the ledger in meta is not the one that it was made with.'
    const goneFault = 'The key of the ledger is gone from meta.'
    const listDiffers = 'The sanctions list differs from its last audited state, row 18, in'
    const checksumFaults: [string, string[]][] = [
      ['UPDATE credit SET used = 0', ['credit pay_1 is not what the program wrote.']],
      [
        'UPDATE credit SET used = 3, checksum = NULL',
        ['credit pay_1 is not what the program wrote.'],
      ],
      ['UPDATE paid_answer SET answers = 0', [paidFault]],
      ["UPDATE paid_answer SET address = 'b'", [paidFault]],
      ['UPDATE paid_answer SET delivered_ms = 1', [paidFault]],
      [
        `UPDATE sanctions_address SET address = '${addressOf(4)}' WHERE address = '${addressOf(3)}'`,
        [`${listDiffers} addressesSha256.`, listFault],
      ],
      ['UPDATE sanctions_list SET confirmed_ms = confirmed_ms + 1', [listFault]],
      [
        "UPDATE idempotency SET fingerprint = 'g'",
        ['the stored answer a is not what the program wrote.'],
      ],
      [
        `UPDATE idempotency SET sealed = ${engine.bytes('77')}`,
        ['the stored answer a is not what the program wrote.'],
      ],
      [
        `UPDATE meta SET value = ${engine.bytes('77'.repeat(32))} WHERE key = 'challenge_key'`,
        [keyFault],
      ],
      ["DELETE FROM meta WHERE key = 'challenge_key'", [goneFault]],
      [
        'DELETE FROM sanctions_list',
        ['The sanctions list is gone, though audit row 18 records it.'],
      ],
      [
        'DELETE FROM sanctions_list; DELETE FROM sanctions_address',
        ['The sanctions list is gone, though audit row 18 records it.'],
      ],
      ['DELETE FROM sanctions_address', [`${listDiffers} entryCount, addressesSha256.`, listFault]],
    ]
    test('error: finds every row of credits, answers and the sanctions list that was changed', async () => {
      const { db, ledger, dispose } = await openChecked()
      expect(ledger.verifyAudit()).toEqual([])
      for (const [sql, faults] of checksumFaults) {
        db.run('BEGIN')
        db.run(sql)
        // Read by the connection that has changed it, and not committed yet.
        expect([sql, ...faultsOf(db)]).toEqual([sql, ...faults])
        db.run('ROLLBACK')
      }
      expect(ledger.verifyAudit()).toEqual([])
      dispose()
    })

    test('error: finds a changed row after it was used on', async () => {
      const { db, ledger, dispose } = await openChecked()
      const faults = [
        'credit pay_1 is not what the program wrote.',
        'the answer to payment pay_1 is not what the program wrote.',
      ]
      db.run('UPDATE credit SET used = 0')
      db.run('UPDATE paid_answer SET answers = 0')
      expect(ledger.verifyAudit()).toEqual(faults)
      for (let count = 0; count < 5; count++)
        expect(await ledger.payments.useCredit('pay_1')).toBe(true)
      for (let count = 0; count < 5; count++)
        await ledger.payments.beginPaidAnswer('pay_1', { address: 'a', nowMs: NOW_MS })
      expect(ledger.verifyAudit()).toEqual(faults)
      dispose()
    })

    test('error: finds another key of the ledger', () => {
      const place = engine.newPlace()
      openLedger(place, { nowMs: NOW_MS }).dispose()
      const db = openLedgerDatabase(place)
      db.run(`UPDATE meta SET value = ${engine.bytes('77'.repeat(32))} WHERE key = 'challenge_key'`)
      db.close()
      const ledger = openLedger(place, { nowMs: NOW_MS })
      expect(ledger.verifyAudit()).toEqual([keyFault])
      ledger.dispose()
    })

    test('error: a key that was removed from a ledger in use is made again, and found', () => {
      const place = engine.newPlace()
      openLedger(place, { nowMs: NOW_MS }).dispose()
      const db = openLedgerDatabase(place)
      db.run("DELETE FROM meta WHERE key = 'challenge_key'")
      db.close()
      for (let opening = 0; opening < 2; opening++) {
        const ledger = openLedger(place, { nowMs: NOW_MS })
        expect(ledger.challengeKey).toHaveLength(32)
        expect(ledger.verifyAudit()).toEqual([keyFault])
        ledger.dispose()
      }
    })

    const chainFaults: [string, (db: Database) => void, string[]][] = [
      [
        'a changed hash',
        tamperChain(`UPDATE audit SET hash = ${zeros} WHERE seq = 6`),
        [brokenHash(6), brokenHash(7)],
      ],
      [
        'a hash that is too short',
        tamperChain(`UPDATE audit SET hash = ${engine.bytes('77')} WHERE seq = 10`),
        [brokenHash(10)],
      ],
      [
        'a changed state of long ago',
        tamperChain(`UPDATE audit SET state = '{"id":"pro"}' WHERE seq = 3`),
        [brokenHash(3)],
      ],
      [
        'a changed last state',
        tamperChain(`UPDATE audit SET state = replace(state, '"bot"', '"cat"') WHERE seq = 8`),
        [brokenHash(8), 'key key_2 differs from its last audited state, row 8, in label.'],
      ],
      [
        'a changed time',
        tamperChain('UPDATE audit SET time_ms = time_ms + 1 WHERE seq = 5'),
        [brokenHash(5)],
      ],
      [
        'a changed actor',
        tamperChain("UPDATE audit SET actor = 'system' WHERE seq = 5"),
        [brokenHash(5)],
      ],
      [
        'a row left out',
        tamperChain('DELETE FROM audit WHERE seq = 3'),
        ['Audit row 3 is missing: 4 is in its place.', brokenHash(4)],
      ],
      [
        'the first rows left out',
        tamperChain('DELETE FROM audit WHERE seq < 3'),
        [
          'Audit row 1 is missing: 3 is in its place.',
          brokenHash(3),
          'tier free is in no audit row.',
          'tier starter is in no audit row.',
        ],
      ],
      [
        'the last row left out',
        tamperChain('DELETE FROM audit WHERE seq = 10'),
        ['tier pro differs from its last audited state, row 3, in amountMicros.'],
      ],
      [
        'rows that changed places',
        tamperChain(
          'UPDATE audit SET seq = 99 WHERE seq = 1',
          'UPDATE audit SET seq = 1 WHERE seq = 2',
          'UPDATE audit SET seq = 2 WHERE seq = 99',
        ),
        [brokenHash(1), brokenHash(2), brokenHash(3)],
      ],
    ]
    for (const [name, tamper, faults] of chainFaults) {
      test(`error: finds ${name}`, async () => expect(await faultsAfter(tamper)).toEqual(faults))
    }

    const rowFaults: [string, string, string[]][] = [
      [
        "a tier's price",
        "UPDATE tier SET amount_micros = 1 WHERE id = 'pro'",
        ['tier pro differs from its last audited state, row 10, in amountMicros.'],
      ],
      [
        "a tier's coins",
        "UPDATE tier SET coins = 'btc,nocoin' WHERE id = 'free'",
        ['tier free differs from its last audited state, row 1, in coins.'],
      ],
      [
        'a key that was revoked no more',
        "UPDATE api_key SET revoked_ms = NULL WHERE id = 'key_2'",
        ['key key_2 differs from its last audited state, row 8, in revokedMs.'],
      ],
      [
        'a key made to be of another account and never to expire',
        `UPDATE api_key SET account_id = 'acc_9', expires_ms = ${Number.MAX_SAFE_INTEGER}
         WHERE id = 'key_1'`,
        ['key key_1 differs from its last audited state, row 6, in accountId, expiresMs.'],
      ],
      [
        'a key that was exchanged for another',
        `UPDATE api_key SET digest = ${zeros} WHERE id = 'key_1'`,
        ['key key_1 differs from its last audited state, row 6, in digest.'],
      ],
      [
        'a key that nobody made',
        `INSERT INTO api_key (id, account_id, digest, hint, family_id, created_ms)
         VALUES ('key_x', 'acc_1', ${engine.bytes('00')}, 'abcd', 'key_x', 1)`,
        ['key key_x is in no audit row.'],
      ],
      [
        'a key that is gone',
        "DELETE FROM api_key WHERE id = 'key_2'",
        ['key key_2 is gone, though audit row 8 records it.'],
      ],
      [
        'a blocked account that is not audited as such',
        "UPDATE account SET blocked_ms = 5 WHERE id = 'acc_1'",
        ['account acc_1 differs from its last audited state, row 5, in blockedMs.'],
      ],
      [
        'a subscription that was made longer and better',
        `UPDATE subscription SET end_ms = 5, terms = replace(terms, '60', '6000')`,
        ['subscription sub_1 differs from its last audited state, row 9, in terms, endMs.'],
      ],
      [
        'all of a table gone',
        'DELETE FROM subscription',
        ['subscription sub_1 is gone, though audit row 9 records it.'],
      ],
    ]
    for (const [name, sql, faults] of rowFaults) {
      test(`error: finds ${name}`, async () =>
        expect((await faultsAfter((db) => void db.run(sql))).sort()).toEqual(faults.sort()))
    }

    test("behavior: the last use of a key is nobody's gain and no fault", async () =>
      expect(await faultsAfter((db) => void db.run('UPDATE api_key SET last_used_ms = 5'))).toEqual(
        [],
      ))

    test('behavior: a lease is renewed without an audit row; any other change of it is a fault', async () => {
      const { db, ledger, dispose } = await openTampered(() => {})
      const { id, leaseUntilMs = 0 } = await claimUpTo(ledger, 1, { state: 'settling' })
      const row = ledger.auditHead()?.seq
      const faultsWith = (set: string) => {
        db.run(`UPDATE payment SET ${set} WHERE id = '${id}'`)
        return [...ledger.verifyAudit()]
      }
      const fault = `payment ${id} differs from its last audited state, row ${row}, in`
      expect(faultsWith(`lease_until_ms = ${leaseUntilMs + 1}`)).toEqual([])
      expect(faultsWith(`lease_until_ms = ${leaseUntilMs - 1}`)).toEqual([`${fault} leaseUntilMs.`])
      expect(faultsWith('lease_until_ms = NULL')).toEqual([`${fault} leaseUntilMs.`])
      await ledger.payments.move(id, { from: ['settling'], to: 'unknown' }, by())
      expect(faultsWith(`lease_until_ms = ${leaseUntilMs + 1}`)).toHaveLength(1)
      dispose()
    })

    test('behavior: every column of the audited tables is audited, but for the last use of a key', async () => {
      const { db, ledger, dispose } = await openTampered(() => {})
      for (const table of ['tier', 'account', 'api_key', 'subscription']) {
        const columns = columnsOf(db, table).filter(
          ({ name }) => !['id', 'last_used_ms', 'seq'].includes(name),
        )
        expect(columns.length).toBeGreaterThan(3)
        for (const column of columns)
          expect([column, faultsWith(db, ledger, column).length]).toEqual([column, 1])
      }
      expect([...ledger.verifyAudit()]).toEqual([])
      dispose()
    })

    test.skipIf(!engine.isFile)(
      'behavior: values of no type of ours are told as a fault, not thrown',
      async () => {
        const faults = await faultsAfter(
          tamperChain(
            'UPDATE audit SET hash = 7 WHERE seq = 2',
            "UPDATE audit SET action = x'00' WHERE seq = 4",
          ),
        )
        expect(faults.length).toBeGreaterThan(0)
        expect(faults).toContain(brokenHash(2))
      },
    )

    test('behavior: whoever forges the whole chain anew is found by a head that was noted elsewhere', async () => {
      const { db, ledger, dispose } = await openTampered(() => {})
      const noted = ledger.auditHead()
      dropTriggers(db)
      let before: Uint8Array = new Uint8Array(32)
      for (const row of createAuditChain(db).list(0, 100)) {
        const forged = { ...row, state: row.state.replace('50000000', '1') }
        before = hashOf(before, forged)
        db.prepare<unknown, [string, Uint8Array, number]>(
          'UPDATE audit SET state = $1, hash = $2 WHERE seq = $3',
        ).run(forged.state, before, row.seq)
      }
      db.run("UPDATE tier SET amount_micros = 1 WHERE id = 'pro'")
      expect([...ledger.verifyAudit()]).toEqual([])
      expect(ledger.auditHead()?.seq).toBe(noted?.seq ?? 0)
      expect(ledger.auditHead()?.hash).not.toBe(noted?.hash ?? '')
      dispose()
    })
  })

  describe('audit', () => {
    test('error: its rows can be neither changed nor deleted', async () => {
      const { db, ledger, dispose } = await openTampered(() => {})
      const before = ledger.listAudit(0, 100)
      for (const sql of [
        "UPDATE audit SET state = '{}'",
        `UPDATE audit SET hash = ${zeros} WHERE seq = 1`,
        'DELETE FROM audit',
        'DELETE FROM audit WHERE seq = 10',
      ])
        expect(() => db.run(sql)).toThrow('never')
      expect(ledger.listAudit(0, 100)).toEqual(before)
      expect(ledger.findAccountByAddress(addressOf(1))?.id).toBe(accountIdOf(1))
      dispose()
    })
  })

  describe('verifyAudit of payments', () => {
    test('behavior: every column of offers, payments and transfers is audited, the payload by its hash', async () => {
      const { ledger, db, dispose } = openBoth()
      await claimUpTo(ledger, 1, { state: 'settled' })
      await ledger.payments.addUnmatchedTransfer(aTransfer(2), by())
      const columns = ['offer', 'payment', 'unmatched_transfer'].flatMap((table) =>
        columnsOf(db, table).filter(({ name }) => name !== 'id'),
      )
      expect(columns).toHaveLength(16 + 26 + 9)
      for (const column of columns) {
        // The hash differs from what was audited, and from that of the payload.
        const expected = { seq: 0, payload_hash: 2 }[column.name] ?? 1
        expect([column, faultsWith(db, ledger, column).length]).toEqual([column, expected])
      }
      dispose()
    })

    test('error: finds a payment that is gone, and one that nobody audited', async () => {
      const { ledger, db, dispose } = openBoth()
      await claimUpTo(ledger, 1, { state: 'received' })
      db.run("UPDATE payment SET id = 'pay_x'")
      expect([...ledger.verifyAudit()]).toEqual([
        'payment pay_x is in no audit row.',
        'payment pay_1 is gone, though audit row 8 records it.',
      ])
      dispose()
    })
  })

  describe('payment', () => {
    test('error: the database itself refuses what must not be twice', async () => {
      const { ledger, db, dispose } = openBoth()
      for (const number of [1, 2]) await claimUpTo(ledger, number, { state: 'settled' })
      for (const change of [
        "nonce = (SELECT nonce FROM payment WHERE id = 'pay_1')",
        "offer_id = 'quote_1'",
        "(proof_tx_hash, log_index) = (SELECT proof_tx_hash, log_index FROM payment WHERE id = 'pay_1')",
      ])
        expect(() => db.run(`UPDATE payment SET ${change} WHERE id = 'pay_2'`)).toThrow(/unique/i)
      dispose()
    })
  })
})
