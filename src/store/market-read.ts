/** Reads of one market that another process may be cutting anew at the same time. */
import type { Market } from '#src/core/market.ts'

import { ChunkGone } from './chunk-table.ts'
import { type Database, readConsistently } from './database.ts'
import type { MarketView, Views } from './views.ts'

/**
 * Runs `body` on a market as it is now, not as it was when it was found. A view was read in one state of the
 * file and chunks never change, so this needs no transaction; only when another process has cut a market
 * anew in between is a chunk gone, and the second time nothing can be. So `body` may run twice.
 */
export type ReadMarket = <T>(
  market: Pick<Market, 'conditionId'>,
  body: (view: MarketView) => T,
) => T

export function createMarketRead(db: Database, views: Views): ReadMarket {
  function getView(conditionId: string): MarketView {
    const view = views.find(conditionId)
    if (view === undefined) throw new Error(`Market ${conditionId} is gone.`)
    return view
  }

  return ({ conditionId }, body) => {
    try {
      return body(getView(conditionId))
    } catch (error) {
      if (!(error instanceof ChunkGone)) throw error
      // What is kept may be as late as the caller of `createViews` allows.
      views.invalidate()
      return readConsistently(db, () => body(getView(conditionId)))
    }
  }
}
