import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase, probeWrite } from '#src/database/sqlite/database.ts'

function aFolder() {
  const path = mkdtempSync(join(tmpdir(), 'bookfeed-probe-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

describe('probeWrite', () => {
  test('default: changes nothing, and throws while the file may not grow or be written', () => {
    using folder = aFolder()
    const path = join(folder.path, 'history.db')
    const db = openDatabase(path)
    const before = [...db.query('PRAGMA user_version').values()]
    probeWrite(db)
    expect([...db.query('PRAGMA user_version').values()]).toEqual(before)
    expect(db.query('PRAGMA synchronous').values()).toEqual([[1]])
    db.run('PRAGMA query_only = ON')
    expect(() => probeWrite(db)).toThrow(expect.objectContaining({ code: 'storage_unavailable' }))
    db.run('PRAGMA query_only = OFF')
    probeWrite(db)
    db.close()
  })

  test('behavior: a file that another process writes is not waited for, and can be written', () => {
    using folder = aFolder()
    const path = join(folder.path, 'history.db')
    const db = openDatabase(path)
    const other = openDatabase(path)
    other.run('BEGIN IMMEDIATE')
    // One that waits does so for as long as this says, which is longer than the test may take.
    db.run('PRAGMA busy_timeout = 300000')
    probeWrite(db)
    expect(db.query('PRAGMA busy_timeout').values()).toEqual([[5000]])
    other.run('ROLLBACK')
    for (const each of [db, other]) each.close()
  })
})
