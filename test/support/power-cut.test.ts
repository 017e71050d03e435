import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createRandom } from '#src/platform/random.ts'

import { explore, readTrace } from './power-cut.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-trace-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const toHex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const at = (name: string): string => `9<${toHex(name === '' ? '/data' : `/data/${name}`)}>`
const write = (name: string, text: string, offset: number): string =>
  `pwrite64(${at(name)}, "${toHex(text)}", ${text.length}, ${offset}`

/** Lines of a thread with its calls, at consecutive milliseconds from 1 on. */
function read(lines: readonly (readonly [thread: number, text: string])[], rest = '') {
  const trace = join(folder, 'trace')
  const texts = lines.map(
    ([thread, text], n) => `${thread} 0.${String(n + 1).padStart(3, '0')} ${text}\n`,
  )
  writeFileSync(trace, texts.join('') + rest)
  return readTrace(trace, '/data')
}

const summaryOf = (calls: Awaited<ReturnType<typeof readTrace>>) =>
  calls.map((call) => [call.atMs, call.file, call.kind === 'sync' ? call.covers : 'change'])

describe('readTrace', () => {
  test('behavior: a sync covers, from its end, writes that precede its beginning', async () => {
    const calls = await read([
      [11, `${write('a.db-wal', 'a', 0)}) = 1`],
      [11, `fsync(${at('a.db-wal')} <unfinished ...>`],
      [12, `${write('a.db-wal', 'b', 1)} <unfinished ...>`],
      [12, '<... pwrite64 resumed>) = 1'],
      [11, '<... fsync resumed>) = 0'],
      [12, `fdatasync(${at('a.db-wal')})     = 0`],
    ])
    expect(summaryOf(calls)).toEqual([
      [1, 'a.db-wal', 'change'],
      [3, 'a.db-wal', 'change'],
      [5, 'a.db-wal', 1],
      [6, 'a.db-wal', 2],
    ])
  })

  test('behavior: the sync of a folder does not sync a file that its thread synced before', async () => {
    const calls = await read([
      [11, `fsync(${at('a.db-wal')} <unfinished ...>`],
      [12, `${write('b.db-wal', 'a', 0)}) = 1`],
      [11, '<... fsync resumed>) = 0'],
      [11, `fsync(${at('')} <unfinished ...>`],
      [12, `${write('b.db-wal', 'b', 1)}) = 1`],
      [11, '<... fsync resumed>) = 0'],
    ])
    expect(summaryOf(calls)).toEqual([
      [2, 'b.db-wal', 'change'],
      [3, 'a.db-wal', 0],
      [5, 'b.db-wal', 'change'],
    ])
  })

  test('behavior: failed and unfinished syncs and truncated lines are ignored', async () => {
    const calls = await read(
      [
        [11, `ftruncate(${at('a.db')}, 4096) = 0`],
        [11, `fsync(${at('a.db')}) = -1 EIO (Input/output error)`],
        [12, `fsync(${at('a.db')} <unfinished ...>`],
        [11, `fsync(${at('a.db')}) = ?`],
      ],
      `11 0.005 ${write('a.db', 'ab', 0).slice(0, -8)}`,
    )
    expect(summaryOf(calls)).toEqual([[1, 'a.db', 'change']])
  })
})

test('explore: keeps synced writes and any part of the others', async () => {
  const calls = await read([
    [11, `${write('a.db', 'a', 0)}) = 1`],
    [11, `fsync(${at('a.db')} <unfinished ...>`],
    [12, `${write('a.db', 'b', 1)}) = 1`],
    [11, '<... fsync resumed>) = 0'],
  ])
  const seen: [number, string][] = []
  explore(calls, join(folder, 'image'), {
    random: createRandom('trace'),
    images: 1000,
    fromMs: 0,
    look: (image, cutMs) => void seen.push([cutMs, readFileSync(join(image, 'a.db'), 'utf8')]),
  })
  const atEnd = seen.filter(([cutMs]) => cutMs === 4).map(([, text]) => text)
  expect(new Set(atEnd)).toEqual(new Set(['a', 'ab']))
})
