/** A market as the venue has it, written plainly: what it says in frames, and what was true. */

import { formatMillionths } from '#src/domain/decimal.ts'
import type { Outcome } from '#src/domain/market.ts'

export const START_MS = Date.UTC(2026, 9, 1, 12)
export const market = {
  conditionId: `0x${'5c'.repeat(32)}`,
  coin: 'btc',
  timeframe: '5m',
  assetIds: { up: '1111', down: '2222' },
} as const

/** Price → size, in millionths. */
type Side = Map<number, number>
export type PlainBook = { bids: [number, number][]; asks: [number, number][] }
/** Of the book of "up"; the other one is its mirror. Size 0 takes a level away. */
export type Change = { side: 'bids' | 'asks'; price: number; size: number }
export type Recipe = 'usual' | 'unheard'
export type Said = { schema?: 'current' | 'old'; wrongHash?: boolean; noHash?: boolean }

const WRONG_HASH = 'ab'.repeat(20)
const text = formatMillionths

export class VenueModel {
  lastTradePrice = ''
  tick = '0.01'
  recipe: Recipe = 'usual'
  readonly #sides: { bids: Side; asks: Side } = { bids: new Map(), asks: new Map() }
  /** Every state that ever was, by outcome, in order of time; one a millisecond. */
  readonly truth: Record<Outcome, { timestampMs: number; book: PlainBook }[]> = {
    up: [],
    down: [],
  }

  /** Changes levels at a time. */
  apply(timestampMs: number, changes: readonly Change[]): void {
    for (const { side, price, size } of changes) {
      if (size === 0) this.#sides[side].delete(price)
      else this.#sides[side].set(price, size)
    }
    for (const outcome of ['up', 'down'] as const) {
      const states = this.truth[outcome]
      if (states.at(-1)?.timestampMs === timestampMs) states.pop()
      states.push({ timestampMs, book: this.book(outcome) })
    }
  }

  /** Best levels first. */
  book(outcome: Outcome): PlainBook {
    const bids = [...this.#sides.bids].sort(([a], [b]) => b - a)
    const asks = [...this.#sides.asks].sort(([a], [b]) => a - b)
    if (outcome === 'up') return { bids, asks }
    const mirror = (levels: [number, number][]) =>
      levels.map(([price, size]): [number, number] => [1_000_000 - price, size])
    return { bids: mirror(asks), asks: mirror(bids) }
  }

  hash(outcome: Outcome, timestampMs: number): string {
    const { bids, asks } = this.#wire(outcome)
    const book = {
      market: market.conditionId,
      asset_id: market.assetIds[outcome],
      timestamp: String(timestampMs),
      hash: '',
      bids,
      asks,
      min_order_size: this.recipe === 'usual' ? '5' : '5.00',
      tick_size: this.tick,
      neg_risk: false,
      last_trade_price: this.lastTradePrice,
    }
    return new Bun.CryptoHasher('sha1').update(JSON.stringify(book)).digest('hex')
  }

  bookFrame(outcome: Outcome, timestampMs: number, said: Said = {}): Record<string, unknown> {
    return {
      market: market.conditionId,
      asset_id: market.assetIds[outcome],
      timestamp: String(timestampMs),
      hash: this.#hashSaid(outcome, timestampMs, said),
      ...this.#wire(outcome),
      tick_size: this.tick,
      event_type: 'book',
      last_trade_price: this.lastTradePrice,
    }
  }

  /** Frames that say changes that were applied; the old schema has one for each token. */
  changeFrames(timestampMs: number, changes: readonly Change[], said: Said = {}): object[] {
    const entries = (['up', 'down'] as const).flatMap((outcome) =>
      changes.map((change) => ({
        outcome,
        hash: this.#hashSaid(outcome, timestampMs, said),
        ...this.#entry(outcome, change),
      })),
    )
    const head = { market: market.conditionId, timestamp: String(timestampMs) }
    const event_type = 'price_change'
    if (said.schema !== 'old') {
      const price_changes = entries.map(({ outcome: _, ...entry }) => entry)
      return [{ ...head, price_changes, event_type }]
    }
    return (['up', 'down'] as const).map((outcome) => {
      const own = entries.filter((entry) => entry.outcome === outcome)
      const levels = own.map(({ price, side, size }) => ({ price, side, size }))
      const hash = own[0]?.hash
      return { asset_id: market.assetIds[outcome], changes: levels, event_type, ...head, hash }
    })
  }

  tradeFrame(outcome: Outcome, timestampMs: number): Record<string, unknown> {
    return {
      event_type: 'last_trade_price',
      market: market.conditionId,
      asset_id: market.assetIds[outcome],
      price: this.lastTradePrice,
      size: '10',
      side: 'BUY',
      timestamp: String(timestampMs),
    }
  }

  #entry(outcome: Outcome, { side, price, size }: Change) {
    const isBid = (side === 'bids') === (outcome === 'up')
    const { bids, asks } = this.book(outcome)
    return {
      asset_id: market.assetIds[outcome],
      price: text(outcome === 'up' ? price : 1_000_000 - price),
      size: text(size),
      side: isBid ? 'BUY' : 'SELL',
      best_bid: text(bids[0]?.[0] ?? 0),
      best_ask: text(asks[0]?.[0] ?? 1_000_000),
    }
  }

  #hashSaid(outcome: Outcome, timestampMs: number, said: Said): string | undefined {
    if (said.noHash) return undefined
    return said.wrongHash ? WRONG_HASH : this.hash(outcome, timestampMs)
  }

  /** Best levels last. */
  #wire(outcome: Outcome) {
    const { bids, asks } = this.book(outcome)
    const print = (levels: [number, number][]) =>
      levels.map(([price, size]) => ({ price: text(price), size: text(size) })).toReversed()
    return { bids: print(bids), asks: print(asks) }
  }
}
