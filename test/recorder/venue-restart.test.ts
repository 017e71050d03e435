/** The venue's restart on a Tuesday morning, as a recorder meets it. */
import { describe, expect, test } from 'bun:test'

import type { Fault } from '../support/venue/faults.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import type { Playbook, Step } from '../support/venue/playbook.ts'
import { faultsOf } from './judge.ts'
import { startRig } from './rig.ts'

const LIMIT_MS = 600_000
const RESTART_MS = 90_000
/** While it lasts nothing is received. */
const LONG_STEP_MS = 250
/** 07:00 Eastern. */
const tuesdayMs = Date.UTC(2026, 10, 24, 12)
const wednesdayMs = Date.UTC(2026, 10, 25, 12)

const faults: readonly Fault[] = [
  { kind: 'refuse', forMs: RESTART_MS },
  { kind: 'drop', hasCloseFrame: true },
]

/** A market whose orders rest while the venue restarts, if it does so in silence. */
function playbookOf(startMs: number, quietFromMs: number): Playbook {
  const generated = generatedPlaybook({ seed: 'rig', startMs, stepsPerSecond: 5, ahead: 0 })
  const isQuiet = ({ atMs }: Step): boolean =>
    atMs >= quietFromMs && atMs < quietFromMs + RESTART_MS
  return {
    ...generated,
    next(nowMs) {
      for (;;) {
        const step = generated.next(nowMs)
        if (step === undefined || !isQuiet(step)) return step
      }
    },
  }
}

describe('startRecorder at a restart of the venue', () => {
  test.each([
    ['that ends connections', tuesdayMs, 'drop', 'venue_restart'],
    ['in silence', tuesdayMs, 'silence', 'venue_restart'],
    ['on no Tuesday', wednesdayMs, 'drop', 'recorder_down'],
    ['in silence on no Tuesday', wednesdayMs, 'silence', 'venue_silent'],
  ] as const)(
    'default: one %s is a gap with its cause',
    async (_, atMs, how, reason) => {
      const startMs = atMs - 5000
      const quietFromMs = how === 'silence' ? atMs + 500 : Number.MAX_SAFE_INTEGER
      await using rig = await startRig({
        startMs,
        stepMs: 50,
        playbook: playbookOf(startMs, quietFromMs),
      })
      await rig.advance(5500)
      for (const fault of how === 'drop' ? faults : []) rig.venue.inject(fault)
      await rig.advance(RESTART_MS + 30_000, LONG_STEP_MS)
      await rig.quiet()
      const judgements = await rig.judgeAll()
      expect(faultsOf(judgements)).toEqual([])
      const gaps = judgements
        .flatMap((each) => each.gaps)
        .filter(({ reason: why }) => why !== 'not_open')
        .filter(({ fromMs, toMs }) => fromMs >= atMs && toMs - fromMs > RESTART_MS / 2)
      expect(gaps.length).toBeGreaterThan(0)
      expect(new Set(gaps.map((gap) => gap.reason))).toEqual(new Set([reason]))
    },
    LIMIT_MS,
  )
})
