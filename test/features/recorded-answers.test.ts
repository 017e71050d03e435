/**
 * Two days of recorded books: two servers on one PostgreSQL, part of whose books are in a bucket,
 * answer as one on a file does, byte for byte, also where each page comes from another of both.
 * Credentials are variables of a process, so the tests run in one of their own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'

import type { Market } from '#src/domain/market.ts'
import { intervals } from '#src/domain/series.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createImportHarness } from '../ingest/import-harness.ts'
import { createComparer } from '../support/answers.ts'
import { archiveAll } from '../support/archive-all.ts'
import { copyBooks } from '../support/copied-stores.ts'
import { type OnBucket, onBucket } from '../support/engines/bucket.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { textOf } from '../support/event-client.ts'
import { type Params, withParams } from '../support/page-client.ts'
import { openReplicatedHistory, type ReplicatedHistory } from '../support/replicated-history.ts'
import { openHistoryIn } from '../support/stores.ts'

// biome-ignore lint/style/noProcessEnv: how much is tested is not for the product's settings.
const { CONFORM } = process.env
/** The export of each market with `CONFORM=all`. */
const EXPORTED_EVERY = CONFORM === 'all' ? 1 : 3
const LIMIT_MS = 480_000
const SAMPLES = 100
const PAGES_MAX = 10_000
const ROWS_MAX = 1000
const CURSOR_CHARS_MAX = 1000
const books = 220_487
const recordings = '../shared/data/polymarket'
const files = [
  'snapshots-btc-5m-20260413.jsonl.gz',
  'snapshots-btc-5m-20260414.jsonl.gz',
  'last-trade-prices-btc-5m-20260413-14.jsonl.gz',
  'markets-btc-5m-tokens.json',
].map((name) => `${recordings}/${name}`)
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

type Compare = ReturnType<typeof createComparer>

/** Follows `nextCursor`, each page from another server; returns how many pages there were. */
async function walk(compare: Compare, path: string, pagesMax = PAGES_MAX): Promise<number> {
  let pages: number = 0
  let cursor: string | undefined = ''
  for (; cursor !== undefined && pages < pagesMax; pages++) {
    const answer = await compare(cursor === '' ? path : withParams(path, { cursor }))
    expect({ path, status: answer.status }).toEqual({ path, status: 200 })
    // Bodies are large, and the cursor is their last member.
    const end = textOf(answer.headers, answer.bytes).slice(-CURSOR_CHARS_MAX)
    cursor = /"nextCursor":"([^"]+)"\}$/.exec(end)?.[1]
  }
  return pages
}

const lists = ['snapshots', 'quotes', 'prices', 'trades'] as const

/** A list with parameters that are drawn. */
function draw(random: Random, { conditionId, windowStartMs = 0 }: Market): string {
  const list = random.pick(lists)
  const maybe = (make: () => Params): Params => (random.integer(2) === 0 ? {} : make())
  const ofStates: Params = {
    ...maybe(() => ({ outcome: random.pick(['up', 'down']) })),
    ...maybe(() => ({ interval: random.pick(intervals) })),
  }
  const ofBooks = maybe(() =>
    random.pick<Params>([
      { depth: 1 + random.integer(20) },
      { fields: 'id,timestamp,bids' },
      { include: 'receivedAt' },
      { view: 'consolidated' },
    ]),
  )
  return withParams(`/v1/btc/markets/${conditionId}/${list}`, {
    limit: 1 + random.integer(ROWS_MAX),
    order: random.pick(['asc', 'desc']),
    ...maybe(() => ({ from: windowStartMs + random.integer(150_000) })),
    ...maybe(() => ({ to: windowStartMs + 150_000 + random.integer(150_000) })),
    ...(list === 'trades' ? {} : ofStates),
    ...(list === 'snapshots' ? ofBooks : {}),
  })
}

function inner({ placeOf }: OnBucket): void {
  const { pathOf, run } = createImportHarness()
  let postgres: Postgres | undefined
  let histories: MarketHistory[] = []
  const servers: ReplicatedHistory[] = []
  let markets: Market[] = []
  beforeAll(async () => {
    postgres = await startPostgres()
    const path = pathOf('history.db')
    const file = openHistory(path)
    expect((await run(files, { history: file })).report.accepted).toBe(books)
    await copyBooks(path, postgres.url)
    const archiving = await openHistoryIn(postgres.url)
    const place = placeOf('recorded')
    expect(await archiveAll(archiving, place, (id) => id % 2 === 0)).toBeGreaterThan(30)
    archiving.dispose()
    const { url } = postgres
    for (const name of ['first', 'second']) {
      await mkdir(pathOf(name))
      servers.push(await openReplicatedHistory(url, pathOf(name)))
    }
    histories = [file, ...servers.map(({ history }) => history)]
    const all = file.listMarkets({ coin: 'btc', limit: 500, order: 'asc' })
    markets = all.filter(({ firstSnapshotMs }) => firstSnapshotMs !== undefined)
    expect([all.length, markets.length]).toEqual([211, 85])
  }, LIMIT_MS)
  afterAll(async () => {
    histories[0]?.dispose()
    for (const server of servers) await server[Symbol.asyncDispose]()
    await postgres?.[Symbol.asyncDispose]()
  })

  test(
    'default: every page of every market, and each next page from the other server',
    async () => {
      const compare = createComparer(histories)
      const pages: Record<string, number> = {}
      for (const { conditionId } of markets)
        for (const list of lists) {
          const path = `/v1/btc/markets/${conditionId}/${list}?limit=${ROWS_MAX}`
          pages[list] = (pages[list] ?? 0) + (await walk(compare, path))
        }
      expect(pages).toEqual({ snapshots: 271, quotes: 271, prices: 174, trades: 85 })
      expect(await walk(compare, '/v1/btc/markets?limit=7')).toBe(31)
    },
    LIMIT_MS,
  )

  test(
    'default: bars and coverage of every market, exports of a third, and steps of a fifth of them',
    async () => {
      const compare = createComparer(histories)
      for (const { conditionId } of markets.filter((_, index) => index % 5 === 0))
        for (const list of ['snapshots', 'quotes', 'prices']) {
          const path = `/v1/btc/markets/${conditionId}/${list}?interval=1s&limit=${ROWS_MAX}`
          await walk(compare, path)
        }
      for (const { conditionId } of markets) {
        const at = `/v1/btc/markets/${conditionId}`
        await walk(compare, `${at}/prices?interval=1m`)
        for (const part of ['', '/coverage']) await compare(at + part)
      }
      // Every row of every market is compared above: here it is how they become lines.
      for (const { conditionId } of markets.filter((_, index) => index % EXPORTED_EVERY === 0))
        await compare(`/v1/btc/markets/${conditionId}/export?format=ndjson`)
      for (const { conditionId } of markets.slice(20, 22))
        for (const format of ['csv', 'parquet'])
          await compare(`/v1/btc/markets/${conditionId}/export?format=${format}`)
    },
    LIMIT_MS,
  )

  test(
    'behavior: with any limit, interval, outcome, order, range and fields',
    async () => {
      const random = createRandom('recorded answers')
      const compare = createComparer(histories)
      for (let sample = 0; sample < SAMPLES; sample++) {
        const path = draw(random, random.pick(markets))
        await walk(compare, path, 3)
        await compare(path, 'identity')
      }
    },
    LIMIT_MS,
  )
}

const name = 'answers about recorded days'
if (isAbsent) test.skip(`${name}${reason}`, () => {})
else
  onBucket(import.meta.path, (on) =>
    describe.skipIf(postgresPrograms === undefined)(name, () => inner(on)),
  )
