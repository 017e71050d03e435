/** What a read needs is known before it reads: the chunks that are fetched are those that it loads. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { Market } from '#src/domain/market.ts'
import type { MarketHistory, RowQuery, RowRange } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createViews } from '#src/history/reads/market-read.ts'
import { chunksOf, selectRows, selectSteps } from '#src/history/reads/selection.ts'
import type { ChunkRef } from '#src/history/tables/chunk-table.ts'
import { createFetchedChunks } from '#src/history/tables/fetched-chunks.ts'
import { createTables } from '#src/history/tables/tables.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { archiveInMemory, type MemoryArchive } from '../support/memory-archive.ts'
import { appendAll, aSnapshot, conditionIdOf, getMarket, START_MS } from './books.ts'

const ROWS = 2600
const SPAN_MS = 700_000
const MARKETS = 2
const DRAWS = 1000
const VERB_DRAWS = 120

let folder = ''
let source: MemoryArchive
const pathOf = (name: string): string => join(folder, `${name}.db`)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-fetch-'))
  const history = openHistory(pathOf('whole'))
  await fill(history, createRandom('fetched rows'))
  history.dispose()
  await cp(pathOf('whole'), pathOf('moved'))
  source = await archiveInMemory(pathOf('moved'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Rows in bursts and pauses, for long of one outcome alone, and some that come late. */
async function fill(history: MarketHistory, random: Random): Promise<void> {
  for (let number = 1; number <= MARKETS; number++) {
    const conditionId = conditionIdOf(number)
    let outcome: 'up' | 'down' = 'up'
    let timestampMs = START_MS
    const rows = Array.from({ length: ROWS }, (_, index) => {
      if (random.integer(index % 900 < 300 ? 200 : 3) === 0)
        outcome = outcome === 'up' ? 'down' : 'up'
      timestampMs += random.integer(50) === 0 ? random.integer(20_000) : random.integer(80)
      return aSnapshot({ conditionId, outcome, timestampMs }, (index + 1) * 10_000)
    })
    const isLate = rows.map(() => random.integer(100) === 0)
    await appendAll(
      history,
      rows.filter((_, index) => isLate[index] === false),
    )
    await appendAll(
      history,
      rows.filter((_, index) => isLate[index] === true),
    )
  }
  await history.close(conditionIdOf(1))
}

function drawRange(random: Random): Omit<RowQuery, 'market'> {
  const moment = (): number => START_MS - 1000 + random.integer(SPAN_MS)
  const [fromMs, toMs] = [moment(), moment()].sort((a, b) => a - b)
  return {
    order: random.pick(['asc', 'desc']),
    outcome: random.pick([undefined, 'up', 'down']),
    fromMs: random.pick([undefined, undefined, fromMs]),
    toMs: random.pick([undefined, undefined, toMs]),
    after: random.pick([undefined, { timestampMs: moment(), id: random.integer(MARKETS * ROWS) }]),
    limit: random.pick([1, 2, 25, 100, 101, 1000]),
    stepMs: random.pick([undefined, undefined, 100, 1000, 60_000, 3_600_000]),
  }
}

describe('chunksOf', () => {
  test('behavior: names all chunks that a page loads, and few others', () => {
    const db = openDatabase(pathOf('whole'))
    const tables = createTables(db, {
      chunkCacheBytes: 0,
      clock: () => START_MS,
      fetched: createFetchedChunks(),
    })
    const views = createViews(
      { ...tables, runs: { find: () => undefined } },
      { lagMs: 0, bytesMax: 10_000_000 },
    )
    const random = createRandom('named chunks')
    const sums = { loaded: 0, named: 0, steppedLoaded: 0, steppedNamed: 0 }
    for (let draw = 0; draw < DRAWS; draw++) {
      const view = views.find(conditionIdOf(1 + random.integer(MARKETS)))
      if (view === undefined) throw new Error('There are two markets.')
      const query = { ...drawRange(random), market: view.market }
      const loaded = new Set<ChunkRef>()
      const chunks = {
        ...tables.chunks,
        load(ref: ChunkRef) {
          loaded.add(ref)
          return tables.chunks.load(ref)
        },
      }
      if (query.stepMs === undefined) selectRows({ view, chunks }, query)
      else selectSteps(view, chunks, query)
      const named = new Set(chunksOf(view, query))
      const unnamed = [...loaded].filter((ref) => !named.has(ref))
      expect({ query, unnamed }).toEqual({ query, unnamed: [] })
      if (query.stepMs === undefined) {
        sums.loaded += loaded.size
        sums.named += named.size
      } else {
        sums.steppedLoaded += loaded.size
        sums.steppedNamed += named.size
      }
    }
    db.close()
    expect(sums.named / sums.loaded).toBeLessThan(1.2)
    expect(sums.steppedNamed / sums.steppedLoaded).toBeLessThan(2)
  })
})

/** A read of each kind, with the rows that it has to fetch and what it returns. */
function drawRead(random: Random, market: Market) {
  const query = { ...drawRange(random), market }
  const { outcome = 'up', limit } = query
  const timestampMs = START_MS + random.integer(SPAN_MS)
  const id = 1 + random.integer(MARKETS * ROWS + 10)
  const text = (pieces: Iterable<Uint8Array>) => Array.from(pieces, (piece) => piece.toBase64())
  type Read = { range: RowRange; read: (history: MarketHistory) => unknown }
  const before = { market, outcome, order: 'desc', limit: 1, withReceived: true } as const
  const unstepped = { ...query, stepMs: undefined }
  return random.pick<Read>([
    {
      range: { ...query, withReceived: true },
      read(history) {
        const { count, last, hasMore, received, texts } = history.page({
          ...query,
          withReceived: true,
        })
        return { count, last, hasMore, received, texts: text(texts()) }
      },
    },
    { range: { ...unstepped, withTops: true }, read: (history) => history.tops(unstepped) },
    {
      range: { ...before, toMs: timestampMs + 1 },
      read: (history) => history.at({ market, outcome, timestampMs })?.snapshot(),
    },
    { range: before, read: (history) => history.latest({ market, outcome })?.snapshot() },
    { range: { market, order: 'asc', id }, read: (history) => history.findPosition(market, id) },
    {
      range: { ...unstepped, order: 'asc' },
      read: (history) => text([history.events().rows({ ...unstepped, limit }, () => 'x').bytes]),
    },
  ])
}

describe('ready', () => {
  test('behavior: once it is settled any read finds all that it needs, with and without memory for it', async () => {
    const whole = openHistory(pathOf('whole'))
    const random = createRandom('fetched reads')
    for (let draw = 0; draw < VERB_DRAWS; draw++) {
      const moved = openHistory(pathOf('moved'), {
        isServing: true,
        chunkCacheBytes: random.pick([0, 200_000, 10_000_000]),
      })
      const market = getMarket(whole, conditionIdOf(1 + random.integer(MARKETS)))
      for (let reads = random.integer(3); reads >= 0; reads--) {
        const { range, read } = drawRead(random, market)
        await moved.ready([range])
        expect(read(moved)).toEqual(read(whole))
      }
      moved.dispose()
    }
    whole.dispose()
    expect(source.asked.length).toBeGreaterThan(VERB_DRAWS / 2)
  })

  test('behavior: what several reads lack is asked for once, and once for those at the same time', async () => {
    const whole = openHistory(pathOf('whole'))
    const moved = openHistory(pathOf('moved'), { isServing: true })
    const before = source.asked.length
    const ranges = [1, 2].map((number) => ({
      market: getMarket(whole, conditionIdOf(number)),
      order: 'asc' as const,
      limit: 100,
    }))
    await Promise.all([moved.ready(ranges), moved.ready(ranges), moved.ready(ranges.slice(1))])
    expect(source.asked).toHaveLength(before + 1)
    for (const history of [whole, moved]) history.dispose()
  })

  test('error: a read that was not ready says that it can be tried again; nothing else is asked', () => {
    const whole = openHistory(pathOf('whole'))
    const market = getMarket(whole)
    const moved = openHistory(pathOf('moved'), { isServing: true })
    const before = source.asked.length
    const read = () => moved.page({ market, order: 'asc', limit: 1 })
    expect(read).toThrow(expect.objectContaining({ code: 'storage_unavailable' }))
    expect(source.asked).toHaveLength(before)
    expect(whole.ready([{ market, order: 'asc' }])).toBeUndefined()
    for (const history of [whole, moved]) history.dispose()
  })
})
