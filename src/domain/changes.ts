/** Pages of the states at which something changed; the first of an outcome in the range is one. */
import type { Steps } from '#src/platform/scheduler.ts'

import { type Latest, readLatest, type ReadStates, type State, type StatePart } from './series.ts'
import type { Position } from './snapshot.ts'

type ChangesQuery<S extends State> = {
  read: ReadStates<S>
  isSame: (before: S, state: S) => boolean
  range: StatePart
}

export type ChangesPage<S extends State> = {
  rows: S[]
  /** The last place looked at, which may be after the last row; undefined where there was none. */
  last: Position | undefined
  hasMore: boolean
}

const BLOCK_MAX = 2_048
const BLOCK_MIN = 128

export function* readChanges<S extends State>({
  read,
  isSame,
  range,
}: ChangesQuery<S>): Steps<ChangesPage<S>> {
  const { order, limit, after, fromMs, toMs, outcome } = range
  function* latestBefore(place: Position | undefined): Steps<Latest<S>> {
    if (place === undefined) return { up: undefined, down: undefined }
    return yield* readLatest(read, { fromMs, toMs, outcome, after: place })
  }
  // The states at the place from which the page continues, which is one of them.
  const before =
    order === 'asc' ? yield* latestBefore(after && { ...after, id: after.id + 1 }) : undefined
  const page: ChangesPage<S> = { rows: [], last: after, hasMore: false }
  for (;;) {
    // Every other state is a change, or so; the last row shows whether more follow.
    const size = Math.min(Math.max(2 * (limit + 1 - page.rows.length), BLOCK_MIN), BLOCK_MAX)
    const block = yield* read({ ...range, after: page.last, limit: size })
    const isEnd = block.length < size
    // Of a block that was read backwards the last state is the earliest.
    const changes = before
      ? flagChanges(block, before, isSame)
      : flagChanges(
          block.toReversed(),
          yield* latestBefore(isEnd ? undefined : block.at(-1)),
          isSame,
        ).reverse()
    if (takeChanges(page, { block, changes, limit })) return { ...page, hasMore: true }
    if (isEnd) return page
    yield
  }
}

/** Adds changes to a page; true when there is one too many. Loops of generators are slow. */
function takeChanges<S extends State>(
  page: ChangesPage<S>,
  { block, changes, limit }: { block: readonly S[]; changes: Uint8Array; limit: number },
): boolean {
  for (const [index, state] of block.entries()) {
    if (changes[index] === 1) {
      if (page.rows.length === limit) return true
      page.rows.push(state)
    }
    page.last = state
  }
  return false
}

/** Flags the changes among states in order of time; `before` moves on to the last of them. */
function flagChanges<S extends State>(
  block: readonly S[],
  before: Latest<S>,
  isSame: ChangesQuery<S>['isSame'],
): Uint8Array {
  const changes = new Uint8Array(block.length)
  for (const [index, state] of block.entries()) {
    const last = before[state.outcome]
    if (last === undefined || !isSame(last, state)) changes[index] = 1
    before[state.outcome] = state
  }
  return changes
}
