/** Rows of the market table. */
import { AppError } from '#src/core/errors.ts'
import {
  type Market,
  type MarketFacts,
  otherOutcome,
  outcomes,
  windowFault,
  type WinnerSource,
  winnerSources,
} from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import { checksumOf } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import { createMarketList } from '../reads/market-list.ts'
import {
  factColumns,
  factValues,
  type MarketRow,
  type StoredMarket,
  toMarket,
} from './market-row.ts'

/** Finds, lists and writes markets. */
export function createMarketTable(db: Database) {
  const byCondition = db.prepare<MarketRow, [string]>('SELECT * FROM market WHERE condition_id = ?')
  const bySlug = db.prepare<MarketRow, [string]>(
    'SELECT * FROM market WHERE slug = ? ORDER BY order_ms DESC, condition_id DESC LIMIT 1',
  )
  const byId = db.prepare<MarketRow, [number]>('SELECT * FROM market WHERE id = ?')
  // Left to itself SQLite looks at every market.
  const unsealed = db.prepare<{ id: number }, []>(
    'SELECT id FROM market INDEXED BY market_unsealed WHERE checksum IS NULL ORDER BY id',
  )
  const nextId = db.prepare<{ id: number }, [number]>(
    'SELECT id FROM market WHERE id > ? ORDER BY id LIMIT 1',
  )
  const ids = db.prepare<{ id: number }, []>('SELECT id FROM market ORDER BY id')
  const unclosed = db.prepare<{ name: string }, []>(
    'SELECT condition_id AS name FROM market WHERE is_closed = 0',
  )
  const upsert = db.prepare<unknown, (string | number | null)[]>(
    `INSERT INTO market (${factColumns.join(', ')}, order_ms)
     VALUES (${factColumns.map(() => '?').join(', ')}, ifnull(?7, 0))
     ON CONFLICT (condition_id) DO UPDATE SET revision = revision + 1,
       ${factColumns.map((column) => `${column} = excluded.${column}`).join(', ')},
       order_ms = coalesce(excluded.window_start_ms, first_ms, 0) RETURNING id`,
  )
  const holdings = createHoldings(db)
  const tradeSpan = db.prepare<{ firstMs: number | null; lastMs: number | null }, [number]>(
    'SELECT min(time_ms) AS firstMs, max(time_ms) AS lastMs FROM trade WHERE market_id = ?',
  )
  const find = (conditionId: string): StoredMarket | undefined =>
    toMarketIfAny(byCondition.get(conditionId))

  /** Throws `market_conflict` for a window, told for the first time, that is far from what is held. */
  function assertHoldings(known: StoredMarket, facts: MarketFacts): void {
    const { windowStartMs, windowEndMs } = known
    if (windowStartMs === facts.windowStartMs && windowEndMs === facts.windowEndMs) return
    const { firstMs, lastMs } = tradeSpan.get(known.id) ?? {}
    for (const timeMs of [known.firstSnapshotMs, known.lastSnapshotMs, firstMs, lastMs]) {
      assertInLife(facts, timeMs ?? undefined)
    }
  }

  return {
    find,
    findBySlug: (slug: string): StoredMarket | undefined => toMarketIfAny(bySlug.get(slug)),
    findById: (id: number): StoredMarket | undefined => toMarketIfAny(byId.get(id)),
    /** The least id above another. */
    nextId: (after: number): number | undefined => nextId.get(after)?.id,
    ids: (): number[] => ids.all().map(({ id }) => id),
    listUnclosed: (): string[] => unclosed.all().map(({ name }) => name),
    unsealedIds: (): number[] => unsealed.all().map(({ id }) => id),
    list: createMarketList(db),

    /**
     * Throws `market_conflict` when the market is known as another coin, timeframe or source, under
     * another slug, with another window, other assets, or another winner by a source that is not outranked, and
     * for a window that is far from books or trades that are held.
     */
    put(told: MarketFacts): StoredMarket {
      const known = find(told.conditionId)
      assertSame(known, told)
      assertAgrees(known, told)
      const facts = mergeFacts(known, told)
      if (known !== undefined) {
        if (isSameFacts(known, facts)) return known
        assertHoldings(known, facts)
      }
      const [id] = upsert.values(...factValues(facts))[0] as [number]
      holdings.seal(id)
      const market = find(told.conditionId)
      if (market === undefined) throw new Error('A market is there once it is put.')
      return market
    },

    ...holdings,
  }
}

export type MarketTable = ReturnType<typeof createMarketTable>

/** Writes what is held of markets. */
function createHoldings(db: Database) {
  const update = db.prepare(
    `UPDATE market SET revision = revision + 1, up_asset_id = ?, down_asset_id = ?, up_count = ?,
       down_count = ?, first_ms = ?, last_ms = ?, up_first_ms = ?, up_last_ms = ?, down_first_ms = ?,
       down_last_ms = ?, up_silence_ms = ?, down_silence_ms = ?, up_verified_count = ?,
       down_verified_count = ? WHERE id = ?`,
  )
  const reorder = db.prepare('UPDATE market SET order_ms = ? WHERE id = ?')
  const close = db.prepare('UPDATE market SET is_closed = 1, revision = revision + 1 WHERE id = ?')
  const touch = db.prepare('UPDATE market SET revision = revision + 1 WHERE id = ?')
  const byId = db.prepare<MarketRow, [number]>('SELECT * FROM market WHERE id = ?')
  const putChecksum = db.prepare('UPDATE market SET checksum = ? WHERE id = ?')

  /** To be called after the last change of a market in a transaction. */
  function seal(id: number): void {
    const row = byId.get(id)
    if (row !== null) putChecksum.run(checksumOf(row), id)
  }

  return {
    seal,

    /** Writes what is held of a market and raises its revision. */
    update(market: Market): void {
      const { assetIds, snapshotCounts, spans, longestSilenceMs, verifiedCounts } = market
      update.run(
        ...[assetIds.up ?? null, assetIds.down ?? null, snapshotCounts.up, snapshotCounts.down],
        ...[market.firstSnapshotMs ?? null, market.lastSnapshotMs ?? null],
        ...[spans.up?.firstMs ?? null, spans.up?.lastMs ?? null],
        ...[spans.down?.firstMs ?? null, spans.down?.lastMs ?? null],
        ...[longestSilenceMs.up ?? null, longestSilenceMs.down ?? null],
        ...[verifiedCounts.up, verifiedCounts.down, market.id],
      )
      // Apart, because a column that is written moves its entries in every index, changed or not.
      const orderMs = orderOf(market)
      if (orderMs !== market.orderMs) reorder.run(orderMs, market.id)
      seal(market.id)
    },

    /** Marks a market as final and raises its revision. */
    close(id: number): void {
      close.run(id)
      seal(id)
    },

    /** Raises the revision of a market of which something else was written. */
    touch(id: number): void {
      touch.run(id)
      seal(id)
    },
  }
}

/** What markets are listed by, from what else is known of one. */
export const orderOf = ({ windowStartMs, firstSnapshotMs }: Partial<Market>): number =>
  windowStartMs ?? firstSnapshotMs ?? 0

const laterFacts = [
  'slug',
  'question',
  'windowStartMs',
  'windowEndMs',
  'winner',
  'winnerSource',
  'tickSize',
  'strike',
  'finalPrice',
] as const

function mergeFacts(known: Market | undefined, told: MarketFacts): MarketFacts {
  return {
    ...told,
    slug: told.slug ?? known?.slug,
    question: told.question ?? known?.question,
    windowStartMs: told.windowStartMs ?? known?.windowStartMs,
    windowEndMs: told.windowEndMs ?? known?.windowEndMs,
    tickSize: told.tickSize ?? known?.tickSize,
    strike: told.strike ?? known?.strike,
    finalPrice: told.finalPrice ?? known?.finalPrice,
    ...mergeWinner(known, told),
    assetIds: mergeAssets(known, told),
  }
}

type Winner = Pick<MarketFacts, 'winner' | 'winnerSource'>

/** The known winner stays unless the source of the told one outranks its own. */
function mergeWinner(known: Winner | undefined, told: MarketFacts): Winner {
  const { winner } = told
  if (winner === undefined) return { winner: known?.winner, winnerSource: known?.winnerSource }
  const winnerSource = told.winnerSource ?? (told.source === 'simulated' ? 'simulated' : 'dataset')
  if (known?.winnerSource === undefined || outranks(winnerSource, known.winnerSource)) {
    return { winner, winnerSource }
  }
  if (known.winner !== winner) {
    throw new AppError(
      'market_conflict',
      `Market ${told.conditionId} is known to be won by ${known.winner} (${known.winnerSource}), not ${winner} (${winnerSource}).`,
    )
  }
  return { winner, winnerSource: known.winnerSource }
}

const outranks = (one: WinnerSource, other: WinnerSource): boolean =>
  winnerSources.indexOf(one) < winnerSources.indexOf(other)

function mergeAssets(known: Market | undefined, told: MarketFacts): Market['assetIds'] {
  let assetIds = known?.assetIds ?? {}
  for (const outcome of outcomes) {
    const assetId = told.assetIds?.[outcome]
    if (assetId === undefined) continue
    assertAsset(assetIds, { outcome, assetId, conditionId: told.conditionId })
    assetIds = { ...assetIds, [outcome]: assetId }
  }
  return assetIds
}

const isSameFacts = (known: Market, facts: MarketFacts): boolean =>
  laterFacts.every((fact) => facts[fact] === known[fact]) &&
  outcomes.every((outcome) => facts.assetIds?.[outcome] === known.assetIds[outcome])

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

/** Throws `market_conflict` where a name or a window is told that is not the known one: both decide where it is listed. */
function assertAgrees(known: Market | undefined, told: MarketFacts): void {
  for (const fact of ['slug', 'windowStartMs', 'windowEndMs'] as const) {
    const now = told[fact]
    const before = known?.[fact] ?? now
    if (now === undefined || now === before) continue
    throw new AppError(
      'market_conflict',
      `Market ${told.conditionId} is known with ${fact} ${before}, not ${now}.`,
    )
  }
}

/** Throws `market_conflict` for the time of a book or trade, where there is one, that is too far from the window. */
export function assertInLife(market: MarketFacts, timeMs: number | undefined): void {
  const fault = timeMs === undefined ? undefined : windowFault(market, timeMs)
  if (fault === undefined) return
  throw new AppError('market_conflict', `Market ${market.conditionId}: ${fault}.`)
}

/** Throws `market_conflict` unless the asset is the one known for its outcome, or none is. */
export function assertAsset(
  assetIds: Market['assetIds'],
  { outcome, assetId, conditionId }: Pick<Snapshot, 'outcome' | 'assetId' | 'conditionId'>,
): void {
  const known = assetIds[outcome]
  const other = assetIds[otherOutcome(outcome)]
  if ((known !== undefined && known !== assetId) || other === assetId) {
    throw new AppError(
      'market_conflict',
      `Asset ${assetId} is not the ${outcome} outcome of market ${conditionId}.`,
    )
  }
}

const toMarketIfAny = (row: MarketRow | null): StoredMarket | undefined =>
  row === null ? undefined : toMarket(row)
