/** Reasons of gaps in words: short ones for a row, and sentences for a list. */

type Words = { short: string; sentence: string }

const reasons: Readonly<Record<string, Words>> = {
  recorder_down: { short: 'recorder down', sentence: 'The recorder was not connected' },
  venue_silent: {
    short: 'venue silent',
    sentence: 'The recorder was connected, but the venue sent nothing',
  },
  venue_restart: { short: 'venue restarts', sentence: 'The venue restarted' },
  hash_mismatch: {
    short: 'book not verified',
    sentence: 'The book did not match the hash of the venue',
  },
  import: { short: 'no data', sentence: 'Nothing was recorded or imported' },
  not_open: { short: 'not open', sentence: 'The market was not open' },
  window_unknown: { short: 'window unknown', sentence: 'The window of a market is not known' },
  no_market: { short: 'windows missing', sentence: 'A window is not recorded' },
  no_trade: { short: 'no trade', sentence: 'No trade is recorded' },
  not_over: { short: 'not over', sentence: 'The day is not over' },
  candle: { short: 'settles on candles', sentence: 'The windows settle on candles' },
  replica_behind: {
    short: "the server's copy is behind",
    sentence: "The server's copy is behind",
  },
}

const wordsOf = (reason: string): Words =>
  reasons[reason] ?? { short: reason.replaceAll('_', ' '), sentence: reason.replaceAll('_', ' ') }

export const shortReason = (reason: string): string => wordsOf(reason).short
export const describeReason = (reason: string): string => wordsOf(reason).sentence
