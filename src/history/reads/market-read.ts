/**
 * Reads of one market that another process may be rewriting at the same time, or that is damaged.
 */
import { AppError } from '#src/core/errors.ts'
import type { Market } from '#src/core/market.ts'
import { assertSound, Damage } from '#src/sqlite/checksum.ts'
import { codeOf, type Database, readConsistently } from '#src/sqlite/database.ts'

import { ChunkGone } from '../tables/chunk-table.ts'
import type { MarketView, Views } from './views.ts'

/**
 * Runs `body` on a market as it is now, not as it was when it was found. A view was read in one
 * state of the file and chunks never change, so this needs no transaction; only when another
 * process has rewritten a market in between is a chunk gone, and the second time nothing can be. So
 * `body` may run twice.
 */
export type ReadMarket = <T>(
  market: Pick<Market, 'conditionId'>,
  body: (view: MarketView) => T,
) => T

export function createMarketRead(db: Database, views: Views): ReadMarket {
  function getView(conditionId: string): MarketView {
    const view = views.find(conditionId)
    // None is ever removed.
    assertSound(view !== undefined, 'the list of markets')
    return view
  }

  return ({ conditionId }, body) =>
    naming(marketName(conditionId), () => {
      try {
        return body(getView(conditionId))
      } catch (error) {
        if (!(error instanceof ChunkGone)) throw error
        // What is kept may be as late as the caller of `createViews` allows.
        views.invalidate()
        return readConsistently(db, () => body(getView(conditionId)))
      }
    })
}

export const marketName = (conditionId: string): string => `Market ${conditionId}`

/** Runs a read, or a change. Throws `damaged`, with `name`, when it meets damage. */
export function naming<T>(name: string, work: () => T, isMet = isDamage): T {
  try {
    return work()
  } catch (cause) {
    throw isMet(cause) ? damagedError(name, cause) : cause
  }
}

/**
 * Runs a change of a market. Throws `damaged` when what is stored of it is not what was written.
 * What SQLite reports concerns the whole file, and stays as it is: nothing more should be written
 * to it.
 */
export const changing = <T>(conditionId: string, change: () => T): T =>
  naming(marketName(conditionId), change, (cause) => cause instanceof Damage)

const damagedError = (name: string, cause: unknown): AppError =>
  new AppError(
    'damaged',
    `${name} is damaged on the disk of this server, and not served. All other markets are served as before.`,
    { cause },
  )

/** True when an error says that stored bytes are not what was written. */
const isDamage = (error: unknown): boolean =>
  error instanceof Damage || /^SQLITE_(CORRUPT|IOERR|NOTADB)$/.test(codeOf(error))
