import { describe, expect, test } from 'bun:test'

import type { SpotTick } from '#src/domain/spot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import { someTicks } from '../support/market-history.ts'
import { readPage, readProblem, withParams } from '../support/page-client.ts'
import { rowTexts, walkSeries } from '../support/series-client.ts'

const PATH = '/v1/btc/spot'
const START_MS = Date.UTC(2026, 0, 1)
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

async function createServer(ticks: readonly SpotTick[]) {
  const history = openHistory(':memory:')
  await history.putSpot(ticks)
  return { history, ...createHarness({ history }) }
}

/** A price a second of two series, each its own walk. */
function walkedTicks(seconds: number): SpotTick[] {
  const random = createRandom('spot')
  return [0, 60].flatMap((windowSeconds) =>
    Array.from({ length: seconds }, (_, at) => ({
      coin: 'btc' as const,
      source: 'chainlink',
      windowSeconds,
      timestampMs: START_MS + at * 1000,
      price: `${60_000 + random.integer(9000)}.50`,
    })),
  )
}

/** The bars of a series, each by looking at every tick, ascending. */
function barsOf(ticks: readonly SpotTick[], windowSeconds: number, stepMs: number): string[] {
  const own = ticks.filter((tick) => tick.windowSeconds === windowSeconds)
  const starts = new Set(own.map(({ timestampMs }) => timestampMs - (timestampMs % stepMs)))
  return [...starts].map((start) => {
    const held = own.filter(({ timestampMs: at }) => at >= start && at < start + stepMs)
    const prices = held.map(({ price }) => price)
    const sorted = prices.toSorted((a, b) => Number(a) - Number(b))
    const figures = `"open":${prices[0]},"high":${sorted.at(-1)},"low":${sorted[0]},"close":${prices.at(-1)}`
    return `{"source":"chainlink","windowSeconds":${windowSeconds},"start":"${iso(start)}","end":"${iso(start + stepMs)}",${figures},"ticks":${held.length}}`
  })
}

describe('GET /v1/{coin}/spot', () => {
  test('default: is every price with all digits of its source', async () => {
    const [first, second] = someTicks('btc', 2)
    if (first === undefined || second === undefined) throw new Error('There are two.')
    const asHistory = { ...second, receivedMs: undefined, sequence: undefined, dropped: 3 }
    const { send } = await createServer([first, asHistory])
    const { text } = await readPage(send, PATH)
    expect(text).toBe(
      `{"data":[${[
        `{"id":"1","source":"chainlink","windowSeconds":0,"timestamp":"${iso(START_MS)}","price":64000.00050,"receivedAt":"${iso(START_MS + 80)}","sequence":1,"dropped":0}`,
        `{"id":"2","source":"chainlink","windowSeconds":60,"timestamp":"${iso(START_MS + 1000)}","price":64000.00150,"receivedAt":null,"sequence":null,"dropped":3}`,
      ].join(',')}],"nextCursor":null,"reason":null}`,
    )
  })

  test('default: with `interval` a row is a bar of one series, of any limit and in both orders', async () => {
    const ticks = walkedTicks(200)
    const { send } = await createServer(ticks)
    for (const window of [0, 60]) {
      const bars = barsOf(ticks, window, 60_000)
      expect(bars.length).toBe(4)
      for (const limit of [1, 3, 1000]) {
        for (const order of ['asc', 'desc']) {
          const params = { interval: '1m', window, order }
          const { texts } = await walkSeries(send, PATH, { params, limitOf: () => limit })
          expect(texts).toEqual(order === 'asc' ? bars : bars.toReversed())
        }
      }
    }
  })

  test('behavior: a page has a whole step at least, of however many prices', async () => {
    const ticks = walkedTicks(51_000)
    const { send } = await createServer(ticks)
    const { texts } = await walkSeries(send, PATH, {
      params: { interval: '1d' },
      limitOf: () => 1000,
    })
    expect(texts).toEqual([0, 60].flatMap((window) => barsOf(ticks, window, 86_400_000)))
  })

  test('behavior: pages put together are the whole, whatever their lengths', async () => {
    const { send } = await createServer(walkedTicks(700))
    const random = createRandom('spot-pages')
    for (const order of ['asc', 'desc']) {
      const whole = rowTexts((await readPage(send, PATH, { order, limit: 10_000 })).text)
      expect(whole.length).toBe(1400)
      const limitOf = () => 1 + random.integer(1200)
      const { texts } = await walkSeries(send, PATH, { params: { order }, limitOf })
      expect(texts).toEqual(whole)
    }
  })

  test('behavior: the resume cursor continues with what is recorded later', async () => {
    const ticks = someTicks('btc', 5)
    const { send, history } = await createServer(ticks.slice(0, 3))
    const { body, resumeCursor } = await readPage(send, PATH)
    expect(body.nextCursor).toBeNull()
    await history.putSpot(ticks)
    const next = await readPage(send, PATH, { cursor: resumeCursor })
    expect(next.body.data.map(({ id }) => id)).toEqual(['4', '5'])
  })

  test('behavior: a coin of which nothing was ever recorded says so, an empty range does not', async () => {
    const { send } = await createServer(someTicks('btc', 3))
    const none = (await (await send('/v1/eth/spot')).json()) as { data: []; reason: string }
    expect(none.data).toEqual([])
    expect(none.reason).toContain('No price of eth is recorded')
    const before = await send(withParams(PATH, { to: START_MS }))
    expect(await before.json()).toEqual({ data: [], nextCursor: null, reason: null })
  })

  test('error: a cursor of other filters is a mismatch', async () => {
    const { send } = await createServer(someTicks('btc', 3))
    const { resumeCursor: cursor } = await readPage(send, PATH, { window: 60 })
    const problem = await readProblem(await send(withParams(PATH, { window: 0, cursor })))
    expect(problem.code).toBe('cursor_mismatch')
  })

  test.each([
    ['source', 'Chain link'],
    ['window', '-1'],
    ['interval', '7s'],
    ['limit', '10001'],
  ])('error: %s=%s is an invalid parameter', async (name, value) => {
    const { send } = await createServer([])
    const problem = await readProblem(await send(withParams(PATH, { [name]: value })))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', name])
  })
})
