/** What the files of all formats are made of: rows of markets, in a shape. */

import type { Outcome } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'
import { assert } from '#src/platform/assert.ts'

/** `levels`: a row a level. `states`: a row a snapshot, with its best `depth` levels a side. */
export type Shape = {
  kind: 'levels' | 'states'
  depth: number
  /** When its state was received. */
  withReceived?: boolean
  /** Whether its market is recorded or simulated, last in each row: where any is simulated. */
  withSource?: boolean
}

export type Rows = {
  /** Each is read when its turn comes: what is kept while an export runs is small. */
  conditionIds: readonly string[]
  outcome: Outcome | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
  /** In the first market: what comes after it is exported. */
  after: Position | undefined
}

export function* queriesOf(
  history: Pick<MarketHistory, 'findMarket'>,
  { conditionIds, outcome, fromMs, toMs, after }: Rows,
): Generator<StreamQuery> {
  for (const [index, conditionId] of conditionIds.entries()) {
    const market = history.findMarket(conditionId)
    // It was found when the export began, and none is ever removed.
    assert(market !== undefined, 'a market is found again')
    yield { market, outcome, fromMs, toMs, after: index === 0 ? after : undefined }
  }
}
