import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Database } from '#src/database/database.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { AMOUNT_SLOTS } from '#src/ledger/payments/offer-table.ts'
import { ledgerFormat, openDatabase } from '#src/sqlite/database.ts'

import { accountIdOf, by, NOW_MS } from './ledger-records.ts'
import { conformPayments } from './payment-conformance.ts'
import {
  amountOf,
  anOffer,
  aSigned,
  aTransfer,
  buy,
  claimUpTo,
  ensureAccount,
  idsOf,
  openOffer,
  paymentIdOf,
  rulesOf,
} from './payment-records.ts'

const CALLS = 50

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-payments-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

conformPayments('in memory', (nowMs) => openLedger(':memory:', { nowMs }))
conformPayments('in a file', (nowMs) => openLedger(newPath(), { nowMs }))

/** Runs `body` on a file that is open twice, as by two processes. */
function withTwo(body: (one: Ledger, two: Ledger, path: string) => void): void {
  const path = newPath()
  const [one, two] = [openLedger(path, { nowMs: NOW_MS }), openLedger(path, { nowMs: NOW_MS })]
  body(one, two, path)
  expect([...one.verifyAudit()]).toEqual([])
  for (const ledger of [one, two]) ledger.dispose()
}

describe('openOffer', () => {
  test('behavior: two processes give no amount twice', () =>
    withTwo((one, two) => {
      const amounts = Array.from({ length: CALLS }, (_, number) => {
        const ledger = number % 2 === 0 ? one : two
        return openOffer(ledger, number).requirements.amount
      })
      expect(new Set(amounts).size).toBe(CALLS)
    }))

  test('error: two processes together give an account no more offers than it may have', () =>
    withTwo((one, two) => {
      ensureAccount(one)
      const rules = rulesOf({ offersMax: 20 })
      const kinds = Array.from({ length: 30 }, (_, number) => {
        const ledger = number % 2 === 0 ? one : two
        return ledger.payments.openOffer(anOffer(number), rules, by()).kind
      })
      expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(20)
      expect(kinds.indexOf('limit')).toBe(20)
    }))

  test('behavior: when the cent is full, amounts go on below it, by a hundredth of the price at most', () => {
    const path = newPath()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    const price = 3_000_000n
    const { id } = openOffer(ledger, 0, { atomic: price })
    const db = openDatabase(path, { format: ledgerFormat })
    // All of the cent, as offers like the first one.
    db.run(
      `WITH RECURSIVE slot (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM slot WHERE n < ${AMOUNT_SLOTS})
       INSERT INTO offer SELECT 'full' || n, 'acc_full' || n, terms, period_days, symbol, method, network,
         asset, CAST(${price} - n AS TEXT), requirements, from_block, created_ms, expires_ms,
         reserved_until_ms, payer, seq + n, requests FROM offer, slot WHERE id = ?`,
      [id],
    )
    db.close()
    const amounts = Array.from({ length: CALLS }, (_, number) =>
      amountOf(openOffer(ledger, number + 1, { atomic: price })),
    )
    expect(new Set(amounts).size).toBe(CALLS)
    const isWide = (amount: bigint) =>
      amount < price - BigInt(AMOUNT_SLOTS) && amount >= price - price / 100n
    expect(amounts.every(isWide)).toBe(true)
    ledger.dispose()
  })

  test('behavior: what one process releases another one can give at once', () =>
    withTwo((one, two) => {
      const offer = openOffer(one, 1, { atomic: 2n })
      expect(() => openOffer(one, 2, { atomic: 2n })).toThrow('no_amount')
      expect(two.payments.releaseOffer(offer.id, by())).toBe(true)
      expect(openOffer(one, 2, { atomic: 2n }).requirements.amount).toBe('1')
    }))
})

describe('claim', () => {
  test('behavior: two processes with one signed payment take it once', () =>
    withTwo((one, two) => {
      const offer = openOffer(one, 1)
      const answers = Array.from({ length: CALLS }, (_, number) => {
        const draft = { id: paymentIdOf(number), offer, signed: aSigned(1, offer) }
        return (number % 2 === 0 ? one : two).payments.claim(draft, by())
      })
      expect(answers.map(({ kind }) => kind)).toEqual([
        'claimed',
        ...Array<'existing'>(CALLS - 1).fill('existing'),
      ])
      expect(new Set(answers.map(({ payment }) => payment.id)).size).toBe(1)
      expect(two.payments.listPayments({ limit: 99 })).toHaveLength(1)
    }))

  test('behavior: two processes with two payments of one offer take one', () =>
    withTwo((one, two) => {
      const offer = openOffer(one, 1)
      const kinds = [one, two].map((ledger, number) => {
        const signed = aSigned(number, offer)
        return ledger.payments.claim({ id: paymentIdOf(number), offer, signed }, by()).kind
      })
      expect(kinds).toEqual(['claimed', 'offer_taken'])
    }))

  test('behavior: is committed when it returns', () =>
    withTwo((one, two) => {
      const payment = claimUpTo(one, 1, { state: 'settling' })
      expect(two.payments.findPayment(payment.id)).toEqual(payment)
    }))
})

describe('lease', () => {
  test('behavior: of two processes one has it', () =>
    withTwo((one, two) => {
      const { id } = claimUpTo(one, 1, { state: 'screened' })
      const leases = [one, two, one, two].map(({ payments }) =>
        payments.lease(id, NOW_MS + 10, by()),
      )
      expect(leases.map((lease) => lease !== undefined)).toEqual([true, false, false, false])
      // The other one comes in when the first is gone.
      expect(two.payments.lease(id, NOW_MS + 20, by(NOW_MS + 10))?.attempts).toBe(2)
      expect(one.payments.lease(id, NOW_MS + 30, by(NOW_MS + 10))).toBeUndefined()
    }))
})

describe('provision', () => {
  test(`behavior: ${CALLS} calls of two processes are one subscription`, () =>
    withTwo((one, two) => {
      const { id } = claimUpTo(one, 1, { state: 'settled' })
      const made = Array.from({ length: CALLS }, (_, number) =>
        (number % 2 === 0 ? two : one).payments.provision(id, idsOf(number), by()),
      )
      expect(new Set(made.map((subscription) => subscription.id)).size).toBe(1)
      expect(one.listSubscriptions(accountIdOf(1))).toHaveLength(1)
    }))

  test('behavior: the other process learns of it by the revision', () =>
    withTwo((one, two) => {
      const before = two.revision()
      buy(one, 1)
      expect(two.revision()).toBeGreaterThan(before)
    }))
})

describe('openLedger', () => {
  test('behavior: a ledger from before payments gets their tables, and keeps what it has', () => {
    const path = newPath()
    const migrations = ledgerFormat.migrations.slice(0, 2)
    openDatabase(path, { format: { ...ledgerFormat, migrations } }).close()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    const subscription = buy(ledger, 1)
    ledger.dispose()
    const again = openLedger(path, { nowMs: NOW_MS })
    expect(again.payments.findSubscriptionOf(paymentIdOf(1))).toEqual(subscription)
    expect([...again.verifyAudit()]).toEqual([])
    again.dispose()
  })

  test('error: the file itself refuses what must not be twice', () => {
    const path = newPath()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    for (const number of [1, 2]) claimUpTo(ledger, number, { state: 'settled' })
    const db = openDatabase(path, { format: ledgerFormat })
    for (const change of [
      "nonce = (SELECT nonce FROM payment WHERE id = 'pay_1')",
      "offer_id = 'quote_1'",
      "(proof_tx_hash, log_index) = (SELECT proof_tx_hash, log_index FROM payment WHERE id = 'pay_1')",
    ]) {
      expect(() => db.run(`UPDATE payment SET ${change} WHERE id = 'pay_2'`)).toThrow('UNIQUE')
    }
    db.close()
    ledger.dispose()
  })
})

type Column = { table: string; name: string; type: string }

const columnsOf = (db: Database, table: string): Column[] =>
  db
    .prepare<Column, []>(
      `SELECT '${table}' AS "table", name, type FROM pragma_table_info('${table}')`,
    )
    .all()

/** What is found once a value of each row of a table is another one. */
function faultsWith(db: Database, ledger: Ledger, { table, name, type }: Column): string[] {
  const before = db.prepare<unknown, []>(`SELECT ${name} FROM ${table}`).values()[0]?.[0]
  db.run(`UPDATE ${table} SET ${name} = ${type === 'INTEGER' ? '777' : "'777'"}`)
  const faults = [...ledger.verifyAudit()]
  db.prepare(`UPDATE ${table} SET ${name} = ?`).run(before as string)
  return faults
}

describe('verifyAudit', () => {
  test('behavior: every column of offers, payments and transfers is audited, the payload by its hash', () =>
    withTwo((ledger, _, path) => {
      claimUpTo(ledger, 1, { state: 'settled' })
      ledger.payments.addUnmatchedTransfer(aTransfer(2), by())
      const db = openDatabase(path, { format: ledgerFormat })
      const columns = ['offer', 'payment', 'unmatched_transfer'].flatMap((table) =>
        columnsOf(db, table).filter(({ name }) => name !== 'id'),
      )
      expect(columns).toHaveLength(16 + 26 + 9)
      for (const column of columns) {
        // The hash differs from what was audited, and from that of the payload.
        const expected = { seq: 0, payload_hash: 2 }[column.name] ?? 1
        expect([column, faultsWith(db, ledger, column).length]).toEqual([column, expected])
      }
      db.close()
    }))

  test('error: finds a payment that is gone, and one that nobody audited', () => {
    const path = newPath()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    claimUpTo(ledger, 1, { state: 'received' })
    const db = openDatabase(path, { format: ledgerFormat })
    db.run("UPDATE payment SET id = 'pay_x'")
    expect([...ledger.verifyAudit()]).toEqual([
      'payment pay_x is in no audit row.',
      'payment pay_1 is gone, though audit row 8 records it.',
    ])
    db.close()
    ledger.dispose()
  })
})
