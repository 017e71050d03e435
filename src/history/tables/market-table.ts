/** Rows of the market table as domain objects, and the rules for changing a known market. */
import { market } from '#db/history/schema.ts'
import { assertSealed, checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { AppError } from '#src/domain/errors.ts'
import {
  type Market,
  type MarketFacts,
  otherOutcome,
  type OutcomeMap,
  outcomes,
  type PriceSource,
  priceSources,
  SIMULATED_SLUG,
  windowFault,
  type WinnerSource,
  winnerSources,
} from '#src/domain/market.ts'
import { revisedFacts } from '#src/domain/revision.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import {
  type MarketWindow,
  type WindowOutcome,
  withOutcomes,
  withoutOutcomes,
} from '#src/domain/window-outcome.ts'

import type { MetaTable } from './meta-table.ts'
import type { OutcomeTable } from './outcome-table.ts'

type Names = 'coin' | 'timeframe' | 'source'
type Winner = Pick<MarketFacts, 'winner' | 'winnerSource'>
type Words = Winner & Pick<MarketFacts, 'strikeSource' | 'finalPriceSource' | 'settlementRule'>
/** A row with the texts of the domain. */
export type MarketRow = Omit<typeof market.$inferSelect, Names | keyof Words> &
  Pick<MarketFacts, Names> & { [name in keyof Words]-?: NonNullable<Words[name]> | null }

/** A market with the columns that only the store uses. */
export type StoredMarket = Market & Pick<MarketRow, 'gapRevision' | 'tradeSum' | 'gapSum'>

const factColumns = [
  'conditionId',
  'coin',
  'timeframe',
  'source',
  'upAssetId',
  'downAssetId',
  'orderMs',
  ...revisedFacts,
] as const

/** Columns about stored rows; a change of any other column moves index entries. */
const heldColumns = [
  'upCount',
  'downCount',
  'firstMs',
  'lastMs',
  'upFirstMs',
  'upLastMs',
  'downFirstMs',
  'downLastMs',
  'upLongestMs',
  'downLongestMs',
  'upVerifiedCount',
  'downVerifiedCount',
] as const

export const orderOf = ({ windowStartMs, firstSnapshotMs }: Partial<Market>): number =>
  windowStartMs ?? firstSnapshotMs ?? 0

const placeRow = (market: Pick<Market, 'assetIds' | 'windowStartMs' | 'firstSnapshotMs'>) => ({
  upAssetId: market.assetIds.up ?? null,
  downAssetId: market.assetIds.down ?? null,
  orderMs: orderOf(market),
})

function toFactRow(
  facts: MarketFacts & Pick<Market, 'assetIds'>,
  firstSnapshotMs: number | undefined,
) {
  const { conditionId, coin, timeframe, source } = facts
  const later = revisedFacts.map((fact) => [fact, facts[fact] ?? null] as const)
  const place = placeRow({ ...facts, firstSnapshotMs })
  return { conditionId, coin, timeframe, source, ...place, ...Object.fromEntries(later) }
}

const toHeldRow = (market: Market): Pick<MarketRow, (typeof heldColumns)[number]> => ({
  upCount: market.snapshotCounts.up,
  downCount: market.snapshotCounts.down,
  firstMs: market.firstSnapshotMs ?? null,
  lastMs: market.lastSnapshotMs ?? null,
  upFirstMs: market.spans.up?.firstMs ?? null,
  upLastMs: market.spans.up?.lastMs ?? null,
  downFirstMs: market.spans.down?.firstMs ?? null,
  downLastMs: market.spans.down?.lastMs ?? null,
  upLongestMs: market.longestSilenceMs.up ?? null,
  downLongestMs: market.longestSilenceMs.down ?? null,
  upVerifiedCount: market.verifiedCounts.up,
  downVerifiedCount: market.verifiedCounts.down,
})

/** Converts a row; throws a `damage` fault. */
export function toMarket(row: MarketRow): StoredMarket {
  assertSealed(row, `the row of market ${row.conditionId}`)
  return {
    id: row.id,
    conditionId: row.conditionId,
    coin: row.coin,
    timeframe: row.timeframe,
    source: row.source,
    revision: row.revision,
    layout: row.layout,
    orderMs: row.orderMs,
    gapRevision: row.gapRevision,
    tradeSum: row.tradeSum,
    gapSum: row.gapSum,
    slug: row.slug ?? undefined,
    question: row.question ?? undefined,
    windowStartMs: row.windowStartMs ?? undefined,
    windowEndMs: row.windowEndMs ?? undefined,
    winner: row.winner ?? undefined,
    winnerSource: row.winnerSource ?? undefined,
    tickSize: row.tickSize ?? undefined,
    ...toPrices(row),
    assetIds: toMap(row.upAssetId, row.downAssetId),
    snapshotCounts: { up: row.upCount, down: row.downCount },
    verifiedCounts: { up: row.upVerifiedCount, down: row.downVerifiedCount },
    spans: {
      up: toSpan(row.upFirstMs, row.upLastMs),
      down: toSpan(row.downFirstMs, row.downLastMs),
    },
    longestSilenceMs: toMap(row.upLongestMs, row.downLongestMs),
    firstSnapshotMs: row.firstMs ?? undefined,
    lastSnapshotMs: row.lastMs ?? undefined,
    isClosed: row.isClosed === 1,
  }
}

const toPrices = (row: MarketRow) => ({
  settlementRule: row.settlementRule ?? undefined,
  strike: row.strike ?? undefined,
  strikeSource: row.strikeSource ?? undefined,
  strikeMs: row.strikeMs ?? undefined,
  finalPrice: row.finalPrice ?? undefined,
  finalPriceSource: row.finalPriceSource ?? undefined,
  finalPriceMs: row.finalPriceMs ?? undefined,
  feeSchedule: row.feeSchedule ?? undefined,
  takerDelayMs: row.takerDelayMs ?? undefined,
  orderAgeMs: row.orderAgeMs ?? undefined,
})

const toMap = <T>(up: T | null, down: T | null): OutcomeMap<T> => ({
  up: up ?? undefined,
  down: down ?? undefined,
})

const toSpan = (firstMs: number | null, lastMs: number | null) =>
  firstMs === null || lastMs === null ? undefined : { firstMs, lastMs }

type ById = { id: number }
type Named = Pick<Market, 'id' | 'conditionId'>

export function createMarketTable(
  db: Database,
  meta: MetaTable,
  windowOutcomes: Pick<OutcomeTable, 'list'>,
) {
  const sql = sqlOf(market)
  const holdings = createHoldings(db)
  /** Finds a market after sealing the changes of this transaction. */
  const findBy = <Value extends string | number>(condition: string) => {
    const statement = db.prepare<MarketRow, [Value]>(
      `SELECT ${sql.columns()} FROM market WHERE ${condition}
       ORDER BY order_ms DESC, condition_id DESC LIMIT 1`,
    )
    return (value: Value): StoredMarket | undefined => {
      for (const { seal } of holdings.takeChanged()) seal()
      const row = statement.get(value)
      return row === null ? undefined : toMarket(row)
    }
  }
  const find = findBy<string>('condition_id = $1')
  // The venue's name is never the name of a simulated market.
  const findNamed = findBy<string>(
    `slug = $1 AND (source <> 'simulated' OR slug LIKE '${SIMULATED_SLUG}%')`,
  )
  // Versions before 0.5.0 gave simulated markets the venue's names.
  const findOldSimulated = findBy<string>("slug = $1 AND source = 'simulated'")
  const ids = db.prepare<ById, []>('SELECT id FROM market ORDER BY id')
  const inWindow = db.prepare<{ name: string }, [MarketWindow]>(
    `SELECT condition_id AS name FROM market INDEXED BY market_timeframe_order
     WHERE coin = $coin AND timeframe = $timeframe AND order_ms = $windowStartMs
       AND window_start_ms = $windowStartMs AND source = $source ORDER BY condition_id`,
  )
  const unclosed = db.prepare<{ name: string }, []>(
    'SELECT condition_id AS name FROM market WHERE is_closed = 0',
  )
  const greatestId = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM market')
  const upsert = db.prepare<unknown, [ById & ReturnType<typeof toFactRow>]>(
    `${sql.insert(['id', ...factColumns])} ON CONFLICT (condition_id) DO UPDATE
     SET revision = market.revision + 1, ${sql.setExcluded(factColumns)}`,
  )
  const tradeSpan = db.prepare<{ firstMs: number | null; lastMs: number | null }, [ById]>(
    'SELECT min(time_ms) AS "firstMs", max(time_ms) AS "lastMs" FROM trade WHERE market_id = $id',
  )

  const nextId = (): number => Math.max(greatestId.get()?.id ?? 0, meta.lastDeletedId()) + 1

  /** Throws `market_conflict` for a new window that is far from the stored rows. */
  function assertHoldings(known: StoredMarket, facts: MarketFacts): void {
    const { windowStartMs, windowEndMs, id, firstSnapshotMs, lastSnapshotMs } = known
    if (windowStartMs === facts.windowStartMs && windowEndMs === facts.windowEndMs) return
    const { firstMs, lastMs } = tradeSpan.get({ id }) ?? {}
    for (const timeMs of [firstSnapshotMs, lastSnapshotMs, firstMs, lastMs])
      assertNearWindow(facts, timeMs ?? undefined)
  }

  /** Returns the same market if no fact changes. */
  function write(
    known: StoredMarket | undefined,
    facts: MarketFacts & Pick<Market, 'assetIds'>,
  ): StoredMarket {
    if (known !== undefined) {
      if (isSameFacts(known, facts)) return known
      assertHoldings(known, facts)
    }
    const id = known?.id ?? nextId()
    upsert.run({ id, ...toFactRow(facts, known?.firstSnapshotMs) })
    return toMarket(holdings.seal(id))
  }

  return {
    find,
    findBySlug: (slug: string): StoredMarket | undefined =>
      findNamed(slug) ??
      (slug.startsWith(SIMULATED_SLUG)
        ? findOldSimulated(slug.slice(SIMULATED_SLUG.length))
        : undefined),
    findByAsset: findBy<string>('up_asset_id = $1 OR down_asset_id = $1'),
    findById: findBy<number>('id = $1'),
    ids: (): number[] => ids.all().map(({ id }) => id),
    listUnclosed: (): string[] => unclosed.all().map(({ name }) => name),

    /** Condition ids of the markets of a window. */
    listInWindow: (window: MarketWindow): string[] => inWindow.all(window).map(({ name }) => name),

    /**
     * Stores facts; `known` is the current market. Throws `market_conflict` like
     * `HistoryWriter.putMarket`.
     */
    put(reported: MarketFacts, known: StoredMarket | undefined): StoredMarket {
      assertSame(known, reported)
      const windowStartMs = reported.windowStartMs ?? known?.windowStartMs
      const said =
        windowStartMs === undefined ? [] : windowOutcomes.list({ ...reported, windowStartMs })
      const others = known && withoutOutcomes(known, said)
      return write(known, withOutcomes(mergeFacts(others, reported), said))
    },

    /** Call it after the outcomes of its window from tables have changed. */
    putOutcomes(
      market: StoredMarket,
      before: readonly WindowOutcome[],
      after: readonly WindowOutcome[],
    ): StoredMarket {
      return write(market, withOutcomes(withoutOutcomes(market, before), after))
    },

    ...holdings,
  }
}

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
  const byId = db.prepare<MarketRow, [ById]>(`SELECT ${sql.columns()} FROM market WHERE id = $id`)
  const putChecksum = prepareUpdate<ById & { checksum: number }>('checksum = $checksum')

  const close = prepareUpdate('is_closed = 1, revision = revision + 1')
  const touch = prepareUpdate('revision = revision + 1')
  /** Markets changed in this transaction whose checksum is outdated. */
  const changed = new Map<number, Named>()

  /** Writes the checksum of the current market; returns its row. */
  function seal(id: number): MarketRow {
    const row = byId.get({ id })
    if (row === null) throw new Error('A market is there until it is deleted.')
    const checksum = checksumOf(row)
    putChecksum.run({ id, checksum })
    return { ...row, checksum }
  }

  return {
    seal,

    /**
     * The changed markets that are not sealed; `seal` writes the checksum of each. Call it at the
     * end of a transaction.
     */
    takeChanged(): { conditionId: string; seal: () => void }[] {
      const taken = [...changed.values()].map(({ id, conditionId }) => ({
        conditionId,
        seal: () => void seal(id),
      }))
      changed.clear()
      return taken
    },

    /** Forgets the changes of a transaction that was rolled back. */
    forgetChanged: (): void => changed.clear(),

    update(held: Market): void {
      const { id } = held
      hold.run({ id, ...toHeldRow(held) })
      // Separate, because writing a column moves its entries in every index, changed or not.
      place.run({ id, ...placeRow(held) })
      changed.set(id, held)
    },

    close(market: Named): void {
      close.run(market)
      changed.set(market.id, market)
    },

    /** Call it after a write of other data of the market. */
    touch(market: Named): void {
      touch.run(market)
      changed.set(market.id, market)
    },
  }
}

const conflict = (text: string): AppError => new AppError('market_conflict', text)

/**
 * Facts that never change; the name and the window, once known, determine the position in lists.
 */
const fixedFacts = ['coin', 'timeframe', 'source', 'slug', 'windowStartMs', 'windowEndMs'] as const
type FixedFacts = { [fact in (typeof fixedFacts)[number]]?: MarketFacts[fact] }

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

/** Throws if the time of a book or trade is too far from the window. */
export function assertNearWindow(market: MarketFacts, timeMs: number | undefined): void {
  const fault = timeMs === undefined ? undefined : windowFault(market, timeMs)
  if (fault !== undefined) throw conflict(`Market ${market.conditionId}: ${fault}.`)
}

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
  const later = revisedFacts.map((fact) => [fact, facts[fact] ?? known?.[fact]] as const)
  const prices = mergePrices(known, facts)
  return {
    ...facts,
    ...Object.fromEntries(later),
    ...prices,
    ...mergeWinner(known, facts),
    assetIds,
  }
}

const prices = [
  ['strike', 'strikeSource', 'strikeMs'],
  ['finalPrice', 'finalPriceSource', 'finalPriceMs'],
] as const

/** A price keeps its source and time; a price of a lower rank replaces none. */
function mergePrices(known: Market | undefined, facts: MarketFacts) {
  const merged = prices.flatMap(([price, source, time]) => {
    const isKept =
      known?.[price] !== undefined &&
      (facts[price] === undefined || rankOf(facts[source]) > rankOf(known[source]))
    const from = isKept ? known : facts
    return [price, source, time].map((name) => [name, from[name]] as const)
  })
  return Object.fromEntries(merged)
}

const rankOf = (source: PriceSource | undefined): number =>
  source === undefined ? priceSources.length : priceSources.indexOf(source)

/** The known winner stays unless the other source outranks its own. */
function mergeWinner(known: Winner | undefined, facts: MarketFacts): Winner {
  const { winner } = facts
  if (winner === undefined) return { winner: known?.winner, winnerSource: known?.winnerSource }
  const winnerSource =
    facts.winnerSource ?? (facts.source === 'simulated' ? 'simulated' : 'dataset')
  const rankOf = (source: WinnerSource): number => winnerSources.indexOf(source)
  if (known?.winnerSource === undefined || rankOf(winnerSource) < rankOf(known.winnerSource))
    return { winner, winnerSource }
  if (known.winner === winner) return { winner, winnerSource: known.winnerSource }
  // The venue shows half each for a moment before it shows who won.
  if (known.winner === 'void' && rankOf(winnerSource) === rankOf(known.winnerSource))
    return { winner, winnerSource }
  throw conflict(
    `Market ${facts.conditionId} is known to be won by ${known.winner} (${known.winnerSource}), not ${winner} (${winnerSource}).`,
  )
}

const isSameFacts = (known: Market, facts: MarketFacts): boolean =>
  revisedFacts.every((fact) => facts[fact] === known[fact]) &&
  outcomes.every((outcome) => facts.assetIds?.[outcome] === known.assetIds[outcome])
