import type { Venue } from './venue/venue.ts'

/** The variables of a server that records a local venue: BTC in windows of 5m. */
export const recordingEnv = (data: string, venue: Venue): Record<string, string> => ({
  BOOKFEED_DATA: data,
  BOOKFEED_PORT: '0',
  BOOKFEED_LOG: 'off',
  BOOKFEED_SAMPLE: 'off',
  BOOKFEED_RECORD: 'on',
  BOOKFEED_RECORD_COINS: 'btc',
  BOOKFEED_FREE_MB: '0',
  BOOKFEED_RECORD_TIMEFRAMES: '5m',
  BOOKFEED_FEED_URL: venue.marketUrl,
  BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
  BOOKFEED_ORDER_BOOK_URL: venue.clobUrl,
})

/** Variables that let customers of `createKeyLoad` sign up, each from its own address. */
export const signupEnv = (list: string): Record<string, string> => ({
  BOOKFEED_SANCTIONS_LIST: list,
  BOOKFEED_SIGNUPS_PER_DAY: '1000000',
  BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
})
