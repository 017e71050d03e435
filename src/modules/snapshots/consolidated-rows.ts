/**
 * Rows of consolidated ladders: of each stored state with what prevails of the other outcome at its
 * time, inclusive, so that the ladder is what `at` says of that time.
 */
import { consolidate } from '#src/core/consolidated.ts'
import { type Market, otherOutcome, type Outcome } from '#src/core/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/core/snapshot.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import type { ConsolidatedRow } from '#src/wire/consolidated-text.ts'
import { createSnapshotScanner } from '#src/wire/snapshot-json.ts'

/** States read at once: a few milliseconds of work. */
const SLICE_ROWS = 50

/**
 * Yields all rows from the query's place on, whatever its `limit`, in slices in its order; each
 * slice is read from the store when it is asked for, and may be empty. With an `outcome` the ladder
 * is that one's, at the states of both; one whose token is not known has none.
 */
export function createConsolidatedRows(history: MarketHistory) {
  const scanner = createSnapshotScanner()

  function readSlice(query: RowQuery): { states: StoredSnapshot[]; hasMore: boolean } {
    const limit = Math.min(SLICE_ROWS, query.limit + 1)
    const page = history.page({ ...query, outcome: undefined, limit })
    const states: StoredSnapshot[] = []
    for (const text of page.texts()) {
      const { id, ...snapshot } = scanner.scan(text, 0, text.length)
      states.push({ ...snapshot, id: Number(id) })
    }
    return { states, hasMore: page.hasMore }
  }

  return function* (query: RowQuery): Generator<ConsolidatedRow[], void> {
    let { after } = query
    for (;;) {
      const { states, hasMore } = readSlice({ ...query, after })
      const wanted = states.filter((state) => !isSuperseded(history, query, state))
      yield toRows(history, query, wanted)
      after = states.at(-1)
      if (!hasMore) return
    }
  }
}

/** With an outcome and a step: whether a state of the other book comes later in the step. */
function isSuperseded(
  history: MarketHistory,
  { market, outcome, stepMs, toMs = Number.POSITIVE_INFINITY }: RowQuery,
  state: StoredSnapshot,
): boolean {
  if (outcome === undefined || stepMs === undefined) return false
  const stepEndMs = stepOf(state.timestampMs, stepMs) * stepMs
  const timestampMs = Math.min(stepEndMs, toMs - 1)
  const rival = history.at({ market, outcome: otherOutcome(state.outcome), timestampMs })
  return rival !== undefined && comparePositions(rival, state) > 0
}

function toRows(
  history: MarketHistory,
  { market, outcome, order, stepMs }: RowQuery,
  states: readonly StoredSnapshot[],
): ConsolidatedRow[] {
  const ascending = order === 'asc' ? states : states.toReversed()
  const findOther = createOtherFinder(history, { market, states: ascending, stepMs })
  const rows = ascending.flatMap((state) => {
    const other = findOther(state)
    const shown = outcome ?? state.outcome
    const [own, mirror] = shown === state.outcome ? [state, other] : [other, state]
    const book = consolidate(own, mirror)
    const assetId = market.assetIds[shown] ?? own?.assetId
    if (book === undefined) return []
    const position: Position = { timestampMs: state.timestampMs, id: state.id }
    return [{ market, outcome: shown, assetId, position, book }]
  })
  return order === 'asc' ? rows : rows.reverse()
}

type Slice = { market: Market; states: readonly StoredSnapshot[]; stepMs: number | undefined }

/** Looks in the slice itself where that is certain, else in the store; states must ascend. */
function createOtherFinder(history: MarketHistory, { market, states, stepMs }: Slice) {
  const seen = new Map<Outcome, StoredSnapshot | undefined>()
  const lastMs = states.at(-1)?.timestampMs ?? 0
  let ahead = 0

  function isInForce(found: StoredSnapshot | undefined, timestampMs: number): boolean {
    // Of the last moment there may be more after the slice.
    if (stepMs === undefined) return timestampMs < lastMs
    // Between the slice's states there are others, but not after the last of a step.
    return found !== undefined && stepOf(found.timestampMs, stepMs) === stepOf(timestampMs, stepMs)
  }

  return ({ outcome, timestampMs }: StoredSnapshot): StoredSnapshot | undefined => {
    for (let next = states[ahead]; next !== undefined; next = states[++ahead]) {
      if (next.timestampMs > timestampMs) break
      seen.set(next.outcome, next)
    }
    const other = otherOutcome(outcome)
    if (seen.has(other) && isInForce(seen.get(other), timestampMs)) return seen.get(other)
    const found = history.at({ market, outcome: other, timestampMs })?.snapshot()
    seen.set(other, found)
    return found
  }
}

/** Steps end with their last millisecond. */
const stepOf = (timestampMs: number, stepMs: number): number => Math.ceil(timestampMs / stepMs)
