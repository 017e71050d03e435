/** How work in steps waits for what its reads need. */
import type { Market, Outcome } from '#src/domain/market.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { MarketHistory, RowQuery, RowRange, Top } from '../history.ts'

/** Rounds after which a read finds out by itself what it lacks: more was removed than is fetched. */
const ROUNDS_MAX = 4

/** Fetches what reads of these rows need; what follows runs before anything else can happen. */
export function* fetched(
  history: Pick<MarketHistory, 'fetch'>,
  ...ranges: readonly RowRange[]
): Steps<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const coming = history.fetch(ranges)
    if (coming === undefined) return
    yield coming
  }
}

/** What `at` reads, with what its `snapshot` and `receivedMs` read. */
export const prevailingRange = (
  market: Market,
  outcome: Outcome,
  timestampMs: number,
): RowRange => ({
  market,
  outcome,
  order: 'desc',
  toMs: timestampMs + 1,
  limit: 1,
  withReceived: true,
})

/** Reads best prices that may have to be fetched. */
export function* readTops(
  history: Pick<MarketHistory, 'fetch' | 'tops'>,
  query: RowQuery,
): Steps<Top[]> {
  yield* fetched(history, { ...query, withTops: true })
  return history.tops(query)
}
