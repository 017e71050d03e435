import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { CalibrationTable } from '#src/domain/calibration.ts'
import { coins, timeframes } from '#src/domain/market.ts'
import type { CalibrationList } from '#src/extensions/calibration/schema.ts'
import { createTableStore } from '#src/extensions/calibration/store.ts'
import { edges, makeTable, WINDOWS_MAX } from '#src/extensions/calibration/table.ts'
import { startCalibration } from '#src/extensions/calibration/worker.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf } from '../../history/books.ts'
import { createCliContext } from '../../support/cli-context.ts'
import { readConfig } from '../../support/config.ts'
import { createHarness, NOW_MS } from '../../support/harness.ts'
import { until } from '../../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-calibration-'))
afterAll(() => rmSync(folder, { recursive: true }))

const WINDOW_MS = 300_000
const COUNT = 60
/** Begins before the first window. */
const START_MS = NOW_MS - (NOW_MS % WINDOW_MS) - (COUNT + 1) * WINDOW_MS
const STRIKE = 64_000

/** A price of each second, which swings with another period in each window. */
const priceAt = (second: number): number =>
  Math.round(
    100 *
      (STRIKE +
        40 * Math.sin(second / (17 + (Math.floor(second / 300) % 7))) +
        9 * Math.cos(second / 3)),
  ) / 100

async function fill(path: string) {
  const history = openHistory(path, { lagMs: 0 })
  const ticks = Array.from({ length: (COUNT + 1) * 300 }, (_, second) => second)
    // Missing for a while: these moments of that window are not counted.
    .filter((second) => second < 3_050 || second > 3_120)
    .map((second) => ({
      coin: 'btc' as const,
      source: 'chainlink',
      windowSeconds: 0,
      timestampMs: START_MS + second * 1000,
      price: priceAt(second).toFixed(2),
    }))
  await history.putSpot(ticks)
  for (let index = 0; index < COUNT; index++) {
    const windowStartMs = START_MS + index * WINDOW_MS
    const winner = priceAt(((index + 1) * WINDOW_MS) / 1000) >= STRIKE ? 'up' : 'down'
    await history.putMarket({
      conditionId: conditionIdOf(index + 1),
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs,
      windowEndMs: windowStartMs + WINDOW_MS,
      // One has no strike, and one is void.
      ...(index === 5 ? {} : { strike: STRIKE.toFixed(2) }),
      winner: index === 6 ? 'void' : winner,
      winnerSource: 'venue',
    })
  }
  return history
}

const history = await fill(join(folder, 'history.db'))
const config = readConfig({ BOOKFEED_DATA: folder })
const { send } = createHarness({ history, config })
const read = async (query = '') =>
  (await (await send(`/v1/btc/calibration${query}`)).json()) as CalibrationList

type Window = { windowEnd: string; strike: number | null; winner: string | null }
type Price = { timestamp: string; price: number }

/** Rows of the API, from which anybody can count the same. */
async function readRows() {
  const prices = new Map<number, number>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const path = `/v1/btc/spot?order=asc&limit=1000${cursor && `&cursor=${cursor}`}`
    const page = (await (await send(path)).json()) as { data: Price[]; nextCursor: string | null }
    for (const { timestamp, price } of page.data) prices.set(Date.parse(timestamp), price)
    cursor = page.nextCursor
  }
  const { data } = (await (await send('/v1/btc/markets?limit=1000')).json()) as { data: Window[] }
  return { prices, windows: data }
}

function recount(
  { prices, windows: all }: Awaited<ReturnType<typeof readRows>>,
  beforeEndMs: number,
) {
  // There is a price each second.
  const priceBefore = (ms: number): number | undefined =>
    Array.from({ length: 11 }, (_, age) => prices.get(ms - age * 1000)).find(Boolean)
  const seen = all.flatMap(({ windowEnd, strike, winner }) => {
    const endMs = Date.parse(windowEnd)
    const [price, end] = [priceBefore(endMs - beforeEndMs), priceBefore(endMs)]
    return strike === null || winner === null || price === undefined || end === undefined
      ? []
      : [{ price, end, strike, isUp: winner === 'up' }]
  })
  const squares = seen.reduce((sum, { price, end }) => sum + Math.log(end / price) ** 2, 0)
  const deviation = Number(Math.sqrt(squares / seen.length).toPrecision(6))
  const windows = Array.from({ length: edges.length + 1 }, () => 0)
  const ups = windows.slice()
  for (const { price, strike, isUp } of seen) {
    const distance = Math.log(price / strike) / deviation
    const index = edges.filter((edge) => edge <= distance).length
    windows[index] = (windows[index] ?? 0) + 1
    if (isUp) ups[index] = (ups[index] ?? 0) + 1
  }
  return { beforeEndMs, deviation, windows, ups }
}

describe('GET /v1/{coin}/calibration', () => {
  test('default: is empty until a server has counted, which it does on a thread beside its own', async () => {
    expect(await read()).toEqual({ data: [], nextCursor: null })
    const { context, errors } = createCliContext({ BOOKFEED_DATA: folder })
    const job = startCalibration({ ...context, clock: () => NOW_MS }, undefined, { firstMs: 1 })
    await until(() => createTableStore(folder).oldestMs() !== undefined)
    await job.dispose()
    expect(errors).toEqual([])
    const { data } = await read()
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({
      symbol: 'btc',
      timeframe: '5m',
      source: 'recorded',
      markets: COUNT - 2,
      madeAt: new Date(NOW_MS).toISOString(),
    })
    expect(await read('?timeframe=1h')).toEqual({ data: [], nextCursor: null })
    expect(await read('?timeframe=5m')).toEqual({ data, nextCursor: null })
  })

  test('default: each count follows from prices, strikes and winners', async () => {
    const [table] = (await read()).data
    const moments = table?.moments ?? []
    expect(moments.map(({ beforeEndMs }) => beforeEndMs / 1000)).toEqual([
      300, 270, 225, 180, 150, 120, 90, 60, 45, 30, 15, 6, 3,
    ])
    const rows = await readRows()
    for (const moment of moments) expect(moment).toEqual(recount(rows, moment.beforeEndMs))
    const counted = moments.map(({ windows }) => windows.reduce((sum, each) => sum + each, 0))
    expect(counted).toContain(COUNT - 3)
    expect(counted).toContain(COUNT - 2)
  })

  test('behavior: all tables of a coin are at most 20 kB, however many windows there are', () => {
    const [table] = createTableStore(folder).read('btc')
    if (table === undefined) throw new Error('It was made before.')
    // As many digits as windows that are spread evenly can have.
    const each = Math.ceil(WINDOWS_MAX / (edges.length + 1))
    const most = (moment: CalibrationTable['moments'][number]) => ({
      ...moment,
      beforeEndMs: 86_400_000,
      windows: moment.windows.map(() => each),
      ups: moment.ups.map(() => each),
    })
    const data = timeframes.map(() => ({ ...table, moments: table.moments.map(most) }))
    expect(JSON.stringify({ data, nextCursor: null }).length).toBeLessThanOrEqual(20_000)
  })

  test('behavior: a server that starts again within the day keeps its tables', async () => {
    const { context } = createCliContext({ BOOKFEED_DATA: folder })
    const due: number[] = []
    const report = {
      canStart: () => undefined,
      due: (ms: number) => void due.push(ms),
      began: () => undefined,
      progress: () => undefined,
      ended: () => undefined,
      failed: () => undefined,
    }
    const job = startCalibration({ ...context, clock: () => NOW_MS + 3_600_000 }, report)
    await job.dispose()
    expect(due).toEqual([NOW_MS + 86_400_000])
  })

  test('behavior: a file that cannot be read is as none', async () => {
    const damaged = mkdtempSync(join(folder, 'damaged-'))
    createTableStore(damaged).write('btc', [])
    writeFileSync(join(damaged, 'calibration/btc.json'), '{"')
    expect(createTableStore(damaged).read('btc')).toEqual([])
    expect(createTableStore(damaged).oldestMs()).toBeUndefined()
  })

  test('behavior: a price that never moved has no distance', async () => {
    const still = openHistory(':memory:', { lagMs: 0 })
    const [windowStartMs, windowEndMs] = [START_MS, START_MS + WINDOW_MS]
    const market = { conditionId: conditionIdOf(1), coin: 'btc', timeframe: '5m' } as const
    const facts = { source: 'recorded', windowStartMs, windowEndMs, strike: '64000.00' } as const
    await still.putMarket({ ...market, ...facts, winner: 'up', winnerSource: 'venue' })
    const ticks = Array.from({ length: 301 }, (_, second) => ({
      coin: 'btc' as const,
      source: 'chainlink',
      windowSeconds: 0,
      timestampMs: START_MS + second * 1000,
      price: '64000.00',
    }))
    await still.putSpot(ticks)
    const question = { coin: coins[0] ?? 'btc', timeframe: '5m', source: 'recorded' } as const
    const steps = makeTable(still, { ...question, nowMs: NOW_MS })
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    expect(step.value).toMatchObject({ markets: 1, moments: [] })
  })
})
