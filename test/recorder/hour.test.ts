/** Recorded books as the venue sent them come out of the routes as they were. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { recordedPlaybook } from '../support/venue/recorded.ts'
import { faultsOf, judgeFacts } from './judge.ts'
import { startRig } from './rig.ts'

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''
// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { HOUR_MARKETS = '3' } = process.env
const MARKETS = Number(HOUR_MARKETS)
const WINDOW_MS = 300_000
const MARKET_MS_MAX = 300_000

describe('startRecorder', () => {
  test.skipIf(isAbsent)(
    `default: ${MARKETS} recorded markets are served bit for bit, with every hash${reason}`,
    async () => {
      const playbook = await recordedPlaybook({
        files: [`${recordings}/snapshots-btc-5m-20260413.jsonl.gz`],
        marketsFile: `${recordings}/markets-btc-5m-tokens.json`,
        marketsMax: MARKETS,
      })
      await using rig = await startRig({ playbook, startMs: playbook.startMs - 3000, stepMs: 500 })
      await rig.advance(3000)
      while (!rig.venue.isOver()) await rig.advance(WINDOW_MS / 10)
      await rig.advance(WINDOW_MS)
      const judgements = await rig.judgeAll()
      expect(faultsOf(judgements)).toEqual([])
      expect(judgements.length).toBe(MARKETS)
      expect(judgements.map(({ rows }) => rows)).toEqual(judgements.map(({ states }) => states))
      // The recording has pauses of more than five seconds; nothing else is missing.
      const gaps = judgements.flatMap((each) => each.gaps)
      expect(gaps.filter((gap) => gap.reason !== 'venue_silent')).toEqual([])
      for (const market of rig.venue.markets()) {
        const { served, truth } = await judgeFacts(rig.ask, market)
        expect(served).toEqual(truth)
      }
      const { books } = rig.recorder().status()
      expect([books.mismatched, books.unchecked, books.stale]).toEqual([0, 0, 0])
    },
    MARKETS * MARKET_MS_MAX,
  )
})
