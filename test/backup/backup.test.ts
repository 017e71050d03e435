import { afterAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makeBackup, pruneBackups } from '#src/backup/backup.ts'
import { compareSome, examineBackups } from '#src/backup/compare.ts'
import { BLOCKS, digestOf, listBackups } from '#src/backup/manifest.ts'
import { restoreBackup, RESTORING } from '#src/backup/restore.ts'
import { openStore } from '#src/backup/store.ts'
import type { BackupStore } from '#src/backup/store.ts'
import { historyFormat, ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { Fault } from '#src/platform/fault.ts'

import { appendAll, batchOf, simulatedSnapshots } from '../history/books.ts'
import { until } from '../support/until.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const ROUNDS = Number(process.env.BACKUP_ROUNDS ?? '4')
const ROUND_MS_MAX = 60_000

const root = mkdtempSync(join(tmpdir(), 'bookfeed-backup-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let made = 0
const newFolder = (): string => join(root, String(++made))

const formats = { 'history.db': historyFormat }
const openFolder = (folder = newFolder()) => ({ folder, store: openStore(folder, () => {}) })
let nowMs = Date.UTC(2026, 10, 22)

/** A history that no handle of this process has open. */
async function newHistory(): Promise<string> {
  const path = `${newFolder()}.db`
  const history = openHistory(path)
  await appendAll(history, simulatedSnapshots('backup', 400))
  history.dispose()
  return path
}

const backUp = (store: BackupStore, path: string) =>
  makeBackup({
    store,
    startedMs: ++nowMs,
    version: '1.2.3',
    sources: [{ name: 'history.db', path, format: historyFormat }],
  })

/** Restores the newest backup; returns the path of the history. */
async function restore(store: BackupStore, folder = newFolder()): Promise<string> {
  const [name = ''] = await listBackups(store)
  await restoreBackup({ store, name, folder, formats })
  return join(folder, 'history.db')
}

async function append(path: string, first: number, end: number): Promise<void> {
  const history = openHistory(path)
  for (let number = first; number < end; number++) await history.append(batchOf(number))
  history.dispose()
}

describe('makeBackup', () => {
  test('default: what is restored is the same, sound, and its owner’s alone', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    const { name, bytes, newBytes } = await backUp(store, path)
    expect([await listBackups(store), bytes]).toEqual([[name], newBytes])
    const restored = await restore(store)
    expect(readdirSync(join(restored, '..'))).toEqual(['history.db'])
    for (const each of [restored, join(folder, `${name}.json`)])
      expect(statSync(each).mode & 0o777).toBe(0o600)
    for (const each of [folder, join(restored, '..')])
      expect(statSync(each).mode & 0o777).toBe(0o700)
    const history = openHistory(restored)
    expect(history.totals().snapshots).toBe(400)
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })

  test('behavior: costs what has changed since the one before', async () => {
    const path = await newHistory()
    const { store } = openFolder()
    await backUp(store, path)
    expect((await backUp(store, path)).newBytes).toBe(0)
    await append(path, 0, 20)
    expect((await backUp(store, path)).newBytes).toBeGreaterThan(0)
  })

  test(
    `behavior: is of one moment, however much is written and checkpointed, ${ROUNDS} times`,
    async () => {
      const path = await newHistory()
      const { store } = openFolder()
      const script = new URL('../support/append-process.ts', import.meta.url).pathname
      const writer = Bun.spawn([process.execPath, script, path, '0', '1000000'], { stdout: 'pipe' })
      const output = writer.stdout.getReader()
      const decoder = new TextDecoder()
      let last = 0
      const reading = (async () => {
        for (let next = await output.read(); !next.done; next = await output.read())
          last = Number(decoder.decode(next.value).trimEnd().split('\n').at(-1))
      })()
      await until(() => last > 0)
      for (let round = 0; round < ROUNDS; round++) {
        const acknowledged = last
        await backUp(store, path)
        const folder = newFolder()
        const history = openHistory(await restore(store, folder))
        expect([...history.verify()]).toEqual([])
        expect(history.findBatch(`numbered-${acknowledged}`)).toBeDefined()
        history.dispose()
        rmSync(folder, { recursive: true })
      }
      writer.kill()
      await reading
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test('error: one that fails is none, and the next one uses what it stored', async () => {
    const path = await newHistory()
    const { store } = openFolder()
    const failing = {
      ...store,
      put: () => Promise.reject(new Fault('no room', { kind: 'backup' })),
    }
    const rejected: unknown = await backUp(failing, path).catch((error: unknown) => error)
    expect(String(rejected)).toContain('no room')
    expect(await listBackups(store)).toEqual([])
    const noManifest: BackupStore = {
      ...store,
      put: (name, bytes) =>
        name.endsWith('.json') ? Promise.reject(new Error('killed')) : store.put(name, bytes),
    }
    expect(await backUp(noManifest, path).catch(() => 'rejected')).toBe('rejected')
    expect(await listBackups(store)).toEqual([])
    expect((await backUp(store, path)).newBytes).toBe(0)
  })

  test('error: blocks that somebody else removes meanwhile are missed', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    await backUp(store, path)
    let lists = 0
    const robbed: BackupStore = {
      ...store,
      async list(prefix) {
        // The first is before blocks are read back: what vanishes until then is stored again.
        const isLast = prefix === BLOCKS && ++lists === 2
        if (isLast) rmSync(join(folder, 'blocks'), { recursive: true })
        return await store.list(prefix)
      },
    }
    const rejected: unknown = await backUp(robbed, path).catch((error: unknown) => error)
    expect(String(rejected)).toContain('Use one place per data folder')
  })
})

/** Flips one bit of a block. */
async function flipBlock(folder: string, digest: string): Promise<void> {
  const path = join(folder, 'blocks', digest)
  const bytes = await Bun.file(path).bytes()
  await Bun.write(path, bytes.with(5000, 1 ^ (bytes[5000] ?? 0)))
}
const blocksOf = (folder: string): string[] => readdirSync(join(folder, 'blocks')).sort()

describe('a damaged block of the place', () => {
  test('default: is stored again by the next backup, and every backup can be restored', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    expect(await backUp(store, path)).toMatchObject({ compared: 0, repaired: 0, damaged: [] })
    const blocks = blocksOf(folder)
    expect(await backUp(store, path)).toMatchObject({ compared: blocks.length, repaired: 0 })
    for (const digest of blocks) {
      await flipBlock(folder, digest)
      const states = await examineBackups(store, { mayRead: () => true })
      expect(states.map(({ faults }) => faults.length)).toEqual(states.map(() => 1))
      expect(await backUp(store, path)).toMatchObject({ repaired: 1, damaged: [], newBytes: 0 })
    }
    for (const { name, faults, isCompared } of await examineBackups(store, {
      mayRead: () => true,
    })) {
      expect([name, faults, isCompared]).toEqual([name, [], true])
      const target = newFolder()
      expect(await restoreBackup({ store, name, folder: target, formats })).toMatchObject({
        restored: [{ name: 'history.db', backup: name }],
        faults: [],
      })
    }
  })

  test('error: that no file has any more is reported, and remembered', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    const { name: older } = await backUp(store, path)
    const before = new Set(blocksOf(folder))
    await append(path, 0, 60)
    await backUp(store, path)
    const manifests = await examineBackups(store, { mayRead: () => false })
    const newest = new Set(manifests[0]?.manifest?.files.flatMap(({ blocks }) => blocks))
    const [lost = ''] = [...before].filter((digest) => !newest.has(digest))
    expect(lost).not.toBe('')
    await flipBlock(folder, lost)
    expect(await backUp(store, path)).toMatchObject({ repaired: 0, damaged: [lost] })
    // Known without reading it again, also to the next backup.
    expect(await backUp(store, path)).toMatchObject({ damaged: [lost] })
    const states = await examineBackups(store, { mayRead: () => false })
    expect(states.map(({ name, faults }) => [name, faults.length])).toEqual(
      states.map(({ name }) => [name, name === older ? 1 : 0]),
    )
  })

  test('behavior: all blocks are read back over eight backups, each once', async () => {
    const MIB = 1024 * 1024
    const read: string[] = []
    const digests = Array.from({ length: 4000 }, (_, index) => digestOf(Buffer.from(`${index}`)))
    const store: BackupStore = {
      ...openFolder().store,
      get(path) {
        read.push(path.slice('blocks/'.length))
        const at = digests.indexOf(path.slice('blocks/'.length))
        return Promise.resolve(Buffer.from(`${at}`))
      },
    }
    const known = new Map(digests.map((digest) => [`blocks/${digest}`, 4 * MIB]))
    let after: string | undefined
    for (let round = 0; round < 8; round++) {
      const { comparedTo, damaged, count } = await compareSome(store, known, after)
      expect([damaged.size, count]).toEqual([0, 500])
      after = comparedTo
    }
    expect(read.toSorted()).toEqual(digests.toSorted())
  })
})

describe('pruneBackups', () => {
  test('default: keeps the newest and their blocks, and nothing else', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    const names: string[] = []
    for (let round = 0; round < 3; round++) {
      await append(path, round * 30, round * 30 + 30)
      names.push((await backUp(store, path)).name)
    }
    const blocks = readdirSync(join(folder, 'blocks')).length
    expect(await pruneBackups(store, 1)).toEqual(names.slice(0, 2).reverse())
    expect(await listBackups(store)).toEqual(names.slice(2))
    expect(readdirSync(join(folder, 'blocks')).length).toBeLessThan(blocks)
    const history = openHistory(await restore(store))
    expect(history.findBatch('numbered-89')).toBeDefined()
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })

  test('error: removes nothing where a backup that is kept cannot be read', async () => {
    const { store, folder } = openFolder()
    await backUp(store, await newHistory())
    await backUp(store, await newHistory())
    const held = readdirSync(folder, { recursive: true }).sort()
    const [newest] = await listBackups(store)
    writeFileSync(join(folder, `${newest}.json`), '{"bookfeedBackup":2}')
    expect(await pruneBackups(store, 1).catch(() => 'rejected')).toBe('rejected')
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(held)
  })
})

describe('restoreBackup', () => {
  test('error: a block that was damaged is found before a file is put in place', async () => {
    const path = await newHistory()
    const { store, folder } = openFolder()
    await backUp(store, path)
    const [block = ''] = readdirSync(join(folder, 'blocks'))
    const bytes = await Bun.file(join(folder, 'blocks', block)).bytes()
    await Bun.write(join(folder, 'blocks', block), bytes.with(5000, 1 ^ (bytes[5000] ?? 0)))
    const target = newFolder()
    const rejected: unknown = await restore(store, target).catch((error: unknown) => error)
    expect(String(rejected)).toContain('is damaged')
    expect(existsSync(target)).toBe(false)
    await Bun.write(join(folder, 'blocks', block), bytes)
    await restore(store, target)
    expect(readdirSync(target)).toEqual(['history.db'])
  })

  test('behavior: what is damaged comes from the newest older backup that has it whole', async () => {
    const path = await newHistory()
    const ledgerPath = `${newFolder()}.db`
    openLedger(ledgerPath, { nowMs: 0 }).dispose()
    const { store, folder } = openFolder()
    const both = { 'history.db': historyFormat, 'ledger.db': ledgerFormat }
    const backUpBoth = () =>
      makeBackup({
        store,
        startedMs: ++nowMs,
        version: '1.2.3',
        sources: [
          { name: 'history.db', path, format: historyFormat },
          { name: 'ledger.db', path: ledgerPath, format: ledgerFormat },
        ],
      })
    const first = await backUpBoth()
    await append(path, 0, 60)
    const second = await backUpBoth()
    const [newest, oldest] = await examineBackups(store, { mayRead: () => false })
    const blocksIn = (state: typeof newest) =>
      new Set(
        state?.manifest?.files.flatMap(({ name, blocks }) => (name === 'history.db' ? blocks : [])),
      )
    const [own = ''] = blocksIn(newest).difference(blocksIn(oldest))
    await flipBlock(folder, own)
    const target = newFolder()
    const name = second.name
    const asked = { store, name, folder: target, formats: both }
    const whole: unknown = await restoreBackup(asked).catch((error: unknown) => error)
    expect(String(whole)).toContain('Nothing was put in place. To restore history.db as of')
    expect(existsSync(target)).toBe(false)
    expect(await restoreBackup({ ...asked, isPartial: true })).toEqual({
      restored: [
        { name: 'history.db', backup: first.name, startedMs: nowMs - 1, version: '1.2.3' },
        { name: 'ledger.db', backup: name, startedMs: nowMs, version: '1.2.3' },
      ],
      faults: [expect.stringContaining(`older backup with a whole copy is ${first.name}`)],
    })
    const history = openHistory(join(target, 'history.db'))
    expect([...history.verify()]).toEqual([])
    history.dispose()
    // Where no backup has it, the other file is restored alone.
    for (const digest of blocksIn(oldest)) rmSync(join(folder, 'blocks', digest), { force: true })
    const alone = newFolder()
    const partly = { ...asked, folder: alone, isPartial: true }
    const { restored, faults } = await restoreBackup(partly)
    expect(restored.map((each) => each.name)).toEqual(['ledger.db'])
    expect(faults).toEqual([expect.stringContaining('history.db is lost')])
    expect(readdirSync(alone)).toEqual(['ledger.db'])
    // A folder that the restore made goes with it, and so do those that it made around it.
    const around = newFolder()
    mkdirSync(around)
    const made = join(around, 'a', 'b')
    expect(await restoreBackup({ ...asked, folder: made }).catch(() => 'rejected')).toBe('rejected')
    expect(readdirSync(around)).toEqual([])
  })

  test('behavior: one that was killed between two files is done again', async () => {
    const { store } = openFolder()
    await backUp(store, await newHistory())
    const target = newFolder()
    await Bun.write(join(target, 'history.db'), 'put in place')
    await Bun.write(join(target, RESTORING, 'ledger.db'), 'not yet')
    const history = openHistory(await restore(store, target))
    expect(history.totals().snapshots).toBe(400)
    history.dispose()
  })

  test('error: nothing is written over, and nothing newer is taken', async () => {
    const { store } = openFolder()
    const path = await newHistory()
    await backUp(store, path)
    const full = newFolder()
    await Bun.write(join(full, 'letter.txt'), 'mine')
    const refused: unknown = await restore(store, full).catch((error: unknown) => error)
    expect([String(refused), readdirSync(full)]).toEqual([
      expect.stringContaining('is not empty'),
      ['letter.txt'],
    ])
    const db = openDatabase(path)
    db.run('PRAGMA user_version = 9999')
    db.close()
    // One that this program would not make.
    const [name = ''] = await listBackups(store)
    const newer = openFolder()
    const raw = await Bun.file(path).bytes()
    new DataView(raw.buffer).setUint32(60, 9999)
    const digest = new Bun.CryptoHasher('sha256').update(raw).digest('hex')
    await newer.store.put(`blocks/${digest}`, raw)
    const file = { name: 'history.db', bytes: raw.length, format: 9999, blocks: [digest] }
    const manifest = {
      bookfeedBackup: 1,
      startedMs: 0,
      version: '9',
      files: [{ ...file, sha256: digest }],
    }
    await newer.store.put(`${name}.json`, new TextEncoder().encode(JSON.stringify(manifest)))
    const tooNew: unknown = await restore(newer.store).catch((error: unknown) => error)
    expect(String(tooNew)).toContain('newer bookfeed')
  })

  // Root may write everywhere, whatever the mode says.
  test.skipIf(process.getuid?.() === 0)('error: a place that cannot be read says so', async () => {
    const { store, folder } = openFolder()
    await backUp(store, await newHistory())
    chmodSync(folder, 0o000)
    const rejected: unknown = await listBackups(store).catch((error: unknown) => error)
    chmodSync(folder, 0o700)
    expect(String(rejected)).toContain('cannot be used')
  })
})
