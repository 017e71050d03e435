/** Reads of rows that may be in the archive. */
import type { Position } from '#src/domain/snapshot.ts'

import {
  type MarketHistory,
  PIECE_ROWS,
  type RowQuery,
  type StreamQuery,
  type Top,
} from '../history.ts'

type History = Pick<MarketHistory, 'ready' | 'tops'>

/** If a read still lacks rows after so many rounds, the cache evicts faster than rows are fetched. */
const ROUNDS_MAX = 500

/** Thrown by a read of what is still in the archive. */
export class NotReady extends Error {
  override name = 'NotReady'
  /** Resolves when the rows have been fetched. */
  readonly coming: Promise<void>

  constructor(coming: Promise<void>) {
    super('The rows are still in the archive.')
    this.coming = coming
  }
}

/** `history.tops`. Throws `NotReady`. */
export function readTops(history: History, query: RowQuery): Top[] {
  const coming = history.ready([{ ...query, withTops: true }])
  if (coming !== undefined) throw new NotReady(coming)
  return history.tops(query)
}

/** Runs a read; each time it lacks rows, fetches them and starts the read again. */
export async function untilReady<T>(read: () => T): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof NotReady) || round === ROUNDS_MAX) throw error
      await error.coming
    }
  }
}

/** Yields runs of the rows of a query; before each, fetches the rows that it may contain. */
export async function* readyRuns<Run extends { rows: readonly Position[] }>(
  history: Pick<MarketHistory, 'ready'>,
  query: StreamQuery & Pick<RowQuery, 'withReceived'>,
  runs: Generator<Run, void>,
): AsyncGenerator<Run, void, undefined> {
  for (let { after } = query; ;) {
    await history.ready([{ ...query, after, order: 'asc', limit: PIECE_ROWS }])
    const { done, value: run } = runs.next()
    if (done) return
    after = run.rows.at(-1)
    yield run
  }
}
