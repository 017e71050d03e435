import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createFetchedChunks } from '#src/history/tables/fetched-chunks.ts'

const PART_BYTES = 10_000
const PARTS = 300
const HOUR_S = 3600

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-chunks-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const nextPath = (): string => join(folder, `${++files}.db`)
const partOf = (chunkId: number) => ({
  chunkId,
  kind: 'rows' as const,
  bytes: new Uint8Array(PART_BYTES).fill(chunkId % 251),
})
const manyFrom = (first: number) => Array.from({ length: PARTS }, (_, at) => partOf(first + at))

/** As if all of a file was used an hour ago. */
function makeOld(path: string): void {
  const db = new Database(path)
  db.run(`UPDATE part SET used_s = used_s - ${HOUR_S}`)
  db.close()
}

test('default: what one thread fetched is there for all, and after a restart', () => {
  const place = { path: nextPath(), bytesMax: 1e9 }
  const one = createFetchedChunks(place)
  const other = createFetchedChunks(place)
  expect(other.find(7, 'rows')).toBeUndefined()
  one.keep([partOf(7)])
  expect(other.find(7, 'rows')).toEqual(partOf(7).bytes)
  expect(other.find(7, 'tops')).toBeUndefined()
  for (const each of [one, other]) each.close()
  const later = createFetchedChunks(place)
  expect(later.find(7, 'rows')).toEqual(partOf(7).bytes)
  later.close()
})

test('behavior: beyond its size only what was used within a minute stays, and its room is given back', async () => {
  const place = { path: nextPath(), bytesMax: (PARTS * PART_BYTES) / 3 }
  const fetched = createFetchedChunks(place)
  fetched.keep(manyFrom(0))
  const held = (from: number): number => {
    const fresh = createFetchedChunks(place)
    const count = manyFrom(from).filter(({ chunkId }) => fresh.find(chunkId, 'rows')).length
    fresh.close()
    return count
  }
  // All of it was used just now.
  expect(held(0)).toBe(PARTS)
  makeOld(place.path)
  for (let first = PARTS; first < PARTS + 20; first++) fetched.keep([partOf(first)])
  fetched.close()
  expect(held(0)).toBeLessThan(PARTS / 2)
  expect(held(PARTS)).toBe(20)
  expect((await stat(place.path)).size).toBeLessThan((PARTS * PART_BYTES) / 2)
})

test('behavior: a part that is read is not among those that were used longest ago', async () => {
  const place = { path: nextPath(), bytesMax: 0 }
  const fetched = createFetchedChunks(place)
  fetched.keep(manyFrom(0))
  makeOld(place.path)
  const reader = createFetchedChunks(place)
  expect(reader.find(3, 'rows')).toBeDefined()
  // Uses are noted together, once a second.
  const nowMs = performance.now()
  const now = spyOn(performance, 'now').mockImplementation(() => nowMs + 1000)
  expect(reader.find(5, 'rows')).toBeDefined()
  now.mockRestore()
  for (let first = PARTS; first < PARTS + 20; first++) fetched.keep([partOf(first)])
  for (const each of [fetched, reader]) each.close()
  const fresh = createFetchedChunks(place)
  expect([2, 3, 4].map((id) => fresh.find(id, 'rows') !== undefined)).toEqual([false, true, false])
  fresh.close()
})

test('error: a file that another connection writes keeps nobody from a part, and is used again after it', () => {
  const place = { path: nextPath(), bytesMax: 1e9 }
  const fetched = createFetchedChunks(place)
  fetched.keep([partOf(1)])
  const writer = new Database(place.path)
  writer.run('BEGIN IMMEDIATE')
  fetched.keep([partOf(2)])
  expect(fetched.find(2, 'rows')).toEqual(partOf(2).bytes)
  writer.run('ROLLBACK')
  writer.close()
  fetched.keep([partOf(3)])
  fetched.close()
  const fresh = createFetchedChunks(place)
  expect([1, 2, 3].map((id) => fresh.find(id, 'rows') !== undefined)).toEqual([true, false, true])
  fresh.close()
})

test('error: a file that is no database, or cannot be made, leaves memory alone', async () => {
  const path = nextPath()
  await Bun.write(
    path,
    'no database at all, but long enough to look like the header of one'.repeat(20),
  )
  for (const place of [
    { path, bytesMax: 1e9 },
    { path: join(folder, 'no folder', 'chunks.db'), bytesMax: 1e9 },
  ]) {
    const fetched = createFetchedChunks(place)
    fetched.keep([partOf(1)])
    expect(fetched.find(1, 'rows')).toEqual(partOf(1).bytes)
    fetched.close()
  }
  const fresh = createFetchedChunks({ path, bytesMax: 1e9 })
  fresh.keep([partOf(2)])
  fresh.close()
  const later = createFetchedChunks({ path, bytesMax: 1e9 })
  expect(later.find(2, 'rows')).toEqual(partOf(2).bytes)
  later.close()
})
