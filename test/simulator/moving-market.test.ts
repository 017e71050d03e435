import { afterAll, describe, expect, test } from 'bun:test'

import { statusOf } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'

const WINDOW_MS = 300_000
const START_MS = Date.UTC(2026, 10, 22, 10, 0)

const histories: MarketHistory[] = []
afterAll(() => {
  for (const history of histories) history.dispose()
})

function aHistory(): MarketHistory {
  const history = openHistory(':memory:', { chunkCacheBytes: 0 })
  histories.push(history)
  return history
}

/** Writes all there is up to a moment. */
async function moveTo(sample: ReturnType<typeof createMovingMarket>, nowMs: number) {
  let moved = await sample.tick(nowMs)
  while (moved === 'behind') moved = await sample.tick(nowMs)
  return moved
}

const list = (history: MarketHistory) =>
  history.listMarkets({ coin: 'btc', order: 'asc', limit: 100 })
const spotOf = (history: MarketHistory) =>
  history.spot({ coin: 'btc', order: 'asc', limit: 10_000 })
const rowsOf = (history: MarketHistory) =>
  list(history).map((market) => history.tops({ market, order: 'asc', limit: 100_000 }).length)

const topsOf = (history: MarketHistory) =>
  list(history).map((market) =>
    history
      .tops({ market, order: 'asc', limit: 100_000 })
      .map(({ timestampMs, bidPrice, askPrice }) => [timestampMs, bidPrice, askPrice]),
  )

describe('createMovingMarket', () => {
  test('default: one market is open, simulated, and has new states, trades and prices in ten seconds', async () => {
    const history = aHistory()
    const sample = createMovingMarket(history)
    const nowMs = START_MS + 60_000
    expect(await moveTo(sample, nowMs)).toBe('written')
    const open = list(history).filter((each) => statusOf(each, nowMs) === 'open')
    expect(open).toHaveLength(1)
    expect(open[0]).toMatchObject({ source: 'simulated', windowStartMs: START_MS })
    let [snapshots, ticks] = [history.totals().snapshots, spotOf(history).length]
    for (let step = 1; step <= 10; step++) {
      await moveTo(sample, nowMs + step * 10_000)
      const moreSnapshots = history.totals().snapshots
      const moreTicks = spotOf(history).length
      expect([moreSnapshots > snapshots, moreTicks > ticks]).toEqual([true, true])
      snapshots = moreSnapshots
      ticks = moreTicks
    }
    const [market] = open
    expect(market && history.trades({ market }).length).toBeGreaterThan(20)
    expect(new Set(spotOf(history).map(({ source }) => source))).toEqual(new Set(['simulated']))
  })

  test('behavior: nothing is later than now, and each state has both outcomes', async () => {
    const history = aHistory()
    await moveTo(createMovingMarket(history), START_MS + 100_000)
    for (const market of list(history)) {
      expect(market.lastSnapshotMs).toBeLessThanOrEqual(START_MS + 100_000)
      expect(market.snapshotCounts.up).toBe(market.snapshotCounts.down)
    }
    expect(spotOf(history).at(-1)?.timestampMs).toBeLessThanOrEqual(START_MS + 100_000)
  })

  test('behavior: a window that ends is resolved as its prices say, and is the strike of the next', async () => {
    const history = aHistory()
    const sample = createMovingMarket(history)
    for (let at = 0; at <= 3 * WINDOW_MS; at += 500) await moveTo(sample, START_MS + 30_000 + at)
    const over = list(history).filter(({ isClosed }) => isClosed)
    // With the window before the first moment, so that there is a finished one at once.
    expect(over).toHaveLength(4)
    for (const [index, market] of over.entries()) {
      const { strike, finalPrice, winner } = market
      expect(winner).toBe(Number(finalPrice) >= Number(strike) ? 'up' : 'down')
      expect(list(history)[index + 1]?.strike).toBe(finalPrice)
    }
  })

  test('behavior: a server that starts again goes on in the same market, and adds what is missing', async () => {
    const restarted = aHistory()
    const steady = aHistory()
    const whole = createMovingMarket(steady)
    await moveTo(createMovingMarket(restarted), START_MS + 100_000)
    await moveTo(createMovingMarket(restarted), START_MS + 200_000)
    for (const at of [100_000, 200_000]) await moveTo(whole, START_MS + at)
    expect(rowsOf(restarted)).toEqual(rowsOf(steady))
    expect(spotOf(restarted).map(({ price }) => price)).toEqual(
      spotOf(steady).map(({ price }) => price),
    )
  })

  test('behavior: so it does in a window whose strike is the average of the one before', async () => {
    const restarted = aHistory()
    const steady = aHistory()
    const whole = createMovingMarket(steady)
    // The first window is its own beginning; the second opens at the prices of the first.
    const times = [100_000, 290_000, 301_000, 400_000, 550_000].map((at) => START_MS + at)
    for (const at of times) await moveTo(whole, at)
    for (const at of times) await moveTo(createMovingMarket(restarted), at)
    expect(topsOf(restarted)).toEqual(topsOf(steady))
    const pricesOf = (history: MarketHistory) =>
      spotOf(history).map(({ timestampMs, price }) => [timestampMs, price])
    expect(pricesOf(restarted)).toEqual(pricesOf(steady))
    const second = list(steady).find(({ windowStartMs }) => windowStartMs === START_MS + WINDOW_MS)
    const first = pricesOf(steady).find(([timestampMs]) => timestampMs === START_MS + WINDOW_MS)
    expect(second?.settlementRule).toBe('twap60')
    expect(second?.strike).not.toBe(String(first?.[1]))
  })

  test('behavior: a market that an earlier run left open is completed', async () => {
    const history = aHistory()
    await moveTo(createMovingMarket(history), START_MS + 30_000)
    await moveTo(createMovingMarket(history), START_MS + 10 * WINDOW_MS)
    expect(list(history)[0]).toMatchObject({ isClosed: true, winner: expect.any(String) })
  })

  const putRecorded = async (history: MarketHistory, coin: 'btc' | 'eth') => {
    for (let number = 0; number < 30; number++)
      await history.putMarket({
        conditionId: `0x${`${number}`.padStart(64, 'a')}`,
        coin,
        timeframe: '5m',
        source: 'recorded',
        windowStartMs: START_MS,
        windowEndMs: START_MS + WINDOW_MS,
      })
  }

  test('behavior: with a recorded market, the open window is finished at its end and no other begins', async () => {
    const history = aHistory()
    const sample = createMovingMarket(history)
    await moveTo(sample, START_MS + 100_000)
    await putRecorded(history, 'eth')
    for (let at = 101_000; at < WINDOW_MS; at += 500) {
      expect(await moveTo(sample, START_MS + at)).toBe('written')
      const [market] = list(history).filter(({ windowStartMs }) => windowStartMs === START_MS)
      expect([market?.isClosed, market?.winner]).toEqual([false, undefined])
    }
    expect(await moveTo(sample, START_MS + WINDOW_MS + 60_000)).toBe('over')
    expect(list(history).map(({ isClosed, winner }) => [isClosed, winner !== undefined])).toEqual([
      [true, true],
      [true, true],
    ])
    const before = history.totals()
    expect(await createMovingMarket(history).tick(START_MS + 2 * WINDOW_MS)).toBe('over')
    expect(history.totals()).toEqual(before)
  })

  test('behavior: so it is by a server that starts again, also among recorded markets of the coin', async () => {
    const restarted = aHistory()
    const steady = aHistory()
    for (const history of [restarted, steady]) {
      await moveTo(createMovingMarket(history), START_MS + 100_000)
      await putRecorded(history, 'btc')
    }
    expect(await moveTo(createMovingMarket(restarted), START_MS + 200_000)).toBe('written')
    for (const history of [restarted, steady])
      expect(await moveTo(createMovingMarket(history), START_MS + 2 * WINDOW_MS)).toBe('over')
    const simulated = (history: MarketHistory) =>
      list(history).filter(({ source }) => source === 'simulated')
    expect(simulated(restarted)).toHaveLength(2)
    expect(simulated(restarted).every(({ isClosed, winner }) => isClosed && winner)).toBe(true)
    expect(rowsOf(restarted)).toEqual(rowsOf(steady))
  })

  test('error: what could not be written is made again', async () => {
    const broken = aHistory()
    const sound = aHistory()
    let isBroken = false
    const sample = createMovingMarket({
      ...broken,
      async record(recording) {
        if (isBroken) throw new Error('no room')
        return broken.record(recording)
      },
    })
    await moveTo(sample, START_MS + 20_000)
    isBroken = true
    await expect(sample.tick(START_MS + 25_000)).rejects.toThrow('no room')
    isBroken = false
    await moveTo(sample, START_MS + 60_000)
    await moveTo(createMovingMarket(sound), START_MS + 60_000)
    expect(rowsOf(broken)).toEqual(rowsOf(sound))
  })
})
