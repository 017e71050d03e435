import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startCheckpoints } from '#src/sqlite/checkpoints.ts'
import { closeDatabase, openDatabase } from '#src/sqlite/database.ts'

const BYTES = 1_000_000

test('startCheckpoints: brings commits into the file while it is open, and leaves no log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-'))
  try {
    const path = join(folder, 'history.db')
    const db = openDatabase(path)
    const checkpoints = startCheckpoints(db, path)
    const before = statSync(path).size
    db.run('INSERT INTO meta (key, value) VALUES (?, zeroblob(?))', ['test', BYTES])
    for (let i = 0; i < 1000 && statSync(path).size < before + BYTES; i++) await Bun.sleep(20)
    expect(statSync(path).size).toBeGreaterThan(before + BYTES)
    checkpoints[Symbol.dispose]()
    closeDatabase(db)
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
