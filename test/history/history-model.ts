/** What a history must answer, from a plain array: the reference that engines are compared with. */
import { silenceMs } from '#src/domain/coverage.ts'
import { outcomes } from '#src/domain/market.ts'
import type { Ladder, Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { Batch, RowQuery } from '#src/history/history.ts'

/** A query of rows without the market that the store gave out. */
export type ModelQuery = Omit<RowQuery, 'market'>

const compare = (a: Position, b: Position): number => a.timestampMs - b.timestampMs || a.id - b.id

/**
 * Keeps every snapshot that was ever appended, and settles each millisecond
 * from all of them; ids rise by one.
 */
export class HistoryModel {
  readonly #rows = new Map<string, StoredSnapshot[]>()
  readonly #keys = new Map<number, string>()
  readonly #seen = new Map<string, Snapshot[]>()
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
    const moments = Map.groupBy(
      snapshots.map((snapshot, place) => ({ snapshot, place })),
      ({ snapshot }) => `${snapshot.conditionId} ${snapshot.timestampMs}`,
    )
    const fresh: { row: { id: number }; key: string; place: number }[] = []
    let accepted = 0
    for (const [moment, arrivals] of moments) {
      const [{ conditionId, timestampMs }] = arrivals.map(({ snapshot }) => snapshot) as [Snapshot]
      const seen = [...(this.#seen.get(moment) ?? []), ...arrivals.map(({ snapshot }) => snapshot)]
      this.#seen.set(moment, seen)
      const all = this.#rows.get(conditionId) ?? []
      const held = all.filter((row) => row.timestampMs === timestampMs)
      const lastIds = { up: 0, down: 0 }
      let lastPlace = -1
      const rows = settle(seen).map((state) => {
        const key = keyOf(state)
        const id = held.find((row) => this.#keys.get(row.id) === key)?.id ?? 0
        const { sequence: at = 0, occurrence: _, ...rest } = state
        const row = { ...rest, sequence: at === 0 ? undefined : at, id }
        accepted += Number(id === 0)
        const lastId = lastIds[row.outcome]
        lastIds[row.outcome] = id > lastId ? id : Number.POSITIVE_INFINITY
        if (id > lastId) return row
        // Rows of Down come after a row of Up that is new.
        lastIds.down = Number.POSITIVE_INFINITY
        const places = arrivals.filter(({ snapshot }) => id === 0 && keyOf(snapshot) === key)
        lastPlace = Math.max(lastPlace, ...places.slice(0, 1).map(({ place }) => place))
        fresh.push({ row, key, place: lastPlace })
        return row
      })
      const others = all.filter((row) => row.timestampMs !== timestampMs)
      this.#rows.set(conditionId, [...others, ...rows])
    }
    for (const { row, key } of fresh.sort((x, y) => x.place - y.place)) {
      row.id = this.#nextId++
      this.#keys.set(row.id, key)
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

/**
 * Whether each outcome asked for, or the market where that has a gap, has
 * a row after the step of a row.
 */
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

const keyOf = ({ outcome, sourceHash, occurrence = 0, ...row }: Snapshot): string =>
  [outcome, sourceHash, occurrence, levelsText(row.bids), levelsText(row.asks)].join(' ')

const rankOf = ({ isVerified }: Snapshot): number => [undefined, false, true].indexOf(isVerified)

/** A verified book has the first of its hashes, so it is one state. */
function withOneHash(row: Snapshot, seen: readonly Snapshot[]): Snapshot {
  if (!isProved(row)) return row
  const hashes = seen
    .filter((other) => isProved(other) && isSameBook(other, row))
    .map(({ sourceHash }) => sourceHash ?? '')
  return { ...row, sourceHash: hashes.toSorted()[0] }
}

const isProved = ({ isVerified, sourceHash }: Snapshot): boolean =>
  isVerified === true && sourceHash !== undefined

const isSameBook = (a: Snapshot, b: Snapshot): boolean =>
  a.outcome === b.outcome && a.occurrence === b.occurrence && compareBooks(a, b) === 0

/** The states of one millisecond of a market, in order, from all that was said of it. */
function settle(all: readonly Snapshot[]): Snapshot[] {
  const seen = all.map((row) => withOneHash(row, all))
  const united = [...Map.groupBy(seen, keyOf).values()].map((same) => ({
    ...(same.toSorted((x, y) => rankOf(y) - rankOf(x))[0] as Snapshot),
    sequence: Math.max(...same.map(({ sequence = 0 }) => sequence)),
  }))
  const named = united.filter((state) => {
    const rivals = united.filter(
      (other) => other.sourceHash !== undefined && isNamedAs(other, state),
    )
    const best = rivals.find(({ isVerified }) => isVerified === true)
    return best === undefined || state.isVerified === true || compareBooks(best, state) === 0
  })
  const isCovered = (state: Snapshot): boolean =>
    !isProved(state) &&
    named.some(
      (other) =>
        other.isVerified === true &&
        other.sourceHash !== undefined &&
        keyOf({ ...other, sourceHash: undefined }) === keyOf({ ...state, sourceHash: undefined }),
    )
  return named
    .filter((state) => !isCovered(state))
    .sort(
      (x, y) =>
        outcomes.indexOf(x.outcome) - outcomes.indexOf(y.outcome) ||
        (x.sequence ?? 0) - (y.sequence ?? 0) ||
        compareBooks(x, y) ||
        (x.sourceHash ?? '').localeCompare(y.sourceHash ?? ''),
    )
}

const isNamedAs = (a: Snapshot, b: Snapshot): boolean =>
  a.sourceHash === b.sourceHash && a.outcome === b.outcome

/** Column by column, number by number; where one ends first, that one. */
function compareBooks(a: Snapshot, b: Snapshot): number {
  const columns = (row: Snapshot) => [
    row.bids.prices,
    row.bids.sizes,
    row.asks.prices,
    row.asks.sizes,
  ]
  const others = columns(b)
  for (const [at, column] of columns(a).entries()) {
    const other = others[at] ?? []
    const where = column.findIndex((value, index) => value !== other[index])
    if (where < 0 && column.length === other.length) continue
    return where < 0 || where >= other.length
      ? column.length - other.length
      : (column[where] ?? 0) - (other[where] ?? 0)
  }
  return 0
}

/** The rows as they are served, written without any code of the store. */
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
function decimal(millionths: number): string {
  const digits = String(millionths).padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  return digits.slice(0, -6) + (fraction === '' ? '' : `.${fraction}`)
}
