/** A market as its table holds it, and as the domain knows it. */
import type { market } from '#db/history/schema.ts'
import type { Market, MarketFacts, OutcomeMap } from '#src/core/market.ts'
import { assertSealed } from '#src/sqlite/checksum.ts'

type Names = 'coin' | 'timeframe' | 'source'
type Winner = 'winner' | 'winnerSource'
/** Texts of the table are those of the domain. */
export type MarketRow = Omit<typeof market.$inferSelect, Names | Winner> &
  Pick<MarketFacts, Names> & { [name in Winner]: NonNullable<MarketFacts[name]> | null }

/** A market with what only the store knows of it. */
export type StoredMarket = Market & Pick<MarketRow, 'gapRevision' | 'tradeSum' | 'gapSum'>

/** Facts that may become known later. */
export const laterFacts = [
  ...['slug', 'question', 'windowStartMs', 'windowEndMs', 'winner', 'winnerSource'],
  ...['tickSize', 'strike', 'finalPrice'],
] as const

/** Columns of the facts, and of what lists are in the order of. */
export const factColumns = [
  ...['conditionId', 'coin', 'timeframe', 'source', 'upAssetId', 'downAssetId', 'orderMs'],
  ...laterFacts,
] as const

/** Columns of what is held; of all but these a change moves entries of indexes. */
export const heldColumns = [
  ...['upCount', 'downCount', 'firstMs', 'lastMs', 'upFirstMs', 'upLastMs'],
  ...['downFirstMs', 'downLastMs', 'upLongestMs', 'downLongestMs'],
  ...['upVerifiedCount', 'downVerifiedCount'],
] as const

/** What markets are listed by, from what else is known of one. */
export const orderOf = ({ windowStartMs, firstSnapshotMs }: Partial<Market>): number =>
  windowStartMs ?? firstSnapshotMs ?? 0

export const placeRow = (
  market: Pick<Market, 'assetIds' | 'windowStartMs' | 'firstSnapshotMs'>,
) => ({
  upAssetId: market.assetIds.up ?? null,
  downAssetId: market.assetIds.down ?? null,
  orderMs: orderOf(market),
})

/** The columns of facts; the first snapshot is of what is held. */
export function toFactRow(
  facts: MarketFacts & Pick<Market, 'assetIds'>,
  firstSnapshotMs: number | undefined,
) {
  const { conditionId, coin, timeframe, source } = facts
  const later = laterFacts.map((fact) => [fact, facts[fact] ?? null] as const)
  const place = placeRow({ ...facts, firstSnapshotMs })
  return { conditionId, coin, timeframe, source, ...place, ...Object.fromEntries(later) }
}

export const toHeldRow = (market: Market): Pick<MarketRow, (typeof heldColumns)[number]> => ({
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

/** Throws `Damage`. */
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
    strike: row.strike ?? undefined,
    finalPrice: row.finalPrice ?? undefined,
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

const toMap = <T>(up: T | null, down: T | null): OutcomeMap<T> => ({
  up: up ?? undefined,
  down: down ?? undefined,
})

const toSpan = (firstMs: number | null, lastMs: number | null) =>
  firstMs === null || lastMs === null ? undefined : { firstMs, lastMs }
