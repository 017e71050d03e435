import { createCache } from '#src/platform/cache.ts'

import type { Millionths } from './decimal.ts'
import { DAY_MS, toIso } from './time.ts'

type CoinTerms = {
  /** Name in titles. */
  name: string
  /** Names in slugs that spell the coin out: the venue's preferred one first. */
  slugNames: readonly string[]
  /** The simulator's first price in USD; all its prices have the same number of decimals. */
  simulatedPrice: string
  /** Window lengths that the venue lists; all if absent. */
  timeframes?: readonly Timeframe[]
}

/** All coins that can be recorded, by symbol. Add new ones at the end. */
export const coinTable = {
  btc: { name: 'Bitcoin', slugNames: ['bitcoin'], simulatedPrice: '64000.00' },
  eth: { name: 'Ethereum', slugNames: ['ethereum'], simulatedPrice: '3100.00' },
  sol: { name: 'Solana', slugNames: ['solana'], simulatedPrice: '145.0000' },
  xrp: { name: 'XRP', slugNames: ['xrp'], simulatedPrice: '5.200000' },
  doge: { name: 'Dogecoin', slugNames: ['dogecoin'], simulatedPrice: '0.210000' },
  bnb: { name: 'BNB', slugNames: ['bnb'], simulatedPrice: '890.0000' },
  hype: { name: 'Hyperliquid', slugNames: ['hype', 'hyperliquid'], simulatedPrice: '41.50000' },
  zec: {
    name: 'Zcash',
    slugNames: ['zcash', 'zec'],
    simulatedPrice: '520.0000',
    timeframes: ['5m', '15m', '4h'],
  },
} as const satisfies Record<string, CoinTerms>
export type Coin = keyof typeof coinTable
export const coins = Object.keys(coinTable) as Coin[]
/** The coins with all windows in the sample and on the test day; others have only a few there. */
export const mainCoins: readonly Coin[] = ['btc', 'eth', 'sol', 'xrp']
export const isCoin = (text: string): text is Coin => Object.hasOwn(coinTable, text)

/** True if the venue is known to list windows of this coin and length. */
export function isListed(coin: Coin, timeframe: Timeframe): boolean {
  const { timeframes }: CoinTerms = coinTable[coin]
  return timeframes?.includes(timeframe) ?? true
}

export const outcomes = ['up', 'down'] as const
export type Outcome = (typeof outcomes)[number]

/** The result of a market: the winning outcome, or `void` if each was paid half. */
export const results = ['up', 'down', 'void'] as const
export type Result = (typeof results)[number]

export const otherOutcome = (outcome: Outcome): Outcome => (outcome === 'up' ? 'down' : 'up')

export const sources = ['recorded', 'simulated'] as const
export type Source = (typeof sources)[number]

/** Values of a filter by source. */
export const sourceChoices = [...sources, 'all'] as const
export type SourceChoice = (typeof sourceChoices)[number]

/** Prefix of the slugs of simulated markets, so that they never equal one of the venue's. */
export const SIMULATED_SLUG = 'sim-'

/** Sources of the winner; the first outranks the others. */
export const winnerSources = ['venue', 'dataset', 'simulated'] as const
export type WinnerSource = (typeof winnerSources)[number]

/**
 * The price at the end of a window: the average of the last minute or half minute, the spot price,
 * or the close of a candle on Binance.
 */
export const settlementRules = ['twap60', 'twap30', 'spot', 'binance-1h', 'binance-1d'] as const
export type SettlementRule = (typeof settlementRules)[number]

/**
 * Sources of strikes and final prices, in order of precedence: the venue's catalogue, its page with
 * the prices of open windows, an imported data set, the adjacent window (whose final price is the
 * next window's strike), the average published by a price feed, or our simulator.
 */
export const priceSources = [
  'catalogue',
  'price_page',
  'dataset',
  'chain',
  'feed',
  'simulated',
] as const
export type PriceSource = (typeof priceSources)[number]

/** `slug` names a window in slugs without an epoch; `easternHours` are the starts in New York. */
const timeframeTerms = {
  '5m': { ms: 300_000 },
  '15m': { ms: 900_000 },
  '1h': { ms: 3_600_000, slug: 'hour' },
  '4h': { ms: 14_400_000, easternHours: [0, 4, 8, 12, 16, 20] },
  '1d': { ms: DAY_MS, slug: 'day', easternHours: [12] },
} as const satisfies Record<string, TimeframeTerms>
type TimeframeTerms = { ms: number; slug?: 'hour' | 'day'; easternHours?: readonly number[] }
export type Timeframe = keyof typeof timeframeTerms
export const timeframeTable: Readonly<Record<Timeframe, TimeframeTerms>> = timeframeTerms
export const timeframes = Object.keys(timeframeTerms) as Timeframe[]
export const isTimeframe = (text: string): text is Timeframe => Object.hasOwn(timeframeTerms, text)

export const timeframeMs = Object.fromEntries(
  timeframes.map((timeframe) => [timeframe, timeframeTerms[timeframe].ms]),
) as Readonly<Record<Timeframe, number>>

/**
 * An id as the venue prints it: 32 bytes, or the 31 bytes of its protocol V2, which some of its
 * services pad with a zero byte. Stored as 32 bytes in lower case, and opaque.
 */
const conditionIdPattern = /^0x(?:[0-9a-f]{62}|[0-9a-f]{64})$/
export const conditionIdRule = '0x and 62 or 64 hex digits'
/** The token id of an outcome: a decimal number of at most 256 bits. Opaque, compared as text. */
export const assetIdPattern = /^[0-9]{1,78}$/
export const assetIdRule = '1 to 78 digits'

const SHORT_CONDITION_ID_LENGTH = 64
const PADDING = '00'

/** Returns the stored form of an id; undefined if it is not an id. */
export function parseConditionId(text: string): string | undefined {
  const id = text.toLowerCase()
  if (!conditionIdPattern.test(id)) return undefined
  return id.length === SHORT_CONDITION_ID_LENGTH ? `${id}${PADDING}` : id
}

/** The 31-byte form of a stored id; undefined if it has none. */
export const shortConditionId = (id: string): string | undefined =>
  id.length === SHORT_CONDITION_ID_LENGTH + PADDING.length && id.endsWith(PADDING)
    ? id.slice(0, -PADDING.length)
    : undefined

/** The facts of a market, without its books. Unknown facts are undefined, never guessed. */
export type MarketFacts = {
  conditionId: string
  coin: Coin
  timeframe: Timeframe
  source: Source
  slug?: string | undefined
  question?: string | undefined
  /** Unix milliseconds, inclusive. */
  windowStartMs?: number | undefined
  /** Unix milliseconds, exclusive. */
  windowEndMs?: number | undefined
  /** The result. `winnerOf` returns the winning outcome, which a void market does not have. */
  winner?: Result | undefined
  /** The source of the result; present exactly when `winner` is. */
  winnerSource?: WinnerSource | undefined
  /** Token ids of the outcomes: see `assetIdPattern`. */
  assetIds?: OutcomeMap<string> | undefined
  /** Smallest price increment, in millionths. */
  tickSize?: Millionths | undefined
  /** The coin's price in USD with which the final price is compared, in the source's digits. */
  strike?: string | undefined
  strikeSource?: PriceSource | undefined
  /** The time at which the strike was the price, Unix milliseconds. */
  strikeMs?: number | undefined
  /** The coin's price at the end of the window, in the same form. */
  finalPrice?: string | undefined
  finalPriceSource?: PriceSource | undefined
  finalPriceMs?: number | undefined
  settlementRule?: SettlementRule | undefined
  /** Canonical JSON of a `FeeSchedule`: equal schedules have equal texts. */
  feeSchedule?: string | undefined
  /** Milliseconds for which the venue delays taker orders. */
  takerDelayMs?: number | undefined
  /** Milliseconds that an order must rest before it can be cancelled. */
  orderAgeMs?: number | undefined
}

/** Fees of the market's trades, from the venue's catalogue, with the decimals as printed there. */
export type FeeSchedule = { rate: string; exponent: string; takerOnly: boolean; rebateRate: string }

/** The winning outcome; undefined while it is unknown, and for a void market. */
export const winnerOf = ({ winner }: Pick<MarketFacts, 'winner'>): Outcome | undefined =>
  winner === 'void' ? undefined : winner

/** Fingerprint of all facts except the winner, which detects changes. */
export const factsFingerprint = (market: MarketFacts): string =>
  JSON.stringify([
    market.slug,
    market.question,
    market.windowStartMs,
    market.windowEndMs,
    market.assetIds,
    market.tickSize,
    market.strike,
    market.strikeSource,
    market.strikeMs,
    market.finalPrice,
    market.finalPriceSource,
    market.finalPriceMs,
    market.settlementRule,
    market.feeSchedule,
    market.takerDelayMs,
    market.orderAgeMs,
  ])

type PriceOrigin = Pick<MarketFacts, 'windowStartMs' | 'windowEndMs'> & { source: PriceSource }

/** The facts of a strike, the price at the start of the window; none if it is unknown. */
export const strikeFacts = (strike: string | undefined, of: PriceOrigin) =>
  strike === undefined
    ? { strike }
    : { strike, strikeSource: of.source, strikeMs: of.windowStartMs }

/** The facts of a final price, the price at the end of the window. */
export const finalPriceFacts = (finalPrice: string | undefined, of: PriceOrigin) =>
  finalPrice === undefined
    ? { finalPrice }
    : { finalPrice, finalPriceSource: of.source, finalPriceMs: of.windowEndMs }

export type OutcomeMap<T> = { readonly [outcome in Outcome]?: T | undefined }

export type Market = MarketFacts & {
  /** Small integer of the store; never shown. */
  id: number
  /** Rises with every visible change of the market. */
  revision: number
  /** Number of the store that rises with every change of the market's chunks; never shown. */
  layout: number
  assetIds: OutcomeMap<string>
  snapshotCounts: { up: number; down: number }
  /** Number of snapshots whose books reproduce the venue's hash. */
  verifiedCounts: { up: number; down: number }
  spans: OutcomeMap<{ firstMs: number; lastMs: number }>
  /** Longest time between two consecutive snapshots of an outcome, with or without a gap. */
  longestSilenceMs: OutcomeMap<number>
  firstSnapshotMs?: number | undefined
  lastSnapshotMs?: number | undefined
  /** True once the market's recording is sealed: only a backfill can still change its history. */
  isClosed: boolean
  /** Sort key of lists of markets: the start of the window, else the first snapshot, else 0. */
  orderMs: number
}

/** True if a book of the market reproduced its hash, so that the recipe of its hashes is known. */
export const isVerifiedMarket = (market: Market | undefined): boolean =>
  market !== undefined && market.verifiedCounts.up + market.verifiedCounts.down > 0

/**
 * The facts of a market as known at an earlier time. The amount of data held and the price
 * increment are not included: only their current values are stored.
 */
export type MarketAsOf = MarketFacts & Pick<Market, 'assetIds' | 'isClosed'> & { revision?: never }

export const marketStatuses = ['upcoming', 'open', 'closed', 'resolved'] as const
export type MarketStatus = (typeof marketStatuses)[number]

export function statusOf(market: Market | MarketAsOf, nowMs: number): MarketStatus {
  if (market.winner !== undefined) return 'resolved'
  if (market.isClosed || nowMs >= (market.windowEndMs ?? Number.POSITIVE_INFINITY)) return 'closed'
  return nowMs < (market.windowStartMs ?? 0) ? 'upcoming' : 'open'
}

/** The furthest that books and trades lie outside a window: markets are listed a day before. */
const WINDOW_MARGIN_MS = 2 * DAY_MS

/**
 * The reason why a book or trade of this time cannot belong to a market; undefined if it can, or if
 * the window is unknown.
 */
export function windowFault(
  market: Pick<MarketFacts, 'timeframe' | 'windowStartMs' | 'windowEndMs'>,
  timeMs: number,
): string | undefined {
  const lengthMs = timeframeMs[market.timeframe]
  const { windowStartMs, windowEndMs } = market
  const startMs = windowStartMs ?? (windowEndMs ?? Number.NaN) - lengthMs
  const endMs = windowEndMs ?? (windowStartMs ?? Number.NaN) + lengthMs
  // If the window is unknown, both comparisons are false.
  if (!(timeMs < startMs - WINDOW_MARGIN_MS || timeMs > endMs + WINDOW_MARGIN_MS)) return undefined
  return `${toIso(timeMs)} is more than two days from the window, ${toIso(startMs)} to ${toIso(endMs)}`
}

/** The names by which a request can refer to a market: three forms, all opaque. */
const CONDITION_ID = '0[xX](?:[0-9a-fA-F]{62}|[0-9a-fA-F]{64})'

export const MARKET_NAME_PATTERN = `^(?:${CONDITION_ID}|[0-9]{1,78}|[a-zA-Z][a-zA-Z0-9_-]{0,199})$`

const shortIdPattern = /^0x[0-9a-f]{62}$/
const namePattern = new RegExp(MARKET_NAME_PATTERN)

export const marketNameText =
  'a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600'

/** Size of the cache of names; the names of a market never change. */
const NAMES_KEPT_MAX = 4_096

type MarketSource = {
  findMarket(conditionId: string): Market | undefined
  findMarketBySlug(slug: string): Market | undefined
  findMarketByAsset(assetId: string): Market | undefined
}

export type FindMarket = (name: string) => Market | undefined

export const isMarketName = (text: string): boolean => namePattern.test(text)

/** A data folder of an earlier version may hold a 31-byte id as it was received. */
const findByConditionId = ({ findMarket }: MarketSource, id: string): Market | undefined =>
  findMarket(parseConditionId(id) ?? id) ?? (shortIdPattern.test(id) ? findMarket(id) : undefined)

export function createMarketFinder(source: MarketSource): FindMarket {
  const conditionIds = createCache<string, string>(NAMES_KEPT_MAX)

  const toConditionId = (name: string): string | undefined => {
    const known = conditionIds.get(name)
    if (known !== undefined) return known
    const isAsset = /^\d/.test(name)
    const found = isAsset ? source.findMarketByAsset(name) : source.findMarketBySlug(name)
    if (found !== undefined) conditionIds.set(name, found.conditionId, { size: 1 })
    return found?.conditionId
  }

  return (name) => {
    const lower = name.toLowerCase()
    if (lower.startsWith('0x')) return findByConditionId(source, lower)
    const conditionId = toConditionId(lower)
    return conditionId === undefined ? undefined : source.findMarket(conditionId)
  }
}
