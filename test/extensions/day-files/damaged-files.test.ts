/** Flipped bytes and truncations of day files, and of the lists that name them. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makeDayFiles } from '#src/extensions/day-files/maker.ts'
import { createFileStore, type DayFile, fileKinds } from '#src/extensions/day-files/store.ts'
import { verifyDayFiles } from '#src/extensions/day-files/verify.ts'
import { createRandom } from '#src/platform/random.ts'

import { createHarness, NOW_MS } from '../../support/harness.ts'
import { createMarketHistory } from '../../support/market-history.ts'
import { readProblem } from '../../support/page-client.ts'

const place = { coin: 'btc', timeframe: '5m', day: '2026-02-03' } as const
const SMALL_BYTES = 6_000
/** Too long to be kept in memory. */
const LARGE_BYTES = 2 * 1024 * 1024 + 5

const roots: string[] = []
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true })
})

function createDay() {
  const root = mkdtempSync(join(tmpdir(), 'bookfeed-damaged-'))
  roots.push(root)
  const store = createFileStore(root)
  const random = createRandom('damaged files')
  const made = fileKinds.map((kind, at) => {
    const name = `btc-5m-2026-02-03-${kind}-double-r1.parquet`
    const length = at === 0 ? LARGE_BYTES : SMALL_BYTES + at
    const bytes = Buffer.from(Uint8Array.from({ length }, () => random.integer(256)))
    const written = store.write(place, name, [bytes])
    const draft = { name, ...place, kind, numbers: 'double', revision: 1 } as const
    return { bytes, file: { ...draft, markets: 1, rows: 1, ...written, madeMs: NOW_MS } }
  })
  store.putList(place, { source: 'all', files: made.map(({ file }) => file) })
  const folder = join(root, place.coin, place.timeframe)
  const listPath = join(folder, `${place.day}.json`)
  return { root, store, made, folder, listPath, pathOf: ({ name }: DayFile) => join(folder, name) }
}

/** The text of another day's list takes its time: what is read is kept by the time of its change. */
let seconds = 0
function touch(path: string): void {
  const at = new Date(NOW_MS + ++seconds * 1000)
  utimesSync(path, at, at)
}

function flip(path: string, at: number, bit: number): void {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  writeFileSync(path, bytes)
  touch(path)
}

type Day = ReturnType<typeof createDay>

async function expectServed({ made }: Pick<Day, 'made'>, send: Send, except: string[] = []) {
  for (const { bytes, file } of made) {
    if (except.includes(file.name)) continue
    const response = await send(`/v1/btc/files/${file.name}`)
    expect([file.name, response.status]).toEqual([file.name, 200])
    expect(Bun.hash(await response.bytes())).toBe(Bun.hash(bytes))
  }
}
type Send = ReturnType<typeof createHarness>['send']

async function expectRefused(send: Send, name: string): Promise<void> {
  for (const headers of [
    {},
    { range: 'bytes=0-9' },
    { range: 'bytes=-8' },
    { 'if-none-match': '*' },
  ]) {
    const response = await send(`/v1/btc/files/${name}`, { headers })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect([response.headers.get('etag'), response.headers.get('repr-digest')]).toEqual([
      null,
      null,
    ])
    expect(await readProblem(response)).toMatchObject({ code: 'damaged', status: 503 })
  }
}

describe('a damaged file of a day', () => {
  test('error: no flipped bit and no truncation is served, wherever it is', async () => {
    const day = createDay()
    const random = createRandom('flips')
    for (const { file, bytes } of day.made) {
      const path = day.pathOf(file)
      const places = [0, 3, bytes.length - 1, bytes.length - 4]
      const rounds = file.bytes === LARGE_BYTES ? 4 : 30
      while (places.length < rounds) places.push(random.integer(bytes.length))
      for (const [round, at] of places.entries()) {
        if (round % 3 === 2) {
          truncateSync(path, at)
          touch(path)
        } else flip(path, at, random.integer(8))
        const { send } = createHarness({ files: day.store })
        await expectRefused(send, file.name)
        expect([...verifyDayFiles(day.store)]).toEqual([
          expect.stringContaining(`file ${file.name}: it`),
        ])
        writeFileSync(path, bytes)
        touch(path)
      }
      const { send } = createHarness({ files: day.store })
      await expectServed(day, send)
    }
    expect([...verifyDayFiles(day.store)]).toEqual([])
  })

  test('error: one that is damaged while it is served is refused, and counted', async () => {
    const day = createDay()
    const lines: string[] = []
    const { send } = createHarness({ files: day.store, log: (line) => void lines.push(line) })
    await expectServed(day, send)
    const [large] = day.made
    if (large === undefined) throw new Error('There is no large file.')
    flip(day.pathOf(large.file), 1_000_000, 3)
    await expectRefused(send, large.file.name)
    // Of those in memory the bytes that were compared are sent.
    await expectServed(day, send, [large.file.name])
    expect(lines.join('\n')).toContain(`damaged: File ${large.file.name} is damaged`)
    // What was put back is served again.
    writeFileSync(day.pathOf(large.file), large.bytes)
    touch(day.pathOf(large.file))
    await expectServed(day, send)
  })

  test('error: one that is missing, or longer, is refused', async () => {
    const day = createDay()
    const [large, small] = day.made
    if (large === undefined || small === undefined) throw new Error('There are no files.')
    rmSync(day.pathOf(large.file))
    writeFileSync(day.pathOf(small.file), Buffer.concat([small.bytes, Buffer.from('x')]))
    const { send } = createHarness({ files: day.store })
    await expectRefused(send, large.file.name)
    await expectRefused(send, small.file.name)
    expect([...verifyDayFiles(day.store)]).toEqual([
      `file ${large.file.name}: it is missing`,
      `file ${small.file.name}: it has ${small.file.bytes + 1} bytes, not ${small.file.bytes}`,
    ])
  })
})

describe('a damaged list of a day', () => {
  test('error: each flipped bit is a fault of one entry, and the others are listed and served', async () => {
    const day = createDay()
    const sound = readFileSync(day.listPath)
    const text = sound.toString()
    const random = createRandom('lists')
    const start = text.indexOf('{"name"')
    for (let round = 0; round < 300; round++) {
      const at = start + random.integer(sound.length - start)
      flip(day.listPath, at, random.integer(8))
      const names = day.store.find(place)?.files.map(({ name }) => name) ?? []
      const flipped = [
        at,
        readFileSync(day.listPath)
          .toString('latin1')
          .slice(at - 9, at + 9),
      ]
      expect([...flipped, names.length >= 4]).toEqual([...flipped, true])
      const expected = day.made.filter(({ file }) => names.includes(file.name))
      // What is listed is what was made, but never another thing.
      expect(day.store.find(place)?.files).toEqual(expected.map(({ file }) => file))
      writeFileSync(day.listPath, sound)
      touch(day.listPath)
    }
  }, 300_000)

  test('error: a lost entry is a fault of its file alone', async () => {
    const day = createDay()
    const text = readFileSync(day.listPath, 'utf8')
    const [, lost] = day.made
    if (lost === undefined) throw new Error('There is no file.')
    writeFileSync(
      day.listPath,
      text.replace(`"name":"${lost.file.name}"`, `"name":"${lost.file.name}`),
    )
    touch(day.listPath)
    const { send } = createHarness({ files: day.store })
    const response = await send('/v1/btc/files')
    expect(response.status).toBe(200)
    const { data } = (await response.json()) as { data: { name: string }[] }
    const others = day.made.filter((each) => each !== lost).map(({ file }) => file.name)
    expect(data.map(({ name }) => name)).toEqual(others)
    await expectServed(day, send, [lost.file.name])
    await expectRefused(send, lost.file.name)
    expect([...verifyDayFiles(day.store)]).toEqual([
      expect.stringContaining(`does not list ${lost.file.name}`),
    ])
  })

  test('error: a list that is no text at all costs its day alone', async () => {
    const day = createDay()
    const other = { ...place, day: '2026-02-04' }
    const [, second] = day.made
    if (second === undefined) throw new Error('A day has several files.')
    const { file, bytes } = second
    const name = file.name.replace(place.day, other.day)
    const written = day.store.write(other, name, [bytes])
    day.store.putList(other, { source: '', files: [{ ...file, ...other, name, ...written }] })
    writeFileSync(day.listPath, Buffer.alloc(4096))
    touch(day.listPath)
    const { send } = createHarness({ files: day.store })
    const { data } = (await (await send('/v1/btc/files')).json()) as { data: { name: string }[] }
    expect(data.map((each) => each.name)).toEqual([name])
    await expectRefused(send, file.name)
    expect([...verifyDayFiles(day.store)]).toEqual([
      expect.stringContaining('files of btc 5m 2026-02-03: the list is damaged'),
    ])
  })

  test('behavior: entries of lists that were written without a check are read', () => {
    const day = createDay()
    const text = readFileSync(day.listPath, 'utf8').replaceAll(/,"check":\d+/g, '')
    writeFileSync(day.listPath, text)
    touch(day.listPath)
    expect(day.store.find(place)).toEqual({
      source: 'all',
      files: day.made.map(({ file }) => file),
      isDamaged: false,
    })
  })
})

describe('files make --repair', async () => {
  const { history } = await createMarketHistory()
  const root = mkdtempSync(join(tmpdir(), 'bookfeed-repair-'))
  afterAll(() => rmSync(root, { recursive: true }))
  const store = createFileStore(root)
  const nowMs = NOW_MS + 30 * 86_400_000
  const make = (isRepairing: boolean) =>
    makeDayFiles({ history, store, nowMs, isRepairing, assertMayWrite() {} })
  const pathsOf = () =>
    readdirSync(root, { recursive: true })
      .map((name) => join(root, String(name)))
      .filter((path) => path.endsWith('.parquet'))

  test('default: makes what is damaged again under its name, and nothing else', () => {
    expect(make(false)).toBeGreaterThan(0)
    const before = new Map(pathsOf().map((path) => [path, readFileSync(path)]))
    const [damaged = ''] = before.keys()
    flip(damaged, 20, 1)
    expect(make(false)).toBe(0)
    expect([...verifyDayFiles(store)].length).toBe(1)
    expect(make(true)).toBe(1)
    expect([...verifyDayFiles(store)]).toEqual([])
    expect(new Map(pathsOf().map((path) => [path, readFileSync(path)]))).toEqual(before)
    expect(make(true)).toBe(0)
  })

  test('behavior: a day whose list is damaged gets another revision, and no name is used again', () => {
    const [list = ''] = readdirSync(root, { recursive: true })
      .map((name) => join(root, String(name)))
      .filter((path) => path.endsWith('.json'))
    const names = pathsOf().filter((path) =>
      path.startsWith(list.slice(0, -'.json'.length).replace(/[^/]*$/, '')),
    )
    writeFileSync(list, 'not JSON')
    touch(list)
    expect(make(false)).toBeGreaterThan(0)
    expect([...verifyDayFiles(store)]).toEqual([])
    const after = pathsOf()
    expect(after).toEqual(expect.arrayContaining(names))
    expect(after.some((path) => path.includes('-r2.parquet'))).toBe(true)
    for (const path of names) expect(statSync(path).isFile()).toBe(true)
  })
})
