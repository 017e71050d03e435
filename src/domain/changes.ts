/**
 * Pages of the states at which something changed. The first state of each outcome in a range counts
 * as a change.
 */
import { type Latest, readLatest, type ReadStates, type State, type StatePart } from './series.ts'
import type { Position } from './snapshot.ts'

type ChangesQuery<S extends State> = {
  read: ReadStates<S>
  isSame: (before: S, state: S) => boolean
  range: StatePart
}

export type ChangesPage<S extends State> = {
  rows: S[]
  /** The last position read, which may be after the last row; undefined if nothing was read. */
  last: Position | undefined
  hasMore: boolean
}

const BLOCK_MAX = 2_048
const BLOCK_MIN = 128

export function readChanges<S extends State>({
  read,
  isSame,
  range,
}: ChangesQuery<S>): ChangesPage<S> {
  const { order, limit, after, fromMs, toMs, outcome } = range
  function latestBefore(place: Position | undefined): Latest<S> {
    if (place === undefined) return { up: undefined, down: undefined }
    return readLatest(read, { fromMs, toMs, outcome, after: place })
  }
  // The states at the position from which the page continues; that position is a change itself.
  const before = order === 'asc' ? latestBefore(after && { ...after, id: after.id + 1 }) : undefined
  const page: ChangesPage<S> = { rows: [], last: after, hasMore: false }
  for (;;) {
    // About every second state is a change; one more row shows whether others follow.
    const size = Math.min(Math.max(2 * (limit + 1 - page.rows.length), BLOCK_MIN), BLOCK_MAX)
    const block = read({ ...range, after: page.last, limit: size })
    const isEnd = block.length < size
    // A block that is read backwards has its earliest state last.
    const changes = before
      ? flagChanges(block, before, isSame)
      : flagChanges(
          block.toReversed(),
          latestBefore(isEnd ? undefined : block.at(-1)),
          isSame,
        ).reverse()
    if (takeChanges(page, { block, changes, limit })) return { ...page, hasMore: true }
    if (isEnd) return page
  }
}

/** Adds changes to a page; returns true when there is one too many. */
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

/** Flags the changes among states in order of time, and moves `before` to the last of them. */
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
