import { Database as Driver } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { historyMigrations, ledgerMigrations } from '#db/migrations.ts'
import { formatOf } from '#src/database/migrations.ts'
import { holdLock, openDatabase } from '#src/database/sqlite/database.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { backUpBeforeUpgrade, startBackups } from '#src/server/scheduled-backups.ts'

import { appendAll, someSnapshots } from '../history/books.ts'
import { createCliContext } from '../support/cli-context.ts'
import { runCommand, runCommandUnder } from '../support/run-command.ts'
import { type S3Server, startS3Server } from '../support/s3-server.ts'
import { someLines } from '../support/snapshot-lines.ts'

const root = mkdtempSync(join(tmpdir(), 'bookfeed-cli-backup-'))
const prlimit = Bun.which('prlimit')
let s3: S3Server
beforeAll(() => {
  s3 = startS3Server('books')
})
afterAll(async () => {
  rmSync(root, { recursive: true, force: true })
  await s3.stop()
})

let made = 0
/** A data folder with both files. */
async function newData() {
  const data = join(root, String(++made))
  mkdirSync(data)
  const history = openHistory(join(data, 'history.db'))
  await appendAll(history, someSnapshots(30))
  history.dispose()
  openLedger(join(data, 'ledger.db'), { nowMs: 0 }).dispose()
  return { data, env: { ...s3.env, BOOKFEED_DATA: data, BOOKFEED_FREE_MB: '0' } }
}

describe('bookfeed backup', () => {
  test('default: to a bucket and back, also where the service refuses some requests', async () => {
    const { env, data } = await newData()
    const to = { ...env, BOOKFEED_BACKUP_TO: 's3://books/a/b', BOOKFEED_BACKUP_KEEP: '2' }
    s3.state.failing = 2
    // A command that takes long prints its progress where errors go.
    for (let round = 0; round < 3; round++) {
      const made = await runCommand(to, 'backup')
      expect(made.exitCode, made.errors).toBe(0)
    }
    const listed = await runCommand(to, 'backup', 'list', '--json')
    const [newest] = JSON.parse(listed.printed)
    expect(JSON.parse(listed.printed)).toHaveLength(2)
    expect(newest.files.map(({ name }: { name: string }) => name)).toEqual([
      'ledger.db',
      'history.db',
    ])
    s3.state.failing = 1
    const restored = join(root, 'restored')
    const back = await runCommand({ ...to, BOOKFEED_DATA: restored }, 'restore')
    expect(back.exitCode, back.errors).toBe(0)
    const sizes = [data, restored].map((folder) => Bun.file(join(folder, 'history.db')).size)
    expect(sizes[1]).toBe(sizes[0] ?? -1)
    expect(s3.refused).toEqual([])
    const wrong = await runCommand({ ...to, S3_SECRET_ACCESS_KEY: 'wrong' }, 'backup')
    expect(wrong.exitCode).toBe(1)
    expect(wrong.errors).toMatch(/^bookfeed: s3:.*SignatureDoesNotMatch.*S3_ENDPOINT.*\n$/)
    s3.refused.length = 0
  }, 300_000)

  test('error: a flipped bit is found by list, doctor, verify and the next backup, which mends it', async () => {
    const { env } = await newData()
    const place = join(root, 'flipped')
    const to = { ...env, BOOKFEED_BACKUP_TO: place }
    const report = async (...args: string[]) => {
      const { exitCode, printed, errors } = await runCommand(to, ...args)
      return { exitCode, text: printed + errors }
    }
    await runCommand(to, 'backup')
    expect((await report('backup', 'list')).text).toContain('sound')
    expect(await report('backup', 'verify')).toMatchObject({ exitCode: 0 })
    const [block = ''] = readdirSync(join(place, 'blocks'))
    const bytes = await Bun.file(join(place, 'blocks', block)).bytes()
    await Bun.write(join(place, 'blocks', block), bytes.with(5000, 1 ^ (bytes[5000] ?? 0)))
    expect((await report('backup', 'list')).text).toContain('damaged')
    expect((await report('doctor')).text).toMatch(/wrong +backup: 1 of 1 backup in .* is damaged/)
    expect(await report('backup', 'verify')).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining('is damaged or missing'),
    })
    const again = await report('backup')
    expect([again.exitCode, again.text]).toEqual([
      0,
      expect.stringContaining('1 damaged block stored again'),
    ])
    expect((await report('backup', 'verify')).text).toContain('sound: 2 backups')
    // A manifest that cannot be read costs the others nothing.
    writeFileSync(join(place, 'backup-2020.json'), '{')
    expect((await report('backup', 'list')).text).toContain('its manifest cannot be read')
    const restored = { ...to, BOOKFEED_DATA: join(root, 'mended') }
    const { exitCode, printed } = await runCommand(restored, 'restore')
    expect([exitCode, printed]).toEqual([0, expect.stringContaining('are valid again')])
  }, 300_000)

  test('behavior: a server makes them by itself, and says of each how it ended', async () => {
    const { env, data } = await newData()
    const place = join(root, 'by-itself')
    const { context, errors } = createCliContext({ ...env, BOOKFEED_BACKUP_TO: place })
    const runOnce = async () => {
      const ended = Promise.withResolvers<string>()
      const report = {
        began: () => {},
        progress: () => {},
        canStart: () => {},
        due: () => {},
        ended: ended.resolve,
        failed: ended.resolve,
      }
      const job = startBackups(context, report, { firstMs: 0 })
      const outcome = await ended.promise
      await job?.dispose()
      return outcome
    }
    expect(await runOnce()).toMatch(/^backup-.* in .*: ledger\.db, history\.db, /)
    expect(readdirSync(place)).toHaveLength(2)
    rmSync(join(data, 'backup.json'))
    using _lock = holdLock(join(data, 'backup.lock'), 'held')
    expect(await runOnce()).toContain('Another backup')
    expect(errors).toEqual([expect.stringContaining('no backup could be made: Another backup')])
    expect(startBackups(createCliContext(env).context)).toBeUndefined()
  }, 300_000)

  test('error: one that is stuck is ended, and told', async () => {
    const { env } = await newData()
    const { context } = createCliContext({ ...env, BOOKFEED_BACKUP_TO: join(root, 'stuck') })
    const program = join(root, 'stuck.js')
    writeFileSync(program, "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)")
    const { promise, resolve } = Promise.withResolvers<string>()
    const report = {
      began() {},
      progress() {},
      canStart() {},
      due() {},
      ended: resolve,
      failed: resolve,
    }
    const job = startBackups({ ...context, program }, report, { firstMs: 0, limitMs: 300 })
    expect(await promise).toContain('took too long')
    await job?.dispose()
  }, 300_000)

  test('error: says where to, what there is nothing of, and that another one runs', async () => {
    const { env, data } = await newData()
    const nowhere = await runCommand(env, 'backup')
    expect([nowhere.exitCode, nowhere.errors]).toEqual([2, expect.stringContaining('_BACKUP_TO')])
    const empty = { ...env, BOOKFEED_DATA: join(root, 'none') }
    const nothing = await runCommand(empty, 'backup', '--to', root)
    expect([nothing.exitCode, nothing.errors]).toEqual([1, expect.stringContaining('nothing in')])
    expect(existsSync(join(root, 'none'))).toBe(false)
    using _lock = holdLock(join(data, 'backup.lock'), 'held')
    const second = await runCommand(env, 'backup', '--to', root)
    expect([second.exitCode, second.errors]).toEqual([1, expect.stringContaining('Another backup')])
  }, 300_000)
})

describe('an upgrade', () => {
  /** A data folder, and the environment of a release that has one migration more. */
  async function newOldData() {
    const data = join(root, String(++made))
    const env = { ...s3.env, BOOKFEED_DATA: data, BOOKFEED_FREE_MB: '0' }
    // By another process: what this one has opened, it has open for some time after it was closed.
    const books = join(root, 'books.jsonl')
    writeFileSync(books, someLines(30))
    expect(await runCommand(env, 'import', books)).toMatchObject({ exitCode: 0 })
    expect(await runCommand(env, 'keys', 'create')).toMatchObject({ exitCode: 0 })
    return { env: { ...env, BUN_OPTIONS: `--preload=${laterRelease}` }, data }
  }
  const laterRelease = new URL('../support/later-release.ts', import.meta.url).pathname
  const format = formatOf(historyMigrations)
  const ledgerFormat = formatOf(ledgerMigrations)

  function formatNow(path: string): unknown {
    using db = new Driver(path, { readonly: true })
    return db.prepare<unknown, []>('PRAGMA user_version').values()[0]?.[0]
  }

  test('default: is backed up before, in the folder of the data, and can be taken back', async () => {
    const { env, data } = await newOldData()
    const { errors } = await runCommand(env, 'verify')
    expect(errors).toContain('Backing them up in')
    const listed = await runCommand(
      env,
      'backup',
      'list',
      '--from',
      join(data, 'backups'),
      '--json',
    )
    const files: { name: string; format: number }[] = JSON.parse(listed.printed)[0].files
    expect(files.find(({ name }) => name === 'history.db')?.format).toBe(format)
    const again = await runCommand(env, 'verify')
    expect(again.errors).not.toContain('Backing')
    const old = { ...env, BOOKFEED_DATA: join(root, 'old') }
    await runCommand(old, 'restore', '--from', join(data, 'backups'))
    const db = openDatabase(join(root, 'old', 'history.db'), { isReadOnly: true })
    expect(db.prepare('PRAGMA user_version').values()).toEqual([[format]])
    db.close()
  }, 300_000)

  test('error: files are left as they are where they cannot be backed up', async () => {
    const { env, data } = await newOldData()
    const bad = { ...env, BOOKFEED_BACKUP_TO: '/dev/null/backups' }
    const { exitCode, errors } = await runCommand(bad, 'keys', 'list')
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('were left as they are')])
    expect(readdirSync(data)).not.toContain('backups')
    const off = await runCommand({ ...env, BOOKFEED_BACKUP_TO: 'off' }, 'keys', 'list')
    expect(off.exitCode).toBe(0)
    expect(readdirSync(data)).not.toContain('backups')
  }, 300_000)

  test('error: files above the limit are left as they are', async () => {
    const { env, data } = await newOldData()
    const path = join(data, 'history.db')
    const older = new Driver(path)
    older.run(`PRAGMA user_version = ${format - 1}`)
    const { context } = createCliContext({ ...env, BOOKFEED_BACKUP_TO: '' })
    older.close()
    await expect(backUpBeforeUpgrade(context, { bytesMax: 1 })).rejects.toThrow(
      /left as they are.* bookfeed migrate --backed-up\.$/,
    )
    expect([formatNow(path), readdirSync(data).includes('backups')]).toEqual([format - 1, false])
  }, 300_000)

  test('behavior: migrate says what is due, and upgrades without a backup when told to', async () => {
    const { env, data } = await newOldData()
    const history = join(data, 'history.db')
    const ledger = `ledger at ${join(data, 'ledger.db')}: format ${ledgerFormat}, up to date.`
    const due = await runCommand(env, 'migrate')
    expect(due.exitCode).toBe(1)
    expect(due.printed.trim().split('\n')).toEqual([
      `history at ${history}: format ${format}, to be migrated to ${format + 1}.`,
      ledger,
    ])
    expect(due.errors).toContain('Nothing was changed. Back up these stores')
    expect(formatNow(history)).toBe(format)

    const done = await runCommand(env, 'migrate', '--backed-up')
    expect(done.exitCode, done.errors).toBe(0)
    expect(done.printed).toContain(`${history}: migrated from format ${format} to ${format + 1}.`)
    expect([formatNow(history), readdirSync(data).includes('backups')]).toEqual([format + 1, false])

    const again = await runCommand(env, 'migrate')
    expect([again.exitCode, again.printed.trim().split('\n')]).toEqual([
      0,
      [`history at ${history}: format ${format + 1}, up to date.`, ledger],
    ])
    expect(await runCommand(env, 'verify')).toMatchObject({ exitCode: 0 })
  }, 300_000)

  test('error: migrate changes nothing while another process has the files open', async () => {
    const { env, data } = await newOldData()
    const history = join(data, 'history.db')
    const other = new Driver(history)
    other.run('SELECT count(*) FROM sqlite_schema')
    const { exitCode, errors } = await runCommand(env, 'migrate', '--backed-up')
    other.close()
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('Stop it and try again')])
    expect(formatNow(history)).toBe(format)
  }, 300_000)
})

describe('a restore that did not finish', () => {
  test.skipIf(prlimit === null)(
    'error: where there is no room it says so, and leaves nothing',
    async () => {
      const { env } = await newData()
      const place = join(root, 'for-the-full')
      expect((await runCommand(env, 'backup', '--to', place)).exitCode).toBe(0)
      const folder = join(root, 'full')
      mkdirSync(folder)
      // Files that may have so many bytes stand in for the disk.
      for (const bytes of ['1', '100000']) {
        const limits = [prlimit ?? '', `--fsize=${bytes}`]
        const own = { ...env, BOOKFEED_DATA: folder, BOOKFEED_BACKUP_TO: place }
        const { exitCode, errors } = await runCommandUnder(limits, own, 'restore')
        expect([exitCode, errors]).toEqual([
          1,
          expect.stringMatching(/^bookfeed: \S+ cannot be .*/),
        ])
        expect([errors.includes('Make room'), readdirSync(folder)]).toEqual([true, []])
      }
      const again = { ...env, BOOKFEED_DATA: folder }
      expect((await runCommand(again, 'restore', '--from', place)).exitCode).toBe(0)
      expect((await runCommand(again, 'verify')).exitCode).toBe(0)
    },
    300_000,
  )

  test('error: a damaged file ends it without a success and without a folder; --partial takes the rest', async () => {
    const { env } = await newData()
    const place = join(root, 'half-damaged')
    expect((await runCommand(env, 'backup', '--to', place)).exitCode).toBe(0)
    const [name = ''] = readdirSync(place).filter((each) => each.endsWith('.json'))
    const manifest: { files: { name: string; blocks: string[] }[] } = await Bun.file(
      join(place, name),
    ).json()
    const [block = ''] = manifest.files.find((each) => each.name === 'history.db')?.blocks ?? []
    rmSync(join(place, 'blocks', block))
    const own = { ...env, BOOKFEED_DATA: join(root, 'of-half') }
    const failed = await runCommand(own, 'restore', '--from', place)
    expect([failed.exitCode, failed.printed, existsSync(own.BOOKFEED_DATA)]).toEqual([1, '', false])
    expect(failed.errors).toContain('history.db is lost')
    expect(failed.errors).toContain('add --partial')
    const partly = await runCommand(own, 'restore', '--from', place, '--partial')
    expect([partly.exitCode, readdirSync(own.BOOKFEED_DATA)]).toEqual([0, ['ledger.db']])
    expect(partly.errors).toContain('warning: history.db is lost')
    expect(partly.printed).toContain('ledger.db is as of')
  }, 300_000)

  test('error: no command uses the folder', async () => {
    const { env, data } = await newData()
    mkdirSync(join(data, 'restoring'))
    const { exitCode, errors } = await runCommand(env, 'keys', 'list')
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('did not finish')])
  })
})
