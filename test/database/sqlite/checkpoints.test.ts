import { expect, mock, spyOn, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startCheckpoints } from '#src/database/sqlite/checkpoints.ts'
import { closeFile, ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'

import { until } from '../../support/until.ts'

const BYTES = 1_000_000
const PAGE_BYTES = 4096

/** The handle of the thread may go, with files that it held, while they are removed. */
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true })

test('startCheckpoints: brings commits into the file while it is open, and leaves no log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-'))
  try {
    const path = join(folder, 'history.db')
    const db = openDatabase(path)
    const checkpoints = startCheckpoints(db, path)
    const before = statSync(path).size
    db.run('INSERT INTO meta (key, value) VALUES (?, zeroblob(?))', ['test', BYTES])
    await until(() => statSync(path).size > before + BYTES)
    checkpoints[Symbol.dispose]()
    closeFile(db)
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  } finally {
    remove(folder)
  }
})

const logBytes = (path: string) => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0

test('startCheckpoints: empties the logs of both files once writers rest, and waits for readers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-'))
  try {
    const path = join(folder, 'history.db')
    const ledgerPath = join(folder, 'ledger.db')
    const db = openDatabase(path)
    const ledger = openDatabase(ledgerPath, { format: ledgerFormat })
    const reader = openDatabase(ledgerPath, { format: ledgerFormat, isReadOnly: true })
    const files = [
      { path, file: db },
      { path: ledgerPath, file: ledger },
    ]
    const write = (key: string) => {
      for (const { file } of files)
        file.run('INSERT INTO meta (key, value) VALUES (?, zeroblob(?))', [key, 100_000])
    }
    write('a')
    reader.run('BEGIN')
    reader.prepare('SELECT count(*) FROM meta').get()
    write('b')
    expect(files.map((each) => logBytes(each.path) > 0)).toEqual([true, true])
    const checkpoints = startCheckpoints(db, path, ledgerPath)
    await until(() => logBytes(path) === 0)
    // What is being read stays where it is.
    expect(logBytes(ledgerPath)).toBeGreaterThan(0)
    reader.run('COMMIT')
    await until(() => logBytes(ledgerPath) === 0)
    write('c')
    expect(files.map((each) => logBytes(each.path) > 0)).toEqual([true, true])
    const keys = files.map(({ file }) => file.prepare('SELECT key FROM meta').values().flat())
    for (const found of keys) expect(found).toEqual(expect.arrayContaining(['a', 'b', 'c']))
    checkpoints[Symbol.dispose]()
    reader.close()
    for (const { file } of files) closeFile(file)
  } finally {
    remove(folder)
  }
}, 300_000)

const prlimit = Bun.which('prlimit')
/** The size that a file of this process may have stands in for the room on a disk. */
const limitFiles = (size: string) =>
  Bun.spawnSync([prlimit ?? '', `--pid=${process.pid}`, `--fsize=${size}:unlimited`])

test.skipIf(prlimit === null)(
  'startCheckpoints: goes on when a full disk has room again',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-'))
    try {
      const path = join(folder, 'history.db')
      const db = openDatabase(path)
      const before = statSync(path).size
      db.run('PRAGMA wal_autocheckpoint = 0')
      db.run('INSERT INTO meta (key, value) VALUES (?, zeroblob(?))', ['test', 8 * BYTES])
      limitFiles(String(4 * BYTES))
      const checkpoints = startCheckpoints(db, path)
      // It has come as far as there is room.
      await until(() => statSync(path).size > 4 * BYTES - PAGE_BYTES)
      limitFiles('unlimited')
      await until(() => statSync(path).size > before + 8 * BYTES)
      checkpoints[Symbol.dispose]()
      closeFile(db)
    } finally {
      limitFiles('unlimited')
      remove(folder)
    }
  },
)

test('startCheckpoints: a thread that has died is not waited for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-'))
  try {
    const db = openDatabase(join(folder, 'history.db'))
    const checkpoints = startCheckpoints(db, join(folder, 'absent', 'history.db'))
    const wait = spyOn(Atomics, 'wait')
    checkpoints[Symbol.dispose]()
    expect(wait.mock.results.map(({ value }) => value)).toEqual(['not-equal'])
    closeFile(db)
  } finally {
    mock.restore()
    remove(folder)
  }
})
