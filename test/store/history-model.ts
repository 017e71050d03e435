/** What a history must answer, from a plain array: the reference that engines are compared with. */
import { silenceMs } from '#src/core/coverage.ts'
import { outcomes } from '#src/core/market.ts'
import type { Ladder, Position, Snapshot, StoredSnapshot } from '#src/core/snapshot.ts'
import type { Batch, RowQuery } from '#src/store/history.ts'

/** A query of rows without the market that the store gave out. */
export type ModelQuery = Omit<RowQuery, 'market'>

const compare = (a: Position, b: Position): number => a.timestampMs - b.timestampMs || a.id - b.id

/** Keeps every accepted row; ids rise by one. */
export class HistoryModel {
  readonly #rows = new Map<string, StoredSnapshot[]>()
  readonly #closed = new Set<string>()
  #nextId = 1

  rows(conditionId: string): readonly StoredSnapshot[] {
    return this.#rows.get(conditionId) ?? []
  }

  close(conditionId: string): void {
    if (this.#rows.has(conditionId)) this.#closed.add(conditionId)
  }

  get count(): number {
    return [...this.#rows.values()].reduce((sum, rows) => sum + rows.length, 0)
  }

  append({ snapshots }: Batch): { accepted: number; duplicates: number } {
    let accepted = 0
    for (const snapshot of snapshots) {
      const rows = this.#rows.get(snapshot.conditionId) ?? []
      this.#rows.set(snapshot.conditionId, rows)
      if (rows.some((row) => isDuplicate(row, snapshot))) continue
      rows.push({ ...snapshot, id: this.#nextId++ })
      accepted++
    }
    for (const rows of this.#rows.values()) rows.sort(compare)
    return { accepted, duplicates: snapshots.length - accepted }
  }

  page(conditionId: string, query: ModelQuery): { rows: StoredSnapshot[]; hasMore: boolean } {
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, after, order } = query
    const step = order === 'asc' ? 1 : -1
    const inRange = this.rows(conditionId).filter(
      (row) =>
        row.timestampMs >= fromMs &&
        row.timestampMs < toMs &&
        (query.outcome ?? row.outcome) === row.outcome,
    )
    const isOpen = !this.#closed.has(conditionId)
    const kept = lastOfSteps(inRange, query.stepMs).filter(
      (row) => !isOpen || isDecided(this.rows(conditionId), query, row),
    )
    const matching = kept.filter((row) => after === undefined || compare(row, after) * step > 0)
    if (order === 'desc') matching.reverse()
    return { rows: matching.slice(0, query.limit), hasMore: matching.length > query.limit }
  }
}

/** The last row of each outcome in each step; all rows when there are no steps. */
function lastOfSteps(rows: readonly StoredSnapshot[], stepMs: number | undefined) {
  if (stepMs === undefined) return [...rows]
  const keyOf = (row: StoredSnapshot) => `${row.outcome} ${Math.ceil(row.timestampMs / stepMs)}`
  const last = new Map(rows.map((row) => [keyOf(row), row]))
  return rows.filter((row) => last.get(keyOf(row)) === row)
}

/** Whether each outcome asked for, or the market where that fell silent, has a row behind the step of a row. */
function isDecided(
  rows: readonly StoredSnapshot[],
  { stepMs, outcome, toMs = Number.POSITIVE_INFINITY }: ModelQuery,
  { timestampMs }: StoredSnapshot,
): boolean {
  if (stepMs === undefined) return true
  const endMs = Math.min(Math.ceil(timestampMs / stepMs) * stepMs, toMs - 1)
  const marketMs = rows.at(-1)?.timestampMs ?? 0
  const asked = outcomes.filter((each) => (outcome ?? each) === each)
  return asked.every((each) => {
    const lastMs = rows.findLast((row) => row.outcome === each)?.timestampMs
    if (lastMs === undefined) return true
    return (marketMs - lastMs > silenceMs('5m') ? marketMs : lastMs) > endMs
  })
}

function isDuplicate(row: StoredSnapshot, snapshot: Snapshot): boolean {
  if (row.timestampMs !== snapshot.timestampMs || row.outcome !== snapshot.outcome) return false
  if (row.sourceHash !== undefined && row.sourceHash === snapshot.sourceHash) return true
  return (
    levelsText(row.bids) === levelsText(snapshot.bids) &&
    levelsText(row.asks) === levelsText(snapshot.asks)
  )
}

/** The rows as SPEC.md shows them, written without any code of the store. */
export const rowsText = (rows: readonly StoredSnapshot[]): string => rows.map(rowText).join(',')

function rowText(row: StoredSnapshot): string {
  const head = JSON.stringify({
    id: String(row.id),
    assetId: row.assetId,
    conditionId: row.conditionId,
    symbol: row.coin,
    outcome: row.outcome,
    timeframe: row.timeframe,
    timestamp: new Date(row.timestampMs).toISOString(),
  })
  return `${head.slice(0, -1)},"bids":${levelsText(row.bids)},"asks":${levelsText(row.asks)}}`
}

const levelsText = ({ prices, sizes }: Ladder): string =>
  `[${prices.map((price, at) => `{"price":${decimal(price)},"size":${decimal(sizes[at] ?? 0)}}`).join(',')}]`

/** Millionths as the shortest decimal, from their digits alone. */
function decimal(micros: number): string {
  const digits = String(micros).padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  return digits.slice(0, -6) + (fraction === '' ? '' : `.${fraction}`)
}
