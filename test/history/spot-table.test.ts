import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { SpotQuery } from '#src/domain/spot.ts'
import { openHistory } from '#src/history/open.ts'

import { someTicks } from '../support/market-history.ts'

const TICKS = 60
const LOST_ID = 30
const NONE = 0
const PAGE_BYTES = 4096
const ALL: SpotQuery = { coin: 'btc', order: 'asc', limit: TICKS }
const lostMs = someTicks('btc', TICKS)[LOST_ID - 1]?.timestampMs ?? 0

/** The bytes of a file with prices of two series, and of one of the pages. */
async function bytesOf(path: string, index: string, deleted: number) {
  const history = openHistory(path)
  await history.putSpot([...someTicks('btc', TICKS), ...someTicks('eth', TICKS)])
  history.dispose()
  const db = openDatabase(path)
  db.run(`DELETE FROM spot WHERE id = ${deleted}`)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const root = `SELECT rootpage FROM sqlite_schema WHERE name = '${index}'`
  const page = Number(db.query(root).values()[0]?.[0])
  db.close()
  const bytes = readFileSync(path)
  return { bytes, page: bytes.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES) }
}

/** A history of which an index, which has one page, is as if a price were not there. */
async function withLostEntry(
  index: string,
  use: (count: (query: SpotQuery) => number) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-spot-'))
  const path = join(folder, 'history.db')
  const { bytes, page } = await bytesOf(path, index, NONE)
  page.set((await bytesOf(join(folder, 'other.db'), index, LOST_ID)).page)
  writeFileSync(path, bytes)
  const damaged = openHistory(path)
  use((query) => damaged.spot(query).length)
  damaged.dispose()
  rmSync(folder, { recursive: true })
}

describe('spot', () => {
  test.each(['spot_order', 'spot_series'] as const)(
    'error: a price that %s has lost is damage on every page that spans it, and on no other',
    (index) =>
      withLostEntry(index, (count) => {
        const around = { fromMs: lostMs - 3000, toMs: lostMs + 3001 }
        for (const order of ['asc', 'desc'] as const) {
          const query = { ...ALL, order }
          const after = { timestampMs: lostMs, id: LOST_ID }
          expect(() => count(query)).toThrow('damaged')
          expect(() => count({ ...query, ...around, limit: 4 })).toThrow('damaged')
          expect(() => count({ ...query, windowSeconds: 60 })).toThrow('damaged')
          expect(() => count({ ...query, source: 'chainlink' })).toThrow('damaged')
          expect(count({ ...query, windowSeconds: 0 })).toBe(TICKS / 2)
          expect(count({ ...query, ...around, limit: 3 })).toBe(3)
          expect(count({ ...query, after })).toBe(order === 'asc' ? TICKS - LOST_ID : LOST_ID - 1)
          expect(count({ ...query, coin: 'eth' })).toBe(TICKS)
          expect(count({ ...query, coin: 'sol' })).toBe(0)
        }
      }),
  )

  test('behavior: prices without a time of receipt cost the same in any order', async () => {
    // If each price read those after it, this would take minutes.
    const history = openHistory(':memory:')
    const ticks = Array.from({ length: 40_000 }, (_, index) => ({
      coin: 'btc' as const,
      source: 'chainlink',
      windowSeconds: 0,
      timestampMs: 1_777_381_686_000 - index * 1000,
      price: '76211.8',
    }))
    for (let at = 0; at < ticks.length; at += 2000)
      await history.putSpot(ticks.slice(at, at + 2000))
    expect(history.lastSpotId()).toBe(ticks.length)
    history.dispose()
  })
})
