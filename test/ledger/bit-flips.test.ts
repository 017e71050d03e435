/**
 * One bit of a closed ledger is another: `audit verify` finds it wherever the audit chain speaks of
 * what has changed. More: `FLIPS=5000 bun test test/ledger/bit-flips.test.ts`; others: `SEED=2`.
 */
import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'
import { messageOf } from '#src/platform/message.ts'
import { createRandom } from '#src/platform/random.ts'

import { type Fate, flipBits } from '../support/bit-flips.ts'
import { addressOf, aKey, aSubscription, by, NOW_MS, someUsage, tierOf } from './ledger-records.ts'
import { aTransfer, claimUpTo } from './payment-records.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { FLIPS = '80', SEED = '1' } = process.env

/** What neither the chain nor a checksum covers: what lasts minutes, statistics, and progress. */
const unaudited = new Set(['used_nonce', 'usage', 'paid_answer', 'scanned_block', 'meta'])
/** Columns of audited rows by which nobody gains, and the order of offers. */
const unauditedColumns = new Set(['last_used_ms', 'seq'])

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-flips-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function makeLedger(): Promise<string> {
  const path = join(folder, 'ledger.db')
  const ledger = openLedger(path, { nowMs: NOW_MS })
  const states = ['screened', 'unknown', 'settled', 'review', 'void', 'rejected'] as const
  for (const [at, state] of states.entries()) await claimUpTo(ledger, at + 1, { state })
  for (let number = 2; number < 9; number++) await ledger.createKey(aKey(number), by())
  await ledger.addSubscription(aSubscription(1, { terms: tierOf('starter') }), by())
  await ledger.addUsage([someUsage(1), someUsage(2)])
  await ledger.putAnswer({ id: 'one', fingerprint: 'two', sealed: new Uint8Array(64) }, NOW_MS)
  const facts = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab'.repeat(32) }
  await ledger.putSanctionsList(
    { ...facts, addresses: new Set([addressOf(5), addressOf(6)]) },
    by(),
  )
  await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())
  ledger.dispose()
  const db = new Database(path)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return path
}

/** All rows of all tables, by table; a table that cannot be read is no row. */
function readAll(path: string): Record<string, string> {
  const db = new Database(path, { readonly: true })
  try {
    const tables = db.query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    return Object.fromEntries(
      tables.all().map(({ name }) => {
        const rows = db.query<Record<string, unknown>, []>(`SELECT rowid AS n, * FROM ${name}`)
        const cells = rows
          .all()
          .map((row) => Object.entries(row).filter(([column]) => !unauditedColumns.has(column)))
        return [name, JSON.stringify(cells)]
      }),
    )
  } finally {
    db.close()
  }
}

function faultsOf(path: string): string[] {
  try {
    using ledger = openLedger(path, { nowMs: NOW_MS })
    return [...ledger.verifyAudit()]
  } catch (error) {
    return [messageOf(error)]
  }
}

test(
  'behavior: every flipped bit of what is audited is found',
  async () => {
    const path = await makeLedger()
    expect(faultsOf(path)).toEqual([])
    const truth = readAll(path)
    let elsewhere = 0
    const options = { random: createRandom(`ledger flips ${SEED}`), flips: Number(FLIPS) }
    const result = await flipBits(path, options, (copy): Fate => {
      if (faultsOf(copy).length > 0) return 'found'
      const now = readAll(copy)
      const changed = Object.keys({ ...truth, ...now }).filter((name) => now[name] !== truth[name])
      if (changed.length === 0) return 'unused'
      if (changed.some((name) => !unaudited.has(name))) return 'silent'
      elsewhere++
      return 'unused'
    })
    process.stderr.write(
      `ledger: ${JSON.stringify(result)}, of the unused ${elsewhere} in counters and lists\n`,
    )
    expect(result.where).toEqual([])
    expect(result.found).toBeGreaterThan(Number(FLIPS) / 20)
  },
  30_000 + Number(FLIPS) * 200,
)
