/** Messages that cannot be read, or are written in another way: what they cost, and what is said. */
import { describe, expect, test } from 'bun:test'

import type { Fault } from '../support/venue/faults.ts'
import { faultsOf } from './judge.ts'
import { type Rig, startRig } from './rig.ts'

const CALM_MS = 3000
const LIMIT_MS = 600_000

const rewrite = (type: string, find: RegExp, put: string): Fault => ({
  kind: 'rewrite',
  type,
  find,
  put,
})
const trade = 'last_trade_price'
const generated = { stepsPerSecond: 50 }

/** Gaps that begin after a moment. */
async function gapsSince(rig: Rig, fromMs: number) {
  await rig.quiet()
  const judgements = await rig.judgeAll()
  expect(faultsOf(judgements)).toEqual([])
  expect(judgements.length).toBeGreaterThan(0)
  return judgements.flatMap((each) => each.gaps.filter((gap) => gap.fromMs >= fromMs))
}

describe('startRecorder', () => {
  test.each<[string, Fault, number]>([
    ['a trade of no size', rewrite(trade, /"size":"[^"]*"/, '"size":""'), 0],
    ['a trade of a side in small letters', rewrite(trade, /"side":"BUY"/, '"side":"buy"'), 0],
    ['a change of a side in small letters', rewrite('price_change', /"BUY"/g, '"buy"'), 0],
    ['a trade of no side that is known', rewrite(trade, /"side":"\w+"/, '"side":"HOLD"'), 1],
    ['a trade without a time', rewrite(trade, /"timestamp":/, '"at":'), 1],
  ])(
    'behavior: %s costs no book',
    async (_, fault, unreadable) => {
      await using rig = await startRig({ generated })
      await rig.advance(CALM_MS)
      const fromMs = rig.clock()
      rig.venue.inject(fault)
      await rig.advance(4000)
      expect(Math.min(1, rig.recorder().status().faults)).toBe(unreadable)
      expect(rig.recorder().status().books.trades).toBeGreaterThan(0)
      expect(await gapsSince(rig, fromMs)).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'behavior: a resolution without a winner costs no book, of whatever market it is',
    async () => {
      await using rig = await startRig({ generated })
      await rig.advance(CALM_MS)
      const fromMs = rig.clock()
      const [market] = rig.openMarkets()
      const timestamp = String(rig.clock())
      for (const id of [market?.conditionId, `0x${'ab'.repeat(32)}`, undefined])
        rig.venue.inject({
          kind: 'say',
          text: JSON.stringify({ event_type: 'market_resolved', market: id, timestamp }),
        })
      await rig.advance(500)
      // The third names no market, and the second is of one that is not followed.
      expect(rig.recorder().status()).toMatchObject({ faults: 1, unfollowed: 1 })
      expect(await gapsSince(rig, fromMs)).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'behavior: the first reason and a count are logged at once and then once a minute, and above one per cent are a warning',
    async () => {
      await using rig = await startRig({ generated: { stepsPerSecond: 2 }, stepMs: 50 })
      await rig.advance(CALM_MS)
      expect(rig.recorder().warning()).toBeUndefined()
      const said = () => rig.lines.filter((line) => line.includes('cannot be read'))
      const say = () =>
        rig.venue.inject({ kind: 'say', text: '{"event_type":"last_trade_price","market":"?"}' })
      say()
      await rig.advance(2000)
      expect(said()).toEqual([
        'bookfeed: 1 message of the venue cannot be read, the first because of last_trade_price: market: not 0x and 62 or 64 hex digits.',
      ])
      for (let count = 0; count < 20; count++) say()
      await rig.advance(2000)
      expect(said()).toHaveLength(1)
      expect(rig.recorder().warning()).toMatch(
        /^\d+\.\d % of the venue's messages cannot be read, the first because of last_trade_price: market: /,
      )
      expect(rig.recorder().status().lastMinute).toMatchObject({ faults: 21 })
      await rig.advance(65_000, 500)
      expect(said()).toHaveLength(2)
      expect(said()[1]).toContain('20 messages of the venue cannot be read')
      expect(rig.recorder().warning()).toBeUndefined()
    },
    LIMIT_MS,
  )
})
