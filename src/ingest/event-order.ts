/**
 * Sorts the events of a file before books are rebuilt from them. A whole book does not depend on
 * other events, so books are accepted in any order: some vendors list the newest first. A change
 * applies to the state before it, so changes out of order are refused.
 */

import type { Market } from '#src/domain/market.ts'
import { recordFault } from '#src/domain/record-fault.ts'
import type { FeedEvent } from '#src/venue/feed.ts'

/** An event about a single market with a time. */
export type MarketFeedEvent = Extract<FeedEvent, { conditionId: string; timestampMs: number }>

export type TimedEvent = { event: MarketFeedEvent; receivedMs: number | undefined }

/** Bounds the memory of waiting events to some tens of MB. */
const WEIGHT_MAX = 500_000
/** The weight of an event without levels; each level adds one. */
const EVENT_WEIGHT = 10

/**
 * The tolerated delay of a message without a time of receipt; a later one counts as out of order.
 */
const LATE_MS_MAX = 250

type MarketOrder = {
  market: Market
  /** The newest time of a book or change, by token. */
  newestMs: Map<string, number>
  newestReceivedMs: number
  hasChanges: boolean
  /** True while all events of the market wait; afterwards only books out of order wait. */
  isHeld: boolean
  waiting: TimedEvent[]
}

/**
 * Takes events in the order of their files. The events of a market wait until a change arrives, the
 * file ends, or too many wait. They then go to `follow`: in order of time if the books are not,
 * otherwise as they came. Later books out of order go to `keepApart`, ascending.
 */
export function createEventOrder(target: {
  follow(file: string, market: Market, events: readonly TimedEvent[]): void
  keepApart(market: Market, events: readonly TimedEvent[]): void
}) {
  const orders = new Map<string, MarketOrder>()
  let currentFile = ''
  let weight = 0

  function find(market: Market): MarketOrder {
    const known = orders.get(market.conditionId)
    if (known !== undefined) return known
    const order: MarketOrder = {
      market,
      newestMs: new Map(),
      newestReceivedMs: 0,
      hasChanges: false,
      isHeld: true,
      waiting: [],
    }
    orders.set(market.conditionId, order)
    return order
  }

  function pass(order: MarketOrder): void {
    const { isHeld, market, waiting } = order
    order.isHeld = false
    order.waiting = []
    for (const { event } of waiting) weight -= weigh(event)
    if (waiting.length === 0) return
    if (isHeld) target.follow(currentFile, market, areInOrder(waiting) ? waiting : sorted(waiting))
    else target.keepApart(market, sorted(waiting))
  }

  function passAll(): void {
    for (const order of orders.values()) pass(order)
  }

  function wait(order: MarketOrder, timed: TimedEvent): void {
    order.waiting.push(timed)
    weight += weigh(timed.event)
    if (weight > WEIGHT_MAX) passAll()
  }

  return {
    /** Takes an event; throws a `record` fault for changes out of order. */
    take(file: string, market: Market, timed: TimedEvent): void {
      if (file !== currentFile) {
        passAll()
        orders.clear()
        currentFile = file
      }
      const order = find(market)
      const { event, receivedMs } = timed
      const isMisplaced = isInWrongOrder(order, timed)
      for (const id of tokensOf(event))
        order.newestMs.set(id, Math.max(order.newestMs.get(id) ?? 0, event.timestampMs))
      order.newestReceivedMs = Math.max(order.newestReceivedMs, receivedMs ?? 0)
      if (event.kind === 'changes' && !order.hasChanges) {
        order.hasChanges = true
        pass(order)
      }
      if (event.kind === 'changes' && isMisplaced)
        throw recordFault(
          'a change of a book that is older than the message before it; changes are read in the order in which they came, so list the oldest first',
        )
      if (order.isHeld || (event.kind === 'book' && isMisplaced)) wait(order, timed)
      else target.follow(file, market, [timed])
    },

    /** Passes on all waiting events at the end of the input. */
    end: passAll,
  }
}

function isInWrongOrder(
  { newestMs, newestReceivedMs, hasChanges }: MarketOrder,
  { event, receivedMs }: TimedEvent,
): boolean {
  const newest = Math.max(...tokensOf(event).map((id) => newestMs.get(id) ?? 0))
  if (event.timestampMs >= newest) return false
  if (event.kind === 'book' && !hasChanges) return true
  // A connection may deliver a message late; in a capture that is in order, its position is the
  // order of receipt.
  if (receivedMs !== undefined && newestReceivedMs > 0) return receivedMs < newestReceivedMs
  return newest - event.timestampMs > LATE_MS_MAX
}

function tokensOf(event: MarketFeedEvent): string[] {
  if (event.kind === 'book') return [event.assetId]
  return event.kind === 'changes' ? event.changes.map(({ assetId }) => assetId) : []
}

const weigh = (event: MarketFeedEvent): number =>
  EVENT_WEIGHT + (event.kind === 'book' ? event.bids.prices.length + event.asks.prices.length : 0)

/** True if the books of each token ascend. */
function areInOrder(events: readonly TimedEvent[]): boolean {
  const newestMs = new Map<string, number>()
  return events.every(({ event }) => {
    if (event.kind !== 'book') return true
    const { assetId, timestampMs } = event
    const isNext = timestampMs >= (newestMs.get(assetId) ?? 0)
    newestMs.set(assetId, timestampMs)
    return isNext
  })
}

/** Sorts by time. If the newest came first, events of the same time are reversed too. */
function sorted(events: readonly TimedEvent[]): TimedEvent[] {
  const [first, last] = [events[0], events.at(-1)]
  const isDescending = first && last && last.event.timestampMs < first.event.timestampMs
  const list = isDescending ? events.toReversed() : [...events]
  return list.sort((a, b) => a.event.timestampMs - b.event.timestampMs)
}
