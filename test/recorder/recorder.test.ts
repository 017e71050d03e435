/** The recorder at a venue that is sound, while other things go on. */
import { describe, expect, test } from 'bun:test'

import { isUsable } from '#src/venue/catalogue.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { START_MS } from '../support/venue/ground.ts'
import { faultsOf, judgeFacts } from './judge.ts'
import { type Rig, startRig } from './rig.ts'

const LIMIT_MS = 240_000

/** Gaps that begin after a moment, and whatever is wrong. */
async function verdictOf(rig: Rig, fromMs = 0) {
  await rig.quiet()
  const judgements = await rig.judgeAll()
  const gaps = judgements.flatMap((each) => each.gaps.filter((gap) => gap.fromMs >= fromMs))
  return { faults: faultsOf(judgements), gaps, judgements }
}

describe('startRecorder', () => {
  test.concurrent(
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

  test.concurrent(
    'behavior: a window that is quiet is asked for again ever less often, once a minute at last',
    async () => {
      await using rig = await startRig({
        stepMs: 50,
        generated: { timeframes: ['5m'], stepsPerSecond: 0.02 },
      })
      await rig.advance(200_000)
      const [lane] = rig.recorder().status().lanes
      expect(lane?.opened).toBeGreaterThan(3)
      expect(lane?.opened).toBeLessThan(10)
    },
    LIMIT_MS,
  )

  test.concurrent(
    'behavior: the winner, strike and final price are those of the venue, however late they are',
    async () => {
      const isLate = { kind: 'late-resolution', byMs: 30_000 } as const
      // Ten seconds before the end of a window.
      const startMs = Date.UTC(2026, 10, 22, 10, 4, 50)
      await using rig = await startRig({
        startMs,
        stepMs: 50,
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

  test.concurrent(
    'behavior: connections take turns under load without a gap, a lost state or one twice',
    async () => {
      const coins = ['btc', 'eth', 'sol', 'xrp'] as const
      const timeframes = ['5m', '15m', '1h', '4h'] as const
      const hidden = new Set<string>()
      const { createCatalogue } = polymarket
      await using rig = await startRig({
        generated: { coins, timeframes, ahead: 0, stepsPerSecond: 20 },
        recorder: { coins, timeframes },
        // Markets more every few seconds, of a window that is open.
        catalogueOf: (ports) => {
          const catalogue = createCatalogue(ports)
          const find: typeof catalogue.find = async (window, asking) => {
            const isShown = asking.nowMs > START_MS + 1000 * hidden.size
            if (!isShown) return undefined
            const facts = await catalogue.find(window, asking)
            if (isUsable(facts)) hidden.add(facts.conditionId)
            return facts
          }
          return { ...catalogue, find }
        },
      })
      await rig.advance(5000)
      const fromMs = rig.clock()
      await rig.advance(20_000)
      const { lanes } = rig.recorder().status()
      expect(lanes[0]?.rotations).toBeGreaterThan(3)
      const { faults, gaps } = await verdictOf(rig)
      // A market that was found last may not have its book yet.
      expect(faults.filter((fault) => !fault.startsWith('unwell'))).toEqual([])
      // Those that begin later are of markets that were found later.
      expect(
        gaps.filter(({ reason }) => reason === 'venue_silent' || reason === 'hash_mismatch'),
      ).toEqual([])
      expect(gaps.filter((gap) => gap.fromMs > fromMs)).toEqual([])
    },
    LIMIT_MS,
  )

  test.concurrent(
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

  test.concurrent(
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

  test.concurrent(
    'behavior: what a disk that is full for long makes it drop is a gap, and no more than that',
    async () => {
      const disk = { free: 2000 }
      await using rig = await startRig({
        generated: { stepsPerSecond: 500 },
        recorder: { freeBytesMin: 1000, freeBytes: () => disk.free },
      })
      await rig.advance(3000)
      disk.free = 10
      // Of 1,000 states a second 20,000 may wait.
      await rig.advance(22_000)
      expect(rig.recorder().fault()).toContain('full')
      const judged = await rig.judgeAll()
      const tails = judged.flatMap((each) =>
        each.gaps.filter(({ reason, toMs }) => reason !== 'not_open' && toMs > START_MS + 9000),
      )
      expect(new Set(tails.map(({ reason }) => reason))).toEqual(new Set(['recorder_down']))
      disk.free = 2000
      await rig.advance(4000)
      const { faults, gaps } = await verdictOf(rig, START_MS + 2000)
      expect(faults).toEqual([])
      expect(rig.recorder().status().sink.dropped).toBeGreaterThan(0)
      const reasons = new Set(gaps.map(({ reason }) => reason))
      expect(reasons).toEqual(new Set(['recorder_down']))
    },
    LIMIT_MS,
  )

  test.concurrent(
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
