/** The recorder with more states than it writes at once, or more than may wait. */
import { describe, expect, test } from 'bun:test'

import { isUsable } from '#src/venue/catalogue.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { START_MS } from '../support/venue/ground.ts'
import { startRig, verdictOf } from './rig.ts'

const LIMIT_MS = 600_000

describe('startRecorder under load', () => {
  test(
    'behavior: connections take turns under load without a gap, a lost state or one twice',
    async () => {
      const coins = ['btc', 'eth', 'sol', 'xrp'] as const
      const timeframes = ['5m', '15m', '1h', '4h'] as const
      const hidden = new Set<string>()
      const { createCatalogue } = polymarket
      await using rig = await startRig({
        generated: { coins, timeframes, ahead: 0, stepsPerSecond: 8 },
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

  test(
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
})
