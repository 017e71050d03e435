/** Rows of the tier table. */
import { coins } from '#src/core/market.ts'
import { type Tier, tierRoutes } from '#src/selling/tier.ts'
import type { Database } from '#src/sqlite/database.ts'

type TierRow = {
  id: string
  rank: number
  name: string
  coins: string
  routes: string
  requests_per_minute: number
  amount_micros: number | null
  period_days: number | null
  is_for_sale: number
  contact: string | null
}

/** Lists and writes the catalogue. */
export function createTierTable(db: Database) {
  const list = db.prepare<TierRow, []>('SELECT * FROM tier ORDER BY rank')
  const withRank = db.prepare<{ id: string }, [number, string]>(
    'SELECT id FROM tier WHERE rank = ? AND id <> ?',
  )
  const upsert = db.prepare(
    `INSERT INTO tier (id, rank, name, coins, routes, requests_per_minute, amount_micros, period_days,
       is_for_sale, contact)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET
       rank = excluded.rank, name = excluded.name, coins = excluded.coins, routes = excluded.routes,
       requests_per_minute = excluded.requests_per_minute, amount_micros = excluded.amount_micros,
       period_days = excluded.period_days, is_for_sale = excluded.is_for_sale,
       contact = excluded.contact`,
  )
  return {
    list: (): Tier[] => list.all().map(toTier),

    /** Throws if another tier has the rank. */
    put(tier: Tier): void {
      const other = withRank.get(tier.rank, tier.tierId)
      if (other !== null) throw new Error(`Tier ${other.id} has rank ${tier.rank} already.`)
      upsert.run(
        ...[tier.tierId, tier.rank, tier.name],
        ...[pick(coins, tier.coins).join(','), pick(tierRoutes, tier.routes).join(',')],
        ...[tier.requestsPerMinute, tier.amountMicros ?? null, tier.periodDays ?? null],
        ...[Number(tier.isForSale), tier.contact ?? null],
      )
    },
  }
}

export type TierTable = ReturnType<typeof createTierTable>

/** Those of `known` that are in `chosen`, in the order of the domain. */
const pick = <T extends string>(known: readonly T[], chosen: readonly string[]): T[] =>
  known.filter((one) => chosen.includes(one))

const toTier = (row: TierRow): Tier => ({
  tierId: row.id,
  name: row.name,
  rank: row.rank,
  coins: pick(coins, row.coins.split(',')),
  routes: pick(tierRoutes, row.routes.split(',')),
  requestsPerMinute: row.requests_per_minute,
  amountMicros: row.amount_micros ?? undefined,
  periodDays: row.period_days ?? undefined,
  isForSale: row.is_for_sale === 1,
  contact: row.contact ?? undefined,
})
