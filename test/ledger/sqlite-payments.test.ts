import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { openLedger } from '#src/ledger/open.ts'

import { NOW_MS } from './ledger-records.ts'
import { conformPayments } from './payment-conformance.ts'
import { buy, paymentIdOf } from './payment-records.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-payments-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

conformPayments('in memory', (nowMs) => openLedger(':memory:', { nowMs }))
conformPayments('in a file', (nowMs) => openLedger(newPath(), { nowMs }))

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
})
