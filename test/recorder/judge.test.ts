import { describe, expect, test } from 'bun:test'

import type { Change, MarketState } from '../support/venue/book.ts'
import { render } from '../support/venue/frames.ts'
import { type Ask, judge } from './judge.ts'

const market = {
  conditionId: '0xaa',
  assetIds: ['1', '2'] as const,
  slug: 'market',
  coin: 'btc',
  timeframe: '5m',
  startMs: 0,
  endMs: 300_000,
  listedMs: 0,
  tick: '0.01',
  strike: '1',
  finalPrice: '1',
  winner: 0 as const,
}

/** Steps of Up's book, a millisecond each. */
function play(...steps: Change[][]) {
  const states: MarketState[] = []
  const texts = steps.map((changes, at) => {
    const step = { atMs: 1000 + at, conditionId: market.conditionId, changes, isWhole: at === 0 }
    const before = states.at(-1)
    const terms = { recipe: 'documented', schema: 'current' } as const
    const { state, frames } = render({ market, before, step, timestampMs: step.atMs, ...terms })
    states.push(state)
    return frames.find(({ type }) => type === 'price_change')?.text ?? ''
  })
  return { states, texts }
}

/** Serves all states but one, outside of gaps. */
const serveWithout = (states: readonly MarketState[], left: number): Ask => {
  const printed = (levels: readonly { price: number; size: string }[]) =>
    levels.toReversed().map(({ price, size }) => ({ price: price / 1e6, size: Number(size) }))
  const data = states.flatMap(({ timestampMs, books }, at) =>
    (at === left ? [] : books).map(({ bids, asks }, token) => ({
      timestamp: new Date(timestampMs).toISOString(),
      outcome: ['up', 'down'][token],
      bids: printed(bids),
      asks: printed(asks),
    })),
  )
  const outcomes = ['up', 'down'].map((outcome) => ({ outcome, gaps: [] }))
  return async (path) => (path.includes('/coverage') ? { outcomes } : { data, nextCursor: null })
}

const bid = (cents: number, size: string): Change => ({
  side: 'bids',
  price: cents * 10_000,
  size,
})
const first = [bid(40, '5'), bid(41, '5')]

describe('judge', () => {
  const again = play(first, [bid(40, '6')], [bid(40, '7')])
  const other = play(first, [bid(40, '6')], [bid(41, '7')])
  const twoAgain = play(first, [bid(40, '6'), bid(41, '6')], [bid(40, '7')])

  test.each([
    {
      what: 'a state whose levels the next one sets again, of a message that was lost',
      played: again,
      isLost: true,
      missing: 0,
    },
    { what: 'the same of a message that was sent', played: again, isLost: false, missing: 2 },
    {
      what: 'a lost one after which another level is set',
      played: other,
      isLost: true,
      missing: 2,
    },
    {
      what: 'a lost one of which one level is set again',
      played: twoAgain,
      isLost: true,
      missing: 2,
    },
  ])('behavior: excuses only what nobody can know: $what', async ({ played, isLost, missing }) => {
    const { states, texts } = played
    const lost = isLost ? [texts[1] ?? ''] : []
    const judgement = await judge(serveWithout(states, 1), { market, states, lost })
    expect(judgement).toMatchObject({ untrue: [], twice: [], unwell: [] })
    expect(judgement.missing).toHaveLength(missing)
  })
})
