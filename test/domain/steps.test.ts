import { describe, expect, test } from 'bun:test'

import { type Gap, silenceMs } from '#src/domain/coverage.ts'
import type { Market, Outcome } from '#src/domain/market.ts'
import { intervalMs, type StatePart } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { listMarks, type Mark, markPosition, readPrevailing } from '#src/domain/steps.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { type NumberedState, randomStates, readerOf } from '../support/state-reader.ts'

const outcomes = ['up', 'down'] as const
const SILENCE_MS = silenceMs('5m')

type History = { states: NumberedState[]; gaps: Gap[]; market: Market }

type Life = { isClosed: boolean; windowEndMs?: number | undefined }

function toHistory(states: NumberedState[], life: Life, gaps: Gap[] = []): History {
  const spanOf = (outcome: Outcome) => {
    const times = states
      .filter((state) => state.outcome === outcome)
      .map((each) => each.timestampMs)
    const firstMs = times[0]
    const lastMs = times.at(-1)
    return firstMs === undefined || lastMs === undefined ? undefined : { firstMs, lastMs }
  }
  const market: Market = {
    conditionId: `0x${'1'.repeat(64)}`,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    id: 1,
    revision: 1,
    layout: 1,
    assetIds: {},
    snapshotCounts: { up: 0, down: 0 },
    verifiedCounts: { up: 0, down: 0 },
    spans: { up: spanOf('up'), down: spanOf('down') },
    longestSilenceMs: {},
    firstSnapshotMs: states[0]?.timestampMs,
    lastSnapshotMs: states.at(-1)?.timestampMs,
    orderMs: 0,
    ...life,
  }
  const silences = outcomes.flatMap((outcome) => {
    const own = states.filter((state) => state.outcome === outcome)
    return own.flatMap((state, index): Gap[] => {
      const nextMs = own[index + 1]?.timestampMs ?? state.timestampMs
      const fromMs = state.timestampMs + 1
      const gap = { outcome, fromMs, toMs: nextMs, reason: 'import' } as const
      return nextMs - state.timestampMs > SILENCE_MS ? [gap] : []
    })
  })
  const all = [...silences, ...gaps].sort((a, b) => a.fromMs - b.fromMs)
  return { states, gaps: all, market }
}

type Asked = { stepMs: number; outcome: Outcome | undefined; fromMs?: number; toMs?: number }

/**
 * The state of an outcome as of a moment, computed the plain way; undefined where none is known.
 */
function plainState(history: History, { timeMs, outcome }: Mark): NumberedState | undefined {
  const own = history.states.filter((state) => state.outcome === outcome)
  const gaps = history.gaps.filter((gap) => gap.outcome === outcome)
  const isIn = ({ fromMs, toMs }: Gap) => fromMs <= timeMs && timeMs < toMs
  if (gaps.some(isIn)) return undefined
  const ownEndMs = own.at(-1)?.timestampMs ?? 0
  if (timeMs > ownEndMs && !isKnownBehind(history, { timeMs, ownEndMs, gaps })) return undefined
  return own.findLast((state) => state.timestampMs <= timeMs)
}

type Behind = { timeMs: number; ownEndMs: number; gaps: readonly Gap[] }

/** Whether a state is known to prevail after the last one of its outcome. */
function isKnownBehind({ states, market }: History, { timeMs, ownEndMs, gaps }: Behind): boolean {
  const heldEndMs = states.at(-1)?.timestampMs ?? 0
  const closeMs = (market.isClosed ? market.windowEndMs : undefined) ?? 0
  const endMs = Math.max(heldEndMs, closeMs)
  if (Math.max(heldEndMs, closeMs - 1) - ownEndMs > SILENCE_MS || timeMs > endMs) return false
  return timeMs < endMs || gaps.every(({ toMs }) => toMs !== endMs)
}

/** The first moment that the states to come may still change. */
function plainHorizon({ states, market }: History, own: readonly Outcome[]): number {
  if (market.isClosed) return Infinity
  const lastMs = states.at(-1)?.timestampMs ?? 0
  const ends = own.map((each) => states.findLast((state) => state.outcome === each)?.timestampMs)
  return Math.min(
    ...ends.filter((endMs) => lastMs - (endMs ?? -Infinity) <= SILENCE_MS).map(Number),
  )
}

/** Every step with the prevailing state, each moment by itself. */
function plainSteps(history: History, asked: Asked) {
  const { stepMs, outcome, fromMs = 0, toMs = Infinity } = asked
  const { lastSnapshotMs = -stepMs, windowEndMs = 0 } = history.market
  const endMs = Math.max(lastSnapshotMs, windowEndMs) + stepMs
  const own = outcomes.filter((each) => (outcome ?? each) === each)
  const bound = Math.min(endMs, toMs, plainHorizon(history, own))
  const times = Array.from({ length: Math.ceil(endMs / stepMs) }, (_, index) => index * stepMs)
  return times
    .filter((timeMs) => timeMs >= fromMs && timeMs < bound)
    .flatMap((timeMs) => own.map((each): Mark => ({ timeMs, outcome: each })))
    .flatMap((mark) => {
      const state = plainState(history, mark)
      return state === undefined ? [] : [{ mark, state }]
    })
}

function drawHistory(random: Random): History {
  const states = randomStates(random, 1 + random.integer(200))
  const gaps = Array.from({ length: random.integer(4) }, (): Gap => {
    const fromMs = random.pick(states).timestampMs - random.integer(2_000)
    const reason = random.pick(['recorder_down', 'hash_mismatch'] as const)
    return {
      outcome: random.pick(outcomes),
      fromMs,
      toMs: fromMs + 1 + random.integer(9_000),
      reason,
    }
  })
  const lastMs = states.at(-1)?.timestampMs ?? 0
  const nearMs = Math.ceil((lastMs - 4_000 + random.integer(12_000)) / 1_000) * 1_000
  const windowEndMs = random.pick([undefined, Math.max(1, nearMs), lastMs + 700_000])
  return toHistory(states, { isClosed: random.integer(2) === 0, windowEndMs }, gaps)
}

function drawAsked(random: Random, { states }: History): Asked {
  const asked: Asked = {
    stepMs: random.pick([intervalMs['1s'], intervalMs['5s'], intervalMs['1m'], intervalMs['15m']]),
    outcome: random.pick([undefined, 'up', 'down'] as const),
  }
  const fromMs = random.pick(states).timestampMs - random.integer(3_000)
  if (random.integer(2) === 0) asked.fromMs = Math.max(0, fromMs)
  if (random.integer(2) === 0) asked.toMs = Math.max(0, fromMs) + 1 + random.integer(60_000)
  return asked
}

/** Walks all pages, and reads the state of each mark. */
function walk(
  { states, gaps, market }: History,
  asked: Asked & { order: 'asc' | 'desc' },
  random: Random,
) {
  const { stepMs, ...filters } = asked
  const { read } = readerOf(states)
  const rows: { mark: Mark; state: NumberedState | undefined }[] = []
  let after: Position | undefined
  for (;;) {
    const limit = 1 + random.integer(random.pick([2, 50, 2_000]))
    const range: StatePart = { ...filters, after, limit }
    const marks = listMarks({ market, gaps, stepMs, range })
    const taken = marks.slice(0, limit)
    const ascending = asked.order === 'asc' ? taken : taken.toReversed()
    const found = readPrevailing(read, ascending, asked.outcome)
    const page = ascending.map((mark, index) => ({ mark, state: found[index] }))
    rows.push(...(asked.order === 'asc' ? page : page.reverse()))
    const last = taken.at(-1)
    if (marks.length <= limit || last === undefined) return rows
    after = markPosition(last)
  }
}

describe('steps', () => {
  test.each(Array.from({ length: 80 }, (_, index) => index))(
    'property: a walk in either order gives what each moment by itself gives (seed %d)',
    (seed) => {
      const random = createRandom(`steps ${seed}`)
      const history = drawHistory(random)
      const asked = drawAsked(random, history)
      const expected = plainSteps(history, asked)
      expect(walk(history, { ...asked, order: 'asc' }, random)).toEqual(expected)
      expect(walk(history, { ...asked, order: 'desc' }, random)).toEqual(expected.reverse())
    },
  )

  const stateAt = (timestampMs: number, id: number, outcome: Outcome = 'up'): NumberedState => ({
    timestampMs,
    id,
    outcome,
    value: id,
  })
  const OVER = { isClosed: true }
  const OPEN = { isClosed: false }
  const timesOf = (history: History, asked: Partial<Asked> = {}): number[] =>
    walk(
      history,
      { stepMs: 1_000, outcome: undefined, ...asked, order: 'asc' },
      createRandom('times'),
    ).map(({ mark }) => mark.timeMs)

  test('behavior: a step takes the state at or before it and never a later one', () => {
    const history = toHistory([stateAt(1_000, 1), stateAt(1_001, 2), stateAt(2_000, 3)], OVER)
    const rows = walk(history, { stepMs: 1_000, outcome: 'up', order: 'asc' }, createRandom('at'))
    expect(rows.map(({ mark, state }) => [mark.timeMs, state?.id])).toEqual([
      [1_000, 1],
      [2_000, 3],
    ])
  })

  test('behavior: the steps of a closed market end with its close, or the last state behind it', () => {
    const states = [stateAt(900, 1), stateAt(2_100, 2)]
    const endingAt = (windowEndMs: number | undefined, asked?: Partial<Asked>) =>
      timesOf(toHistory(states, { isClosed: true, windowEndMs }), asked)
    for (const windowEndMs of [undefined, 2_000])
      expect(endingAt(windowEndMs)).toEqual([1_000, 2_000])
    expect(endingAt(4_000)).toEqual([1_000, 2_000, 3_000, 4_000])
    expect(endingAt(3_999)).toEqual([1_000, 2_000, 3_000])
    expect(endingAt(4_000, { stepMs: 5_000 })).toEqual([])
    expect(endingAt(5_000, { stepMs: 5_000 })).toEqual([5_000])
  })

  test('behavior: of a market that fell silent before its close the last state is not known there', () => {
    const states = [stateAt(900, 1), stateAt(2_100, 2)]
    const endingAt = (windowEndMs: number) =>
      timesOf(toHistory(states, { isClosed: true, windowEndMs }), { stepMs: 100 }).at(-1)
    expect([endingAt(7_100), endingAt(7_101), endingAt(7_102)]).toEqual([7_100, 7_100, 2_100])
  })

  test('behavior: a gap up to the close leaves nothing that is known at the close', () => {
    const gap = { outcome: 'up', fromMs: 3_000, toMs: 5_000, reason: 'recorder_down' } as const
    const states = [stateAt(900, 1), stateAt(2_100, 2)]
    const history = toHistory(states, { isClosed: true, windowEndMs: 5_000 }, [gap])
    expect(timesOf(history)).toEqual([1_000, 2_000])
  })

  test('behavior: a book that contradicts its hash is in force at no step', () => {
    const gap = { outcome: 'up', fromMs: 2_000, toMs: 4_000, reason: 'hash_mismatch' } as const
    const states = [stateAt(1_000, 1), stateAt(2_000, 2), stateAt(4_000, 3)]
    expect(timesOf(toHistory(states, OVER, [gap]))).toEqual([1_000, 4_000])
  })

  test('behavior: on an open market a step is there once a later state has come', () => {
    expect(timesOf(toHistory([stateAt(900, 1), stateAt(2_000, 2)], OPEN))).toEqual([1_000])
    expect(timesOf(toHistory([stateAt(900, 1), stateAt(2_001, 2)], OPEN))).toEqual([1_000, 2_000])
  })

  test('behavior: inside a gap nothing is in force; at its bounds the states there are', () => {
    const history = toHistory([stateAt(1_000, 1), stateAt(9_000, 2), stateAt(9_500, 3)], OVER)
    expect(history.gaps).toHaveLength(1)
    expect(timesOf(history)).toEqual([1_000, 9_000])
  })

  test('behavior: an outcome that fell silent ends with its last state, the other goes on', () => {
    const states = [stateAt(1_000, 1), stateAt(1_000, 2, 'down')]
    for (let second = 2; second <= 9; second++) states.push(stateAt(second * 1_000, second + 1))
    const history = toHistory(states, OVER)
    expect(timesOf(history, { outcome: 'down' })).toEqual([1_000])
    expect(timesOf(history, { outcome: 'up' })).toHaveLength(9)
  })

  test('behavior: a pause of years costs no step', () => {
    const history = toHistory([stateAt(1_000, 1), stateAt(8_640_000_000_000, 2)], OVER)
    expect(timesOf(history)).toEqual([1_000, 8_640_000_000_000])
  })

  test('behavior: many states between two steps are not read through', () => {
    const states = Array.from({ length: 50_000 }, (_, index) => stateAt(index * 100, index + 1))
    const history = toHistory(states, OVER)
    const { read, counts } = readerOf(states)
    const range: StatePart = { order: 'asc', outcome: 'up', limit: 1_000 }
    const marks = listMarks({ ...history, stepMs: intervalMs['15m'], range })
    const found = readPrevailing(read, marks, 'up')
    expect(found.map((state) => state?.timestampMs)).toEqual([
      0, 900_000, 1_800_000, 2_700_000, 3_600_000, 4_500_000,
    ])
    expect(counts.states).toBeLessThan(1_100)
  })

  test('behavior: a market without states has no step', () => {
    for (const life of [OVER, OPEN]) expect(timesOf(toHistory([], life))).toEqual([])
  })
})
