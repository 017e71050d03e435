import { formatMillionths, type Millionths } from './decimal.ts'
import type { Market, Outcome } from './market.ts'
import type { Position } from './snapshot.ts'
import { type TimeRange, toIso } from './time.ts'

/** A trade, or an imported last trade price, which has no outcome, size or side. */
export type Trade = {
  /** The venue's time, Unix milliseconds. */
  readonly timestampMs: number
  /** Price of the traded outcome, between 0 and 1. */
  readonly price: Millionths
  /** The traded outcome; undefined if the source does not name it, and never guessed. */
  readonly outcome?: Outcome | undefined
  /** Shares. */
  readonly size?: Millionths | undefined
  readonly side?: 'buy' | 'sell' | undefined
  /** Hash of the transaction that settled it: `0x` and 64 lower-case hex digits. */
  readonly transactionHash?: string | undefined
}

/** A trade with its id among all stored trades of all markets; later ones have greater ids. */
export type StoredTrade = Trade & { readonly id: number }

export type TradeQuery = TimeRange & {
  market: Market
  /** Only trades that are known to be of this outcome. */
  outcome?: Outcome | undefined
  /** At least this many of the first trades; the last millisecond is always complete. */
  first?: number | undefined
  /** Exactly this many of the last trades, if there are as many. */
  last?: number | undefined
  /** Excludes last trade prices. */
  isTrade?: true | undefined
  /** Reads as if only the trades with smaller ids were stored. */
  belowId?: number | undefined
  /** Only trades that were accepted after this id and that replaced no earlier one. */
  aboveId?: number | undefined
}

export const isLastPrice = ({ outcome, size, side }: Trade): boolean =>
  outcome === undefined && size === undefined && side === undefined

const transactionHashPattern = /^0x[0-9a-f]{64}$/

/** Undefined if the value is not a transaction hash: the trade is then stored without one. */
export function toTransactionHash(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  return transactionHashPattern.test(text) ? text : undefined
}

const outcomeRanks = { up: 1, down: 2 } as const
const sideRanks = { buy: 1, sell: 2 } as const

/**
 * The order of trades: by time, then by content, so that it does not depend on the order of receipt
 * or import. A missing field sorts first.
 */
export const compareTrades = (a: Trade, b: Trade): number =>
  a.timestampMs - b.timestampMs ||
  rank(a.outcome, outcomeRanks) - rank(b.outcome, outcomeRanks) ||
  a.price - b.price ||
  (a.size ?? -1) - (b.size ?? -1) ||
  rank(a.side, sideRanks) - rank(b.side, sideRanks) ||
  compareTexts(a.transactionHash ?? '', b.transactionHash ?? '')

const rank = <Name extends string>(name: Name | undefined, ranks: Record<Name, number>): number =>
  name === undefined ? 0 : ranks[name]

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b)

/** Sorts trades that are already ordered by time. */
export function sortMoments(trades: StoredTrade[]): StoredTrade[] {
  const hasMoment = trades.some(
    ({ timestampMs }, at) => timestampMs === trades[at - 1]?.timestampMs,
  )
  return hasMoment ? trades.sort((a, b) => compareTrades(a, b) || a.id - b.id) : trades
}

/**
 * A position among trades: a millisecond, the number of its trades up to there, and the greatest id
 * among its trades at the time of the read. Trades that are accepted later have greater ids and
 * follow the last position of their millisecond in order of id, so a reader that resumes from any
 * position gets each trade once.
 */
export type PlacedTrade = { trade: StoredTrade; at: Position }

/** Bound of the number of trades in a millisecond; the last trade always has the last number. */
const COUNTS = 2 ** 15
const LAST_COUNT = COUNTS - 1

const toPlace = (timestampMs: number, seenId: number, count: number): Position => ({
  timestampMs,
  id: seenId * COUNTS + count,
})

/** Adds positions to trades; every millisecond must be complete. */
export function placeTrades(trades: readonly StoredTrade[]): PlacedTrade[] {
  const placed: PlacedTrade[] = []
  for (let start = 0; start < trades.length;) {
    const { timestampMs = 0 } = trades[start] ?? {}
    let end = start
    let seenId = 0
    for (; trades[end]?.timestampMs === timestampMs; end++)
      seenId = Math.max(seenId, trades[end]?.id ?? 0)
    for (const [index, trade] of trades.slice(start, end).entries()) {
      const count = start + index + 1 === end ? LAST_COUNT : Math.min(index + 1, LAST_COUNT - 1)
      placed.push({ trade, at: toPlace(timestampMs, seenId, count) })
    }
    start = end
  }
  return placed
}

type ReadTrades = (query: TradeQuery) => readonly StoredTrade[]
type TradesAfter = { market: Market; after: Position; toMs?: number | undefined }

/** Reads the trades after a position: at least `first` of them, if set and if there are enough. */
export function readTradesAfter(
  read: ReadTrades,
  { market, after, toMs, first }: TradesAfter & { first?: number | undefined },
): PlacedTrade[] {
  const fromMs = after.timestampMs
  const trades = read({ market, fromMs, toMs, first })
  const end = trades.findIndex(({ timestampMs }) => timestampMs !== fromMs)
  const moment = end < 0 ? trades : trades.slice(0, end)
  const placed = moment.length === 0 ? [] : readRest(read, { market, after }, moment)
  if (end >= 0) placed.push(...placeTrades(trades.slice(end)))
  const lastMs = trades.at(-1)?.timestampMs
  const isCut = first !== undefined && trades.length >= first && placed.length < first
  if (!isCut || lastMs === undefined) return placed
  return [...placed, ...placeTrades(read({ market, fromMs: lastMs + 1, toMs, first }))]
}

/** Reads the trades before a position, the last one first. */
export function readTradesBefore(
  read: ReadTrades,
  { market, after, fromMs }: { market: Market; after: Position; fromMs: number | undefined },
): PlacedTrade[] {
  const { timestampMs, id } = after
  const earlier = placeTrades(read({ market, fromMs, toMs: timestampMs })).reverse()
  if (id === 0) return earlier
  const moment = read({ market, fromMs: timestampMs, toMs: timestampMs + 1 })
  const { seen, isHeld } = readSeen(read, { market, after }, moment)
  const before = seen.slice(0, Math.min(id % COUNTS, seen.length) - 1).filter(isHeld)
  return [...before.reverse(), ...earlier]
}

/** The trades that follow a position in its millisecond, all of which are in `moment`. */
function readRest(
  read: ReadTrades,
  place: TradesAfter,
  moment: readonly StoredTrade[],
): PlacedTrade[] {
  const { id } = place.after
  if (id === 0) return placeTrades(moment)
  const { seen, isHeld, seenId } = readSeen(read, place, moment)
  const later = moment.filter((trade) => trade.id > seenId).sort((a, b) => a.id - b.id)
  return [
    ...seen.slice(id % COUNTS).filter(isHeld),
    ...later.map((trade) => ({ trade, at: toPlace(trade.timestampMs, trade.id, LAST_COUNT) })),
  ]
}

/** The trades in the millisecond of a position that were known when the position was made. */
function readSeen(
  read: ReadTrades,
  { market, after }: TradesAfter,
  moment: readonly StoredTrade[],
) {
  // Positions of versions before 0.5.0 hold only the count.
  const seenId = Math.floor(after.id / COUNTS) || Number.MAX_SAFE_INTEGER
  const { timestampMs: fromMs } = after
  const isAll = moment.every(({ id }) => id <= seenId)
  const seen = isAll ? moment : read({ market, fromMs, toMs: fromMs + 1, belowId: seenId + 1 })
  const held = new Set(moment.map(({ id }) => id))
  const isHeld = ({ trade }: PlacedTrade): boolean => held.has(trade.id)
  return { seen: placeTrades(seen), isHeld, seenId }
}

/** A trade as it is served; lists of servers that ask the chain add `chain`. */
export function tradeText(trade: Trade, chain?: string): string {
  const { timestampMs, price, outcome, size, side, transactionHash } = trade
  const text = (value: string | undefined) => (value === undefined ? 'null' : `"${value}"`)
  const shares = size === undefined ? 'null' : formatMillionths(size)
  const rest = chain === undefined ? '' : `,"chain":"${chain}"`
  return `{"timestamp":"${toIso(timestampMs)}","outcome":${text(outcome)},"price":${formatMillionths(price)},"size":${shares},"side":${text(side)},"transactionHash":${text(transactionHash)}${rest}}`
}

const UNKNOWN_HASH = ',"transactionHash":null'

/**
 * A served trade in the form that manifests digest: a null hash is left out, because trades had no
 * such member when the first manifests were signed.
 */
export const toDigested = (served: string): string => served.replace(UNKNOWN_HASH, '')
