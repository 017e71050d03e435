import type { MarketFacts } from '#src/core/market.ts'

/** What a file says of a market; whether it is recorded or simulated is said by who imports it. */
export type KnownFacts = Omit<MarketFacts, 'source'>

/** A market of a kind that is not kept, and why. */
export type LeftOut = { kind: 'left_out'; reason: string }
