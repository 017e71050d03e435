import { describe, expect, spyOn, test } from 'bun:test'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { MarketQuery } from '#src/history/history.ts'
import { createMarketList } from '#src/history/tables/market-list.ts'

/** How SQLite would find the rows of a query. */
function planOf(
  query: Omit<MarketQuery, 'coin' | 'limit'>,
  verb: 'list' | 'skip' = 'list',
): string {
  const db = openDatabase(':memory:')
  try {
    const prepare = spyOn(db, 'query')
    const { listMarkets, skipMarkets } = createMarketList(db)
    const asked = { coin: 'btc', nowMs: 5, ...query } as const
    if (verb === 'list') listMarkets({ ...asked, limit: 10 })
    else skipMarkets(asked, 10)
    const sql = String(prepare.mock.calls[0]?.[0])
    const steps = db.prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all()
    return steps.map(({ detail }) => detail).join('; ')
  } finally {
    db.close()
  }
}

describe('createMarketList', () => {
  const after = { orderMs: 7, conditionId: '0x1' }
  const cases: [string, Omit<MarketQuery, 'coin' | 'limit'>, string][] = [
    ['all', {}, 'market_order'],
    ['all, between two times', { fromMs: 3, toMs: 9 }, 'market_order'],
    ['a timeframe', { timeframe: '1d' }, 'market_timeframe_order'],
    ['those open', { status: 'open' }, 'market_live_order'],
    ['those to come', { status: 'upcoming' }, 'market_live_order'],
    ['those open of a timeframe', { status: 'open', timeframe: '1d' }, 'market_live_order'],
    ['those closed without a winner', { status: 'closed' }, 'market_unresolved_order'],
    ['those resolved', { status: 'resolved' }, 'market_order'],
    ['winners', { winner: 'up' }, 'market_order'],
  ]
  for (const order of ['asc', 'desc'] as const) {
    for (const [name, query, index] of cases) {
      test(`default: ${name}, ${order}: entered at the cursor, read in order, never sorted`, () => {
        for (const place of [undefined, after]) {
          const plan = planOf({ ...query, order, after: place })
          expect(plan).toMatch(
            new RegExp(`SEARCH market USING INDEX ${index} \\(coin=\\?.*order_ms`),
          )
          expect(plan).not.toContain('B-TREE')
        }
      })
      test(`default: ${name}, ${order}: what a page looks at is found in the index, and bounds it`, () => {
        const skip = planOf({ ...query, order, after }, 'skip')
        expect(skip).toMatch(new RegExp(`SEARCH market USING (COVERING )?INDEX ${index} `))
        expect(skip).not.toContain('B-TREE')
        const plan = planOf({ ...query, order, after, upTo: { orderMs: 3, conditionId: '0x1' } })
        expect(plan).toMatch(/\(order_ms,condition_id\)>.*\(order_ms,condition_id\)</)
      })
    }
  }
})
