import { describe, expect, test } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'
import { intervalMs } from '#src/domain/series.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, NO_LEVELS, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { type Params, readPage, readProblem, withParams } from '../support/page-client.ts'
import { rowTexts, walkSeries } from '../support/series-client.ts'
import {
  barText,
  changesOf,
  fill,
  inRange,
  iso,
  priceKey,
  priceRow,
  randomBooks,
  randomTrades,
} from '../support/series-model.ts'

type Asked = { outcome?: Outcome; from?: number; to?: number }
type Filled = { rows: StoredSnapshot[]; trades: Trade[] }
const outcomes = ['up', 'down'] as const

async function createFilled(
  seed: string,
  counts: [books: number, trades: number],
  isClosed = true,
) {
  const random = createRandom(seed)
  const history = openHistory(':memory:')
  const books = randomBooks(random, counts[0])
  const trades = randomTrades(random, counts[1])
  const filled = await fill(history, { books, trades })
  if (isClosed) await history.close(conditionIdOf(1))
  const { send } = createHarness({ history })
  return { history, send, ...filled, path: `${filled.base}/prices` }
}

function drawAsked(random: Random, rows: readonly StoredSnapshot[]): Asked {
  const from = random.pick(rows).timestampMs - random.integer(1_500)
  return {
    ...(random.integer(2) === 0 ? { outcome: random.pick(outcomes) } : {}),
    ...(random.integer(2) === 0 ? { from } : {}),
    ...(random.integer(2) === 0 ? { to: from + 1 + random.integer(60_000) } : {}),
  }
}

/** The bars of a range, each from the lists of its states and trades, without `covered`. */
function barTexts({ rows, trades }: Filled, stepMs: number, asked: Asked): string[] {
  const { outcome, to = Number.POSITIVE_INFINITY } = asked
  // A trade behind the range is in no bar; one before it may be the last one of a bar.
  const seen = trades.filter(({ timestampMs }) => timestampMs < to)
  const own = outcomes.filter((each) => (outcome ?? each) === each)
  const endMs = rows.at(-1)?.timestampMs ?? 0
  const texts: (string | undefined)[] = []
  const firstMs = Math.floor(START_MS / stepMs) * stepMs
  for (let startMs = firstMs; startMs <= endMs; startMs += stepMs) {
    const steps = own.map((each) => ({ startMs, stepMs, outcome: each }))
    texts.push(...steps.map((step) => barText(step, inRange(rows, asked), seen)))
  }
  return texts.filter((text) => text !== undefined)
}

/** Bars without how much of them is covered, and without a count that `from` cuts. */
const bare = (text: string): string =>
  text.replace(/,"covered":[\d.]+\}$/, '').replace(/"lastTradeUpdates":\d+/, '')

describe('GET /v1/{coin}/markets/{conditionId}/prices', async () => {
  const level = (price: number) => ({ prices: [price], sizes: [1_000_000] })
  const history = openHistory(':memory:')
  const at = (ms: number) => ({ timestampMs: START_MS + ms })
  const { base } = await fill(history, {
    books: [
      aSnapshot({ bids: level(530_000), asks: level(540_001) }),
      aSnapshot({ bids: level(460_000), asks: level(470_000), outcome: 'down', ...at(100) }),
      // Another size, and after the second trade.
      aSnapshot({ bids: level(530_000), asks: level(540_001), ...at(700) }, 2),
      // Other prices with the same mid.
      aSnapshot({ bids: level(520_000), asks: level(550_001), ...at(1_200) }),
      aSnapshot({ bids: NO_LEVELS, asks: level(550_001), ...at(2_400) }),
      aSnapshot({ bids: level(450_000), asks: level(470_000), outcome: 'down', ...at(2_500) }),
    ],
    trades: [
      { ...at(-60_000), price: 531_000 },
      { ...at(600), price: 535_000, outcome: 'up', size: 5_000_000, side: 'buy' },
      { ...at(2_450), price: 440_000, outcome: 'down' },
    ],
  })
  await history.close(conditionIdOf(1))
  const { send } = createHarness({ history })
  const path = `${base}/prices`

  test('default: is a row wherever mid or last trade changed, each outcome by itself', async () => {
    const { text } = await readPage(send, path)
    const place = (id: number, outcome: string, ms: number) =>
      `{"id":"${id}","outcome":"${outcome}","timestamp":"${iso(START_MS + ms)}"`
    const first = `"lastTrade":0.531,"lastTradeTime":"${iso(START_MS - 60_000)}","lastTradeOutcome":null}`
    const second = `"lastTradeTime":"${iso(START_MS + 600)}","lastTradeOutcome":"up"}`
    const third = `"lastTradeTime":"${iso(START_MS + 2_450)}","lastTradeOutcome":"down"}`
    expect(rowTexts(text)).toEqual([
      `${place(1, 'up', 0)},"bid":0.53,"ask":0.540001,"mid":0.5350005,${first}`,
      `${place(2, 'down', 100)},"bid":0.46,"ask":0.47,"mid":0.465,${first}`,
      `${place(3, 'up', 700)},"bid":0.53,"ask":0.540001,"mid":0.5350005,"lastTrade":0.535,${second}`,
      `${place(5, 'up', 2_400)},"bid":null,"ask":0.550001,"mid":null,"lastTrade":0.535,${second}`,
      `${place(6, 'down', 2_500)},"bid":0.45,"ask":0.47,"mid":0.46,"lastTrade":0.44,${third}`,
    ])
  })

  test('behavior: with an interval, is bars of the mid', async () => {
    const { text } = await readPage(send, path, { interval: '1s' })
    const place = (outcome: string, second: number) =>
      `{"outcome":"${outcome}","start":"${iso(START_MS + second * 1_000)}","end":"${iso(START_MS + second * 1_000 + 1_000)}"`
    const flat = (mid: string) => `"open":${mid},"high":${mid},"low":${mid},"close":${mid}`
    const trade = (price: number, ms: number, outcome: string) =>
      `"lastTrade":${price},"lastTradeTime":"${iso(START_MS + ms)}","lastTradeOutcome":"${outcome}"`
    const first = trade(0.535, 600, 'up')
    expect(rowTexts(text)).toEqual([
      `${place('up', 0)},${flat('0.5350005')},${first},"lastTradeUpdates":1,"states":2,"covered":1}`,
      `${place('down', 0)},${flat('0.465')},${trade(0.465, 600, 'up')},"lastTradeUpdates":1,"states":1,"covered":0.9}`,
      `${place('up', 1)},${flat('0.5350005')},${first},"lastTradeUpdates":0,"states":1,"covered":1}`,
      `${place('up', 2)},${flat('null')},${trade(0.56, 2_450, 'down')},"lastTradeUpdates":1,"states":1,"covered":0.401}`,
      `${place('down', 2)},${flat('0.46')},${trade(0.44, 2_450, 'down')},"lastTradeUpdates":1,"states":1,"covered":0.501}`,
    ])
  })

  test('behavior: a bar that the range cuts is of the states inside, and says that it is not whole', async () => {
    const range = { from: START_MS + 1_000, to: START_MS + 2_450, interval: '1m', outcome: 'up' }
    const { body } = await readPage(send, path, range)
    expect(body.data as unknown[]).toEqual([
      {
        outcome: 'up',
        start: iso(START_MS),
        end: iso(START_MS + 60_000),
        open: 0.5350005,
        high: 0.5350005,
        low: 0.5350005,
        close: 0.5350005,
        // The last one before the range's end, although it is older than the range.
        lastTrade: 0.535,
        lastTradeTime: iso(START_MS + 600),
        lastTradeOutcome: 'up',
        lastTradeUpdates: 0,
        states: 2,
        covered: 0.02335,
      },
    ])
  })

  test('behavior: a book that contradicts its hash is in no bar', async () => {
    const history = openHistory(':memory:')
    const book = (at: number, price: number, isVerified: boolean) =>
      aSnapshot({
        timestampMs: START_MS + at,
        bids: { prices: [price], sizes: [1_000_000] },
        asks: { prices: [price + 20_000], sizes: [1_000_000] },
        sourceHash: String(at).padStart(40, '0'),
        isVerified,
      })
    await appendAll(history, [
      book(100, 500_000, true),
      book(200, 900_000, false),
      book(300, 510_000, true),
      book(1_100, 100_000, false),
    ])
    await history.close(conditionIdOf(1))
    const { send } = createHarness({ history })
    const path = `/v1/btc/markets/${conditionIdOf(1)}/prices`
    for (const order of ['asc', 'desc']) {
      const { body } = await readPage(send, path, { interval: '1s', order })
      expect(body.data).toMatchObject([
        { open: 0.51, high: 0.52, low: 0.51, close: 0.52, states: 2 },
      ])
    }
  })

  test('behavior: a trade of an outcome that the source does not name is as printed, for both bars', async () => {
    const unnamed = openHistory(':memory:')
    await fill(unnamed, {
      books: [aSnapshot({}), aSnapshot({ outcome: 'down' })],
      trades: [{ ...at(-1), price: 531_000 }],
    })
    const { body } = await readPage(createHarness({ history: unnamed }).send, path, {
      interval: '1s',
    })
    const trade = { lastTrade: 0.531, lastTradeTime: iso(START_MS - 1), lastTradeOutcome: null }
    expect(body.data as unknown[]).toMatchObject([
      { outcome: 'up', ...trade, lastTradeUpdates: 0 },
      { outcome: 'down', ...trade, lastTradeUpdates: 0 },
    ])
  })

  test('behavior: a market without a state is an empty page', async () => {
    const empty = openHistory(':memory:')
    await fill(empty, { books: [], trades: [{ timestampMs: START_MS, price: 1 }] })
    const server = createHarness({ history: empty })
    for (const params of [{}, { interval: '1s' }, { interval: '1d', order: 'desc' }] as Params[]) {
      const { text, headers } = await readPage(server.send, path, params)
      expect(text).toBe('{"data":[],"nextCursor":null}')
      expect(headers.get('x-coverage')).toStartWith('none;')
    }
  })

  test.each([
    ['interval=2s', 'interval'],
    ['interval=0s', 'interval'],
    ['interval=-1m', 'interval'],
    ['interval=1w', 'interval'],
    ['limit=10001', 'limit'],
    ['limit=0', 'limit'],
    ['from=1&to=1', 'to'],
    ['from=2&to=1', 'to'],
    ['order=', 'order'],
    ['outcome=UP', 'outcome'],
    ['maxAgeMs=1', 'maxAgeMs'],
  ])('error: %s is refused, naming what to change', async (query, param) => {
    const problem = await readProblem(await send(`${path}?${query}`))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', param])
  })

  test('error: a cursor of other filters or of quotes is refused', async () => {
    const { resumeCursor: cursor } = await readPage(send, path, { limit: 1 })
    for (const params of [{ interval: '1s' }, { outcome: 'up' }, { order: 'desc' }] as Params[]) {
      const problem = await readProblem(await send(withParams(path, { ...params, cursor })))
      expect([params, problem.code]).toEqual([params, 'cursor_mismatch'])
    }
    const problem = await readProblem(await send(withParams(`${base}/quotes`, { cursor })))
    expect(problem.code).toBe('cursor_mismatch')
  })
})

describe('a walk of prices', () => {
  test.each(Array.from({ length: 4 }, (_, index) => index))(
    'property: at any limits and in either order gives every change once (seed %d)',
    async (seed) => {
      const random = createRandom(`walk ${seed}`)
      const counts: [number, number] = [20 + random.integer(250), random.integer(60)]
      const { send, path, rows, trades } = await createFilled(`prices ${seed}`, counts)
      for (let round = 0; round < 4; round++) {
        const asked = drawAsked(random, rows)
        const changes = changesOf(inRange(rows, asked), priceKey(trades))
        const expected = changes.map((row) => priceRow(row, trades))
        const limitOf = () => 1 + random.integer(random.pick([2, 30, 400]))
        const up = await walkSeries(send, path, { params: { ...asked }, limitOf })
        expect(up.texts).toEqual(expected)
        const down = await walkSeries(send, path, { params: { ...asked, order: 'desc' }, limitOf })
        expect(down.texts).toEqual(expected.reverse())
      }
    },
  )

  test.each(Array.from({ length: 4 }, (_, index) => index))(
    'property: of bars gives one for each step with a state (seed %d)',
    async (seed) => {
      const random = createRandom(`bars ${seed}`)
      const counts: [number, number] = [20 + random.integer(250), random.integer(60)]
      const filled = await createFilled(`bars ${seed}`, counts)
      const { send, path, rows } = filled
      for (const interval of ['1s', '5s', '1m', '1h'] as const) {
        const asked = drawAsked(random, rows)
        const params = { ...asked, interval }
        const expected = barTexts(filled, intervalMs[interval], asked).map(bare)
        const limitOf = () => 1 + random.integer(random.pick([2, 30, 400]))
        const up = await walkSeries(send, path, { params, limitOf })
        expect(up.texts.map(bare)).toEqual(expected)
        const down = await walkSeries(send, path, { params: { ...params, order: 'desc' }, limitOf })
        expect(down.texts).toEqual(up.texts.toReversed())
      }
    },
  )

  test('property: bars of a whole market count every update and state in a bar once', async () => {
    const filled = await createFilled('whole', [300, 80])
    const { send, path, rows, trades } = filled
    const { texts } = await walkSeries(send, path, {
      params: { interval: '5s' },
      limitOf: () => 7,
    })
    const cut = (text: string) => text.replace(/,"covered":[\d.]+\}$/, '')
    expect(texts.map(cut)).toEqual(barTexts(filled, 5_000, {}))
    const bars = texts.map((text) => JSON.parse(text) as { states: number })
    expect(bars.reduce((sum, bar) => sum + bar.states, 0)).toBe(rows.length)
    expect(trades.length).toBeGreaterThan(50)
  })

  test('property: covered is the share that the coverage of the same span tells', async () => {
    const { send, path, base, rows } = await createFilled('covered', [200, 0])
    const { texts } = await walkSeries(send, path, {
      params: { interval: '5s' },
      limitOf: () => 50,
    })
    const bars = texts.map(
      (text) => JSON.parse(text) as { start: string; outcome: Outcome; covered: number },
    )
    expect(bars.length).toBeGreaterThan(20)
    expect(new Set(bars.map(({ covered }) => covered)).size).toBeGreaterThan(5)
    for (const { start, outcome, covered } of bars) {
      const from = Date.parse(start)
      const span = { from, to: from + 5_000 }
      const response = await send(withParams(`${base}/coverage`, span))
      const told = (await response.json()) as { outcomes: { outcome: Outcome; covered: number }[] }
      const own = told.outcomes.find((each) => each.outcome === outcome)
      expect([start, outcome, covered]).toEqual([start, outcome, own?.covered ?? -1])
    }
    expect(rows).toHaveLength(200)
  })
})

describe('a follower of X-Resume-Cursor', () => {
  test('property: is given a bar again until it is whole, and ends with the bars of the market', async () => {
    const random = createRandom('follower')
    const books = randomBooks(random, 300)
    const { history, send, path } = await createFilled('none', [0, 0], false)
    const bars = new Map<string, string>()
    let place: Params = {}
    const read = async (limit: number) => {
      const params = { interval: '5s', ...place, limit }
      const { text, body, resumeCursor } = await readPage(send, path, params)
      for (const row of rowTexts(text)) bars.set(row.slice(0, row.indexOf(',"end"')), row)
      place = { cursor: resumeCursor }
      return body.nextCursor
    }
    for (let at = 0; at < books.length; at += 10) {
      await appendAll(history, books.slice(at, at + 10))
      await read(1 + random.integer(20))
    }
    await history.close(conditionIdOf(1))
    let next: string | null
    do next = await read(100)
    while (next !== null)
    const whole = await walkSeries(send, path, {
      params: { interval: '5s' },
      limitOf: () => 10_000,
    })
    const coveredOf = (text: string) => (JSON.parse(text) as { covered: number }).covered
    const cut = (text: string) => text.replace(/,"covered":[\d.]+\}$/, '')
    const seen = [...bars.values()]
    expect(seen.map(cut)).toEqual(whole.texts.map(cut))
    for (const [index, text] of whole.texts.entries()) {
      // A gap that ended begins a millisecond before one that has not.
      expect(Math.abs(coveredOf(text) - coveredOf(seen[index] ?? ''))).toBeLessThan(0.0003)
    }
  })

  test('behavior: is given the bar again of an outcome that fell silent in it and came back', async () => {
    const { history, send, path } = await createFilled('none', [0, 0], false)
    const at = (outcome: Outcome, ms: number) => aSnapshot({ outcome, timestampMs: START_MS + ms })
    await appendAll(history, [
      at('up', 1_000),
      at('down', 1_000),
      at('down', 5_000),
      at('down', 9_000),
    ])
    const params: Params = { interval: '1m', outcome: 'up' }
    const first = await readPage(send, path, params)
    await appendAll(history, [at('up', 20_000), at('down', 20_000)])
    const again = await readPage(send, path, { ...params, cursor: first.resumeCursor })
    const statesOf = (text: string) => (JSON.parse(text) as { states: number }).states
    expect([first, again].map(({ text }) => rowTexts(text).map(statesOf))).toEqual([[1], [2]])
  })
})
