/** Rows of the tier table. */
import { tier as tiers } from '#db/ledger/schema.ts'
import { coins } from '#src/core/market.ts'
import { type Tier, tierRoutes } from '#src/selling/tier.ts'
import type { Database } from '#src/sqlite/database.ts'

import { createRows } from './rows.ts'

/** Lists and writes the catalogue. */
export function createTierTable(db: Database) {
  const rows = createRows(db, tiers, {
    what: 'tier',
    parse: ({ id, ...row }): Tier => ({
      ...row,
      tierId: id,
      coins: pick(coins, row.coins.split(',')),
      routes: pick(tierRoutes, row.routes.split(',')),
      isForSale: row.isForSale === 1,
    }),
  })
  const list = rows.list('ORDER BY rank')
  const rivalOf = rows.one<{ rank: number; tierId: string }>('WHERE rank = $rank AND id <> $tierId')
  const update = rows.update(
    ...(['rank', 'name', 'coins', 'routes', 'requestsPerMinute', 'amountMillionths'] as const),
    ...(['periodDays', 'isForSale', 'contact'] as const),
  )
  return {
    list: (): Tier[] => list({}),

    /** Throws if another tier has the rank. */
    put(tier: Tier): void {
      const { tierId, rank } = tier
      const rival = rivalOf({ rank, tierId })
      if (rival !== undefined) throw new Error(`Tier ${rival.tierId} has rank ${rank} already.`)
      const row = {
        ...tier,
        id: tierId,
        coins: pick(coins, tier.coins).join(','),
        routes: pick(tierRoutes, tier.routes).join(','),
        isForSale: Number(tier.isForSale),
      }
      if (rows.find(tierId) === undefined) rows.insert(row)
      else update(row)
    },
  }
}

/** Those of `known` that are in `chosen`, in the order of the domain. */
const pick = <T extends string>(known: readonly T[], chosen: readonly string[]): T[] =>
  known.filter((one) => chosen.includes(one))
