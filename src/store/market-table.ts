/** Rows of the market table. */
import { AppError } from '#src/core/errors.ts'
import type { Coin, Market, MarketFacts, Outcome, Source, Timeframe } from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'

import type { Database } from './database.ts'
import type { MarketQuery } from './history.ts'

type MarketRow = {
  id: number
  condition_id: string
  coin: Coin
  timeframe: Timeframe
  source: Source
  slug: string | null
  question: string | null
  window_start_ms: number | null
  window_end_ms: number | null
  winner: Outcome | null
  up_asset_id: string | null
  down_asset_id: string | null
  revision: number
  layout: number
  up_count: number
  down_count: number
  first_ms: number | null
  last_ms: number | null
  is_closed: number
  order_ms: number
}

const factColumns = [
  'condition_id',
  'coin',
  'timeframe',
  'source',
  'slug',
  'question',
  'window_start_ms',
  'window_end_ms',
  'winner',
] as const

const LIST_START = { orderMs: Number.MAX_SAFE_INTEGER, conditionId: '' }

/** Finds, lists and writes markets. */
export function createMarketTable(db: Database) {
  const byCondition = db.prepare<MarketRow, [string]>('SELECT * FROM market WHERE condition_id = ?')
  const byId = db.prepare<MarketRow, [number]>('SELECT * FROM market WHERE id = ?')
  const ids = db.prepare<{ id: number }, []>('SELECT id FROM market ORDER BY id')
  const list = db.prepare<MarketRow, [string, number, string, number]>(
    `SELECT * FROM market WHERE coin = ? AND (order_ms, condition_id) < (?, ?)
     ORDER BY order_ms DESC, condition_id DESC LIMIT ?`,
  )
  const upsert = db.prepare(
    `INSERT INTO market (${factColumns.join(', ')}, order_ms)
     VALUES (${factColumns.map(() => '?').join(', ')}, ifnull(?7, 0))
     ON CONFLICT (condition_id) DO UPDATE SET
       slug = ifnull(excluded.slug, slug), question = ifnull(excluded.question, question),
       window_start_ms = ifnull(excluded.window_start_ms, window_start_ms),
       window_end_ms = ifnull(excluded.window_end_ms, window_end_ms),
       winner = ifnull(excluded.winner, winner), revision = revision + 1,
       order_ms = coalesce(excluded.window_start_ms, window_start_ms, first_ms, 0)`,
  )
  const update = db.prepare(
    `UPDATE market SET up_asset_id = ?1, down_asset_id = ?2, revision = revision + 1, up_count = ?3,
       down_count = ?4, first_ms = ?5, last_ms = ?6, is_closed = ?7,
       order_ms = coalesce(window_start_ms, ?5, 0) WHERE id = ?8`,
  )
  const find = (conditionId: string): Market | undefined => toMarket(byCondition.get(conditionId))

  return {
    find,
    findById: (id: number): Market | undefined => toMarket(byId.get(id)),
    ids: (): number[] => ids.all().map(({ id }) => id),

    list({ coin, limit, after }: MarketQuery): Market[] {
      const { orderMs, conditionId } = after ?? LIST_START
      return list.all(coin, orderMs, conditionId, limit).flatMap((row) => toMarket(row) ?? [])
    },

    /** Throws `market_conflict` when the market is known as another coin, timeframe or source. */
    put(facts: MarketFacts): Market {
      const known = find(facts.conditionId)
      assertSame(known, facts)
      if (known !== undefined && addsNothing(known, facts)) return known
      upsert.run(
        ...[facts.conditionId, facts.coin, facts.timeframe, facts.source],
        ...[facts.slug ?? null, facts.question ?? null],
        ...[facts.windowStartMs ?? null, facts.windowEndMs ?? null, facts.winner ?? null],
      )
      const market = find(facts.conditionId)
      if (market === undefined) throw new Error('A market is there once it is put.')
      return market
    },

    /** Writes what is held of a market and raises its revision. */
    update(market: Market): void {
      const { assetIds, snapshotCounts } = market
      update.run(
        ...[assetIds.up ?? null, assetIds.down ?? null, snapshotCounts.up, snapshotCounts.down],
        ...[market.firstSnapshotMs ?? null, market.lastSnapshotMs ?? null],
        ...[Number(market.isClosed), market.id],
      )
    },
  }
}

export type MarketTable = ReturnType<typeof createMarketTable>

const laterFacts = ['slug', 'question', 'windowStartMs', 'windowEndMs', 'winner'] as const

const addsNothing = (known: Market, facts: MarketFacts): boolean =>
  laterFacts.every((fact) => facts[fact] === undefined || facts[fact] === known[fact])

type Identity = Pick<MarketFacts, 'conditionId' | 'coin' | 'timeframe' | 'source'>

/** Throws `market_conflict` unless `known` is undefined or agrees in what can never change. */
export function assertSame(known: Market | undefined, identity: Identity): void {
  if (known === undefined) return
  for (const fact of ['coin', 'timeframe', 'source'] as const) {
    if (known[fact] !== identity[fact]) {
      throw new AppError(
        'market_conflict',
        `Market ${identity.conditionId} is known with ${fact} ${known[fact]}, not ${identity[fact]}.`,
      )
    }
  }
}

/** Throws `market_conflict` unless the snapshot's asset is the one known for its outcome, or none is. */
export function assertAsset(
  assetIds: Market['assetIds'],
  { outcome, assetId, conditionId }: Snapshot,
): void {
  const known = assetIds[outcome]
  const other = assetIds[outcome === 'up' ? 'down' : 'up']
  if ((known !== undefined && known !== assetId) || other === assetId) {
    throw new AppError(
      'market_conflict',
      `Asset ${assetId} is not the ${outcome} outcome of market ${conditionId}.`,
    )
  }
}

function toMarket(row: MarketRow | null): Market | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    conditionId: row.condition_id,
    coin: row.coin,
    timeframe: row.timeframe,
    source: row.source,
    slug: row.slug ?? undefined,
    question: row.question ?? undefined,
    windowStartMs: row.window_start_ms ?? undefined,
    windowEndMs: row.window_end_ms ?? undefined,
    winner: row.winner ?? undefined,
    assetIds: { up: row.up_asset_id ?? undefined, down: row.down_asset_id ?? undefined },
    revision: row.revision,
    layout: row.layout,
    snapshotCounts: { up: row.up_count, down: row.down_count },
    firstSnapshotMs: row.first_ms ?? undefined,
    lastSnapshotMs: row.last_ms ?? undefined,
    isClosed: row.is_closed === 1,
    orderMs: row.order_ms,
  }
}
