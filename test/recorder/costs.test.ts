import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { feesAsOf, takerDelayAsOf } from '#src/features/fill/costs.ts'
import { openHistory } from '#src/history/open.ts'
import { Fault } from '#src/platform/fault.ts'
import { createCosts } from '#src/recorder/costs.ts'
import { createReporter, type LiveMarket } from '#src/recorder/ports.ts'
import type { MoreFacts } from '#src/venue/catalogue.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { START_MS } from '../support/venue/ground.ts'
import { startRig } from './rig.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const STEP_MS = 10_000
const schedule = { rate: '0.07', exponent: '1', takerOnly: true, rebateRate: '0.2' }

/** The market of a window of four hours that opens half an hour after the start. */
const aMarket = (number: number): LiveMarket => ({
  conditionId: conditionIdOf(number),
  slug: `btc-updown-4h-${number}`,
  coin: 'btc',
  timeframe: '4h',
  windowStartMs: START_MS + HOUR_MS / 2,
  windowEndMs: START_MS + 4.5 * HOUR_MS,
  assetIds: { up: `${number}1`, down: `${number}2` },
})
const market = aMarket(1)
const { conditionId } = market

/** Recorders of one history, whose clock a test moves; `answer` is that of the order book API. */
function start(answer: () => Promise<MoreFacts | undefined>, markets = [market]) {
  let nowMs = START_MS
  const clock = () => nowMs
  const history = openHistory(':memory:', { clock, lagMs: 0 })
  for (const each of markets)
    // The write has ended when the call returns.
    void history.putMarket({
      ...each,
      source: 'recorded',
      feeSchedule: JSON.stringify(schedule),
    })
  const askedMs: number[] = []
  const lines: string[] = []
  const running = new Set<ReturnType<typeof createCosts>>()
  function begin(): void {
    const costs = createCosts({
      history,
      catalogue: {
        async costs() {
          askedMs.push(nowMs - START_MS)
          return answer()
        },
      },
      put: (facts) => history.putMarket({ ...facts, source: 'recorded' }),
      clock,
      random: () => 0.5,
      reporter: createReporter((line) => lines.push(line)),
    })
    for (const each of markets) costs.watch(each)
    running.add(costs)
  }
  async function advance(ms: number): Promise<void> {
    for (const endMs = nowMs + ms; nowMs < endMs;) {
      nowMs += STEP_MS
      for (const each of running) each.tick()
      await setImmediate()
    }
  }
  const find = () => history.findMarket(conditionId) ?? expect.unreachable()
  return { clock, advance, begin, running, history, find, askedMs, lines }
}

const minutesOf = (times: readonly number[]) => times.map((ms) => Math.round(ms / MINUTE_MS))

describe('costs of a market', () => {
  test('default: are requested at the start, when its window opens, and each hour until it ends', async () => {
    const { begin, advance, askedMs, find } = start(async () => ({
      takerDelayMs: 250,
      orderAgeMs: 0,
    }))
    begin()
    await advance(MINUTE_MS)
    expect(find()).toMatchObject({
      takerDelayMs: 250,
      orderAgeMs: 0,
      feeSchedule: expect.anything(),
    })
    await advance(6 * HOUR_MS)
    expect(minutesOf(askedMs)).toEqual([0, 30, 90, 150, 210])
  })

  test('behavior: a recorder that starts again waits for the next hour', async () => {
    const { begin, advance, running, askedMs } = start(async () => ({ takerDelayMs: 0 }))
    begin()
    await advance(MINUTE_MS)
    running.clear()
    begin()
    await advance(HOUR_MS)
    expect(minutesOf(askedMs)).toEqual([0, 30])
  })

  test('behavior: a change holds from when it was seen on, and keeps the rebate', async () => {
    let answer: MoreFacts = { takerDelayMs: 250 }
    const { begin, advance, history, find, clock } = start(async () => answer)
    begin()
    begin()
    await advance(MINUTE_MS)
    const snapshots = [
      {
        ...aSnapshot({ conditionId, outcome: 'up' }),
        timeframe: market.timeframe,
        assetId: market.assetIds.up,
        timestampMs: clock(),
      },
    ]
    await history.record({ snapshots, trades: [], gaps: [] })
    answer = { takerDelayMs: 0, fees: { rate: '0.05', exponent: '1', takerOnly: true } }
    await advance(HOUR_MS)
    const at = (minutes: number) => {
      const atMs = START_MS + minutes * MINUTE_MS
      const { schedule: fees } = feesAsOf(history, find(), atMs)
      return { delay: takerDelayAsOf(history, find(), atMs), fees }
    }
    expect(at(29)).toEqual({ delay: { ms: 250, source: 'market' }, fees: schedule })
    expect(at(31)).toEqual({
      delay: { ms: 0, source: 'market' },
      fees: { ...schedule, rate: '0.05' },
    })
    // Two recorders saw it, and it is stored once.
    expect(history.revisions.factsOf(conditionId, START_MS + 2 * MINUTE_MS).flat()).toHaveLength(2)
  })

  test('error: an API that fails is reported once, and left alone ever longer', async () => {
    let isAway = true
    const { begin, advance, askedMs, lines } = start(async () => {
      if (isAway)
        throw new Fault('The order book API answered with status 500.', { kind: 'catalogue' })
      return undefined
    })
    begin()
    await advance(20 * MINUTE_MS)
    expect(askedMs.length).toBeLessThan(30)
    isAway = false
    await advance(2 * MINUTE_MS)
    expect(lines).toEqual([
      "The venue's order book API cannot be asked: The order book API answered with status 500. The recorder keeps trying.",
      "The venue's order book API answers again.",
    ])
  })

  test('error: an API that never answers is sent four requests at a time', async () => {
    const markets = Array.from({ length: 20 }, (_, index) => aMarket(index + 1))
    const { begin, advance, askedMs } = start(() => new Promise(() => {}), markets)
    begin()
    await advance(MINUTE_MS)
    expect(askedMs).toHaveLength(4)
  })
})

describe('a recorder', () => {
  test('default: dates a delay that ends when a window opens, and asks no more than that', async () => {
    // The start is two minutes after that of a window.
    const opensMs = START_MS + 3 * MINUTE_MS
    await using rig = await startRig({ startMs: opensMs - 4000, generated: { ahead: 1 } })
    await rig.advance(2000)
    const market = rig.venue.markets().find((each) => each.startMs === opensMs)
    const id = market?.conditionId ?? ''
    expect(rig.history.findMarket(id)).toMatchObject({ takerDelayMs: 250, orderAgeMs: 0 })
    await rig.restart(500)
    rig.venue.inject({ kind: 'taker-delay', isOn: false })
    await rig.advance(4000)
    const changes = rig.history.revisions.factsOf(id, 0).flat()
    expect(changes).toContainEqual({ fact: 'takerDelayMs', before: 250, after: 0 })
    const asked = Object.groupBy(rig.venue.clobRequests, (path) => path.split('/').at(-1) ?? '')
    expect(asked[id]).toHaveLength(2)
    delete asked[id]
    for (const once of Object.values(asked)) expect(once).toHaveLength(1)
  })
})
