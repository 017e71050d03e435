/**
 * The two order books of a market as reported by one connection: which states are true, and in
 * which periods the books are unknown.
 */

import type { GapReason } from '#src/domain/coverage.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import { timeFault } from '#src/domain/time.ts'
import type { FeedEvent } from '#src/venue/feed.ts'

import type { BooksOptions } from './book-output.ts'
import { createTimeOrder } from './time-order.ts'
import { TokenBook } from './token-book.ts'
import { Watermark } from './watermark.ts'

export function createMarketBooks(options: BooksOptions) {
  const { market, counts, watermark = new Watermark() } = options
  const { conditionId, assetIds } = market
  const trades = new TradePrices()
  const order = createTimeOrder(options.output, (outcome) => both[outcome].waitingMs)
  const { output } = order
  const terms = { ...options, output, watermark, tradePrices: trades.prices }
  const up: TokenBook = new TokenBook('up', terms, () => down)
  const down: TokenBook = new TokenBook('down', terms, () => up)
  const both: Record<Outcome, TokenBook> = { up, down }
  const findOutcome = (assetId: string) => outcomes.find((each) => assetIds[each] === assetId)

  function lose(reason: GapReason): void {
    for (const outcome of outcomes) both[outcome].lose(reason)
    order.pass()
  }

  /** Counts an invalid message. If it may have been about a book, both books become unknown. */
  function fault(isOfBook: boolean): void {
    counts.faults++
    if (isOfBook) lose('recorder_down')
  }

  function takeSound(event: FeedEvent, receivedMs: number, hasReceipt: boolean): void {
    if (event.kind === 'changes') {
      for (const change of event.changes) {
        const outcome = findOutcome(change.assetId)
        if (outcome === undefined) fault(true)
        else both[outcome].takeChange(change, event.timestampMs, receivedMs, hasReceipt)
      }
      return
    }
    if (event.kind !== 'trade' && event.kind !== 'book' && event.kind !== 'tick') return
    const outcome = findOutcome(event.assetId)
    if (outcome === undefined) fault(event.kind !== 'trade')
    else if (event.kind === 'tick') both[outcome].takeTick(event.tickSize)
    else if (event.kind === 'book') {
      trades.note(event.lastTradePrice, event.timestampMs)
      both[outcome].takeBook(event, receivedMs, hasReceipt)
    } else {
      const { timestampMs, price, priceText, size, side, transactionHash } = event
      counts.trades++
      output.trade({ timestampMs, price, outcome, size, side, transactionHash }, conditionId)
      trades.note(priceText, timestampMs)
      for (const each of outcomes) both[each].recheck(receivedMs)
    }
  }

  /** Ends every wait that is over by the recorder's clock. Call it every few milliseconds. */
  function settle(nowMs: number): void {
    for (const outcome of outcomes) both[outcome].settle(nowMs)
    order.pass()
  }

  return {
    /**
     * Takes events of this market in the order of receipt. If `hasReceipt` is false, `receivedMs`
     * only orders the event, and the state that ends with it has no time of receipt.
     */
    take(event: FeedEvent, receivedMs: number, hasReceipt = true): void {
      // Settles first, so that the result does not depend on when `settle` was called last.
      settle(receivedMs)
      const isSound = !('timestampMs' in event) || !timeFault(event.timestampMs, receivedMs)
      if (event.kind === 'fault') fault(event.isOfBook)
      else if (isSound) takeSound(event, receivedMs, hasReceipt)
      else fault(event.kind !== 'trade' && event.kind !== 'best')
      if (isSound && 'timestampMs' in event) watermark.raise(event.timestampMs)
      order.pass()
    },

    settle,

    /**
     * Handles a lost connection or message: both books are unknown after their last true state, and
     * their levels are doubtful until a hash proves them. Waiting states are decided at once, so
     * call `settle` first.
     */
    lose,

    /** Passes on states that wait only for the other book. Call nothing afterwards. */
    end: order.end,
  }
}

export type MarketBooks = ReturnType<typeof createMarketBooks>

/** More than the trades of a burst, so that the price in a book that still waits is remembered. */
const TRADES_MAX = 8

/** The last trade prices of a market, which the hashes of both books may include. */
class TradePrices {
  /** Newest first. */
  readonly prices: string[] = []
  #newestMs = 0

  note(price: string | undefined, timestampMs: number): void {
    if (price === undefined || price === this.prices[0]) return
    const isNewest = timestampMs >= this.#newestMs
    this.prices.splice(isNewest ? 0 : 1, 0, price)
    this.prices.length = Math.min(this.prices.length, TRADES_MAX)
    if (isNewest) this.#newestMs = timestampMs
  }
}
