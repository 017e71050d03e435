import { Database } from 'bun:sqlite'

/** What a consumer asks for: pages of random markets from random positions on. */
export type PathQuery = {
  limit: number
  /** How many different pages at most; fewer when the data has fewer. */
  count: number
  /** Every second path filters by outcome. */
  hasOutcome?: boolean
  /** Begins pages only at the first so many snapshots of the data. */
  withinFirst?: number
  seed: number
}

type Row = { condition_id: string; outcome: 'up' | 'down'; timestamp_ms: number }

/** Draws distinct pages, reproducibly: no two paths begin at the same snapshot. */
export function drawPaths(plainFile: string, query: PathQuery): string[] {
  using db = new Database(plainFile, { readonly: true })
  const { limit, count, hasOutcome = false, withinFirst = countRows(db), seed } = query
  const find = db.prepare<Row, [number]>(
    'SELECT condition_id, outcome, timestamp_ms FROM snapshot WHERE id = ?',
  )
  const paths = new Set<string>()
  for (const id of shuffledIds(withinFirst, seed)) {
    if (paths.size === count) break
    const row = find.get(id)
    if (row === null) throw new Error(`No row ${id}`)
    const filter = hasOutcome && paths.size % 2 === 0 ? `&outcome=${row.outcome}` : ''
    const path = `/v1/btc/markets/${row.condition_id}/snapshots`
    paths.add(`${path}?from=${row.timestamp_ms}&limit=${limit}${filter}`)
  }
  return [...paths]
}

/** A state that is recorded, and a moment at which it prevailed. */
export type Moment = { conditionId: string; outcome: 'up' | 'down'; timestampMs: number }

/** Draws distinct moments of random markets, reproducibly. */
export function drawMoments(
  plainFile: string,
  { count, seed }: { count: number; seed: number },
): Moment[] {
  using db = new Database(plainFile, { readonly: true })
  const find = db.prepare<Row, [number]>(
    'SELECT condition_id, outcome, timestamp_ms FROM snapshot WHERE id = ?',
  )
  return [...shuffledIds(countRows(db), seed).subarray(0, count)].map((id) => {
    const row = find.get(id)
    if (row === null) throw new Error(`No row ${id}`)
    return { conditionId: row.condition_id, outcome: row.outcome, timestampMs: row.timestamp_ms }
  })
}

/** The route of a series for each market there is, all changes in one answer. */
export function drawSeries(plainFile: string, route: 'quotes' | 'prices'): string[] {
  using db = new Database(plainFile, { readonly: true })
  const rows = db.prepare<Pick<Row, 'condition_id'>, []>('SELECT condition_id FROM market').all()
  return rows.map(({ condition_id }) => `/v1/btc/markets/${condition_id}/${route}?limit=10000`)
}

const countRows = (db: Database) =>
  db.prepare<{ count: number }, []>('SELECT count(*) AS count FROM snapshot').get()?.count ?? 0

/** Fisher and Yates, driven by a linear congruential generator (constants of Numerical Recipes). */
function shuffledIds(count: number, seed: number): Uint32Array {
  const ids = Uint32Array.from({ length: count }, (_, index) => index + 1)
  let state = seed
  for (let last = count - 1; last > 0; last--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    const id = ids[last] ?? 0
    ids[last] = ids[other] ?? 0
    ids[other] = id
  }
  return ids
}
