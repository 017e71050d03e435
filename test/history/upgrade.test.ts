import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { historyMigrations } from '#db/migrations.ts'
import type { Database } from '#src/database/database.ts'
import { historyFormat, openDatabase } from '#src/database/sqlite/database.ts'
import type { GapReason } from '#src/domain/coverage.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { crc32 } from '#src/platform/crc32.ts'

import { appendAll, aSnapshot, batchOf, conditionIdOf, getMarket, START_MS } from './books.ts'
import { textOf } from './pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-upgrade-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

/** A file of an older format, open; the first has one migration. */
const openOlder = (path: string, migrations: number): Database =>
  openDatabase(path, {
    format: { ...historyFormat, migrations: historyMigrations.slice(0, migrations) },
  })
const openFirst = (path: string): Database => openOlder(path, 1)

const columnsOf = (db: Database, table: string): string =>
  db
    .prepare<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => name)
    .join(', ')

const firstTables = ['market', 'chunk', 'tail', 'batch', 'meta']

/** Writes what a history holds into a file of an older format, as a bookfeed of then would have. */
function downgrade(path: string, migrations = 1): string {
  const older = newPath()
  const db = openOlder(older, migrations)
  db.prepare('ATTACH ? AS newer').run(path)
  for (const table of migrations === 1 ? firstTables : [...firstTables, 'gap', 'trade']) {
    const columns = columnsOf(db, table)
    db.run(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM newer.${table}`)
  }
  db.run("DELETE FROM meta WHERE key IN ('batch_sum', 'checksum')")
  unsealChunks(db)
  db.close()
  return older
}

/** Blobs of chunks had no checksums, but for hashes, which had one of their own. */
function unsealChunks(db: Database): void {
  const chunks = db
    .prepare<{ id: number; tops: Uint8Array; rows: Uint8Array; hashes: Uint8Array }, []>(
      'SELECT id, tops, rows, hashes FROM chunk',
    )
    .all()
  const put = db.prepare('UPDATE chunk SET tops = ?, rows = ?, hashes = ? WHERE id = ?')
  for (const { id, tops, rows, hashes } of chunks) {
    const own = hashes.slice()
    new DataView(own.buffer).setUint32(own.length - 4, crc32(own.subarray(0, -4)), true)
    put.run(tops.subarray(0, -4), rows.subarray(0, -4), own, id)
  }
}

/**
 * Four markets: two of many chunks with late rows and pauses, one of one row, one
 * without any; two with a winner.
 */
function fill(history: MarketHistory): void {
  for (let number = 0; number < 15; number++) history.append(batchOf(number * (number % 3 ? 1 : 2)))
  const identity = { coin: 'btc', timeframe: '5m' } as const
  history.putMarket({
    conditionId: conditionIdOf(1),
    source: 'simulated',
    winner: 'up',
    ...identity,
  })
  const recorded = { source: 'recorded', winner: 'down', ...identity } as const
  history.putMarket({ conditionId: conditionIdOf(3), ...recorded })
  const snapshots = [aSnapshot({ conditionId: conditionIdOf(4) })]
  history.append({ id: 'recorded', source: 'recorded', snapshots })
  history.close(conditionIdOf(2))
}

const numbers = [1, 2, 3, 4]

/** Everything that readers see of the markets, but for the counters of changes. */
const everything = (history: MarketHistory) =>
  numbers.map((number) => {
    const conditionId = conditionIdOf(number)
    const { revision: _, layout: __, ...market } = getMarket(history, conditionId)
    const text = textOf(history, { conditionId, order: 'asc', limit: 10_000 })
    const gaps = history.gaps(getMarket(history, conditionId))
    return { ...market, gapRevision: undefined, gapSum: undefined, text: Bun.hash(text), gaps }
  })

/** As a bookfeed of then would have it: nobody said why there was a gap. */
const asDerived = (seen: ReturnType<typeof everything>) =>
  seen.map(({ gaps, source, ...rest }) => {
    const reason: GapReason = source === 'simulated' ? 'venue_silent' : 'import'
    return { ...rest, source, gaps: gaps.map((gap) => ({ ...gap, reason })) }
  })

describe('a file of the first format', () => {
  test('behavior: keeps its data and gets what has been kept since, exactly, at the first opening', () => {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    const expected = asDerived(everything(newer))
    newer.dispose()
    const older = openHistory(downgrade(path))
    expect(everything(older)).toEqual(expected)
    expect(expected.flatMap(({ gaps }) => gaps).length).toBeGreaterThan(3)
    expect(expected.map(({ winnerSource }) => winnerSource)).toEqual([
      'simulated',
      undefined,
      'dataset',
      undefined,
    ])
    expect([...older.verify()]).toEqual([])
    older.dispose()
  })

  test('behavior: takes further batches, also when it is opened by two at once', () => {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    newer.dispose()
    const older = downgrade(path)
    const [one, two] = [openHistory(older), openHistory(older)]
    const { revision } = getMarket(one)
    one.append(batchOf(40))
    two.append(batchOf(3))
    appendAll(two, [aSnapshot({ timestampMs: START_MS - 60_000 })])
    expect(getMarket(one).revision).toBe(revision + 3)
    for (const history of [one, two]) {
      expect([...history.verify()]).toEqual([])
      history.dispose()
    }
    const again = openHistory(older)
    expect(again.findBatch('numbered-40')).toBeDefined()
    expect([...again.verify()]).toEqual([])
    again.dispose()
  })

  test('behavior: a chunk that cannot be read is left for verify to report, and all else is served', () => {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    newer.dispose()
    const older = downgrade(path)
    const db = openFirst(older)
    db.run("UPDATE chunk SET rows = x'' WHERE id = (SELECT max(id) FROM chunk)")
    db.close()
    const history = openHistory(older)
    expect([...history.verify()].join()).toContain('cannot be read')
    expect(getMarket(history, conditionIdOf(4)).spans.up).toEqual({
      firstMs: START_MS,
      lastMs: START_MS,
    })
    history.dispose()
  })

  test('behavior: an empty one has nothing to be done', () => {
    const path = newPath()
    openFirst(path).close()
    const history = openHistory(path)
    expect(history.totals()).toMatchObject({ markets: 0, snapshots: 0 })
    fill(history)
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })
})

describe('a file whose derived gaps begin at a state', () => {
  test('behavior: they begin behind it from the first opening on; recorded ones stay', () => {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    const conditionId = conditionIdOf(1)
    const recorded = { outcome: 'up', fromMs: START_MS, toMs: START_MS + 7 } as const
    newer.putGaps(conditionId, [{ ...recorded, reason: 'recorder_down' }])
    const expected = everything(newer)
    const { revision } = getMarket(newer, conditionId)
    const untouched = getMarket(newer, conditionIdOf(4))
    newer.dispose()
    const older = downgrade(path, 5)
    const db = openOlder(older, 5)
    expect(db.run('UPDATE gap SET from_ms = from_ms - 1 WHERE is_derived = 1').changes).not.toBe(0)
    db.close()
    const history = openHistory(older)
    expect(everything(history)).toEqual(expected)
    expect([...history.verify()]).toEqual([])
    // Responses that reported the gaps are other ones now.
    expect(getMarket(history, conditionId).revision).toBe(revision + 1)
    expect(getMarket(history, conditionIdOf(4))).toEqual(untouched)
    history.dispose()
    const again = openHistory(older)
    expect(everything(again)).toEqual(expected)
    again.dispose()
  })
})

describe('a file without checksums', () => {
  const SEALED = 'SELECT count(*) FROM market WHERE checksum IS NOT NULL'
  const count = (path: string, sql: string): unknown => {
    const db = openDatabase(path)
    const [[number] = []] = db.prepare<unknown, []>(sql).values() as unknown[][]
    db.close()
    return number
  }

  /** With a trade and a gap besides. */
  function older(): string {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    const conditionId = conditionIdOf(1)
    const trades = [{ timestampMs: START_MS, price: 500_000 }]
    newer.putTrades({ id: 'trades', conditionId, trades })
    const gap = { outcome: 'up', fromMs: START_MS, toMs: START_MS + 7, reason: 'import' } as const
    newer.putGaps(conditionId, [gap])
    newer.dispose()
    return downgrade(path, 6)
  }

  test.each([
    'UPDATE trade SET price = 1',
    'UPDATE tail SET bid_size = bid_size + 1',
    'UPDATE chunk SET tops = zeroblob(length(tops)) WHERE id = (SELECT min(id) FROM chunk)',
    "UPDATE market SET winner = 'down' WHERE id = 1",
    'UPDATE gap SET to_ms = to_ms + 1',
    "UPDATE batch SET accepted = accepted + 1 WHERE id = 'numbered-0'",
  ])('behavior: has them after the first opening: %s is found', (sql) => {
    const path = older()
    const history = openHistory(path)
    expect([...history.verify()]).toEqual([])
    history.dispose()
    const db = openDatabase(path)
    expect(db.run(sql).changes).toBeGreaterThan(0)
    db.close()
    const damaged = openHistory(path)
    expect([...damaged.verify()]).not.toEqual([])
    damaged.dispose()
  })

  test('behavior: an opening that was killed goes on where it was', () => {
    const path = older()
    const db = openOlder(path, historyMigrations.length)
    db.run(`CREATE TRIGGER stop BEFORE UPDATE ON market WHEN new.id = 3 AND new.checksum IS NOT NULL
      BEGIN SELECT raise(ABORT, 'killed'); END`)
    db.close()
    expect(() => openHistory(path)).toThrow('killed')
    expect(count(path, SEALED)).toBe(2)
    const layout = count(path, 'SELECT sum(length(rows)) FROM chunk WHERE market_id < 3')
    const again = openDatabase(path)
    again.run('DROP TRIGGER stop')
    again.close()
    const history = openHistory(path)
    expect([...history.verify()]).toEqual([])
    history.dispose()
    expect(count(path, SEALED)).toBe(4)
    expect(count(path, 'SELECT sum(length(rows)) FROM chunk WHERE market_id < 3')).toBe(layout)
  })

  test('error: what did not agree before gets none: it is refused, all else is served', () => {
    const path = older()
    const db = openOlder(path, 6)
    const chunk = '(SELECT min(id) FROM chunk WHERE market_id = 1)'
    db.run(
      `UPDATE chunk SET tops = (SELECT tops FROM chunk WHERE market_id = 2) WHERE id = ${chunk}`,
    )
    db.close()
    const history = openHistory(path)
    const query = { order: 'asc', limit: 10 } as const
    expect(() => history.tops({ market: getMarket(history), ...query })).toThrow('is damaged')
    expect(history.tops({ market: getMarket(history, conditionIdOf(2)), ...query }).length).toBe(10)
    expect([...history.verify()].join()).toContain('cannot be read')
    history.dispose()
  })
})

describe('a file of 0.4.0', () => {
  test('behavior: gets the verdicts of its rows, and their gaps, at the first opening', () => {
    const path = newPath()
    const newer = openHistory(path)
    fill(newer)
    const snapshots = Array.from({ length: 130 }, (_, at) =>
      aSnapshot({
        ...{ conditionId: conditionIdOf(4), timestampMs: START_MS + 1 + at },
        ...(at < 110 ? {} : { sourceHash: 'ab'.repeat(20), isVerified: false }),
      }),
    )
    newer.append({ id: 'contradicted', source: 'recorded', snapshots })
    const expected = everything(newer)
    newer.dispose()
    const older = openHistory(downgrade(path, 6))
    expect(everything(older)).toEqual(expected)
    const { gaps } = expected[3] ?? { gaps: [] }
    expect(gaps.map(({ fromMs, reason }) => [fromMs, reason])).toEqual([
      [START_MS + 111, 'hash_mismatch'],
    ])
    expect([...older.verify()]).toEqual([])
    older.dispose()
  })
})
