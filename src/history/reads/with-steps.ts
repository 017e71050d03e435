/** Pages with a step where rows are left out: as `selectSteps` has them of all rows. */
import type { Outcome } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import { decidedStepsEndMs, stepOf } from '#src/domain/steps.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { MarketHistory, Page, RowQuery, RowRange, Top } from '../history.ts'
import { readTops } from './fetched.ts'
import { BLOCK, firstOf, toPage } from './with-rows.ts'

/**
 * A history whose `page` has the rows of a query with `stepMs`: of each outcome the last one of every
 * step, as `RowQuery` says. If rows are left out, they are found here, in steps: as many as the
 * query has, and one more, or all with `readsAll`.
 */
export function* withSteps(
  history: MarketHistory,
  { stepMs, ...query }: RowQuery,
  readsAll: boolean,
): Steps<MarketHistory> {
  if (stepMs === undefined || !history.leavesOutRows) return history
  const { market, order, after, outcome, limit } = query
  const isUp = order === 'asc'
  let toMs = decidedStepsEndMs(market, { stepMs, outcome, toMs: query.toMs })
  if (!isUp && after !== undefined) {
    // What the step of the place has after it decides what it has before it.
    const stepEndMs = stepOf(after.timestampMs, stepMs) * stepMs + 1
    toMs = Math.min(toMs ?? stepEndMs, stepEndMs)
  }
  const isAhead = (place: Position): boolean =>
    after === undefined || comparePositions(place, after) * (isUp ? 1 : -1) > 0
  const range = { ...query, toMs, limit: BLOCK }
  const picks = new StepPicks(stepMs, isUp)
  let from = isUp ? after : undefined
  for (;;) {
    const block = yield* readTops(history, { ...range, after: from })
    for (const top of block) picks.add(top)
    if (block.length < BLOCK) picks.end()
    // Those of a step that is not whole are not among them.
    if (block.length < BLOCK || (!readsAll && picks.found.filter(isAhead).length > limit)) break
    from = block.at(-1)
    yield
  }
  return { ...history, ...createPlacedPages(history, picks.found.filter(isAhead)) }
}

/** Takes rows in either direction; keeps of each outcome the latest one of every step. */
class StepPicks {
  readonly found: Position[] = []
  #step = Number.NaN
  #held: Partial<Record<Outcome, Top>> = {}
  readonly #stepMs: number
  readonly #isUp: boolean

  constructor(stepMs: number, isUp: boolean) {
    this.#stepMs = stepMs
    this.#isUp = isUp
  }

  add(top: Top): void {
    const step = stepOf(top.timestampMs, this.#stepMs)
    if (step !== this.#step) this.end()
    this.#step = step
    if (this.#isUp || this.#held[top.outcome] === undefined) this.#held[top.outcome] = top
  }

  end(): void {
    const rows = Object.values(this.#held).sort(comparePositions)
    this.found.push(...(this.#isUp ? rows : rows.reverse()))
    this.#held = {}
  }
}

/** Makes the verbs that read pages of rows at given places, in the order of the query. */
function createPlacedPages(
  history: MarketHistory,
  places: readonly Position[],
): Pick<MarketHistory, 'fetch' | 'page'> {
  function restOf({ after, order }: RowRange): readonly Position[] {
    const sign = order === 'asc' ? 1 : -1
    const start =
      after === undefined
        ? 0
        : places.findIndex((place) => comparePositions(place, after) * sign > 0)
    return start < 0 ? [] : places.slice(start)
  }

  const placeQuery = (
    { market, withReceived }: RowRange,
    { timestampMs, id }: Position,
  ): RowQuery => {
    const after = { timestampMs, id: id - 1 }
    return { market, order: 'asc', after, limit: 1, withReceived }
  }

  function page(query: RowQuery): Page {
    const rest = restOf(query)
    const taken = rest.slice(0, query.limit)
    const rows = taken.map((place) => {
      const found = history.page(placeQuery(query, place))
      return { text: firstOf(found.texts()), receivedMs: found.received[0] }
    })
    return toPage(query, {
      rows,
      last: taken.at(-1),
      hasMore: rest.length > taken.length,
    })
  }

  return {
    page,
    // Other verbs than `page` are not for queries with steps.
    fetch: (ranges) =>
      history.fetch(
        ranges.flatMap((range): RowRange[] =>
          range.stepMs === undefined
            ? [range]
            : restOf(range)
                .slice(0, range.limit)
                .map((place) => placeQuery(range, place)),
        ),
      ),
  }
}
