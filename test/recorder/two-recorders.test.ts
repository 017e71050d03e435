/** Two recorders of one venue on one history: what either knows is no gap, what neither knows is. */
import { describe, expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import { createRandom } from '#src/platform/random.ts'
import type { Recorder } from '#src/recorder/recorder.ts'

import { onEachEngine } from '../support/engines/each.ts'
import { faultsOf } from './judge.ts'
import { type Rig, startRig } from './rig.ts'

const CALM_MS = 4000
/** Until a recorder that starts has asked for windows, connected, and got all books. */
const BEGUN_MS = 3000
/** Until a recorder replaces a connection that is silent, and has all books again. */
const SILENT_MS = 14_000
const ACTS = 12
const LIMIT_MS = 600_000

const drop = { kind: 'drop', hasCloseFrame: false } as const

/** Gaps that end after a moment, and whatever is wrong: also a state that is missing outside of gaps. */
async function verdictOf(rig: Rig, fromMs: number) {
  await rig.quiet()
  const judgements = await rig.judgeAll()
  const gaps = judgements.flatMap((each) => each.gaps.filter((gap) => gap.toMs > fromMs))
  return { faults: faultsOf(judgements), gaps, history: [...rig.history.verify()] }
}

/** Nothing is wrong, and each book of the open window and the next one has one gap, so long. */
function expectOneGap(
  { faults, gaps, history }: Awaited<ReturnType<typeof verdictOf>>,
  { msMin, msMax }: { msMin: number; msMax: number },
): void {
  expect({ faults, history }).toEqual({ faults: [], history: [] })
  expect(gaps.map(({ outcome, reason }) => `${outcome} ${reason}`).toSorted()).toEqual([
    'down recorder_down',
    'down recorder_down',
    'up recorder_down',
    'up recorder_down',
  ])
  const lengths = gaps.map(({ fromMs, toMs }) => toMs - fromMs)
  expect(Math.min(...lengths)).toBeGreaterThan(msMin)
  expect(Math.max(...lengths)).toBeLessThan(msMax)
}

describe('two recorders', () => {
  onEachEngine(({ placeOf, engine }) => {
    let stores = 0
    const start = (seed = 'rig') =>
      startRig({
        stepMs: 10,
        generated: { seed, timeframes: ['5m'], ahead: 0, stepsPerSecond: 20 },
        historyPath: placeOf(`recorders_${++stores}`),
      })

    test(
      'default: one that starts, is cut off, hears nothing, or dies while the other records leaves no gap',
      async () => {
        await using rig = await start()
        await rig.advance(CALM_MS)
        const fromMs = rig.clock()
        rig.venue.inject({ kind: 'refuse', forMs: 2000 })
        const other = await rig.startBeside()
        await rig.advance(2 * BEGUN_MS)
        expect(other.status().markets.map(({ unknown }) => unknown)).toEqual([[], []])
        rig.venue.inject(drop, 1)
        await rig.advance(BEGUN_MS)
        // Its connection says nothing, which it notices seconds later.
        rig.venue.inject({ kind: 'freeze' }, 2)
        await rig.advance(SILENT_MS)
        rig.kill(other)
        await rig.advance(1000)
        // It dies before it has a book.
        const third = await rig.startBeside()
        await rig.advance(300)
        rig.kill(third)
        await rig.advance(1000)
        expect(await verdictOf(rig, fromMs)).toEqual({ faults: [], gaps: [], history: [] })
      },
      LIMIT_MS,
    )

    test(
      'behavior: what the first one cannot receive, the second one has',
      async () => {
        await using rig = await start()
        await rig.advance(CALM_MS)
        await rig.startBeside()
        await rig.advance(BEGUN_MS)
        const fromMs = rig.clock()
        rig.venue.inject(drop, 0)
        await rig.advance(BEGUN_MS)
        rig.kill(rig.recorder())
        await rig.advance(1000)
        expect(await verdictOf(rig, fromMs)).toEqual({ faults: [], gaps: [], history: [] })
      },
      LIMIT_MS,
    )

    test(
      'behavior: the time between one that dies and one that starts later is a gap',
      async () => {
        await using rig = await start()
        await rig.advance(CALM_MS)
        const fromMs = rig.clock()
        rig.kill(rig.recorder())
        await rig.advance(1500)
        await rig.startBeside()
        await rig.advance(BEGUN_MS)
        expectOneGap(await verdictOf(rig, fromMs), { msMin: 1500, msMax: 1500 + BEGUN_MS })
      },
      LIMIT_MS,
    )

    test(
      'behavior: so is the time from the death of one until the other, which was starting, has the book',
      async () => {
        await using rig = await start()
        await rig.advance(CALM_MS)
        const fromMs = rig.clock()
        rig.venue.inject({ kind: 'refuse', forMs: 2000 })
        const other = await rig.startBeside()
        // It has begun to record the markets, and the first one has written since.
        for (let ms = 0; ms < BEGUN_MS && other.status().markets.length < 2; ms += 5)
          await rig.advance(5)
        await rig.advance(500)
        const both = [...outcomes]
        expect(other.status().markets.map(({ unknown }) => unknown)).toEqual([both, both])
        rig.kill(rig.recorder())
        await rig.advance(2 * BEGUN_MS)
        expectOneGap(await verdictOf(rig, fromMs), { msMin: 500, msMax: 2 * BEGUN_MS })
      },
      LIMIT_MS,
    )

    test(
      'behavior: a time in which both are cut off is a gap, once',
      async () => {
        await using rig = await start()
        await rig.advance(CALM_MS)
        await rig.startBeside()
        await rig.advance(BEGUN_MS)
        const fromMs = rig.clock()
        rig.venue.inject({ kind: 'refuse', forMs: 1500 })
        rig.venue.inject(drop, 0)
        await rig.advance(100)
        rig.venue.inject(drop, 1)
        await rig.advance(CALM_MS)
        expectOneGap(await verdictOf(rig, fromMs), { msMin: 1300, msMax: CALM_MS })
      },
      LIMIT_MS,
    )

    test.each(engine === 'SQLite' ? ['a', 'b'] : ['a'])(
      'fuzz: whatever happens to one is no gap while the other records; of both, all that is missing is one (%s)',
      async (seed) => {
        for (const isFirstSpared of [true, false]) {
          await using rig = await start(seed)
          await rig.advance(CALM_MS)
          const fromMs = rig.clock()
          await haveTrouble(rig, seed, isFirstSpared)
          const { faults, gaps, history } = await verdictOf(rig, fromMs)
          expect({ faults, history }).toEqual({ faults: [], history: [] })
          if (isFirstSpared) expect(gaps).toEqual([])
        }
      },
      LIMIT_MS,
    )
  })
})

/** Kills, starts and cuts off recorders in turn, at last with one that has all books. */
async function haveTrouble(rig: Rig, seed: string, isFirstSpared: boolean): Promise<void> {
  const random = createRandom(seed)
  const alive: Recorder[] = isFirstSpared ? [] : [rig.recorder()]
  for (let act = 0; act < ACTS; act++) {
    const wish = Math.floor(random.uniform() * 3)
    const [dying] = alive
    if (wish === 0 && dying !== undefined) rig.kill(alive.shift() ?? dying)
    else if (wish === 1 && alive.length < 2) alive.push(await rig.startBeside())
    else if (wish === 2) dropOne(rig, random.uniform(), isFirstSpared)
    await rig.advance(5 * Math.floor(random.uniform() * 300))
  }
  await rig.startBeside()
  await rig.advance(2 * BEGUN_MS)
}

/** Ends one of the connections; the first one is that of the first recorder. */
function dropOne(rig: Rig, share: number, isFirstSpared: boolean): void {
  const open = [...rig.venue.connections.keys()].filter(
    (at) => rig.venue.connections[at]?.isOpen() && !(isFirstSpared && at === 0),
  )
  const at = open[Math.floor(share * open.length)]
  if (at !== undefined) rig.venue.inject(drop, at)
}
