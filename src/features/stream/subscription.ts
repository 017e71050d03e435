/** Subscriptions of a connection to markets and to spot prices. */
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin, Market, Timeframe } from '#src/domain/market.ts'
import type { MarketChange, MarketWatch } from '#src/live/market-watch.ts'

import { emptyMessage, marketMessage, type Message } from './messages.ts'
import type { StreamSubscriber } from './subscriber.ts'

/** Controls of a replay; each sends how the replay continues. */
export type Player = {
  pause(): void
  resume(): void
  /** Jumps to a moment in Unix milliseconds. */
  seek(timeMs: number): void
  setSpeed(speed: number): void
}

export type Subscription = {
  /** Continues after back-pressure has ended. */
  drained(): void
  /** Sends the last rows. Throws `invalid_parameter` if the channel has no rows. */
  snapshot(): void
  end(): void
  /** Set for a replay only. */
  player?: Player
}

type MarketsOptions = {
  coin: Coin
  timeframe: Timeframe | undefined
  /** The only market; undefined to follow every open market of the coin. */
  market: Market | undefined
  markets: MarketWatch
  /** Undefined for the channel `markets`, which has no rows. */
  follow: ((market: Market) => StreamSubscriber) | undefined
  describeMarket: (market: Market) => string
  /** Sends messages that belong to no followed market. */
  send: (message: Message) => void
  onFault: (error: AppError) => void
}

/** Subscribes to one market, or to all open markets of a coin. */
export function subscribeMarkets({
  coin,
  timeframe,
  market: only,
  markets,
  follow,
  describeMarket,
  send,
  onFault,
}: MarketsOptions): Subscription {
  const subscribers = new Map<string, StreamSubscriber>()
  const isWanted = (market: Market) =>
    (timeframe === undefined || market.timeframe === timeframe) &&
    (only === undefined || market.conditionId === only.conditionId)
  let isOver = false

  function begin(market: Market): void {
    if (isOver || follow === undefined || subscribers.has(market.conditionId)) return
    subscribers.set(market.conditionId, follow(market))
  }

  function forgetDone(): void {
    for (const [conditionId, { isDone }] of subscribers) if (isDone) subscribers.delete(conditionId)
  }

  function onMarket({ kind, market }: MarketChange): void {
    if (!isWanted(market)) return
    const message = marketMessage(kind, describeMarket(market))
    const subscriber = subscribers.get(market.conditionId)
    // Snapshots may still arrive some seconds after the end of the window.
    if (kind === 'resolved' && subscriber) subscriber.finish(message)
    else if (subscriber) subscriber.tell(message)
    else send(message)
    if (kind === 'open') begin(market)
    forgetDone()
  }

  const watch = markets.watch(coin, (change) => {
    try {
      onMarket(change)
    } catch (error) {
      // A market that cannot be read must not stop the other markets.
      if (!(error instanceof AppError)) throw error
      onFault(error)
    }
  })

  function end(): void {
    isOver = true
    watch.stop()
    for (const subscriber of subscribers.values()) subscriber.end()
    subscribers.clear()
  }

  try {
    for (const market of only === undefined ? watch.open.filter(isWanted) : [only]) begin(market)
  } catch (error) {
    end()
    throw error
  }
  return {
    drained(): void {
      for (const subscriber of subscribers.values()) subscriber.drained()
      forgetDone()
    },

    snapshot(): void {
      if (follow === undefined)
        throw parameterError('id', 'The channel `markets` has no rows, so it has no snapshot.')
      const sent = [...subscribers.values()].map((subscriber) => subscriber.snapshot())
      if (!sent.includes(true)) send(emptyMessage)
    },

    end,
  }
}

/** Subscribes to spot prices of a coin. */
export const subscribeSpot = (
  subscriber: StreamSubscriber,
  send: (message: Message) => void,
): Subscription => ({
  drained: subscriber.drained,
  snapshot() {
    if (!subscriber.snapshot()) send(emptyMessage)
  },
  end: subscriber.end,
})
