/** A market is one window of one coin: two outcomes, a conditionId, a timeframe. */
import type { Micros } from './decimal.ts'
import { DAY_MS, toIso } from './time.ts'

export const coins = ['btc', 'eth', 'sol', 'xrp'] as const
export type Coin = (typeof coins)[number]

export const coinNames: Readonly<Record<Coin, string>> = {
  btc: 'Bitcoin',
  eth: 'Ethereum',
  sol: 'Solana',
  xrp: 'XRP',
}

export const outcomes = ['up', 'down'] as const
export type Outcome = (typeof outcomes)[number]

export const otherOutcome = (outcome: Outcome): Outcome => (outcome === 'up' ? 'down' : 'up')

/** Where a market's books come from; simulated data is marked wherever it is shown. */
export type Source = 'recorded' | 'simulated'

/** Who says which outcome won: the venue, an imported data set, or our simulator; the first outranks the others. */
export const winnerSources = ['venue', 'dataset', 'simulated'] as const
export type WinnerSource = (typeof winnerSources)[number]

/** Length of each timeframe that the venue lists, in milliseconds. */
export const timeframeMs = {
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
} as const satisfies Record<string, number>
export type Timeframe = keyof typeof timeframeMs

/** What is known of a market apart from its books. Absent facts are undefined, never guessed. */
export type MarketFacts = {
  /** `0x` and 64 lower-case hex digits. */
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
  winner?: Outcome | undefined
  /** Who named the winner; present exactly when `winner` is. */
  winnerSource?: WinnerSource | undefined
  /** The outcomes' tokens: 1 to 78 decimal digits. */
  assetIds?: OutcomeMap<string> | undefined
  /** Smallest step of prices, in millionths. */
  tickSize?: Micros | undefined
  /** The coin's price, in USD, that the end is compared with: plain decimal digits, exact as the source prints it. */
  strike?: string | undefined
  /** The coin's price at the end of the window, likewise. */
  finalPrice?: string | undefined
}

/** One value an outcome, where known. */
export type OutcomeMap<T> = { readonly [outcome in Outcome]?: T | undefined }

/** A market as stored: its facts and what is held of it. */
export type Market = MarketFacts & {
  /** Small integer of the store; never shown. */
  id: number
  /** Rises whenever anything that a reader could see of the market changes. */
  revision: number
  /** Number of the store's, which rises whenever its parts of the market are cut anew; never shown. */
  layout: number
  assetIds: OutcomeMap<string>
  snapshotCounts: { up: number; down: number }
  /** Snapshots whose books reproduce the venue's own hash. */
  verifiedCounts: { up: number; down: number }
  /** Times of the first and last snapshot of each outcome. */
  spans: OutcomeMap<{ firstMs: number; lastMs: number }>
  /** Longest time between two consecutive snapshots of an outcome. */
  longestSilenceMs: OutcomeMap<number>
  firstSnapshotMs?: number | undefined
  lastSnapshotMs?: number | undefined
  /** True once its history is final short of a backfill: its run has been sealed. */
  isClosed: boolean
  /** What markets are listed by: start of the window, else the first snapshot, else 0. */
  orderMs: number
}

export const isCoin = (text: string): text is Coin => (coins as readonly string[]).includes(text)

export const isTimeframe = (text: string): text is Timeframe => Object.hasOwn(timeframeMs, text)

export const marketStatuses = ['upcoming', 'open', 'closed', 'resolved'] as const
export type MarketStatus = (typeof marketStatuses)[number]

/** Where a market stands: `upcoming` before its window, `open` in it, `closed` after it, `resolved` once a winner is known. */
export function statusOf(market: Market, nowMs: number): MarketStatus {
  if (market.winner !== undefined) return 'resolved'
  if (market.isClosed || nowMs >= (market.windowEndMs ?? Number.POSITIVE_INFINITY)) return 'closed'
  return nowMs < (market.windowStartMs ?? 0) ? 'upcoming' : 'open'
}

/** How far from its window a market has books and trades: it is listed about a day before. */
const LIFE_MARGIN_MS = 2 * DAY_MS

type Window = Pick<MarketFacts, 'timeframe' | 'windowStartMs' | 'windowEndMs'>

/** Says why a book or trade of a time cannot be of a market; undefined when it can, or its window is not known. */
export function lifeFault(market: Window, timeMs: number): string | undefined {
  const lengthMs = timeframeMs[market.timeframe]
  const { windowStartMs, windowEndMs } = market
  const startMs = windowStartMs ?? (windowEndMs ?? Number.NaN) - lengthMs
  const endMs = windowEndMs ?? (windowStartMs ?? Number.NaN) + lengthMs
  // Of a window that is not known, both comparisons are false.
  if (!(timeMs < startMs - LIFE_MARGIN_MS || timeMs > endMs + LIFE_MARGIN_MS)) return undefined
  return `${toIso(timeMs)} is more than two days from the window, ${toIso(startMs)} to ${toIso(endMs)}`
}
