import { expect, test } from 'bun:test'

import type { Span } from '#src/domain/coverage.ts'
import { aggregations, type Grid, HeatCells } from '#src/features/heatmap/cells.ts'
import type { RowRun } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

const ROUNDS = 100
const FROM_MS = 20
const TO_MS = 80
const CENT = 10_000

type Side = Map<number, number>
type State = { ms: number; bids: Side; asks: Side }

function randomStates(random: Random): State[] {
  let ms = random.integer(30)
  const side = (from: number): Side => {
    const cents = Array.from({ length: random.integer(6) }, () => from + random.integer(50))
    return new Map(cents.map((cent) => [cent * CENT, (1 + random.integer(900)) * CENT]))
  }
  let state: State = { ms, bids: side(1), asks: side(50) }
  return Array.from({ length: random.integer(40) }, () => {
    ms += random.integer(5)
    const change = (levels: Side, from: number): Side =>
      random.integer(6) === 0 ? side(from) : new Map([...levels, ...[...side(from)].slice(0, 1)])
    state = { ms, bids: change(state.bids, 1), asks: change(state.asks, 50) }
    return state
  })
}

/** States in runs whose columns are used again, as a history gives them. */
function* runsOf(random: Random, states: readonly State[]): Generator<RowRun> {
  const prices = new Int32Array(4_000)
  const sizes = new Float64Array(4_000)
  for (let from = 0; from < states.length;) {
    const some = states.slice(from, from + 1 + random.integer(10))
    from += some.length
    const ends: number[] = []
    let at = 0
    for (const { bids, asks } of some) {
      const rising = (levels: Side) => [...levels].toSorted(([a], [b]) => a - b)
      for (const levels of [rising(bids).reverse(), rising(asks)]) {
        for (const [price, size] of levels) {
          prices[at] = price
          sizes[at++] = size
        }
        ends.push(at)
      }
    }
    const rows = some.map(({ ms }, id) => ({ timestampMs: ms, id, outcome: 'up' as const }))
    yield { rows, besides: [], ends, prices, sizes }
  }
}

/** The same, millisecond by millisecond. */
function slowCells(grid: Grid, known: readonly Span[], states: readonly State[]) {
  const { fromMs, toMs, stepMs, priceBins, agg } = grid
  const columns = Math.ceil((toMs - fromMs) / stepMs)
  const cells = { bids: new Map<string, number>(), asks: new Map<string, number>() }
  const knownMs = Array.from({ length: columns }, () => 0)
  for (let ms = fromMs; ms < toMs; ms++) {
    const state = states.findLast((each) => each.ms <= ms)
    if (state === undefined || !known.some((span) => span.fromMs <= ms && ms < span.toMs)) continue
    const column = Math.floor((ms - fromMs) / stepMs)
    knownMs[column] = (knownMs[column] ?? 0) + 1
    for (const side of ['bids', 'asks'] as const) {
      for (let bin = 0; bin < priceBins; bin++) {
        const width = 1_000_000 / priceBins
        const inBin = [...state[side]].filter(([price]) => Math.floor(price / width) === bin)
        const size = inBin.reduce((sum, [, each]) => sum + each, 0)
        const name = `${column} ${bin}`
        const before = cells[side].get(name) ?? 0
        const joined = { last: size, max: Math.max(before, size), 'time-weighted': before + size }
        cells[side].set(name, joined[agg])
      }
    }
  }
  return { cells, knownMs }
}

function randomSpans(random: Random): Span[] {
  let ms = random.integer(30)
  return Array.from({ length: 1 + random.integer(4) }, () => {
    const fromMs = ms + random.integer(10)
    ms = fromMs + 1 + random.integer(40)
    return { fromMs, toMs: ms }
  })
}

test('default: cells are what a walk by the millisecond gives, whatever is not known', () => {
  const random = createRandom('heat cells')
  for (let round = 0; round < ROUNDS; round++) {
    const grid: Grid = {
      fromMs: FROM_MS,
      toMs: TO_MS,
      stepMs: random.pick([1, 7, 25, 100]),
      priceBins: random.pick([10, 100]),
      agg: random.pick(aggregations),
      withRemoved: true,
    }
    const known = randomSpans(random)
    const states = randomStates(random)
    const fast = new HeatCells(grid, known)
    for (const run of runsOf(random, states)) fast.add(run)
    fast.end()
    const slow = slowCells(grid, known, states)
    expect([...fast.knownMs]).toEqual(slow.knownMs)
    for (const side of ['bids', 'asks'] as const) {
      for (let column = 0; column < fast.columns; column++) {
        const expected = Array.from(
          { length: grid.priceBins },
          (_, bin) => slow.cells[side].get(`${column} ${bin}`) ?? 0,
        )
        expect([...fast.cellsOf(side, column)]).toEqual(expected)
      }
    }
  }
})
