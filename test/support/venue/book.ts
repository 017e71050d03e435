/**
 * A market's two books as stored, printed and hashed by the venue. Independent of `src`, whose
 * parsing and hashing are checked against it.
 */
import { createHash } from 'node:crypto'

const MILLIONTHS = 1_000_000

/** Price in millionths, size as printed, and the level as it appears in every message. */
export type Level = { price: number; size: string; text: string }
/** In the venue's order: the best level last. */
export type Sides = { bids: readonly Level[]; asks: readonly Level[] }
/** The total size of a level; "0" when it is gone. */
export type Change = { side: keyof Sides; price: number; size: string }

/** 0 is Up, 1 is Down. */
export type TokenIndex = 0 | 1
export type TokenBook = Sides & { assetId: string; hash: string }

/** The state of a market between two changes. */
export type MarketState = {
  conditionId: string
  /** By the venue's clock. */
  atMs: number
  /** As printed: the same, unless the clock jumped. */
  timestampMs: number
  tick: string
  /** Three decimals or more; empty before the first trade. */
  lastTradePrice: string
  /**
   * The version of the market's protocol; undefined for the first, whose books do not state one.
   */
  version: 'v2' | undefined
  books: readonly [up: TokenBook, down: TokenBook]
}

/**
 * `other` omits the last trade price, like a venue that changed its recipe; `unheard` has an
 * unknown member.
 */
export type Recipe = 'documented' | 'other' | 'unheard'

export const emptySides: Sides = { bids: [], asks: [] }

/** Exact for whole millionths of 0.001 and above, which includes every tick. */
export function printPrice(millionths: number): string {
  let text = priceTexts.get(millionths)
  if (text === undefined) {
    text = String(millionths / MILLIONTHS)
    priceTexts.set(millionths, text)
  }
  return text
}
const priceTexts = new Map<number, string>()

export const readPrice = (text: string): number => Math.round(Number(text) * MILLIONTHS)

/** Prints a last trade price: `0.850`, `0.0025`. */
export const printTradePrice = (millionths: number): string =>
  printPrice(millionths).padEnd(5, '0').replace(/^0$/, '0.000')

/** The same order in the book of the other token. */
export const mirror = ({ side, price, size }: Change): Change => ({
  side: side === 'bids' ? 'asks' : 'bids',
  price: MILLIONTHS - price,
  size,
})

export function apply(sides: Sides, { side, price, size }: Change): Sides {
  const levels = sides[side]
  const sign = side === 'bids' ? 1 : -1
  let at = levels.length
  while (at > 0 && ((levels[at - 1]?.price ?? 0) - price) * sign >= 0) at--
  const isThere = levels[at]?.price === price
  const text = `{"price":"${printPrice(price)}","size":"${size}"}`
  const level = size === '0' ? [] : [{ price, size, text }]
  return { ...sides, [side]: levels.toSpliced(at, isThere ? 1 : 0, ...level) }
}

/** Best bid and ask as named in messages; 0 and 1 represent an empty side. */
export const touchOf = ({ bids, asks }: Sides): { bestBid: string; bestAsk: string } => ({
  bestBid: printPrice(bids.at(-1)?.price ?? 0),
  bestAsk: printPrice(asks.at(-1)?.price ?? MILLIONTHS),
})

type Hashed = Pick<MarketState, 'conditionId' | 'timestampMs'> & { assetId: string; sides: Sides }

/** The second protocol hashes ids of 31 bytes with a zero byte appended. */
const hashedId = (conditionId: string): string => conditionId.padEnd(66, '0')

export function levelsOf(levels: readonly Level[]): string {
  let texts = ''
  for (const { text } of levels) texts += texts === '' ? text : `,${text}`
  return `[${texts}]`
}

/** The hashed text of a book, up to its tick. */
export const hashedHead = ({ conditionId, timestampMs, assetId, sides }: Hashed): string =>
  `{"market":"${hashedId(conditionId)}","asset_id":"${assetId}","timestamp":"${timestampMs}","hash":"",` +
  `"bids":${levelsOf(sides.bids)},"asks":${levelsOf(sides.asks)},"min_order_size":"5",`

type Terms = Pick<MarketState, 'tick' | 'lastTradePrice'> & Partial<Pick<MarketState, 'version'>>

/** The version in books of the second protocol, in messages and in the hashed text. */
export const versionMember = ({ version }: Partial<Pick<MarketState, 'version'>>): string =>
  version === undefined ? '' : `,"version":"${version}"`

export const hashedTail = (terms: Terms, recipe: Recipe): string => {
  const { tick, lastTradePrice } = terms
  const head = `"tick_size":"${tick}","neg_risk":false`
  if (recipe === 'other') return `${head}}`
  const unheard = recipe === 'unheard' ? ',"status":"open"' : ''
  return `${head},"last_trade_price":"${lastTradePrice}"${versionMember(terms)}${unheard}}`
}

export const hashOf = (book: Hashed & Terms, recipe: Recipe): string =>
  createHash('sha1')
    .update(hashedHead(book) + hashedTail(book, recipe))
    .digest('hex')
