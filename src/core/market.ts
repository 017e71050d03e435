/** A market is one window of one coin: two outcomes, a conditionId, a timeframe. */

export const coins = ['btc', 'eth', 'sol', 'xrp'] as const
export type Coin = (typeof coins)[number]

export const outcomes = ['up', 'down'] as const
export type Outcome = (typeof outcomes)[number]

/** Where a market's books come from; simulated data is marked wherever it is shown. */
export type Source = 'recorded' | 'simulated'

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
}

/** A market as stored: its facts and what is held of it. */
export type Market = MarketFacts & {
  /** Small integer of the store; never shown. */
  id: number
  /** Rises whenever anything that a reader could see of the market changes. */
  revision: number
  /** Number of the store's, which rises whenever its parts of the market are cut anew; never shown. */
  layout: number
  assetIds: { up?: string | undefined; down?: string | undefined }
  snapshotCounts: { up: number; down: number }
  firstSnapshotMs?: number | undefined
  lastSnapshotMs?: number | undefined
  /** True once its history is final short of a backfill: its run has been sealed. */
  isClosed: boolean
  /** What markets are listed by: start of the window, else the first snapshot, else 0. */
  orderMs: number
}

export const isCoin = (text: string): text is Coin => (coins as readonly string[]).includes(text)

export const isTimeframe = (text: string): text is Timeframe => Object.hasOwn(timeframeMs, text)
