import { createCache } from '#src/platform/cache.ts'

import type { Millionths } from './decimal.ts'
import { DAY_MS, toIso } from './time.ts'

type CoinTerms = {
  /** In titles. */
  name: string
  /** In slugs that spell the coin out: the one that the venue uses first, then others. */
  slugNames: readonly string[]
  /** The simulator's first price in USD, with as many digits as all of its prices have. */
  simulatedPrice: string
  /** Lengths of window that the venue lists; all where it is absent. */
  timeframes?: readonly Timeframe[]
}

/** Every coin that is kept, by its symbol. A new one is added at the end. */
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
/** The coins whose windows fill the sample and the test day; of others both have a few windows. */
export const mainCoins: readonly Coin[] = ['btc', 'eth', 'sol', 'xrp']
export const isCoin = (text: string): text is Coin => Object.hasOwn(coinTable, text)

/** Whether the venue lists windows of a coin and length, as far as is known. */
export function isListed(coin: Coin, timeframe: Timeframe): boolean {
  const { timeframes }: CoinTerms = coinTable[coin]
  return timeframes?.includes(timeframe) ?? true
}

export const outcomes = ['up', 'down'] as const
export type Outcome = (typeof outcomes)[number]

/** What a market came to: an outcome that won, or `void` where each was paid half. */
export const results = ['up', 'down', 'void'] as const
export type Result = (typeof results)[number]

export const otherOutcome = (outcome: Outcome): Outcome => (outcome === 'up' ? 'down' : 'up')

export const sources = ['recorded', 'simulated'] as const
export type Source = (typeof sources)[number]

/** Which markets are asked for. */
export const sourceChoices = [...sources, 'all'] as const
export type SourceChoice = (typeof sourceChoices)[number]

/** What slugs of simulated markets begin with, so that no name of the venue's is one. */
export const SIMULATED_SLUG = 'sim-'

/** Who says which outcome won; the first outranks the others. */
export const winnerSources = ['venue', 'dataset', 'simulated'] as const
export type WinnerSource = (typeof winnerSources)[number]

/**
 * What the price at the end of a window is: the average of the last minute or half minute, the
 * price of the moment, or the close of a candle on Binance.
 */
export const settlementRules = ['twap60', 'twap30', 'spot', 'binance-1h', 'binance-1d'] as const
export type SettlementRule = (typeof settlementRules)[number]

/**
 * Who says what a strike or final price is, the first before the others: the venue's catalogue, its
 * page with the prices of open windows, an imported data set, the neighbouring window, of which the
 * final price is the next one's strike, the average that a price feed published, or our simulator.
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

/** `slug` names a window in slugs without an epoch; `easternHours` are its starts in New York. */
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
 * An id as the venue gives it: 32 bytes, or the 31 of its protocol V2, which some of its services
 * pad with a zero byte. It is kept with 32 bytes in lower case, and opaque.
 */
const conditionIdPattern = /^0x(?:[0-9a-f]{62}|[0-9a-f]{64})$/
export const conditionIdRule = '0x and 62 or 64 hex digits'
/** An id of an outcome's token: a decimal number of at most 256 bits. Opaque, compared as text. */
export const assetIdPattern = /^[0-9]{1,78}$/
export const assetIdRule = '1 to 78 digits'

const SHORT_CONDITION_ID_LENGTH = 64
const PADDING = '00'

/** Returns the form in which an id is kept; undefined for what is no id. */
export function parseConditionId(text: string): string | undefined {
  const id = text.toLowerCase()
  if (!conditionIdPattern.test(id)) return undefined
  return id.length === SHORT_CONDITION_ID_LENGTH ? `${id}${PADDING}` : id
}

/** The form of 31 bytes of an id that is kept; undefined where there is none. */
export const shortConditionId = (id: string): string | undefined =>
  id.length === SHORT_CONDITION_ID_LENGTH + PADDING.length && id.endsWith(PADDING)
    ? id.slice(0, -PADDING.length)
    : undefined

/** What is known of a market apart from its books. Absent facts are undefined, never guessed. */
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
  /** See `winnerOf` for the outcome that won, which a void market has not. */
  winner?: Result | undefined
  /** Who named the result; present exactly when `winner` is. */
  winnerSource?: WinnerSource | undefined
  /** The outcomes' tokens: see `assetIdPattern`. */
  assetIds?: OutcomeMap<string> | undefined
  /** Smallest step of prices, in millionths. */
  tickSize?: Millionths | undefined
  /** The coin's price in USD that the end is compared with: digits as the source prints them. */
  strike?: string | undefined
  strikeSource?: PriceSource | undefined
  /** The moment that the strike is the price of, Unix milliseconds. */
  strikeMs?: number | undefined
  /** The coin's price at the end of the window, likewise. */
  finalPrice?: string | undefined
  finalPriceSource?: PriceSource | undefined
  finalPriceMs?: number | undefined
  settlementRule?: SettlementRule | undefined
  /** JSON of a `FeeSchedule`, in one form: two are the same where their texts are. */
  feeSchedule?: string | undefined
}

/** Fees of the market's trades, as the venue's catalogue states them; decimals as it prints them. */
export type FeeSchedule = { rate: string; exponent: string; takerOnly: boolean; rebateRate: string }

/** The outcome that won; undefined while that is not known, and of a void market. */
export const winnerOf = ({ winner }: Pick<MarketFacts, 'winner'>): Outcome | undefined =>
  winner === 'void' ? undefined : winner

/** Names what is known of a market but for its winner, so that news of it can be told. */
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
  ])

type PriceOrigin = Pick<MarketFacts, 'windowStartMs' | 'windowEndMs'> & { source: PriceSource }

/** A strike is the price at the start of the window; nothing where it is not known. */
export const strikeFacts = (strike: string | undefined, of: PriceOrigin) =>
  strike === undefined
    ? { strike }
    : { strike, strikeSource: of.source, strikeMs: of.windowStartMs }

/** A final price is that at the end. */
export const finalPriceFacts = (finalPrice: string | undefined, of: PriceOrigin) =>
  finalPrice === undefined
    ? { finalPrice }
    : { finalPrice, finalPriceSource: of.source, finalPriceMs: of.windowEndMs }

export type OutcomeMap<T> = { readonly [outcome in Outcome]?: T | undefined }

export type Market = MarketFacts & {
  /** Small integer of the store; never shown. */
  id: number
  /** Rises whenever anything that a reader could see of the market changes. */
  revision: number
  /** Number of the store's, which rises whenever its chunks of the market change; never shown. */
  layout: number
  assetIds: OutcomeMap<string>
  snapshotCounts: { up: number; down: number }
  /** Snapshots whose books reproduce the venue's own hash. */
  verifiedCounts: { up: number; down: number }
  spans: OutcomeMap<{ firstMs: number; lastMs: number }>
  /** Longest time between two consecutive snapshots of an outcome, a gap or not. */
  longestSilenceMs: OutcomeMap<number>
  firstSnapshotMs?: number | undefined
  lastSnapshotMs?: number | undefined
  /** True once its history is final short of a backfill: its run has been sealed. */
  isClosed: boolean
  /** What markets are listed by: start of the window, else the first snapshot, else 0. */
  orderMs: number
}

/** Whether a book of the market reproduced its hash, so that the recipe of its hashes is known. */
export const isVerifiedMarket = (market: Market | undefined): boolean =>
  market !== undefined && market.verifiedCounts.up + market.verifiedCounts.down > 0

/**
 * What was known of a market at an earlier moment. How much is held of it, and the step of its
 * prices, are not: only their values of today are stored.
 */
export type MarketAsOf = MarketFacts & Pick<Market, 'assetIds' | 'isClosed'> & { revision?: never }

export const marketStatuses = ['upcoming', 'open', 'closed', 'resolved'] as const
export type MarketStatus = (typeof marketStatuses)[number]

export function statusOf(market: Market | MarketAsOf, nowMs: number): MarketStatus {
  if (market.winner !== undefined) return 'resolved'
  if (market.isClosed || nowMs >= (market.windowEndMs ?? Number.POSITIVE_INFINITY)) return 'closed'
  return nowMs < (market.windowStartMs ?? 0) ? 'upcoming' : 'open'
}

/** How far from its window a market has books and trades: it is listed about a day before. */
const WINDOW_MARGIN_MS = 2 * DAY_MS

/** Why a book or trade of a time cannot be of a market; undefined when it can, or may. */
export function windowFault(
  market: Pick<MarketFacts, 'timeframe' | 'windowStartMs' | 'windowEndMs'>,
  timeMs: number,
): string | undefined {
  const lengthMs = timeframeMs[market.timeframe]
  const { windowStartMs, windowEndMs } = market
  const startMs = windowStartMs ?? (windowEndMs ?? Number.NaN) - lengthMs
  const endMs = windowEndMs ?? (windowStartMs ?? Number.NaN) + lengthMs
  // Of a window that is not known, both comparisons are false.
  if (!(timeMs < startMs - WINDOW_MARGIN_MS || timeMs > endMs + WINDOW_MARGIN_MS)) return undefined
  return `${toIso(timeMs)} is more than two days from the window, ${toIso(startMs)} to ${toIso(endMs)}`
}

/** What a market may be called by in a request: three kinds of names, all opaque. */
const CONDITION_ID = '0[xX](?:[0-9a-fA-F]{62}|[0-9a-fA-F]{64})'

export const MARKET_NAME_PATTERN = `^(?:${CONDITION_ID}|[0-9]{1,78}|[a-zA-Z][a-zA-Z0-9_-]{0,199})$`

const shortIdPattern = /^0x[0-9a-f]{62}$/
const namePattern = new RegExp(MARKET_NAME_PATTERN)

export const marketNameText =
  'a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600'

/** Names that are remembered: those of markets never change. */
const NAMES_KEPT_MAX = 4_096

type MarketSource = {
  findMarket(conditionId: string): Market | undefined
  findMarketBySlug(slug: string): Market | undefined
  findMarketByAsset(assetId: string): Market | undefined
}

export type FindMarket = (name: string) => Market | undefined

export const isMarketName = (text: string): boolean => namePattern.test(text)

/** A folder of an earlier version may hold an id of 31 bytes as it came. */
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
