/** Rows of markets in the shape of the requested file. */

import type { Outcome } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'
import { assert } from '#src/platform/assert.ts'
import type { TardisKind } from '#src/tables/tardis.ts'

/**
 * `levels`: one row per level. `states`: one row per snapshot, with its best `depth` levels of each side.
 * `changes`: one row per level that changed.
 */
export type Shape = {
  kind: 'levels' | 'states' | 'changes'
  /** Which of the files of Tardis. */
  tardisKind?: TardisKind | undefined
  depth: number
  /** Adds the time at which the snapshot was received. */
  withReceived?: boolean
  /** Adds the source as the last column; set if any market of the file is simulated. */
  withSource?: boolean
}

export type Rows = {
  /** Each market is read in its turn, so that an export holds little memory. */
  conditionIds: readonly string[]
  outcome: Outcome | undefined
  fromMs?: number | undefined
  toMs?: number | undefined
  /** Position in the first market after which rows are exported. */
  after: Position | undefined
}

export function* queriesOf(
  history: Pick<MarketHistory, 'findMarket'>,
  { conditionIds, outcome, fromMs, toMs, after }: Rows,
): Generator<StreamQuery> {
  for (const [index, conditionId] of conditionIds.entries()) {
    const market = history.findMarket(conditionId)
    // The plan found the market, and markets are never deleted.
    assert(market !== undefined, 'a market is found again')
    yield { market, outcome, fromMs, toMs, after: index === 0 ? after : undefined }
  }
}
