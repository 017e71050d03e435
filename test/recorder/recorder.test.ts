/** The recorder at a venue that is sound, while other things go on. */
import { describe, expect, test } from 'bun:test'

import { judgeFacts } from './judge.ts'
import { startRig, verdictOf } from './rig.ts'

const LIMIT_MS = 600_000

describe('startRecorder', () => {
  test(
    'default: what is found at the start comes over one connection, and all of it is kept',
    async () => {
      const coins = ['btc', 'eth', 'sol', 'xrp'] as const
      const timeframes = ['5m', '15m', '1h', '4h', '1d'] as const
      await using rig = await startRig({
        generated: { coins, timeframes, stepsPerSecond: 5 },
        recorder: { coins, timeframes },
      })
      await rig.advance(4000)
      const { faults, gaps, judgements } = await verdictOf(rig, rig.clock() - 2000)
      expect(faults).toEqual([])
      expect(gaps).toEqual([])
      expect(judgements.length).toBe(60)
      expect(rig.recorder().status().lanes).toEqual([
        { opened: 1, ended: 0, withoutBook: 0, rotations: 0 },
      ])
    },
    LIMIT_MS,
  )

  test(
    'behavior: a window that is quiet is asked for again ever less often, once a minute at last',
    async () => {
      await using rig = await startRig({
        stepMs: 250,
        generated: { timeframes: ['5m'], stepsPerSecond: 0.02 },
      })
      await rig.advance(200_000)
      const [lane] = rig.recorder().status().lanes
      expect(lane?.opened).toBeGreaterThan(3)
      expect(lane?.opened).toBeLessThan(10)
    },
    LIMIT_MS,
  )

  test(
    'behavior: the winner, strike and final price are those of the venue, however late they are',
    async () => {
      const isLate = { kind: 'late-resolution', byMs: 30_000 } as const
      // Ten seconds before the end of a window.
      const startMs = Date.UTC(2026, 10, 22, 10, 4, 50)
      await using rig = await startRig({
        startMs,
        stepMs: 250,
        generated: { stepsPerSecond: 2 },
        venue: { resolutionDelayMs: 20_000, script: [{ atMs: 0, fault: isLate }] },
      })
      const [market] = rig.openMarkets()
      if (market === undefined) throw new Error('no market')
      const winner = async () => (await judgeFacts(rig.ask, market)).served.winner
      await rig.advance(58_000)
      expect(await winner()).toBe(null)
      // The venue resolves it 50 seconds after the end.
      await rig.advance(9000)
      expect(await winner()).not.toBe(null)
      await rig.advance(68_000)
      const { served, truth } = await judgeFacts(rig.ask, market)
      expect(served).toEqual(truth)
      expect(rig.history.findMarket(market.conditionId)?.isClosed).toBe(true)
    },
    LIMIT_MS,
  )

  test(
    'behavior: of two connections one may die or freeze, and nothing is missed',
    async () => {
      await using rig = await startRig({ recorder: { feedCopies: 2 } })
      await rig.advance(4000)
      const fromMs = rig.clock()
      for (const fault of [
        { kind: 'drop', hasCloseFrame: false },
        { kind: 'freeze', forMs: 900 },
      ] as const) {
        rig.venue.inject(fault, 0)
        await rig.advance(3000)
        rig.venue.inject(fault, 1)
        await rig.advance(4000)
        rig.venue.inject(fault, 2)
        await rig.advance(3000)
      }
      const { faults, gaps } = await verdictOf(rig, fromMs)
      expect(faults).toEqual([])
      expect(gaps).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'behavior: what happened while it did not run is a gap, also to the end of a window',
    async () => {
      // Ten seconds before the end of a window.
      const startMs = Date.UTC(2026, 10, 22, 10, 4, 50)
      await using rig = await startRig({ startMs })
      const [market] = rig.openMarkets()
      await rig.advance(4000)
      const fromMs = rig.clock()
      await rig.restart(1500)
      await rig.advance(2000)
      await rig.restart(6000)
      await rig.advance(3000)
      const { faults, gaps } = await verdictOf(rig, fromMs - 100)
      // The last states of its window were missed for good.
      const isLast = (fault: string) => fault.startsWith(`unwell ${market?.slug}`)
      expect(faults.filter((fault) => !isLast(fault))).toEqual([])
      expect(new Set(gaps.map(({ reason }) => reason))).toEqual(new Set(['recorder_down']))
      const held = market && rig.history.findMarket(market.conditionId)
      const ends = held && rig.history.gaps(held).map(({ toMs }) => toMs)
      expect(ends?.filter((toMs) => toMs === market?.endMs).length).toBe(2)
    },
    LIMIT_MS,
  )

  test(
    'error: a market whose row is damaged keeps no other out',
    async () => {
      await using rig = await startRig()
      const [market] = rig.openMarkets()
      const { findMarket } = rig.history
      rig.history.findMarket = (conditionId) => {
        if (conditionId === market?.conditionId) throw new Error('The market is damaged.')
        return findMarket(conditionId)
      }
      await rig.advance(3000)
      rig.history.findMarket = findMarket
      expect(rig.recorder().status().markets.length).toBe(2)
      expect(rig.lines).toEqual(['bookfeed: The market is damaged.'])
    },
    LIMIT_MS,
  )
})
