import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import { handlesOf } from '#src/database/transact.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createSqliteHistory } from '#src/history/sqlite-history.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, someSnapshots, START_MS } from './books.ts'
import { textOf } from './pages.ts'

const CACHE_BYTES = 1_000_000
/** More than one piece of the smallest books. */
const ROWS = 1000

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-lines-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const idsOf = (lines: string): number[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => Number(JSON.parse(line).id))

/** The first piece of a stream, and a function that reads the rest. */
function begin(history: MarketHistory, query: StreamQuery) {
  const pieces = history.lines('identity').rows(query)[Symbol.iterator]()
  const next = (): string => Buffer.from(pieces.next().value?.bytes ?? []).toString()
  const first = next()
  return {
    first,
    rest() {
      let text = ''
      for (let piece = next(); piece !== ''; piece = next()) text += piece
      return text
    },
  }
}

describe('a stream', () => {
  test('behavior: goes on where chunks were cut anew that it knew nothing of', async () => {
    const path = join(folder, 'late.db')
    const writer = openHistory(path)
    await appendAll(writer, someSnapshots(ROWS))
    const reader = openHistory(path, { chunkCacheBytes: 0, lagMs: 3_600_000 })
    const { first, rest } = begin(reader, { market: getMarket(reader) })
    // Into the last chunk, which the stream has not come to.
    await appendAll(writer, [aSnapshot({ timestampMs: START_MS + (ROWS - 50) * 1000 + 1 }, 77)])
    const ids = idsOf(first + rest())
    expect(idsOf(first).length).toBeLessThan(ROWS)
    expect(ids.length).toBe(ROWS + 1)
    expect(ids.indexOf(ROWS + 1)).toBe(ROWS - 49)
    reader.dispose()
    writer.dispose()
  })

  test('behavior: keeps the chunk that it is in while others turn it out of the cache', async () => {
    const path = join(folder, 'turned-out.db')
    const writer = openHistory(path)
    await appendAll(writer, someSnapshots(ROWS))
    await appendAll(writer, someSnapshots(ROWS, { conditionId: conditionIdOf(2) }))
    // Room for one of them.
    const reader = openHistory(path, { chunkCacheBytes: 120_000, isReadOnly: true })
    const read = (number: number) =>
      textOf(reader, { order: 'asc', limit: ROWS, conditionId: conditionIdOf(number) })
    const whole = read(1)
    const { first, rest } = begin(reader, { market: getMarket(reader) })
    expect(reader.cacheCounts().misses).toBe(ROWS / 100)
    for (let times = 0; times < 10; times++) {
      read(2)
      await new Promise(setImmediate)
    }
    const { misses } = reader.cacheCounts()
    const ids = idsOf(first + rest())
    expect(idsOf(first).length % 100).not.toBe(0)
    expect(ids).toEqual(Array.from({ length: ROWS }, (_, row) => row + 1))
    expect(read(1)).toBe(whole)
    expect(reader.cacheCounts().misses - misses).toBe(ROWS / 100)
    reader.dispose()
    writer.dispose()
  })

  test('behavior: leaves what is kept of chunks as it is: uses it, and adds nothing', async () => {
    const db = openDatabase(':memory:')
    const history = createSqliteHistory(handlesOf(db), { chunkCacheBytes: CACHE_BYTES, lagMs: 0 })
    await appendAll(history, someSnapshots(ROWS))
    const market = getMarket(history)
    const readRows = (fromRow: number, toRow: number): number => {
      const range = { fromMs: START_MS + fromRow * 1000, toMs: START_MS + toRow * 1000 }
      return idsOf(begin(history, { market, ...range }).first).length
    }
    textOf(history, { order: 'asc', limit: 100 })
    expect(readRows(100, 200)).toBe(100)
    db.run('DELETE FROM chunk')
    expect(readRows(0, 100)).toBe(100)
    expect(() => readRows(100, 200)).toThrow('is damaged')
    history.dispose()
  })
})
