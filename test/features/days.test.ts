import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { MarketFacts } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { type DayKind, DayKindList } from '#src/features/coverage/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, assetIdOf, conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'

const PATH = '/v1/btc/days'
const TODAY_MS = NOW_MS - (NOW_MS % DAY_MS)
const HOURS_MS = 4 * 3_600_000
/** The start of a day whose winners are not waited for any more. */
const START_MS = TODAY_MS - 5 * DAY_MS
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

type Draft = {
  /** What the day lacks. */
  lacks?: 'book' | 'trade' | 'tick' | 'winner' | 'window' | 'agreement'
  startMs?: number
  facts?: Partial<MarketFacts>
}

/** A day of windows of four hours with everything, but in its last window. */
async function createDay({ lacks, startMs = START_MS, facts: more = {} }: Draft = {}) {
  let nowMs = startMs
  const history = openHistory(':memory:', { clock: () => nowMs })
  const windows = lacks === 'window' ? 5 : 6
  for (let window = 0; window < windows; window++) {
    const isLast = window === windows - 1
    const conditionId = conditionIdOf(window + 1)
    const windowStartMs = startMs + window * HOURS_MS
    const windowEndMs = windowStartMs + HOURS_MS
    const hasWinner = !(isLast && lacks === 'winner')
    const winner = isLast && lacks === 'agreement' ? 'down' : 'up'
    const market = { conditionId, coin: 'btc', timeframe: '4h', source: 'recorded' } as const
    const facts = { ...market, windowStartMs, windowEndMs, settlementRule: 'twap60' } as const
    const outcome = hasWinner ? ({ winner, winnerSource: 'venue' } as const) : {}
    await history.putMarket({ ...facts, ...outcome, ...more })
    const stepMs = 60_000
    const states = HOURS_MS / stepMs / (isLast && lacks === 'book' ? 2 : 1)
    const snapshots = Array.from({ length: states * 2 }, (_, at) => {
      const side = at % 2 === 0 ? 'up' : 'down'
      const timestampMs = windowStartMs + (at >> 1) * stepMs
      const row = { ...market, outcome: side, assetId: assetIdOf(conditionId, side) } as const
      return aSnapshot({ ...row, timestampMs }, 1_000_000 + at)
    })
    await history.append({ id: conditionId, source: 'recorded', snapshots })
    if (lacks !== 'trade') {
      const trade = { timestampMs: windowStartMs, price: 500_000, outcome: 'up' } as const
      await history.putTrades({ id: `t${window}`, conditionId, trades: [trade] })
    }
    await history.close(conditionId)
  }
  const ticks = Array.from(
    { length: lacks === 'tick' ? windows : windows + 1 },
    (_, window): SpotTick => ({
      coin: 'btc',
      source: 'chainlink',
      windowSeconds: 60,
      timestampMs: startMs + window * HOURS_MS,
      price: '64000',
    }),
  )
  await history.putSpot(ticks)
  const at = (ms: number) => (nowMs = ms)
  return { history, at, ...createHarness({ history }) }
}

async function read(send: Send, params: Record<string, string | number>): Promise<DayKind[]> {
  const response = await send(withParams(PATH, params))
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(DayKindList, body)]).toEqual([200])
  return (body as { data: DayKind[] }).data
}

const readDay = (send: Send, startMs = START_MS) => read(send, { from: startMs, to: startMs + 1 })

/** The words of a day, and their reasons. */
async function wordsOf(draft: Draft): Promise<Record<string, string[]>> {
  const { send } = await createDay(draft)
  const kinds = await readDay(send, draft.startMs)
  return Object.fromEntries(kinds.map(({ kind, state, reasons }) => [kind, [state, ...reasons]]))
}

const complete = { snapshots: ['complete'], trades: ['complete'], settlements: ['complete'] }

describe('GET /v1/{coin}/days', () => {
  test('default: a day with everything is complete in each kind, since its end', async () => {
    const { send } = await createDay()
    const since = iso(START_MS + DAY_MS)
    const day = iso(START_MS).slice(0, 10)
    expect(await readDay(send)).toEqual(
      ['snapshots', 'trades', 'settlements'].map((kind) => ({
        day,
        kind,
        state: 'complete',
        reasons: [],
        since,
      })) as DayKind[],
    )
  })

  test.each<[lacks: NonNullable<Draft['lacks']>, words: Record<string, string[]>]>([
    ['book', { snapshots: ['gaps', 'import'], trades: ['gaps', 'import'] }],
    ['trade', { trades: ['missing', 'no_trade'] }],
    ['tick', { settlements: ['gaps', 'no_tick_at_end'] }],
    ['winner', { settlements: ['gaps', 'no_winner'] }],
    ['agreement', { settlements: ['gaps', 'winner_differs'] }],
    [
      'window',
      {
        snapshots: ['gaps', 'import'],
        trades: ['gaps', 'import'],
        settlements: ['gaps', 'no_market'],
      },
    ],
  ])('behavior: without a %s it says what is missing, and why', async (lacks, words) => {
    expect(await wordsOf({ lacks })).toEqual({ ...complete, ...words })
  })

  test('behavior: a winner is waited for, three days long', async () => {
    const startMs = TODAY_MS - 2 * DAY_MS
    expect(await wordsOf({ lacks: 'winner', startMs })).toEqual({
      ...complete,
      settlements: ['pending', 'no_winner'],
    })
  })

  test('behavior: windows that settle by candles do not count, unless there are no others', async () => {
    const facts = { settlementRule: 'binance-1h' } as const
    expect(await wordsOf({ facts })).toEqual({ ...complete, settlements: ['missing', 'candle'] })
  })

  test('behavior: a day that is not over is pending since it began, one without a market is missing', async () => {
    const { send } = await createDay()
    const [today, earlier] = [await readDay(send, TODAY_MS), await readDay(send, 0)]
    for (const { state, reasons, since } of today)
      expect([state, reasons, since]).toEqual(['pending', ['not_over'], iso(TODAY_MS)])
    for (const { kind, state, reasons } of earlier)
      expect([state, reasons]).toEqual(['missing', [kind === 'trades' ? 'no_trade' : 'no_market']])
  })

  test('behavior: what comes later changes the word, and since when it is so', async () => {
    const { send, history, at, advance } = await createDay({ lacks: 'winner' })
    const laterMs = START_MS + 2 * DAY_MS
    at(laterMs)
    const market = { conditionId: conditionIdOf(6), coin: 'btc', timeframe: '4h' } as const
    await history.putMarket({ ...market, source: 'recorded', winner: 'up', winnerSource: 'venue' })
    advance(61_000)
    const [, , settlements] = await readDay(send)
    expect(settlements).toMatchObject({ state: 'complete', since: iso(laterMs) })
  })

  test('error: too many days, and a range that ends before it begins', async () => {
    const { send } = await createDay()
    for (const params of [
      { from: 0, to: NOW_MS },
      { from: NOW_MS, to: NOW_MS },
    ]) {
      const problem = await readProblem(await send(withParams(PATH, params)))
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', 'to'])
    }
  })
})
