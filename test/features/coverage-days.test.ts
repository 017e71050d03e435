import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { MarketFacts, Timeframe } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { CoinCoverageList, type CoverageDay } from '#src/features/coverage/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, assetIdOf, conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'

const PATH = '/v1/btc/coverage'
const TODAY_MS = NOW_MS - (NOW_MS % DAY_MS)
const HOUR_MS = 3_600_000

let made = 0

type Draft = { startMs: number; timeframe?: Timeframe; windowMs?: number; heldMs?: number }

/** A market with a snapshot of each outcome each second of what is held. */
async function addMarket(
  history: MarketHistory,
  { startMs, timeframe = '1h', windowMs = 60_000, heldMs = windowMs }: Draft,
): Promise<string> {
  const conditionId = conditionIdOf(++made)
  const facts: MarketFacts = { conditionId, coin: 'btc', timeframe, source: 'recorded' }
  await history.putMarket({ ...facts, windowStartMs: startMs, windowEndMs: startMs + windowMs })
  const snapshots = Array.from({ length: (heldMs / 1000) * 2 }, (_, index) => {
    const outcome = index % 2 === 0 ? 'up' : 'down'
    const timestampMs = startMs + (index >> 1) * 1000
    const assetId = assetIdOf(conditionId, outcome)
    const row = { conditionId, timeframe, outcome, timestampMs, assetId } as const
    return aSnapshot({ ...row, isVerified: index % 4 < 2 ? true : undefined }, 1_000_000 + index)
  })
  await history.append({ id: `coverage-${conditionId}`, source: 'recorded', snapshots })
  return conditionId
}

async function read(send: Send, params: Record<string, string | number> = {}) {
  const response = await send(withParams(PATH, params))
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(CoinCoverageList, body)]).toEqual([200])
  return (body as CoinCoverageList).data
}

const dayOf = (daysAgo: number): string =>
  new Date(TODAY_MS - daysAgo * DAY_MS).toISOString().slice(0, 10)

async function readDay(send: Send, daysAgo: number): Promise<CoverageDay> {
  const from = TODAY_MS - daysAgo * DAY_MS
  const [day, ...others] = await read(send, { from, to: from + 1 })
  if (day === undefined) throw new Error('One day is asked for.')
  expect([day.day, others]).toEqual([dayOf(daysAgo), []])
  return day
}

describe('GET /v1/{coin}/coverage', () => {
  test('default: the last 31 days, oldest first, today too, each whatever it holds', async () => {
    const { send } = createHarness({ history: openHistory(':memory:') })
    const days = await read(send)
    expect(days.map(({ day }) => day)).toEqual(
      Array.from({ length: 31 }, (_, index) => dayOf(30 - index)),
    )
    expect(days.map(({ state }) => state)).toEqual([...Array(30).fill('missing'), 'pending'])
    expect(days[0]).toEqual({
      day: dayOf(30),
      state: 'missing',
      markets: 0,
      timeframes: [],
      snapshots: { up: 0, down: 0 },
      covered: null,
      gaps: [],
      verified: null,
      longestSilenceMs: null,
    })
  })

  test('default: a day with every window whole is available', async () => {
    const history = openHistory(':memory:')
    for (let hour = 0; hour < 24; hour++) {
      await addMarket(history, { startMs: TODAY_MS - DAY_MS + hour * HOUR_MS })
    }
    const { send } = createHarness({ history })
    expect(await readDay(send, 1)).toEqual({
      day: dayOf(1),
      state: 'available',
      markets: 24,
      timeframes: [{ timeframe: '1h', markets: 24, windows: 24, covered: 1 }],
      snapshots: { up: 1440, down: 1440 },
      covered: 1,
      gaps: [],
      verified: 0.5,
      longestSilenceMs: 1000,
    })
  })

  test('behavior: a window that is not there is a gap of each outcome, though nothing else is missing', async () => {
    const history = openHistory(':memory:')
    for (let hour = 0; hour < 23; hour++) {
      await addMarket(history, { startMs: TODAY_MS - DAY_MS + hour * HOUR_MS })
    }
    const { state, covered, gaps } = await readDay(createHarness({ history }).send, 1)
    // Of 23 minutes held and an hour that is not, here as long as the timeframe says.
    expect([state, covered]).toEqual(['degraded', 0.277108])
    expect(gaps).toEqual([{ reason: 'import', count: 2, durationMs: 2 * HOUR_MS }])
  })

  test('behavior: a day of markets without a snapshot is missing', async () => {
    const history = openHistory(':memory:')
    await addMarket(history, { startMs: TODAY_MS - DAY_MS, timeframe: '1d', heldMs: 0 })
    const { state, covered, markets } = await readDay(createHarness({ history }).send, 1)
    expect([state, covered, markets]).toEqual(['missing', 0, 1])
  })

  test('behavior: a window that is there twice does not stand for another one', async () => {
    const history = openHistory(':memory:')
    for (const hour of [5, ...Array(23).keys()]) {
      await addMarket(history, { startMs: TODAY_MS - DAY_MS + hour * HOUR_MS })
    }
    const { state, markets } = await readDay(createHarness({ history }).send, 1)
    expect([state, markets]).toEqual(['degraded', 24])
  })

  test('behavior: what is missing in the windows is added up, in all and by timeframe', async () => {
    const history = openHistory(':memory:')
    const startMs = TODAY_MS - DAY_MS
    await addMarket(history, { startMs, timeframe: '1d' })
    await addMarket(history, { startMs, timeframe: '4h', windowMs: 240_000, heldMs: 60_000 })
    const id = await addMarket(history, { startMs: startMs + HOUR_MS, timeframe: '4h' })
    await history.putGaps(id, [
      {
        outcome: 'up',
        fromMs: startMs + HOUR_MS + 10_000,
        toMs: startMs + HOUR_MS + 20_000,
        reason: 'recorder_down',
      },
    ])
    const day = await readDay(createHarness({ history }).send, 1)
    // Held are 59.001 s of each outcome of 240 s; what follows is quiet, but not a gap, below 240
    // s.
    expect(day.timeframes).toEqual([
      { timeframe: '4h', markets: 2, windows: 6, covered: expect.any(Number) },
      { timeframe: '1d', markets: 1, windows: 1, covered: 1 },
    ])
    expect(day.state).toBe('degraded')
    // After the second market of four hours five windows of the day are not there, each of both
    // outcomes.
    expect(day.gaps).toEqual([
      { reason: 'recorder_down', count: 1, durationMs: 10_000 },
      { reason: 'import', count: 10, durationMs: 40 * HOUR_MS },
    ])
    // Of twice 360 s all but 10 s, of twice 20 hours nothing.
    expect(day.covered).toBe(0.004906)
    expect(day.timeframes[0]?.covered).toBe(0.00408)
  })

  test('behavior: a timeframe alone is accounted alone', async () => {
    const history = openHistory(':memory:')
    await addMarket(history, { startMs: TODAY_MS - DAY_MS, timeframe: '1d' })
    await addMarket(history, { startMs: TODAY_MS - DAY_MS, timeframe: '4h' })
    const { send } = createHarness({ history })
    const params = { from: TODAY_MS - DAY_MS, to: TODAY_MS, timeframe: '1d' }
    const [day, ...others] = await read(send, params)
    expect([day?.state, day?.markets, others]).toEqual(['available', 1, []])
  })

  test('behavior: of a day that runs only the time so far counts, and nothing of a window to come', async () => {
    const history = openHistory(':memory:')
    await addMarket(history, { startMs: TODAY_MS })
    await addMarket(history, { startMs: NOW_MS - 30_000, timeframe: '5m', heldMs: 30_000 })
    await addMarket(history, { startMs: NOW_MS + 60_000, timeframe: '15m', heldMs: 0 })
    const { send } = createHarness({ history })
    const [day] = (await read(send)).slice(-1)
    expect([day?.state, day?.markets]).toEqual(['pending', 3])
    const share = (heldMs: number, missingMs: number) =>
      Math.floor((heldMs / (heldMs + missingMs)) * 1_000_000) / 1_000_000
    const sinceMs = NOW_MS - TODAY_MS
    const before = (lengthMs: number, untilMs: number) => untilMs - (untilMs % lengthMs)
    expect(day?.timeframes.map(({ timeframe, covered }) => [timeframe, covered])).toEqual([
      ['5m', share(30_000, before(300_000, sinceMs - 30_000))],
      // It opens in a minute, the one before it has been open since.
      ['15m', 0],
      ['1h', share(60_000, sinceMs - HOUR_MS)],
    ])
  })

  test('behavior: days are whole, of UTC, and widened to what from and to touch', async () => {
    const { send } = createHarness({ history: openHistory(':memory:') })
    const noon = TODAY_MS - 5 * DAY_MS + DAY_MS / 2
    const days = async (params: Record<string, number>) =>
      (await read(send, params)).map(({ day }) => day)
    expect(await days({ from: noon, to: noon + 1 })).toEqual([dayOf(5)])
    expect(await days({ from: noon, to: noon + DAY_MS / 2 })).toEqual([dayOf(5)])
    expect(await days({ from: noon, to: noon + DAY_MS / 2 + 1 })).toEqual([dayOf(5), dayOf(4)])
    expect(await days({ from: noon / 1000, to: noon / 1000 + 1 })).toHaveLength(1)
    expect(await days({ from: noon })).toHaveLength(31)
    const before = await days({ to: noon })
    expect([before.length, before.at(-1)]).toEqual([31, dayOf(5)])
    expect(await days({ to: 0 })).toEqual([])
    expect(await days({ from: TODAY_MS - 365 * DAY_MS, to: TODAY_MS + DAY_MS })).toHaveLength(366)
  })

  test('behavior: a late backfill shows within a minute, and midnight at once', async () => {
    const history = openHistory(':memory:')
    const { send, advance } = createHarness({ history })
    expect((await readDay(send, 1)).state).toBe('missing')
    await addMarket(history, { startMs: TODAY_MS - DAY_MS })
    advance(60_000)
    expect((await readDay(send, 1)).state).toBe('degraded')
    expect((await readDay(send, 0)).state).toBe('pending')
    advance(TODAY_MS + DAY_MS - NOW_MS)
    expect((await readDay(send, 0)).state).toBe('missing')
  })

  test('behavior: callers at once share the work', async () => {
    const history = openHistory(':memory:')
    let listed = 0
    const counting: MarketHistory = {
      ...history,
      listMarkets(query) {
        listed++
        return history.listMarkets(query)
      },
    }
    const { send } = createHarness({ history: counting })
    const answers = await Promise.all([read(send), read(send), read(send)])
    expect(answers.map((days) => days.length)).toEqual([31, 31, 31])
    expect(listed).toBe(31)
  })

  test('behavior: a failure is not kept', async () => {
    const history = openHistory(':memory:')
    let isBroken = true
    const flaky: MarketHistory = {
      ...history,
      listMarkets(query) {
        if (isBroken) throw new Error('The disk is away.')
        return history.listMarkets(query)
      },
    }
    const { send } = createHarness({ history: flaky })
    expect((await send(PATH)).status).toBe(500)
    isBroken = false
    expect(await read(send)).toHaveLength(31)
  })

  test('behavior: must be asked for each time, and answers 304', async () => {
    const { send } = createHarness({ history: openHistory(':memory:') })
    const response = await send(PATH)
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    const headers = { 'if-none-match': response.headers.get('etag') ?? '' }
    expect((await send(PATH, { headers })).status).toBe(304)
  })

  test.each([
    ['to', `from=${TODAY_MS - 366 * DAY_MS}&to=${TODAY_MS + 1}`],
    ['to', `from=0&to=${TODAY_MS}`],
    ['to', 'from=5&to=5'],
    ['to', 'from=6&to=5'],
    ['from', 'from=yesterday'],
    ['from', 'from=-1'],
    ['timeframe', 'timeframe=2h'],
    ['limit', 'limit=5'],
  ])('error: `%s` is refused by name: %s', async (name, query) => {
    const { send } = createHarness({ history: openHistory(':memory:') })
    const { status, code, param } = await readProblem(await send(`${PATH}?${query}`))
    expect([status, code, param]).toEqual([400, 'invalid_parameter', name])
  })

  test('error: there is no such coin', async () => {
    const { send } = createHarness({ history: openHistory(':memory:') })
    const { status, code } = await readProblem(await send('/v1/nocoin/coverage'))
    expect([status, code]).toEqual([404, 'unknown_coin'])
  })
})
