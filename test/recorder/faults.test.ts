/** Every fault of the venue, alone: nothing false is served, and what is missing is said. */
import { describe, expect, test } from 'bun:test'

import type { GapReason } from '#src/domain/coverage.ts'

import type { Fault, ScriptEntry } from '../support/venue/faults.ts'
import type { GeneratedOptions } from '../support/venue/generated.ts'
import { faultsOf } from './judge.ts'
import { startRig } from './rig.ts'

const CALM_MS = 3000
/** A fault takes its course for as long in small steps, and what comes of it later in large ones. */
const COURSE_MS = 3000
const LONG_STEP_MS = 25
const LIMIT_MS = 600_000

type Case = {
  /** All at once, but for those of the script. */
  faults: readonly Fault[]
  script?: readonly ScriptEntry[]
  generated?: Partial<GeneratedOptions>
  /** How long it is watched. */
  ms: number
  /** Of the gaps that there are after it; none may be. */
  reasons: readonly GapReason[]
  /** Milliseconds of a gap, at most. */
  lostMs: number
}

const [down, hash, silent] = ['recorder_down', 'hash_mismatch', 'venue_silent'] as const
const harmless = { ms: 2500, reasons: [], lostMs: 0 }
/** Who is told of a market when it has begun says since when he listens. */
const late = { ms: 2500, reasons: [down, 'not_open'], lostMs: 8000 } as const
const drop: Fault = { kind: 'drop', hasCloseFrame: true }
/** Of the second connection, from its beginning. */
const noBook: ScriptEntry = {
  afterFrames: 0,
  connection: 1,
  fault: { kind: 'no-book', tokens: 1 },
}
const atStart = (fault: Fault): ScriptEntry => ({ atMs: 0, fault })

const cases: readonly Case[] = [
  { faults: [drop], ms: 3000, reasons: [down], lostMs: 800 },
  { faults: [{ ...drop, hasCloseFrame: false }], ms: 3000, reasons: [down], lostMs: 800 },
  { faults: [{ kind: 'freeze' }], ms: 14_000, reasons: [silent], lostMs: 9000 },
  {
    faults: [{ kind: 'freeze', forMs: 2000 }],
    ms: 6000,
    reasons: [hash, silent],
    lostMs: 4000,
  },
  { faults: [{ kind: 'refuse', forMs: 2000 }, drop], ms: 6000, reasons: [down], lostMs: 4000 },
  {
    faults: [{ kind: 'no-upgrade', connections: 1 }, drop],
    ms: 14_000,
    reasons: [down],
    lostMs: 13_000,
  },
  {
    faults: [drop],
    script: [noBook],
    generated: { ahead: 0 },
    ms: 23_000,
    reasons: [down],
    lostMs: 22_000,
  },
  { faults: [{ kind: 'duplicate', frames: 20 }], ...harmless },
  { faults: [{ kind: 'lose', frames: 5 }], ms: 9000, reasons: [hash], lostMs: 7000 },
  // Of markets that are not open yet, which say something once a second.
  {
    faults: [{ kind: 'lose', frames: 2 }],
    generated: { stepsPerSecond: 0.5 },
    ms: 20_000,
    reasons: [hash],
    lostMs: 9000,
  },
  { faults: [{ kind: 'reorder', batches: 20 }], ...harmless },
  {
    faults: [{ kind: 'corrupt-level', of: 'size', frames: 3 }],
    ms: 9000,
    reasons: [hash],
    lostMs: 7000,
  },
  {
    faults: [{ kind: 'corrupt-level', of: 'price', frames: 3 }],
    ms: 9000,
    reasons: [hash],
    lostMs: 7000,
  },
  { faults: [{ kind: 'wrong-hash', batches: 3 }], ms: 2500, reasons: [hash], lostMs: 600 },
  { faults: [{ kind: 'other-recipe' }], ms: 5000, reasons: [hash], lostMs: 3000 },
  { faults: [{ kind: 'late-trade', trades: 10, byMs: 88 }], ...harmless },
  { faults: [{ kind: 'hold', batches: 3, forMs: 600 }], ...harmless },
  { faults: [{ kind: 'garbage' }], ms: 2500, reasons: [down], lostMs: 1500 },
  { faults: [{ kind: 'unknown-event' }], ...harmless },
  { faults: [{ kind: 'slow-drip', bytes: 40, everyMs: 5 }], ...harmless },
  { faults: [], generated: { conditionIdBytes: 31 }, ...harmless },
  { faults: [], generated: { conditionIdBytes: 31, socketIds: 'padded' }, ...harmless },
  {
    faults: [],
    script: [atStart({ kind: 'gamma-status', status: 429, requests: 2, retryAfterSeconds: 2 })],
    ...late,
  },
  {
    faults: [],
    script: [atStart({ kind: 'gamma-status', status: 500, requests: 4 })],
    ...late,
  },
  { faults: [{ kind: 'clock-jump', byMs: 3000 }], ...harmless },
  {
    faults: [drop, { kind: 'clock-jump', byMs: -500 }],
    ms: 5000,
    reasons: [down, hash],
    lostMs: 1500,
  },
  {
    faults: [{ kind: 'refuse', forMs: 300 }, drop, { kind: 'clock-jump', byMs: -1500 }],
    ms: 5000,
    reasons: [down, hash],
    lostMs: 4000,
  },
  {
    faults: [drop],
    script: [{ atMs: CALM_MS + 80, fault: { kind: 'clock-jump', byMs: -400 } }],
    ms: 5000,
    reasons: [down, hash],
    lostMs: 1500,
  },
  { faults: [{ kind: 'clock-jump', byMs: -2000 }], ms: 5000, reasons: [down, hash], lostMs: 3000 },
]

async function suffer({ faults, ms, script, generated = {} }: Case) {
  await using rig = await startRig({
    generated,
    ...(script === undefined ? {} : { venue: { script } }),
  })
  await rig.advance(CALM_MS)
  const fromMs = rig.clock()
  for (const fault of faults) rig.venue.inject(fault)
  await rig.advance(Math.min(ms, COURSE_MS))
  await rig.advance(ms - COURSE_MS, LONG_STEP_MS)
  await rig.quiet()
  const judgements = await rig.judgeAll()
  const gaps = judgements.flatMap((each) => each.gaps.filter(({ toMs }) => toMs > fromMs - 100))
  return { judgements, gaps }
}

const titleOf = ({ faults, script = [], generated = {} }: Case): string =>
  JSON.stringify([...faults, ...script.map(({ fault }) => fault), generated])

describe('startRecorder at a faulty venue', () => {
  test.each(cases.map((each) => [titleOf(each), each] as const))(
    'behavior: %s',
    async (_, each) => {
      const { judgements, gaps } = await suffer(each)
      expect(faultsOf(judgements)).toEqual([])
      expect(gaps.filter(({ reason }) => !each.reasons.includes(reason))).toEqual([])
      for (const { fromMs, toMs } of gaps) expect(toMs - fromMs).toBeLessThanOrEqual(each.lostMs)
    },
    LIMIT_MS,
  )
})
