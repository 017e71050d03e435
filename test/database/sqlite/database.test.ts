import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { historyMigrations, ledgerMigrations } from '#db/migrations.ts'
import { readConsistently, transact } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import {
  appendAll,
  batchOf,
  conditionIdOf,
  getMarket,
  simulatedSnapshots,
  someSnapshots,
} from '../../history/books.ts'
import { idsOf, pageOf, textOf } from '../../history/pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-database-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

/** What opening a file says; undefined when it opens. */
function faultOf(path: string): string | undefined {
  try {
    openDatabase(path).close()
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ code: 'storage_unavailable' })
    return error instanceof Error ? error.message : ''
  }
}

const isRoot = process.getuid?.() === 0

/** Opens a file in a process of its own and prints what that says. */
const openingScript = `import { openDatabase } from '#src/database/sqlite/database.ts'
try { openDatabase(process.argv.at(-1)).close(); process.stdout.write('opened') }
catch (error) { process.stdout.write(error.name + ': ' + error.message) }`

async function openElsewhere(path: string): Promise<string> {
  const child = Bun.spawn([process.execPath, '-e', openingScript, path], {
    cwd: new URL('../../..', import.meta.url).pathname,
  })
  return new Response(child.stdout).text()
}

describe('openDatabase', () => {
  // Waiting for a lock takes five seconds, so it begins before all other tests and is looked at
  // last.
  const locked = { path: join(folder, 'locked.db'), release: () => {}, said: Promise.resolve('') }
  beforeAll(() => {
    openDatabase(locked.path).close()
    const holder = openDatabase(locked.path)
    holder.run('BEGIN IMMEDIATE')
    locked.release = () => holder.close()
    locked.said = openElsewhere(locked.path)
  })

  test('default: makes a file with our mark and all migrations, and opens it again', () => {
    const path = newPath()
    for (let again = 0; again < 2; again++) {
      const db = openDatabase(path)
      expect(db.prepare('PRAGMA user_version').values()).toEqual([[formatOf(historyMigrations)]])
      expect(db.prepare('PRAGMA application_id').values()).toEqual([[0x626b6664]])
      expect(db.prepare('PRAGMA journal_mode').values()).toEqual([['wal']])
      db.close()
    }
  })

  test('default: in memory, each handle has its own', async () => {
    const one = openHistory(':memory:')
    const two = openHistory(':memory:')
    await appendAll(one, someSnapshots(3))
    expect([one.totals().snapshots, two.totals().snapshots]).toEqual([3, 0])
    for (const history of [one, two]) history.dispose()
  })

  test('error: refuses a file that is no database, and leaves it as it is', async () => {
    const path = newPath()
    const text = 'This is a letter. '.repeat(400)
    await Bun.write(path, text)
    expect(faultOf(path)).toContain('is not a database')
    expect(await Bun.file(path).text()).toBe(text)
  })

  test('error: refuses the database of another program, marked or not, and leaves it as it is', () => {
    for (const mark of ['PRAGMA application_id = 7', 'PRAGMA user_version = 3', 'SELECT 1']) {
      const path = newPath()
      const other = openDatabase(path)
      for (const { name } of other
        .prepare<{ name: string }, []>(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        )
        .all())
        other.run(`DROP TABLE ${name}`)
      other.run('PRAGMA application_id = 0')
      other.run('PRAGMA user_version = 0')
      other.run('CREATE TABLE theirs (a)')
      other.run(mark)
      other.close()
      expect(faultOf(path)).toContain('another kind')
      expect(faultOf(path)).toContain('another kind')
    }
  })

  test('error: refuses a file of a newer bookfeed', () => {
    const path = newPath()
    const db = openDatabase(path)
    db.run(`PRAGMA user_version = ${formatOf(historyMigrations) + 1}`)
    db.close()
    expect(faultOf(path)).toContain('newer bookfeed')
  })

  test('error: refuses a path without a folder, a folder, and a file cut off', async () => {
    expect(faultOf(join(folder, 'none', 'x.db'))).toContain('cannot be opened')
    const directory = newPath()
    mkdirSync(directory)
    expect(faultOf(directory)).toContain('cannot be opened')
    const path = newPath()
    const history = openHistory(path)
    await appendAll(history, simulatedSnapshots('cut', 500))
    history.dispose()
    const db = openDatabase(path)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    const cut = newPath()
    await Bun.write(cut, (await Bun.file(path).bytes()).slice(0, 5000))
    expect(() => openHistory(cut)).toThrow(expect.objectContaining({ code: 'storage_unavailable' }))
  })

  // Root may write everywhere, whatever the mode says.
  test.skipIf(isRoot)('error: refuses a file, and a folder, that may only be read', () => {
    const home = newPath()
    mkdirSync(home)
    const path = join(home, 'x.db')
    openDatabase(path).close()
    chmodSync(path, 0o444)
    expect(faultOf(path)).toContain('cannot be')
    chmodSync(path, 0o644)
    chmodSync(home, 0o555)
    expect(faultOf(join(home, 'y.db'))).toContain('cannot be opened')
    chmodSync(home, 0o755)
  })

  test('behavior: a read-only handle reads and refuses to write', () => {
    const path = newPath()
    openDatabase(path).close()
    const db = openDatabase(path, { isReadOnly: true })
    expect(db.prepare('SELECT count(*) FROM market').values()).toEqual([[0]])
    expect(() => transact(db, () => db.run("DELETE FROM batch WHERE id = 'x'"))).toThrow()
    db.close()
  })

  test('error: a file that another process does not let go of is refused after a while', async () => {
    expect(await locked.said).toMatch(/^AppError: .*locked by another process/)
    locked.release()
  }, 300_000)
})

describe('dispose', () => {
  test('behavior: leaves one file that holds everything: a copy of it is a copy of all', async () => {
    const path = newPath()
    const history = openHistory(path)
    await appendAll(history, someSnapshots(250))
    history.dispose()
    const copy = newPath()
    await Bun.write(copy, Bun.file(path))
    const copied = openHistory(copy)
    expect(copied.totals().snapshots).toBe(250)
    copied.dispose()
    expect(Bun.file(`${path}-wal`).size).toBe(0)
  })
})

describe('transact', () => {
  const count = (db: ReturnType<typeof openDatabase>): number =>
    Number(db.prepare('SELECT count(*) FROM batch').values()[0]?.[0])
  const put = (db: ReturnType<typeof openDatabase>, id: string): void => {
    db.prepare('INSERT INTO batch VALUES (?, 0, 0)').run(id)
  }

  test('default: keeps all and returns what the body returns; a throw keeps nothing', () => {
    const db = openDatabase(':memory:')
    const answer = transact(db, () => {
      for (const id of ['a', 'b']) put(db, id)
      return 7
    })
    expect(answer).toBe(7)
    const broken = () =>
      transact(db, () => {
        put(db, 'c')
        throw new Error('broken')
      })
    expect(broken).toThrow('broken')
    expect([count(db), db.inTransaction]).toEqual([2, false])
    db.close()
  })

  test('error: an async body, and one that returns any thenable, is refused and rolled back', async () => {
    const db = openDatabase(':memory:')
    const thenable = Object.fromEntries([['then', () => {}]])
    const results: unknown[] = [Promise.resolve(), Promise.withResolvers().promise, thenable]
    const bodies: (() => unknown)[] = results.map((result) => () => {
      put(db, 'a')
      return result
    })
    bodies.push(async () => put(db, 'b'))
    for (const body of bodies) {
      expect(() => transact(db, body)).toThrow('synchronous')
      expect([count(db), db.inTransaction]).toEqual([0, false])
    }
    await Bun.sleep(0)
    expect(count(db)).toBe(0)
    db.close()
  })

  test('error: a transaction within one is refused, and the outer one keeps nothing', () => {
    const db = openDatabase(':memory:')
    const nested = () =>
      transact(db, () => {
        put(db, 'a')
        transact(db, () => put(db, 'b'))
      })
    expect(nested).toThrow('is open already')
    expect([count(db), db.inTransaction]).toEqual([0, false])
    transact(db, () => put(db, 'c'))
    expect(count(db)).toBe(1)
    db.close()
  })

  test('behavior: readConsistently sees one state, works inside a transaction and ends with a throw', () => {
    const path = newPath()
    const db = openDatabase(path)
    const other = openDatabase(path)
    readConsistently(db, () => {
      expect(count(db)).toBe(0)
      transact(other, () => put(other, 'a'))
      expect(count(db)).toBe(0)
    })
    expect(count(db)).toBe(1)
    transact(db, () => readConsistently(db, () => put(db, 'b')))
    expect(count(other)).toBe(2)
    const broken = () => readConsistently(db, () => expect.unreachable())
    expect(broken).toThrow()
    expect(db.inTransaction).toBe(false)
    for (const each of [db, other]) each.close()
  })
})

describe('a full disk', () => {
  test('behavior: append throws, keeps what was acknowledged, and goes on when there is room', async () => {
    const path = newPath()
    let history = openHistory(path, { bytesMax: 400_000 })
    let acknowledged = 0
    let failure: unknown
    while (failure === undefined && acknowledged < 10_000) {
      try {
        await history.append(batchOf(acknowledged))
        acknowledged++
      } catch (error) {
        failure = error
      }
    }
    expect(acknowledged).toBeGreaterThan(10)
    expect(failure).toMatchObject({ code: 'storage_unavailable' })
    expect(String(failure)).toContain('No room is left')
    const query = { order: 'asc', limit: 100_000 } as const
    const check = (): string => {
      expect([...history.verify()]).toEqual([])
      expect(history.findBatch(`numbered-${acknowledged - 1}`)).toBeDefined()
      expect(history.findBatch(`numbered-${acknowledged}`)).toBeUndefined()
      return textOf(history, query)
    }
    const before = check()
    for (let again = 0; again < 3; again++)
      await expect(history.append(batchOf(acknowledged))).rejects.toThrow()
    expect(check() === before).toBe(true)
    history.dispose()
    history = openHistory(path, { bytesMax: 4_000_000 })
    expect(check() === before).toBe(true)
    expect((await history.append(batchOf(acknowledged))).kind).toBe('appended')
    expect((await history.append(batchOf(acknowledged + 1))).kind).toBe('appended')
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })
})

describe('two handles on one file', () => {
  test('behavior: a walk sees every row once while the other handle appends and seals', async () => {
    const path = newPath()
    const reader = openHistory(path)
    const writer = openHistory(path)
    for (let number = 0; number < 8; number++) await writer.append(batchOf(number))
    for (const order of ['asc', 'desc'] as const) {
      const atStart = idsOf(writer, { order, limit: 100_000 })
      const walked = await walk(reader, order, async (page) => {
        if (page % 3 === 0) await writer.append(batchOf(100 + page + (order === 'asc' ? 0 : 500)))
        if (page % 7 === 0) await writer.close(conditionIdOf(1))
      })
      expect(new Set(walked).size).toBe(walked.length)
      expect(atStart.filter((id) => !walked.includes(id))).toEqual([])
    }
    for (const history of [reader, writer]) history.dispose()
  })

  test('behavior: a page never repeats a row when the other handle seals between findMarket and page', async () => {
    const path = newPath()
    const reader = openHistory(path)
    const writer = openHistory(path)
    const rows = someSnapshots(140)
    await appendAll(writer, rows.slice(0, 60))
    const market = getMarket(reader)
    const query = { market, order: 'asc', limit: 1000 } as const
    expect(reader.page(query).count).toBe(60)
    await appendAll(writer, rows)
    expect(reader.page(query).count).toBe(140)
    expect([...reader.tops(query)].length).toBe(140)
    for (const history of [reader, writer]) history.dispose()
  })

  test('behavior: writers take turns: ids are shared and nothing is overwritten', async () => {
    const path = newPath()
    const writers = [openHistory(path), openHistory(path)]
    for (let number = 0; number < 40; number++) await writers[number % 2]?.append(batchOf(number))
    for (const history of writers) {
      const ids = [1, 2].flatMap((at) =>
        idsOf(history, { conditionId: conditionIdOf(at), order: 'asc', limit: 100_000 }),
      )
      expect(new Set(ids).size).toBe(history.totals().snapshots)
      expect([...history.verify()]).toEqual([])
    }
    for (const history of writers) history.dispose()
  })

  test('behavior: verify finds nothing while another process appends', async () => {
    const path = newPath()
    const history = openHistory(path)
    const script = new URL('../../support/append-process.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, script, path, '0', '150'], { stdout: 'ignore' })
    const faults: string[] = []
    for (let round = 0; child.exitCode === null && round < 5000; round++) {
      faults.push(...history.verify())
      await Bun.sleep(0)
    }
    await child.exited
    history.dispose()
    expect(faults.slice(0, 3)).toEqual([])
  }, 300_000)
})

/** Reads a market to its end in small pages; returns the ids. */
async function walk(
  history: MarketHistory,
  order: 'asc' | 'desc',
  between: (page: number) => Promise<void>,
): Promise<number[]> {
  const walked: number[] = []
  let after: Position | undefined
  for (let page = 0; page < 300; page++) {
    const query = { order, limit: 13, after }
    walked.push(...idsOf(history, query))
    const { last, hasMore } = pageOf(history, query)
    if (!hasMore) return walked
    after = last
    await between(page)
  }
  throw new Error('A walk without an end.')
}

describe('migrations', () => {
  test.each([
    ['history', historyMigrations],
    ['ledger', ledgerMigrations],
  ])(
    'default: those of the %s are the files drizzle-kit made, in the order of the journal',
    async (name, migrations) => {
      const source = new URL(`../../../db/${name}/migrations/`, import.meta.url).pathname
      const journal = await Bun.file(join(source, 'meta/_journal.json')).json()
      const tags: string[] = journal.entries.map(({ tag }: { tag: string }) => tag)
      const texts = await Promise.all(
        tags.map((tag) => Bun.file(join(source, `${tag}.sql`)).text()),
      )
      expect(migrations.sql).toEqual(texts)
      const names = readdirSync(source).filter((file) => file.endsWith('.sql'))
      expect(names.sort()).toEqual(tags.map((tag) => `${tag}.sql`).sort())
    },
  )
})
