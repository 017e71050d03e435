import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Database, transact } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { createMeta } from '#src/history/tables/meta-table.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-meta-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The same database, of which another process writes after every row that was read. */
function besideWriter(db: Database, write: () => void): Database {
  const prepare = ((sql: string) => {
    const statement = db.prepare<unknown, []>(sql)
    const values = (...given: []) => {
      const rows = statement.values(...given)
      write()
      return rows
    }
    return { ...statement, values }
  }) as Database['prepare']
  return { ...db, prepare }
}

test('behavior: the table is sound, whatever another process writes between two statements', () => {
  const path = join(folder, 'history.db')
  using first = openDatabase(path)
  using second = openDatabase(path)
  const writer = createMeta(second, 'meta')
  writer.begin({ next_id: 1 })
  let ids = 1
  const beside = besideWriter(first, () => writer.put('next_id', ++ids))
  const meta = createMeta(beside, 'meta')
  for (let looks = 0; looks < 3; looks++) {
    meta.get('next_id')
    expect(meta.isSound()).toBe(true)
  }
  second.run("UPDATE meta SET value = -1 WHERE key = 'next_id'")
  expect(createMeta(first, 'meta').isSound()).toBe(false)
})

test('behavior: a part that was undone, and a transaction that failed, leave nothing behind', () => {
  using db = openDatabase(join(folder, 'undone.db'))
  const meta = createMeta(db, 'meta')
  meta.begin({ next_id: 1 })
  const fail = () => {
    meta.put('next_id', 9)
    throw new Error('undone')
  }
  transact(db, () => {
    meta.put('next_id', 2)
    meta.put('next_id', 3)
  })
  expect(() => transact(db, fail)).toThrow('undone')
  expect(meta.get('next_id')).toBe(3)
  expect(transact(db, () => meta.get('next_id'))).toBe(3)
  expect(meta.isSound()).toBe(true)
})
