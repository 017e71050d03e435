import { Database } from 'bun:sqlite'
import { join } from 'node:path'

import { assert } from '#src/platform/assert.ts'

import type { OurData } from './dataset.ts'

/** What a consumer asks for: pages of random markets from random positions on. */
export type PathQuery = {
  limit: number
  /** How many different pages at most; fewer when the data has fewer. */
  count: number
  /** Which pages are of one outcome; none when absent. */
  outcome?: 'all' | 'half' | undefined
  seed: number
}

/** An outcome of a market, and a moment at which it has a state. */
export type Moment = { conditionId: string; outcome: 'up' | 'down'; timestampMs: number }

type Ours = Pick<OurData, 'dataPath'>

/** Draws distinct pages at random over all rows, reproducibly. */
export function drawPaths(ours: Ours, query: PathQuery): string[] {
  const { limit, count, outcome: which, seed } = query
  const paths = new Set<string>()
  for (const { conditionId, outcome, timestampMs } of drawRows(ours, seed)) {
    if (paths.size === count) break
    const hasOutcome = which === 'all' || (which === 'half' && paths.size % 2 === 0)
    const filter = hasOutcome ? `&outcome=${outcome}` : ''
    const path = `/v1/btc/markets/${conditionId}/snapshots`
    paths.add(`${path}?from=${timestampMs}&limit=${limit}${filter}`)
  }
  return [...paths]
}

/** Draws moments of random markets, reproducibly. */
export function drawMoments(
  ours: Ours,
  { count, seed }: { count: number; seed: number },
): Moment[] {
  return drawRows(ours, seed).take(count).toArray()
}

/** The route of a series for each market there is, all changes in one answer. */
export function drawSeries(
  { dataPath }: Ours,
  route: 'quotes' | 'prices',
  limit = 10_000,
): string[] {
  using db = openReadonly(dataPath)
  const rows = db.prepare<{ name: string }, []>('SELECT condition_id AS name FROM market').all()
  return rows.map(({ name }) => `/v1/btc/markets/${name}/${route}?limit=${limit}`)
}

type Chunk = { name: string; first: number; last: number; count: number }

/** Every row once, in random order; its moment is interpolated between the ends of its chunk. */
function* drawRows({ dataPath }: Ours, seed: number): Generator<Moment> {
  using db = openReadonly(dataPath)
  const chunks = db
    .prepare<Chunk, []>(
      `SELECT condition_id AS name, chunk.first_ms AS first, chunk.last_ms AS last,
         chunk.up_count + chunk.down_count AS count
       FROM chunk JOIN market ON market.id = market_id ORDER BY chunk.id`,
    )
    .all()
  const total = chunks.reduce((sum, { count }) => sum + count, 0)
  const chunkOf = new Uint32Array(total)
  const firstRow = new Uint32Array(chunks.length)
  let row = 0
  for (const [index, { count }] of chunks.entries()) {
    firstRow[index] = row
    chunkOf.fill(index, row, row + count)
    row += count
  }
  for (const drawn of shuffled(total, seed)) {
    const index = chunkOf[drawn] ?? 0
    const chunk = chunks[index]
    assert(chunk !== undefined, 'each row is in a chunk')
    const share = (drawn - (firstRow[index] ?? 0)) / chunk.count
    const timestampMs = chunk.first + Math.floor(share * (chunk.last - chunk.first))
    yield { conditionId: chunk.name, outcome: drawn % 2 === 0 ? 'up' : 'down', timestampMs }
  }
}

/** Closed markets, so that all rows are in chunks. */
const openReadonly = (dataPath: string) =>
  new Database(join(dataPath, 'history.db'), { readonly: true })

/** Fisher and Yates, driven by a linear congruential generator (constants of Numerical Recipes). */
function shuffled(count: number, seed: number): Uint32Array {
  const numbers = Uint32Array.from({ length: count }, (_, index) => index)
  let state = seed
  for (let last = count - 1; last > 0; last--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    const number = numbers[last] ?? 0
    numbers[last] = numbers[other] ?? 0
    numbers[other] = number
  }
  return numbers
}
