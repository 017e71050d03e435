/**
 * The two order books of a market, from what one connection says of them: which states are true,
 * and from when to when the books are not known.
 */
import type { GapReason } from '#src/domain/coverage.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import { timeFault } from '#src/domain/time.ts'
import type { BookEvent, ChangeEvent, FeedEvent, TickEvent, TradeEvent } from '#src/venue/feed.ts'
import type { BookVerifier } from '#src/venue/venue.ts'

import { type BookCounts, type BooksOutput, noCounts, type RecordedMarket } from './book-output.ts'
import type { RecipeWatch } from './recipe-watch.ts'
import { createTimeOrder } from './time-order.ts'
import { TokenBook } from './token-book.ts'
import { Watermark } from './watermark.ts'

export type BooksOptions = {
  market: RecordedMarket
  verifier: BookVerifier
  /** Shared by all markets. */
  watch: RecipeWatch
  output: BooksOutput
  /** Counted into; may be shared. */
  counts?: BookCounts | undefined
  /** True states passed on of each outcome in a second, at most; all when absent. */
  maxPerSecond?: number | undefined
  /** Of the connection, and shared by its markets: raised by whatever is heard. */
  watermark?: Watermark | undefined
}

export type MarketBooks = {
  /** Takes what was received of this market, in the order of receipt. */
  take(event: FeedEvent, receivedMs: number): void
  /**
   * Ends what has waited long enough by the recorder's clock. To be called every few milliseconds.
   */
  settle(nowMs: number): void
  /**
   * The connection was lost, or a message: neither book is known from its last true state on. What
   * is known of them stays in doubt, and counts again when a hash proves it. What waits then waits
   * no longer, so settle first.
   */
  lose(reason: GapReason): void
  /** Passes on what waits for the other book only: nothing more is taken. */
  end(): void
}

export function createMarketBooks(options: BooksOptions): MarketBooks {
  const { market, counts = noCounts(), watermark = new Watermark() } = options
  const { conditionId, assetIds } = market
  const trades = new TradePrices()
  const order = createTimeOrder(options.output, (outcome) => both[outcome].waitingMs)
  const { output } = order
  const terms = { ...options, output, counts, tradePrices: trades.prices, watermark }
  const up: TokenBook = new TokenBook('up', terms, () => down)
  const down: TokenBook = new TokenBook('down', terms, () => up)
  const both: Record<Outcome, TokenBook> = { up, down }
  const outcomeOf = (assetId: string) => outcomes.find((each) => assetIds[each] === assetId)

  function lose(reason: GapReason): void {
    for (const outcome of outcomes) both[outcome].lose(reason)
    order.pass()
  }

  /** What cannot be read, or cannot be: where it may have been of a book, none is known any more. */
  function fault(isOfBook: boolean): void {
    counts.faults++
    if (isOfBook) lose('recorder_down')
  }

  function takeChanges({ changes, timestampMs }: ChangeEvent, receivedMs: number): void {
    for (const change of changes) {
      const outcome = outcomeOf(change.assetId)
      if (outcome === undefined) fault(true)
      else both[outcome].takeChange(change, timestampMs, receivedMs)
    }
  }

  function takeTrade(event: TradeEvent, receivedMs: number): void {
    const { timestampMs, price, priceText, size, side, transactionHash } = event
    const outcome = outcomeOf(event.assetId)
    if (outcome === undefined) {
      fault(false)
      return
    }
    counts.trades++
    output.trade({ timestampMs, price, outcome, size, side, transactionHash }, conditionId)
    trades.note(priceText, timestampMs)
    for (const each of outcomes) both[each].recheck(receivedMs)
  }

  function takeOfToken(event: BookEvent | TickEvent, receivedMs: number): void {
    const outcome = outcomeOf(event.assetId)
    if (outcome === undefined) fault(true)
    else if (event.kind === 'tick') both[outcome].takeTick(event)
    else {
      trades.note(event.lastTradePrice, event.timestampMs)
      both[outcome].takeBook(event, receivedMs)
    }
  }

  function settle(nowMs: number): void {
    for (const outcome of outcomes) both[outcome].settle(nowMs)
    order.pass()
  }

  return {
    take(event, receivedMs) {
      // So that what waited too long by now does not depend on when the owner looked last.
      settle(receivedMs)
      const isSound = !('timestampMs' in event) || !timeFault(event.timestampMs, receivedMs)
      if (event.kind === 'fault') fault(event.isOfBook)
      else if (!isSound) fault(event.kind !== 'trade' && event.kind !== 'best')
      else if (event.kind === 'changes') takeChanges(event, receivedMs)
      else if (event.kind === 'trade') takeTrade(event, receivedMs)
      else if (event.kind === 'book' || event.kind === 'tick') takeOfToken(event, receivedMs)
      if (isSound && 'timestampMs' in event) watermark.raise(event.timestampMs)
      order.pass()
    },
    settle,
    lose,
    end: order.end,
  }
}

/** Trades remembered: those of a burst, of which a book that still waits holds one. */
const TRADES_MAX = 8

/** The prices that hashes of both books may hold, as far as they were said. */
class TradePrices {
  /** The newest first. */
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
