/** Routes that tell of a market at steps or moments say the same of each of them. */
import { describe, expect, test } from 'bun:test'

import { type Outcome, outcomes } from '#src/domain/market.ts'
import { type Interval, intervalMs } from '#src/domain/series.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { readPage, withParams } from '../support/page-client.ts'
import { readPanel } from '../support/panel-client.ts'
import { fill, iso, randomBooks } from '../support/series-model.ts'

const CLOSE_MS = START_MS + 300_000
const intervals = ['1s', '5s', '1m', '5m', '1h', '1d'] as const

/** A closed market with pauses and a gap; its last states come around the close, or long before. */
async function createServer(seed: number) {
  const random = createRandom(`agreement ${seed}`)
  const history = openHistory(':memory:')
  const lasts = outcomes.map((outcome) => {
    const timestampMs = CLOSE_MS - 8_000 + random.integer(11_000)
    return aSnapshot({ outcome, timestampMs }, 7_000_000)
  })
  const inWindow = (book: Snapshot) => book.timestampMs < CLOSE_MS - 8_000
  const books = [...randomBooks(random, 150 + random.integer(400)).filter(inWindow), ...lasts]
  const { base, rows } = await fill(history, { books })
  const fromMs = random.pick(rows).timestampMs
  const gap = { outcome: random.pick(outcomes), fromMs, toMs: fromMs + 700 }
  await history.putGaps(conditionIdOf(1), [{ ...gap, reason: 'recorder_down' }])
  await history.close(conditionIdOf(1))
  const { send } = createHarness({ history, clock: () => CLOSE_MS + 86_400_000 })
  return { send, base, rows }
}

type Cell = { timestamp: string; ageMs: number } | null
type PanelCells = { ts: string; covered: Record<Outcome, boolean> } & Record<Outcome, Cell>

type Server = Awaited<ReturnType<typeof createServer>>
type Told = { id: string; outcome: Outcome; time: string; timestamp: string }

async function readSteps({ send, base }: Server, interval: Interval): Promise<Told[]> {
  const { body } = await readPage(send, `${base}/quotes`, { interval, limit: 10_000 })
  return body.data as (Told & { conditionId: string })[]
}

/**
 * The state at a moment by its id, and whether the moment is recorded;
 * undefined where there is none.
 */
async function readAt({ send, base }: Server, outcome: Outcome, ts: number) {
  const response = await send(withParams(`${base}/snapshots/at`, { ts, outcome, fields: 'id' }))
  if (response.status === 404) return undefined
  const { data } = (await response.json()) as { data: { id: string; ageMs: number }[] }
  const isCovered = response.headers.get('x-coverage') === 'full'
  return { id: data[0]?.id, ageMs: data[0]?.ageMs, isCovered }
}

/**
 * The state that is known at a moment: at the close, and where a gap begins,
 * that of the millisecond before.
 */
async function readKnown(server: Server, outcome: Outcome, ts: number) {
  const now = await readAt(server, outcome, ts)
  if (now === undefined || now.isCovered || now.ageMs === 0) return now?.id
  const before = await readAt(server, outcome, ts - 1)
  return before?.isCovered === true ? now.id : undefined
}

const momentsOf = (stepMs: number): number[] => {
  const firstMs = Math.floor(START_MS / stepMs) * stepMs
  const count = Math.ceil((CLOSE_MS + 2 * stepMs - firstMs) / stepMs)
  return Array.from({ length: count }, (_, index) => firstMs + index * stepMs)
}

describe('quotes in steps', () => {
  test.each(Array.from({ length: 6 }, (_, index) => index))(
    'property: are what snapshots/at says of each step that is recorded (seed %d)',
    async (seed) => {
      const server = await createServer(seed)
      for (const interval of intervals) {
        const told = await readSteps(server, interval)
        const expected: string[] = []
        for (const timeMs of momentsOf(intervalMs[interval])) {
          for (const outcome of outcomes) {
            const id = await readKnown(server, outcome, timeMs)
            if (id !== undefined) expected.push(`${iso(timeMs)} ${outcome} ${id}`)
          }
        }
        const found = told.map(({ time, outcome, id }) => `${time} ${outcome} ${id}`)
        expect([interval, ...found]).toEqual([interval, ...expected])
      }
    },
  )

  test('property: are states that snapshots in steps have as well', async () => {
    for (let seed = 0; seed < 6; seed++) {
      const server = await createServer(seed)
      for (const interval of intervals) {
        const { send, base } = server
        const kept = await readPage(send, `${base}/snapshots`, { interval, limit: 1000 })
        const ids = new Set(kept.body.data.map(({ id }) => id))
        for (const { id, time } of await readSteps(server, interval)) {
          expect([interval, time, ids.has(id)]).toEqual([interval, time, true])
        }
      }
    }
  })

  test('property: are there exactly where a panel has a state and says that it is covered', async () => {
    for (let seed = 0; seed < 6; seed++) {
      const server = await createServer(seed)
      const told = await readSteps(server, '1s')
      const offsets = '-120s,-60s,-10s,-5s,-3s,-2s,-1s,-0s'
      const rows = (await readPanel(server.send, { offsets })).data as unknown as PanelCells[]
      expect(rows).toHaveLength(8)
      for (const { ts, covered, ...states } of rows) {
        for (const outcome of outcomes) {
          const step = told.find((row) => row.time === ts && row.outcome === outcome)
          const isKnown = covered[outcome] || states[outcome]?.ageMs === 0
          const known = isKnown ? states[outcome]?.timestamp : undefined
          expect([seed, ts, outcome, step?.timestamp]).toEqual([seed, ts, outcome, known])
        }
      }
    }
  })
})

describe('a step that is longer than the market', () => {
  test('default: has a bar and its last snapshots, but no quote, as nothing is known at its end', async () => {
    const server = await createServer(0)
    const { send, base, rows } = server
    const params = { interval: '1d' }
    expect(await readSteps(server, '1d')).toEqual([])
    const bars = (await readPage(send, `${base}/prices`, params)).body.data as unknown as {
      states: number
      covered: number
    }[]
    expect(bars.reduce((sum, { states }) => sum + states, 0)).toBe(rows.length)
    for (const { covered } of bars) expect(covered).toBeLessThan(300_000 / 86_400_000)
    const kept = (await readPage(send, `${base}/snapshots`, params)).body.data
    const lasts = outcomes.map((outcome) => rows.findLast((row) => row.outcome === outcome)?.id)
    expect(kept.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(
      lasts.map(Number).toSorted((a, b) => a - b),
    )
  })
})
