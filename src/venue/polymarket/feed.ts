/**
 * The venue's public socket of order books and trades. Its messages are JSON, an object or an array
 * of objects, in which every number is a string. The best level of a side comes last.
 */

import { type Millionths, MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import {
  assetIdPattern,
  assetIdRule,
  conditionIdRule,
  parseConditionId,
} from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import { MOMENT_MS_MAX, VENUE_OPENED_MS } from '#src/domain/time.ts'
import { toTransactionHash } from '#src/domain/trade.ts'
import { isRecord } from '#src/platform/record.ts'

import type { FeedEvent, LevelChange, VenueFeed } from '../feed.ts'
import type { JsonObject } from '../json-fields.ts'

/** The answer to a ping, which is not JSON. */
const PONG = 'PONG'

/** The longest text of the venue that an event quotes. */
const TEXT_LENGTH_MAX = 200

export const feed: VenueFeed = {
  url: 'wss://ws-subscriptions-clob.polymarket.com/ws/market',
  // With more than 500 tokens, a connection silently stops sending.
  tokensMax: 200,
  ping: { text: 'PING', answer: PONG, everyMs: 10_000 },
  subscription: (assetIds, { hasLifecycle }) =>
    JSON.stringify({
      assets_ids: assetIds,
      type: 'market',
      initial_dump: true,
      ...(hasLifecycle && { custom_feature_enabled: true }),
    }),
  decode,
}

function decode(text: string): FeedEvent[] {
  if (text === PONG) return []
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch {
    return [{ kind: 'fault', reason: 'not JSON', isOfBook: true }]
  }
  return Array.isArray(frame) ? frame.map(decodeMessage) : [decodeMessage(frame)]
}

/** Messages after whose loss a book is unknown. */
const bookTypes: ReadonlySet<string> = new Set(['book', 'price_change', 'tick_size_change'])

function decodeMessage(message: unknown): FeedEvent {
  if (!isRecord(message)) return { kind: 'fault', reason: 'not an object', isOfBook: true }
  const { event_type, asset_id, bids, asks, market } = message
  // The REST routes return books without a type.
  const isBook = asset_id !== undefined && bids !== undefined && asks !== undefined
  const untyped = isBook ? 'book' : ''
  const type = typeof event_type === 'string' ? event_type : untyped
  try {
    return readEvent(type, message) ?? { kind: 'unknown', type: type.slice(0, TEXT_LENGTH_MAX) }
  } catch (error) {
    if (!isRecordFault(error)) throw error
    return {
      kind: 'fault',
      reason: `${type}: ${error.message}`,
      conditionId: typeof market === 'string' ? parseConditionId(market) : undefined,
      isOfBook: bookTypes.has(type),
    }
  }
}

/** Undefined for a message of an unknown type. */
function readEvent(type: string, message: JsonObject): FeedEvent | undefined {
  switch (type) {
    case 'book':
      return {
        kind: 'book',
        ...readToken(message),
        bids: readLadder(message.bids, 'bids'),
        asks: readLadder(message.asks, 'asks'),
        hash: readHash(message.hash),
        tickSize: toPrice(message.tick_size),
        minOrderSize: readMinOrderSize(message.min_order_size),
        isNegRisk: typeof message.neg_risk === 'boolean' ? message.neg_risk : undefined,
        version: typeof message.version === 'string' ? message.version : undefined,
        lastTradePrice: readLastTradePrice(message.last_trade_price),
      }
    case 'price_change':
      return { kind: 'changes', ...readMarket(message), changes: readChanges(message) }
    case 'tick_size_change':
      return {
        kind: 'tick',
        ...readToken(message),
        tickSize: readPrice(message.new_tick_size, 'new_tick_size'),
      }
    case 'last_trade_price':
      return {
        kind: 'trade',
        ...readToken(message),
        price: readPrice(message.price, 'price'),
        priceText: readText(message.price, 'price'),
        size: isEmpty(message.size) ? undefined : readSize(message.size, 'size'),
        side: isEmpty(message.side) ? undefined : takerSides[readSide(message.side)],
        transactionHash: toTransactionHash(message.transaction_hash),
      }
    case 'best_bid_ask':
      return {
        kind: 'best',
        ...readToken(message),
        bestBid: readBest(message.best_bid, 'best_bid') ?? 0,
        bestAsk: readBest(message.best_ask, 'best_ask') ?? 0,
      }
    case 'new_market': {
      const { slug } = message
      const text = isEmpty(slug) ? undefined : readText(slug, 'slug').slice(0, TEXT_LENGTH_MAX)
      return { kind: 'announced', slug: text }
    }
    case 'market_resolved': {
      const { market, winning_asset_id: id } = message
      const winningAssetId = isEmpty(id) ? undefined : readAssetId(id, 'winning_asset_id')
      return { kind: 'resolved', conditionId: readMarketId(market), winningAssetId }
    }
    default:
      return undefined
  }
}

/** The side of the book on which orders of this side rest. */
const sides = { BUY: 'bids', SELL: 'asks' } as const
const takerSides = { BUY: 'buy', SELL: 'sell' } as const

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** The venue writes a missing optional decimal as an empty text. */
const isEmpty = (value: unknown): boolean => isAbsent(value) || value === ''

function readMarketId(market: unknown): string {
  const conditionId = parseConditionId(readText(market, 'market'))
  if (conditionId === undefined) throw recordFault(`market: not ${conditionIdRule}`)
  return conditionId
}

const readMarket = ({ market, timestamp }: JsonObject) => ({
  conditionId: readMarketId(market),
  timestampMs: readTimestamp(timestamp),
})

const readToken = (message: JsonObject) => ({
  ...readMarket(message),
  assetId: readAssetId(message.asset_id, 'asset_id'),
})

function readChanges(message: JsonObject): LevelChange[] {
  // Since 2025-09-15 each change has its own token and hash; before, the message had one of each.
  const isCurrent = Array.isArray(message.price_changes)
  const list = isCurrent ? message.price_changes : message.changes
  if (!Array.isArray(list)) throw recordFault('price_changes: not an array')
  return list.map((change: unknown) => {
    if (!isRecord(change))
      throw recordFault(`${isCurrent ? 'price_changes' : 'changes'}: not objects`)
    const owner = isCurrent ? change : message
    return {
      assetId: readAssetId(owner.asset_id, 'asset_id'),
      side: sides[readSide(change.side)],
      price: readPrice(change.price, 'price'),
      size: readSize(change.size, 'size'),
      hash: readHash(owner.hash),
      bestBid: readBest(change.best_bid, 'best_bid'),
      bestAsk: readBest(change.best_ask, 'best_ask'),
    }
  })
}

/** Reads a side of a book, whose best level should be the last. */
function readLadder(levels: unknown, side: 'bids' | 'asks'): Ladder {
  if (!Array.isArray(levels)) throw recordFault(`${side}: not an array`)
  const prices: Millionths[] = []
  const sizes: Millionths[] = []
  const direction = side === 'bids' ? -1 : 1
  let isOrdered = true
  let before = direction * -MILLIONTHS_PER_UNIT
  for (let at = levels.length - 1; at >= 0; at--) {
    const level: unknown = levels[at]
    if (!isRecord(level)) throw recordFault(`${side}: not levels`)
    const price = readPrice(level.price, side)
    const size = readSize(level.size, side)
    if (size === 0) continue
    if ((price - before) * direction <= 0) isOrdered = false
    before = price
    prices.push(price)
    sizes.push(size)
  }
  return isOrdered ? { prices, sizes } : sortLadder({ prices, sizes }, side)
}

function sortLadder({ prices, sizes }: Ladder, side: 'bids' | 'asks'): Ladder {
  const direction = side === 'bids' ? -1 : 1
  const levels = prices.map((price, at) => ({ price, size: sizes[at] ?? 0 }))
  levels.sort((a, b) => (a.price - b.price) * direction)
  if (levels.some(({ price }, at) => price === levels[at - 1]?.price)) {
    throw recordFault(`${side}: a price twice`)
  }
  return { prices: levels.map(({ price }) => price), sizes: levels.map(({ size }) => size) }
}

function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw recordFault(`${path}: not a string`)
  return value
}

function readAssetId(value: unknown, path: string): string {
  const text = readText(value, path)
  if (!assetIdPattern.test(text)) throw recordFault(`${path}: not ${assetIdRule}`)
  return text
}

const hashPattern = /^[0-9a-f]{40}$/

/** A hash in another form is ignored; the levels can still be read. */
function readHash(value: unknown): string | undefined {
  if (isEmpty(value)) return undefined
  const text = readText(value, 'hash').toLowerCase()
  return hashPattern.test(text) ? text : undefined
}

const unixMsPattern = /^[0-9]{13,15}$/

function readTimestamp(value: unknown): number {
  const text = readText(value, 'timestamp')
  const unixMs = unixMsPattern.test(text) ? Number(text) : 0
  if (unixMs >= VENUE_OPENED_MS && unixMs <= MOMENT_MS_MAX) return unixMs
  throw recordFault('timestamp: not Unix milliseconds of a time since 2020')
}

/** Prices and ticks are between 0 and 1, both exclusive. */
function toPrice(value: unknown): Millionths | undefined {
  const price = typeof value === 'string' ? parseMillionths(value) : undefined
  return price === undefined || price === 0 || price >= MILLIONTHS_PER_UNIT ? undefined : price
}

function readPrice(value: unknown, path: string): Millionths {
  const price = toPrice(value)
  if (price === undefined) throw recordFault(`${path}: not a price between 0 and 1`)
  return price
}

function readSize(value: unknown, path: string): Millionths {
  const size = typeof value === 'string' ? parseMillionths(value) : undefined
  if (size === undefined) throw recordFault(`${path}: not a size`)
  return size
}

/** Reads a best price; 0 for an empty side, which the venue writes as `0`, `1` or nothing. */
function readBest(value: unknown, path: string): Millionths | undefined {
  if (isAbsent(value)) return undefined
  if (value === '') return 0
  const price = readSize(value, path)
  if (price > MILLIONTHS_PER_UNIT) throw recordFault(`${path}: above 1`)
  return price === MILLIONTHS_PER_UNIT ? 0 : price
}

/** Kept as text, because the hash covers it. A text that is not a price is ignored. */
const readLastTradePrice = (value: unknown): string | undefined =>
  typeof value === 'string' && (value === '' || toPrice(value) !== undefined) ? value : undefined

/** Kept as text, because the hash covers it. */
const readMinOrderSize = (value: unknown): string | undefined =>
  typeof value === 'string' && minOrderSizePattern.test(value) ? value : undefined

const minOrderSizePattern = /^\d{1,9}(\.\d{1,6})?$/

/** Accepts a side in any case, as the venue's own clients do. */
function readSide(value: unknown): keyof typeof sides {
  if (value === 'BUY' || value === 'SELL') return value
  const side = typeof value === 'string' ? value.toUpperCase() : value
  if (side !== 'BUY' && side !== 'SELL') throw recordFault('side: neither BUY nor SELL')
  return side
}
