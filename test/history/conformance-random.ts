/**
 * The heart of the conformance suite: any engine against `HistoryModel` under random operations.
 */
import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'

import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import { comparePositions, type Position, type Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import {
  assetIdOf,
  conditionIdOf,
  createBookMaker,
  getMarket,
  randomHash,
  START_MS,
} from './books.ts'
import { HistoryModel, type ModelQuery, rowsText } from './history-model.ts'

type Open = () => MarketHistory | Promise<MarketHistory>
export type Effort = { seeds: number; steps: number }

const MARKETS = 3
const DAY_MS = 86_400_000
const limits = [1, 2, 3, 16, 17, 50, 99, 100, 101, 199, 200, 201, 1000]
const orders = ['asc', 'desc'] as const
/** From finer than the rows to wider than all of them. */
const stepWidths = [1, 700, 1000, 5000, 60_000, 3_600_000, 90 * DAY_MS]

/** Everything that one run of random operations holds. */
type Trial = {
  random: Random
  history: MarketHistory
  model: HistoryModel
  makers: Map<string, ReturnType<typeof createBookMaker>>
  /** The newest time of each market. */
  lastMs: Map<string, number>
  batches: number
}

const newTrial = (random: Random, history: MarketHistory): Trial => ({
  random,
  history,
  model: new HistoryModel(),
  makers: new Map(),
  lastMs: new Map(),
  batches: 0,
})

export function conformRandomly(open: Open, { seeds, steps }: Effort): void {
  describe('append, close and page against a model', () => {
    for (let seed = 1; seed <= seeds; seed++) {
      test(`behavior: answers as a plain sorted array does, seed ${seed}`, async () => {
        const trial = newTrial(createRandom(`model-${seed}`), await open())
        try {
          for (let step = 0; step < steps; step++) await takeStep(trial)
          for (let market = 1; market <= MARKETS; market++) checkAll(trial, conditionIdOf(market))
          expect([...trial.history.verify()]).toEqual([])
          expect(trial.history.totals().snapshots).toBe(trial.model.count)
        } finally {
          trial.history.dispose()
        }
      })
    }
  })

  describe('page by page', () => {
    for (const order of orders) {
      for (const outcome of [undefined, 'up'] as const) {
        test(`behavior: a walk skips and repeats nothing while a writer appends, inserts late and closes: ${order}, ${outcome ?? 'both'}`, async () => {
          const history = await open()
          try {
            for (let seed = 1; seed <= seeds; seed++) {
              await walkWhileWriting(newTrial(createRandom(`walk-${seed}`), history), {
                conditionId: conditionIdOf(100 + seed),
                query: { order, outcome, limit: 1 },
              })
            }
          } finally {
            history.dispose()
          }
        })
      }
    }
  })
}

async function takeStep(trial: Trial): Promise<void> {
  const { random } = trial
  const conditionId = conditionIdOf(1 + random.integer(MARKETS))
  const kind = random.integer(10)
  if (kind < 4) await appendRandomly(trial, randomBatch(trial))
  else if (kind === 4) await appendRandomly(trial, repeated(trial, conditionId))
  else if (kind === 5) await closeBoth(trial, conditionId)
  else if (kind === 6) await failToAppend(trial)
  else for (let query = 0; query < 6; query++) checkPage(trial, conditionId)
}

async function closeBoth({ history, model }: Trial, conditionId: string): Promise<void> {
  await history.close(conditionId)
  model.close(conditionId)
}

/**
 * Appends to both and checks the counts, and that revisions rise exactly where something changed.
 */
async function appendRandomly(trial: Trial, snapshots: readonly Snapshot[]): Promise<void> {
  const { history, model } = trial
  const conditions = Array.from({ length: MARKETS }, (_, at) => conditionIdOf(at + 1))
  const before = conditions.map((id) => [model.rows(id).length, history.findMarket(id)] as const)
  const batch = { id: `batch-${++trial.batches}`, source: 'simulated', snapshots } as const
  const result = await history.append(batch)
  expect(result).toEqual({ kind: 'appended', ...model.append(batch) })
  conditions.forEach((id, at) => {
    const [count, market] = before[at] ?? [0, undefined]
    if (market === undefined) return
    const isChanged = model.rows(id).length > count
    const isRisen = getMarket(history, id).revision > market.revision
    expect([id, isRisen]).toEqual([id, isChanged])
  })
}

/** A batch whose last row contradicts its market: nothing of it may be seen afterwards. */
async function failToAppend(trial: Trial): Promise<void> {
  const rows = randomBatch(trial)
  const first = rows[0]
  if (first === undefined) return
  const snapshots: Snapshot[] = [...rows, { ...first, coin: 'eth' }]
  const id = `batch-${++trial.batches}`
  await expect(trial.history.append({ id, source: 'simulated', snapshots })).rejects.toThrow('coin')
  expect(trial.history.findBatch(id)).toBeUndefined()
}

/** Rows of one or more markets: behind the newest, at the same moment, or anywhere before. */
function randomBatch(trial: Trial): Snapshot[] {
  const { random } = trial
  const isMixed = random.integer(3) === 0
  const only = random.pick([undefined, ...outcomes])
  const isLate = random.integer(3) === 0
  const market = 1 + random.integer(MARKETS)
  const count = random.pick([1, 1, 2, 7, 40, 120])
  return Array.from({ length: count }, () => {
    const conditionId = conditionIdOf(isMixed ? 1 + random.integer(MARKETS) : market)
    const outcome = only ?? random.pick(outcomes)
    return randomSnapshot(trial, { conditionId, outcome, isLate })
  })
}

type Aim = { conditionId: string; outcome: Outcome; isLate: boolean }

function randomSnapshot(trial: Trial, { conditionId, outcome, isLate }: Aim): Snapshot {
  const { random, makers, lastMs } = trial
  const assetId = assetIdOf(conditionId, outcome)
  const maker = makers.get(assetId) ?? createBookMaker(random)
  makers.set(assetId, maker)
  const newestMs = lastMs.get(conditionId) ?? START_MS
  // Now and then a pause longer than the 32 bits of a column can count.
  const pauseMs = random.integer(200) === 0 ? 60 * DAY_MS : random.integer(3) * random.integer(900)
  const timestampMs = isLate
    ? START_MS - 5000 + random.integer(Math.min(newestMs - START_MS + 5000, 2 ** 31))
    : newestMs + pauseMs
  lastMs.set(conditionId, Math.max(newestMs, timestampMs))
  const identity = { coin: 'btc', timeframe: '5m', conditionId, assetId, outcome } as const
  const sourceHash = random.integer(2) === 0 ? randomHash(random) : undefined
  return { ...identity, timestampMs, ...maker(), sourceHash }
}

/** Rows that are held, as they were or with one half of what distinguishes them changed. */
function repeated({ random, model }: Trial, conditionId: string): Snapshot[] {
  const rows = model.rows(conditionId)
  if (rows.length === 0) return []
  return Array.from({ length: 1 + random.integer(20) }, () => {
    const { id: _, ...row } = random.pick(rows)
    const { bids } = random.pick(rows)
    const kind = random.integer(4)
    if (kind === 0) return { ...row, sourceHash: undefined }
    if (kind === 1) return { ...row, sourceHash: randomHash(random) }
    return kind === 2 ? { ...row, bids } : row
  })
}

function randomQuery({ random, model }: Trial, conditionId: string): ModelQuery {
  const rows = model.rows(conditionId)
  const place = (): Position =>
    rows.length === 0 ? { timestampMs: START_MS, id: 1 } : random.pick(rows)
  const bound = (): number | undefined =>
    random.integer(2) === 0 ? undefined : place().timestampMs + random.integer(3) - 1
  const { timestampMs, id } = place()
  const isAfter = random.integer(2) === 0
  return {
    outcome: random.pick([undefined, ...outcomes]),
    fromMs: bound(),
    toMs: bound(),
    order: random.pick(orders),
    after: isAfter ? { timestampMs, id: Math.max(0, id + random.integer(3) - 1) } : undefined,
    limit: random.pick(limits),
    stepMs: random.integer(2) === 0 ? undefined : random.pick(stepWidths),
  }
}

function checkPage(trial: Trial, conditionId: string): void {
  const market = trial.history.findMarket(conditionId)
  if (market !== undefined) checkQuery(trial, market, randomQuery(trial, conditionId))
}

/** Compares a page in every way that it can be looked at. */
function checkQuery({ history, model }: Trial, market: Market, query: ModelQuery): void {
  const expected = model.page(market.conditionId, query)
  const page = history.page({ market, ...query })
  const last = expected.rows.at(-1)
  const position = last && { timestampMs: last.timestampMs, id: last.id }
  const { count, hasMore } = page
  const seen = { query, count, hasMore, last: page.last }
  expect(seen).toEqual({
    query,
    count: expected.rows.length,
    hasMore: expected.hasMore,
    last: position,
  })
  const text = `{"data":[${rowsText(expected.rows)}],"nextCursor":null}`
  const parts = ['{"data":[', '],"nextCursor":null}'] as const
  const plain = Buffer.from(page.encode('identity', ...parts)).toString('latin1')
  const unzipped = gunzipSync(page.encode('gzip', ...parts)).toString('latin1')
  const singly = Array.from(page.texts(), (each) => Buffer.from(each).toString('latin1'))
  const differences = {
    text: firstDifference(plain, text),
    gzip: firstDifference(unzipped, text),
    texts: firstDifference(singly.join(','), rowsText(expected.rows)),
  }
  expect({ query, ...differences }).toEqual({ query, text: '', gzip: '', texts: '' })
  if (query.stepMs !== undefined) return
  const tops = expected.rows.map((row) => ({
    timestampMs: row.timestampMs,
    id: row.id,
    outcome: row.outcome,
    bidPrice: row.bids.prices[0] ?? 0,
    bidSize: row.bids.sizes[0] ?? 0,
    askPrice: row.asks.prices[0] ?? 0,
    askSize: row.asks.sizes[0] ?? 0,
  }))
  expect(history.tops({ market, ...query })).toEqual(tops)
}

/**
 * Where two texts part, because a difference of two long texts takes minutes to
 * print; empty when they do not.
 */
function firstDifference(got: string, expected: string): string {
  if (got === expected) return ''
  const at = [...expected].findIndex((character, index) => got[index] !== character)
  return `at ${at}: got ${got.slice(at - 40, at + 40)}, not ${expected.slice(at - 40, at + 40)}`
}

/** Every row of a market in every order, and the last row at or before some moments. */
function checkAll(trial: Trial, conditionId: string): void {
  const market = trial.history.findMarket(conditionId)
  if (market === undefined) return
  const rows = trial.model.rows(conditionId)
  for (const order of orders) {
    for (const outcome of [undefined, ...outcomes])
      checkQuery(trial, market, { outcome, order, limit: 1000 })
  }
  for (const { timestampMs, id } of rows)
    expect(trial.history.findPosition(market, id)).toEqual({ timestampMs, id })
  for (let probe = 0; probe < 10 && rows.length > 0; probe++) {
    const timestampMs = trial.random.pick(rows).timestampMs + trial.random.integer(3) - 1
    for (const outcome of outcomes) {
      const own = rows.filter((row) => row.outcome === outcome)
      const query = { market, outcome, timestampMs }
      const expected = own.findLast((row) => row.timestampMs <= timestampMs)
      expect(trial.history.at(query)?.snapshot()).toEqual(expected)
      expect(trial.history.latest({ market, outcome })?.snapshot()).toEqual(own.at(-1))
    }
  }
}

type Walk = { conditionId: string; query: ModelQuery }

async function walkWhileWriting(trial: Trial, { conditionId, query }: Walk): Promise<void> {
  const { history, random } = trial
  const write = async (count: number, isLate: boolean): Promise<void> => {
    const snapshots = Array.from({ length: count }, () =>
      randomSnapshot(trial, { conditionId, outcome: random.pick(outcomes), isLate }),
    )
    const id = `${conditionId}-${query.order}-${query.outcome ?? ''}-${++trial.batches}`
    await history.append({ id, source: 'simulated', snapshots })
  }
  await write(350, false)
  const idsOf = (limit: number, after?: Position) => {
    const page = history.page({ market: getMarket(history, conditionId), ...query, limit, after })
    const rows: Position[] = JSON.parse(
      Buffer.from(page.encode('identity', '[', ']')).toString(),
      (key, value) => (key === 'id' ? Number(value) : value),
    ).map(({ id, timestamp }: { id: number; timestamp: string }) => ({
      id,
      timestampMs: Date.parse(timestamp),
    }))
    return { ...page, rows }
  }
  const atStart = idsOf(1000).rows.map(({ id }) => id)
  const seen: Position[] = []
  let after: Position | undefined
  for (let hasMore = true; hasMore;) {
    const page = idsOf(random.pick([1, 7, 30, 100]), after)
    seen.push(...page.rows)
    after = page.last ?? after
    hasMore = page.hasMore && seen.length < 2000
    const kind = random.integer(4)
    if (kind < 2) await write(random.pick([1, 5, 60]), kind === 0)
    if (kind === 2 && random.integer(3) === 0) await history.close(conditionId)
  }
  const ids = seen.map(({ id }) => id)
  const ordered = seen.toSorted((a, b) => comparePositions(a, b) * (query.order === 'asc' ? 1 : -1))
  expect(seen).toEqual(ordered)
  expect(new Set(ids).size).toBe(ids.length)
  expect(atStart.filter((id) => !ids.includes(id))).toEqual([])
}
