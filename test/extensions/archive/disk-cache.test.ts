import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdtemp, readdir, rm, stat, truncate, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createDiskCache } from '#src/extensions/archive/disk-cache.ts'

const BLOCK = 10_000
const BYTES_MAX = 200_000

let root = ''
let folders = 0
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'bookfeed-disk-cache-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const blockOf = (seed: number): Uint8Array => new Uint8Array(BLOCK).fill(seed)

function open() {
  const folder = join(root, `${++folders}`)
  return { folder, cache: createDiskCache({ folder, bytesMax: BYTES_MAX }) }
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

test('default: what was kept is found, by another process too', async () => {
  const { folder, cache } = open()
  expect(await cache.find('a', BLOCK)).toBeUndefined()
  await cache.keep('a', blockOf(1))
  expect(await cache.find('a', BLOCK)).toEqual(Buffer.from(blockOf(1)))
  const other = createDiskCache({ folder, bytesMax: BYTES_MAX })
  expect(await other.find('a', BLOCK)).toEqual(Buffer.from(blockOf(1)))
})

test('error: a file that is damaged, cut, or of something else is not found, and replaced', async () => {
  const { folder, cache } = open()
  const path = join(folder, 'a')
  const damages = {
    async bit() {
      const bytes = await Bun.file(path).bytes()
      bytes[BLOCK >> 1] = 7
      await Bun.write(path, bytes)
    },
    cut: () => truncate(path, BLOCK >> 1),
    empty: () => truncate(path, 0),
    async other() {
      await cache.keep('b', blockOf(2))
      await Bun.write(path, Bun.file(join(folder, 'b')))
    },
  }
  for (const [name, damage] of Object.entries(damages)) {
    await cache.keep('a', blockOf(1))
    await damage()
    expect([name, await cache.find('a', BLOCK)]).toEqual([name, undefined])
  }
  await cache.keep('a', blockOf(1))
  expect(await cache.find('a', BLOCK)).toBeDefined()
  expect((await readdir(folder)).sort()).toEqual(['a', 'b'])
})

test('behavior: what was read longest ago goes, before it takes more than it may', async () => {
  const { folder, cache } = open()
  for (let at = 0; at < 50; at++) {
    await cache.keep(`${at}`, blockOf(at))
    // The clock of a disk may be coarse.
    await utimes(join(folder, `${at}`), at + 1, at + 1)
    expect(await sizeOf(folder)).toBeLessThanOrEqual(BYTES_MAX)
  }
  const names = (await readdir(folder)).map(Number)
  expect(names.length).toBeGreaterThan(BYTES_MAX / BLOCK / 2)
  expect(Math.min(...names)).toBe(50 - names.length)
  // What was left by a process that had more room.
  const smaller = createDiskCache({ folder, bytesMax: BYTES_MAX / 4 })
  await smaller.keep('new', blockOf(1))
  expect(await sizeOf(folder)).toBeLessThanOrEqual(BYTES_MAX / 4)
})

test('error: where nothing can be written nothing is found, and nothing is thrown', async () => {
  const { folder, cache } = open()
  await Bun.write(folder, 'a file')
  await cache.keep('a', blockOf(1))
  expect(await cache.find('a', BLOCK)).toBeUndefined()
  await chmod(folder, 0)
  await cache.keep('a', blockOf(1))
  expect(await cache.find('a', BLOCK)).toBeUndefined()
})
