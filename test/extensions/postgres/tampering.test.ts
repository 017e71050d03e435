/** Changes values of a PostgreSQL by SQL, one at a time: a copy of it finds each, or it is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { openReplica } from '#src/extensions/postgres/replica.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, conditionIdOf, randomHash, someSnapshots } from '../../history/books.ts'
import {
  addressOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  NOW_MS,
  someUsage,
  tierOf,
} from '../../ledger/ledger-records.ts'
import { aTransfer, claimUpTo, idsOf } from '../../ledger/payment-records.ts'
import { changedValue } from '../../support/changed-value.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { someTicks } from '../../support/market-history.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const START_MS_MAX = 300_000
const TEST_MS_MAX = 240_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-tampering-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What nothing that is kept depends on; a recorder writes its sign of life again within seconds. */
const FREE = /^(chunk\.id|sqlite_sequence\.|format\.|change\.|heartbeat\.|recorder\.)/

/** What lasts minutes, statistics, progress and the order of rows: neither the chain nor a checksum. */
const UNAUDITED =
  /^(used_nonce|usage|scanned_block|activity|format|change|heartbeat)\.|\.(last_used_ms|seq)$/

async function fillHistory(place: string): Promise<void> {
  const random = createRandom('tampering')
  const history = await openHistoryIn(place)
  const conditionId = conditionIdOf(1)
  const rows = someSnapshots(240).map((row) => ({
    ...row,
    sourceHash: randomHash(random),
    receivedMs: row.timestampMs + 40,
  }))
  const [{ timestampMs } = { timestampMs: 0 }] = rows
  await appendAll(history, rows)
  const trades = [{ timestampMs, price: 500_000, outcome: 'up' } as const]
  await history.putTrades({ id: 'trades', conditionId, trades })
  const span = { outcome: 'up', fromMs: timestampMs, toMs: timestampMs + 9 } as const
  await history.putGaps(conditionId, [{ ...span, reason: 'recorder_down' }])
  const about = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
  await history.putMarket({ ...about, winner: 'up', strike: '7.5', finalPrice: '7.6' })
  const window = { coin: 'btc', timeframe: '15m', source: 'recorded' } as const
  const prices = { winner: 'up', strike: '1', finalPrice: '2' } as const
  await history.putOutcomes([{ ...window, windowStartMs: 900_000, ...prices }])
  await history.putSpot(someTicks('btc', 8))
  await history.putReceipts([{ tradeId: history.lastTradeId(), isSuccess: true }], 1)
  await history.manifests.add({ day: '2026-04-14', madeMs: 0, series: [], files: [] })
  await history.archive.pack(1, 0)
  history.dispose()
}

async function fillLedger(place: string): Promise<void> {
  using ledger = await openLedgerIn(place, { nowMs: NOW_MS })
  for (const [at, state] of (['screened', 'unknown', 'review', 'void'] as const).entries())
    await claimUpTo(ledger, at + 1, { state })
  const pack = { terms: tierOf('pro'), periodDays: 0, requests: 1000 }
  const { id } = await claimUpTo(ledger, 5, { state: 'settled', offer: pack })
  await ledger.payments.provision(id, idsOf(5), by())
  await ledger.payments.useCredit(id)
  await ledger.payments.beginPaidAnswer(id, { address: 'a', nowMs: NOW_MS })
  for (let number = 2; number < 9; number++) await ledger.createKey(aKey(number), by())
  await ledger.addSubscription(aSubscription(1, { terms: tierOf('starter') }), by())
  await ledger.signUp(aSignup(70), NOW_MS)
  await ledger.addUsage([someUsage(1)])
  await ledger.putAnswer({ id: 'a', fingerprint: 'f', sealed: new Uint8Array(64) }, NOW_MS)
  const facts = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab'.repeat(32) }
  const addresses = new Set([addressOf(2), addressOf(3)])
  await ledger.putSanctionsList({ ...facts, addresses }, by())
  await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())
}

/** Each store: what it has, what nothing depends on, and what is found in its copy. */
const stores = {
  history: {
    schema: 'bookfeed',
    fill: fillHistory,
    free: FREE,
    facts: '',
    gone: [],
    faultsIn(path: string): string[] {
      const history = openHistory(path, { isReadOnly: true, chunkCacheBytes: 0 })
      const faults = [...history.verify()]
      history.dispose()
      return faults
    },
  },
  ledger: {
    schema: 'bookfeed_ledger',
    fill: fillLedger,
    free: UNAUDITED,
    // The others are progress.
    facts: "WHERE key = 'challenge_key'",
    gone: ['audit', 'api_key', 'payment', 'subscription', 'sanctions_address', 'meta'],
    faultsIn(path: string): string[] {
      using ledger = openLedger(path, { nowMs: NOW_MS, isReadOnly: true, isAsItIs: true })
      return [...ledger.verifyAudit()]
    },
  },
}

type Column = { table: string; column: string; type: string }

describe.skipIf(postgresPrograms === undefined).each(['history', 'ledger'] as const)(
  'verify of a copy of PostgreSQL: %s',
  (store) => {
    const { schema, fill, free, facts, gone, faultsIn } = stores[store]
    let postgres: Postgres | undefined
    let sql: SQL
    const path = join(folder, `${store}.db`)
    beforeAll(async () => {
      postgres = await startPostgres()
      await fill(postgres.url)
      sql = new SQL(postgres.url, { max: 1, bigint: true, connection: { search_path: schema } })
      // Whoever changes rows of the chain by hand has taken this away.
      if (store === 'ledger') await sql`ALTER TABLE audit DISABLE TRIGGER audit_no_change`
    }, START_MS_MAX)
    afterAll(async () => {
      await sql?.close()
      await postgres?.[Symbol.asyncDispose]()
    }, START_MS_MAX)

    /** Puts another value in a row; undefined where the database refuses it. */
    async function tamper({ table, column, type }: Column, draw: Random) {
      const rows = await sql
        .unsafe(
          `SELECT CAST(ctid AS TEXT), ${column} FROM ${table}
           ${table === 'meta' ? facts : ''} ORDER BY ctid`,
        )
        .values()
      const [at, held = null] = rows[draw.integer(rows.length)] ?? []
      if (at === undefined) throw new Error(`${table} has no rows.`)
      const value = typeof held === 'bigint' ? Number(held) : held
      const other = changedValue(value ?? (type === 'bigint' ? 0 : value))
      const put = `UPDATE ${table} SET ${column} = $1 WHERE ctid = CAST($2 AS tid) RETURNING CAST(ctid AS TEXT)`
      const given = (one: unknown) => (typeof one === 'number' ? BigInt(one) : one)
      try {
        const [[moved] = []] = await sql.unsafe(put, [given(other), at]).values()
        return () => sql.unsafe(put, [given(value), moved])
      } catch (error) {
        expect(String(error)).toMatch(/violates|invalid/)
        return undefined
      }
    }

    async function faultsNow(): Promise<string[]> {
      const place = postgres?.url ?? ''
      const timer = () => performance.now()
      const replica = openReplica({ store, place, path, server: '', timer })
      await replica.pull()
      replica.close()
      try {
        return faultsIn(path)
      } catch (error) {
        // Damaged facts are found at the opening.
        return [String(error)]
      }
    }

    test(
      'error: a change of every column of every table is found',
      async () => {
        const columns: Column[] = await sql.unsafe(
          `SELECT table_name AS "table", column_name AS "column", data_type AS type
         FROM information_schema.columns WHERE table_schema = current_schema()
         ORDER BY table_name, ordinal_position`,
        )
        const draw = createRandom('columns')
        const silent: string[] = []
        let changes = 0
        for (const each of columns) {
          if (free.test(`${each.table}.${each.column}`)) continue
          const restore = await tamper(each, draw)
          if (restore === undefined) continue
          changes++
          if ((await faultsNow()).length === 0) silent.push(`${each.table}.${each.column}`)
          await restore()
        }
        expect(silent).toEqual([])
        expect(changes).toBeGreaterThan(100)
        expect(await faultsNow()).toEqual([])
        for (const [at, table] of gone.entries()) {
          const before = await faultsNow()
          await sql.unsafe(`DELETE FROM ${table} WHERE ctid = (SELECT max(ctid) FROM ${table})`)
          expect([at, (await faultsNow()).length > before.length]).toEqual([at, true])
        }
      },
      TEST_MS_MAX,
    )
  },
)
