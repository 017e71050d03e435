/** A market as its table holds it, and as the domain knows it. */
import type {
  Coin,
  Market,
  MarketFacts,
  Outcome,
  OutcomeMap,
  Source,
  Timeframe,
  WinnerSource,
} from '#src/core/market.ts'
import { assertSealed } from '#src/sqlite/checksum.ts'

export type MarketRow = {
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
  winner_source: WinnerSource | null
  tick_size: number | null
  strike: string | null
  final_price: string | null
  up_asset_id: string | null
  down_asset_id: string | null
  revision: number
  layout: number
  up_count: number
  down_count: number
  first_ms: number | null
  last_ms: number | null
  up_first_ms: number | null
  up_last_ms: number | null
  down_first_ms: number | null
  down_last_ms: number | null
  up_silence_ms: number | null
  down_silence_ms: number | null
  up_verified_count: number
  down_verified_count: number
  gap_revision: number
  is_closed: number
  order_ms: number
  trade_sum: number
  gap_sum: number
  checksum: number | null
}

/** A market with what only the store knows of it. */
export type StoredMarket = Market & {
  /** Rises whenever the market's gaps change; 0 while it never had any. */
  gapRevision: number
  /** Over its trades and its gaps: see db/history/schema.ts. */
  tradeSum: number
  gapSum: number
}

/** Columns of the facts, in the order of `factValues`. */
export const factColumns = [
  'condition_id',
  'coin',
  'timeframe',
  'source',
  'slug',
  'question',
  'window_start_ms',
  'window_end_ms',
  'winner',
  'winner_source',
  'tick_size',
  'strike',
  'final_price',
  'up_asset_id',
  'down_asset_id',
] as const satisfies readonly (keyof MarketRow)[]

export const factValues = (facts: MarketFacts): (string | number | null)[] => [
  ...[facts.conditionId, facts.coin, facts.timeframe, facts.source],
  ...[facts.slug ?? null, facts.question ?? null],
  ...[facts.windowStartMs ?? null, facts.windowEndMs ?? null],
  ...[facts.winner ?? null, facts.winnerSource ?? null],
  ...[facts.tickSize ?? null, facts.strike ?? null, facts.finalPrice ?? null],
  ...[facts.assetIds?.up ?? null, facts.assetIds?.down ?? null],
]

/** Throws `Damage`. */
export function toMarket(row: MarketRow): StoredMarket {
  assertSealed(row, `the row of market ${row.condition_id}`)
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
    winnerSource: row.winner_source ?? undefined,
    tickSize: row.tick_size ?? undefined,
    strike: row.strike ?? undefined,
    finalPrice: row.final_price ?? undefined,
    assetIds: toMap(row.up_asset_id, row.down_asset_id),
    revision: row.revision,
    layout: row.layout,
    gapRevision: row.gap_revision,
    tradeSum: row.trade_sum,
    gapSum: row.gap_sum,
    snapshotCounts: { up: row.up_count, down: row.down_count },
    verifiedCounts: { up: row.up_verified_count, down: row.down_verified_count },
    spans: {
      up: toSpan(row.up_first_ms, row.up_last_ms),
      down: toSpan(row.down_first_ms, row.down_last_ms),
    },
    longestSilenceMs: toMap(row.up_silence_ms, row.down_silence_ms),
    firstSnapshotMs: row.first_ms ?? undefined,
    lastSnapshotMs: row.last_ms ?? undefined,
    isClosed: row.is_closed === 1,
    orderMs: row.order_ms,
  }
}

const toMap = <T>(up: T | null, down: T | null): OutcomeMap<T> => ({
  up: up ?? undefined,
  down: down ?? undefined,
})

const toSpan = (firstMs: number | null, lastMs: number | null) =>
  firstMs === null || lastMs === null ? undefined : { firstMs, lastMs }
