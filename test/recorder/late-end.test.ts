/** A recorder that is so far behind the venue that a window ends, by its clock, before its messages came. */
import { describe, expect, test } from 'bun:test'

import { faultsOf } from './judge.ts'
import { startRig } from './rig.ts'

const LIMIT_MS = 600_000
/** Twenty seconds before the end of a window. */
const startMs = Date.UTC(2026, 10, 22, 10, 4, 40)
const LATE_MS = 25_000

describe('startRecorder behind the venue', () => {
  test(
    'behavior: what is lost or contradicted at the end of a window is a gap, however late it comes',
    async () => {
      let lateMs = 0
      await using rig = await startRig({
        startMs,
        stepMs: 20,
        generated: { stepsPerSecond: 10, ahead: 1 },
        lateMs: () => lateMs,
      })
      await rig.advance(5000)
      lateMs = LATE_MS
      const market = rig.openMarkets().find(({ endMs }) => endMs === startMs + 20_000)
      if (market === undefined) throw new Error('no market')
      const find = () => rig.history.findMarket(market.conditionId)
      await rig.advance(8000)
      rig.venue.inject({ kind: 'lose', frames: 3 })
      await rig.advance(1500)
      rig.venue.inject({ kind: 'wrong-hash', batches: 3 })
      await rig.advance(5500)
      await rig.advance(LATE_MS - 1000)
      expect(
        rig
          .recorder()
          .status()
          .markets.map(({ conditionId }) => conditionId),
      ).toContain(market.conditionId)
      await rig.advance(60_000)
      await rig.quiet()
      await rig.advance(LATE_MS)
      const judgements = await rig.judgeAll()
      expect(faultsOf(judgements).filter((fault) => fault.includes(market.slug))).toEqual([])
      const found = find()
      const gaps = found === undefined ? [] : rig.history.gaps(found)
      expect(
        gaps.filter(({ fromMs }) => fromMs > startMs + 5000).map(({ reason }) => reason),
      ).toContain('hash_mismatch')
      expect(found?.isClosed).toBe(true)
      expect(Math.max(...gaps.map(({ toMs }) => toMs))).toBeLessThan(Number.MAX_SAFE_INTEGER)
    },
    LIMIT_MS,
  )
})
