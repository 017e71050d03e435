/** Flipped bits in the log of a database: what SQLite drops without a word is found. */
import { afterAll, describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import { damagedLogOf, listLogFaults, scanLog } from '#src/database/sqlite/log-scan.ts'
import { createRandom } from '#src/platform/random.ts'

import { runCommand } from '../../support/run-command.ts'

const root = mkdtempSync(join(tmpdir(), 'bookfeed-log-'))
afterAll(() => rmSync(root, { recursive: true }))
const random = createRandom('log scan')
const COMMITS = 12
const FRAME_BYTES = 4096 + 24

/** A process that commits and is killed, so that all of it is in the log. */
async function writeLog(): Promise<{ file: Buffer; log: Buffer }> {
  const path = join(root, 'source.db')
  const script = `
    import { openDatabase } from '${new URL('../../../src/database/sqlite/database.ts', import.meta.url).pathname}'
    const db = openDatabase('${path}')
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.run('PRAGMA wal_autocheckpoint = 0')
    db.run('CREATE TABLE probe (number, bytes)')
    for (let number = 1; number <= ${COMMITS}; number++) {
      db.run('BEGIN')
      for (let row = 0; row < 10; row++)
        db.run('INSERT INTO probe VALUES (?, randomblob(700))', [number])
      db.run('COMMIT')
    }
    process.kill(process.pid, 'SIGKILL')`
  await Bun.spawn([process.execPath, '-e', script], { stdout: 'ignore', stderr: 'inherit' }).exited
  return { file: readFileSync(path), log: readFileSync(`${path}-wal`) }
}
const source = await writeLog()
const FRAMES = (source.log.length - 32) / FRAME_BYTES

let made = 0
function put(log: Uint8Array): string {
  const folder = join(root, String(++made))
  mkdirSync(folder)
  const path = join(folder, 'history.db')
  writeFileSync(path, source.file)
  writeFileSync(`${path}-wal`, log)
  return path
}

/** What SQLite has of the table. */
function countOf(path: string): number {
  try {
    const db = openDatabase(path)
    const count = Number(db.prepare('SELECT count(*) FROM probe').values()[0]?.[0])
    db.close()
    return count
  } catch {
    return -1
  }
}

describe('scanLog', () => {
  test('default: a log that was left by a killed process is sound, whole or cut anywhere', () => {
    expect(scanLog(join(root, 'none-wal'))).toBeUndefined()
    expect(scanLog(`${put(source.log)}-wal`)).toBeUndefined()
    for (let round = 0; round < 60; round++) {
      const path = put(source.log)
      truncateSync(`${path}-wal`, random.integer(source.log.length))
      expect([round, scanLog(`${path}-wal`)]).toEqual([round, undefined])
    }
  })

  test('error: no flipped bit drops commits unseen, wherever it is', () => {
    const places = [0, 1, 9, 17, 25, 31, 33, 40, 48, 60, source.log.length - 1]
    while (places.length < 70) places.push(random.integer(source.log.length))
    for (const at of places) {
      const log = Buffer.from(source.log)
      log[at] = (log[at] ?? 0) ^ (1 << random.integer(8))
      const path = put(log)
      const fault = scanLog(`${path}-wal`)
      const frame = at < 32 ? 0 : Math.floor((at - 32) / FRAME_BYTES) + 1
      const isLost = countOf(path) !== COMMITS * 10
      expect([at, fault?.frame]).toEqual([at, isLost ? frame : undefined])
    }
  })

  test('behavior: says how many commits are dropped', () => {
    const log = Buffer.from(source.log)
    const at = 32 + (FRAMES - 1) * FRAME_BYTES + 100
    log[at] = (log[at] ?? 0) ^ 1
    // Of the last frame: it may have been in the middle of being written.
    expect(scanLog(`${put(log)}-wal`)).toEqual({ frame: FRAMES, commits: 1, frames: FRAMES })
    const first = Buffer.from(source.log)
    first[40] = (first[40] ?? 0) ^ 1
    expect(scanLog(`${put(first)}-wal`)).toMatchObject({ frame: 1, commits: COMMITS + 1 })
  })

  test('behavior: a transaction that was rolled back, or not finished, is no fault', async () => {
    const path = join(root, 'rolled.db')
    const script = `
      import { openDatabase } from '${new URL('../../../src/database/sqlite/database.ts', import.meta.url).pathname}'
      const db = openDatabase('${path}')
      db.run('PRAGMA wal_autocheckpoint = 0')
      db.run('PRAGMA cache_size = 10')
      db.run('CREATE TABLE probe (bytes)')
      const fill = (rows) => {
        for (let row = 0; row < rows; row++) db.run('INSERT INTO probe VALUES (randomblob(3000))')
      }
      db.run('BEGIN'); fill(300); db.run('ROLLBACK')
      db.run('BEGIN'); fill(5); db.run('COMMIT')
      db.run('BEGIN'); fill(300)
      process.kill(process.pid, 'SIGKILL')`
    await Bun.spawn([process.execPath, '-e', script]).exited
    expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(200 * FRAME_BYTES)
    expect(scanLog(`${path}-wal`)).toBeUndefined()
  })

  test('behavior: frames of a log before it are no fault', () => {
    const path = join(root, 'restarted.db')
    const db = openDatabase(path)
    const write = (rows: number) => {
      for (let row = 0; row < rows; row++) db.run('PRAGMA user_version = 1')
    }
    db.run('CREATE TABLE probe (bytes)')
    for (let row = 0; row < 40; row++) db.run('INSERT INTO probe VALUES (randomblob(3000))')
    db.run('PRAGMA wal_checkpoint(RESTART)')
    write(3)
    db.run('INSERT INTO probe VALUES (1)')
    expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(20 * FRAME_BYTES)
    expect(scanLog(`${path}-wal`)).toBeUndefined()
    db.close()
  })
})

describe('a log that lost commits', () => {
  function putDamaged(name: 'history' | 'ledger', env: Record<string, string>) {
    const data = env.BOOKFEED_DATA ?? ''
    const path = join(data, `${name}.db`)
    const log = readFileSync(`${path}-wal`)
    const at = 32 + FRAME_BYTES + 500
    log[at] = (log[at] ?? 0) ^ 4
    writeFileSync(`${path}-wal`, log)
    rmSync(`${path}-shm`, { force: true })
    return path
  }

  /** Both files of a server that was killed, with their logs. */
  async function killedData() {
    const data = join(root, `data-${++made}`)
    const env = { BOOKFEED_DATA: data, BOOKFEED_FREE_MB: '0', BOOKFEED_SAMPLE: 'off' }
    expect((await runCommand(env, 'keys', 'create')).exitCode).toBe(0)
    const script = `
      import { openLedger } from '${new URL('../../../src/ledger/open.ts', import.meta.url).pathname}'
      import { openHistory } from '${new URL('../../../src/history/open.ts', import.meta.url).pathname}'
      const by = { actor: 'operator', nowMs: 1 }
      const ledger = openLedger('${data}/ledger.db', { nowMs: 1 })
      openHistory('${data}/history.db')
      for (let number = 0; number < 9; number++) ledger.createAccount({ id: 'acc_' + number }, by)
      process.kill(process.pid, 'SIGKILL')`
    await Bun.spawn([process.execPath, '-e', script]).exited
    return env
  }

  test('error: verify, audit verify and doctor name it, and it is kept', async () => {
    const env = await killedData()
    const ledger = putDamaged('ledger', env)
    const history = putDamaged('history', env)
    const doctor = await runCommand(env, 'doctor')
    expect(doctor.printed).toMatch(/wrong +history: \S+history\.db-wal: frame 2 of \d+ is damaged/)
    expect(doctor.printed).toMatch(/wrong +ledger: \S+ledger\.db-wal: frame 2 of \d+ is damaged/)
    for (const [path, args] of [
      [ledger, ['audit', 'verify']],
      [history, ['verify']],
    ] as const) {
      const first = await runCommand(env, ...args)
      expect([first.exitCode, first.printed]).toEqual([
        1,
        expect.stringMatching(/\.db-wal(\.damaged)?: frame 2 of \d+ is damaged/),
      ])
      expect(existsSync(damagedLogOf(path))).toBe(true)
      // The log itself is gone by now.
      const second = await runCommand(env, ...args)
      expect([second.exitCode, second.printed]).toEqual([
        1,
        expect.stringContaining(`${damagedLogOf(path)}: frame 2 of `),
      ])
      expect(listLogFaults(path)).toHaveLength(1)
    }
    // What is left is accepted by removing the copy.
    rmSync(damagedLogOf(history))
    expect((await runCommand(env, 'verify')).exitCode).toBe(0)
  }, 60_000)
})
