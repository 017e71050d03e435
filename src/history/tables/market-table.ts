/** Rows of the market table, and what may be said of a market that is known. */
import { market } from '#db/history/schema.ts'
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
import { sqlOf } from '#src/sqlite/columns.ts'
import { type Database, indexedBy } from '#src/sqlite/database.ts'

import { createMarketList } from './market-list.ts'
import {
  factColumns,
  heldColumns,
  laterFacts,
  type MarketRow,
  placeRow,
  type StoredMarket,
  toFactRow,
  toHeldRow,
  toMarket,
} from './market-row.ts'

type ById = { id: number }

export function createMarketTable(db: Database) {
  const sql = sqlOf(market)
  const findBy = (condition: string) => {
    const statement = db.prepare<MarketRow, [Record<string, string | number>]>(
      `SELECT ${sql.columns()} FROM market WHERE ${condition}
       ORDER BY order_ms DESC, condition_id DESC LIMIT 1`,
    )
    return (values: Record<string, string | number>): StoredMarket | undefined => {
      const row = statement.get(values)
      return row === null ? undefined : toMarket(row)
    }
  }
  const byCondition = findBy('condition_id = $conditionId')
  const bySlug = findBy('slug = $slug')
  const byAsset = findBy('up_asset_id = $assetId OR down_asset_id = $assetId')
  const byId = findBy('id = $id')
  // Left to itself SQLite looks at every market.
  const unsealed = db.prepare<ById, []>(
    `SELECT id FROM market ${indexedBy('market_unsealed')} WHERE checksum IS NULL ORDER BY id`,
  )
  const ids = db.prepare<ById, []>('SELECT id FROM market ORDER BY id')
  const unclosed = db.prepare<{ name: string }, []>(
    'SELECT condition_id AS name FROM market WHERE is_closed = 0',
  )
  const upsert = db.prepare<ById, [ReturnType<typeof toFactRow>]>(
    `${sql.insert(factColumns)} ON CONFLICT (condition_id) DO UPDATE
     SET revision = market.revision + 1, ${sql.setExcluded(factColumns)} RETURNING id`,
  )
  const tradeSpan = db.prepare<{ firstMs: number | null; lastMs: number | null }, [ById]>(
    'SELECT min(time_ms) AS "firstMs", max(time_ms) AS "lastMs" FROM trade WHERE market_id = $id',
  )
  const holdings = createHoldings(db)
  const find = (conditionId: string): StoredMarket | undefined => byCondition({ conditionId })

  /** Throws `market_conflict` for a new window that is far from what is held. */
  function assertHoldings(known: StoredMarket, facts: MarketFacts): void {
    const { windowStartMs, windowEndMs, id, firstSnapshotMs, lastSnapshotMs } = known
    if (windowStartMs === facts.windowStartMs && windowEndMs === facts.windowEndMs) return
    const { firstMs, lastMs } = tradeSpan.get({ id }) ?? {}
    for (const timeMs of [firstSnapshotMs, lastSnapshotMs, firstMs, lastMs])
      assertNearWindow(facts, timeMs ?? undefined)
  }

  return {
    find,
    findBySlug: (slug: string): StoredMarket | undefined => bySlug({ slug }),
    findByAsset: (assetId: string): StoredMarket | undefined => byAsset({ assetId }),
    findById: (id: number): StoredMarket | undefined => byId({ id }),
    ids: (): number[] => ids.all().map(({ id }) => id),
    listUnclosed: (): string[] => unclosed.all().map(({ name }) => name),
    unsealedIds: (): number[] => unsealed.all().map(({ id }) => id),
    list: createMarketList(db),

    /** Throws `market_conflict` as `HistoryWriter.putMarket` says. */
    put(reported: MarketFacts): StoredMarket {
      const known = find(reported.conditionId)
      assertSame(known, reported)
      const facts = mergeFacts(known, reported)
      if (known !== undefined) {
        if (isSameFacts(known, facts)) return known
        assertHoldings(known, facts)
      }
      const stored = upsert.get(toFactRow(facts, known?.firstSnapshotMs))
      if (stored !== null) holdings.seal(stored.id)
      const put = find(reported.conditionId)
      if (put === undefined) throw new Error('A market is there once it is put.')
      return put
    },

    ...holdings,
  }
}

export type MarketTable = ReturnType<typeof createMarketTable>

function createHoldings(db: Database) {
  const sql = sqlOf(market)
  const prepareUpdate = <Values extends ById>(set: string) =>
    db.prepare<unknown, [Values]>(`UPDATE market SET ${set} WHERE id = $id`)
  const hold = prepareUpdate<ById & ReturnType<typeof toHeldRow>>(
    `revision = revision + 1, ${sql.set(heldColumns)}`,
  )
  const place = db.prepare<unknown, [ById & ReturnType<typeof placeRow>]>(
    `UPDATE market SET ${sql.set(['upAssetId', 'downAssetId', 'orderMs'])} WHERE id = $id
       AND (up_asset_id IS DISTINCT FROM $upAssetId OR down_asset_id IS DISTINCT FROM $downAssetId
         OR order_ms <> $orderMs)`,
  )
  const close = prepareUpdate('is_closed = 1, revision = revision + 1')
  const touch = prepareUpdate('revision = revision + 1')
  const byId = db.prepare<MarketRow, [ById]>(`SELECT ${sql.columns()} FROM market WHERE id = $id`)
  const putSums = prepareUpdate<Pick<MarketRow, 'id' | 'tradeSum' | 'gapSum'>>(
    sql.set(['tradeSum', 'gapSum']),
  )
  const putChecksum = prepareUpdate<ById & { checksum: number }>('checksum = $checksum')

  /** To be called after the last change of a market in a transaction. */
  function seal(id: number): void {
    const row = byId.get({ id })
    if (row !== null) putChecksum.run({ id, checksum: checksumOf(row) })
  }

  return {
    /** A market that has no checksum yet. */
    findUnsealed(id: number): MarketRow | undefined {
      const row = byId.get({ id })
      return row?.checksum === null ? row : undefined
    },

    /** Writes the sums of a market's trades and gaps, and its checksum. */
    putSums(sums: Pick<MarketRow, 'id' | 'tradeSum' | 'gapSum'>): void {
      putSums.run(sums)
      seal(sums.id)
    },

    seal,

    /** Writes what is held of a market and raises its revision. */
    update(held: Market): void {
      const { id } = held
      hold.run({ id, ...toHeldRow(held) })
      // Apart, because a column that is written moves its entries in every index, changed or not.
      place.run({ id, ...placeRow(held) })
      seal(id)
    },

    close(id: number): void {
      close.run({ id })
      seal(id)
    },

    /** To be called when something else of the market was written. */
    touch(id: number): void {
      touch.run({ id })
      seal(id)
    },
  }
}

const conflict = (text: string): AppError => new AppError('market_conflict', text)

/** What can never change; the name and the window, once known, decide where a market is listed. */
const fixedFacts = ['coin', 'timeframe', 'source', 'slug', 'windowStartMs', 'windowEndMs'] as const
type FixedFacts = { [fact in (typeof fixedFacts)[number]]?: MarketFacts[fact] }

/** Throws unless `known` is undefined or agrees in what can never change. */
export function assertSame(
  known: FixedFacts | undefined,
  facts: FixedFacts & { conditionId: string },
): void {
  for (const fact of fixedFacts) {
    const now = facts[fact]
    const before = known?.[fact] ?? now
    if (now !== undefined && now !== before)
      throw conflict(`Market ${facts.conditionId} is known with ${fact} ${before}, not ${now}.`)
  }
}

/** Throws for the time of a book or trade, where there is one, that is too far from the window. */
export function assertNearWindow(market: MarketFacts, timeMs: number | undefined): void {
  const fault = timeMs === undefined ? undefined : windowFault(market, timeMs)
  if (fault !== undefined) throw conflict(`Market ${market.conditionId}: ${fault}.`)
}

/** Throws unless the asset is the one known for its outcome, or none is. */
export function assertAsset(
  assetIds: Market['assetIds'],
  { outcome, assetId, conditionId }: Pick<Snapshot, 'outcome' | 'assetId' | 'conditionId'>,
): void {
  const known = assetIds[outcome] ?? assetId
  if (known !== assetId || assetIds[otherOutcome(outcome)] === assetId)
    throw conflict(`Asset ${assetId} is not the ${outcome} outcome of market ${conditionId}.`)
}

function mergeFacts(known: Market | undefined, facts: MarketFacts) {
  const { conditionId } = facts
  const assetIds = { ...known?.assetIds }
  for (const outcome of outcomes) {
    const assetId = facts.assetIds?.[outcome]
    if (assetId === undefined) continue
    assertAsset(assetIds, { outcome, assetId, conditionId })
    assetIds[outcome] = assetId
  }
  const later = laterFacts.map((fact) => [fact, facts[fact] ?? known?.[fact]] as const)
  return { ...facts, ...Object.fromEntries(later), ...mergeWinner(known, facts), assetIds }
}

type Winner = Pick<MarketFacts, 'winner' | 'winnerSource'>

/** The known winner stays unless the source of the other outranks its own. */
function mergeWinner(known: Winner | undefined, facts: MarketFacts): Winner {
  const { winner } = facts
  if (winner === undefined) return { winner: known?.winner, winnerSource: known?.winnerSource }
  const winnerSource =
    facts.winnerSource ?? (facts.source === 'simulated' ? 'simulated' : 'dataset')
  if (known?.winnerSource === undefined || outranks(winnerSource, known.winnerSource))
    return { winner, winnerSource }
  if (known.winner === winner) return { winner, winnerSource: known.winnerSource }
  throw conflict(
    `Market ${facts.conditionId} is known to be won by ${known.winner} (${known.winnerSource}), not ${winner} (${winnerSource}).`,
  )
}

const outranks = (one: WinnerSource, other: WinnerSource): boolean =>
  winnerSources.indexOf(one) < winnerSources.indexOf(other)

const isSameFacts = (known: Market, facts: MarketFacts): boolean =>
  laterFacts.every((fact) => facts[fact] === known[fact]) &&
  outcomes.every((outcome) => facts.assetIds?.[outcome] === known.assetIds[outcome])
