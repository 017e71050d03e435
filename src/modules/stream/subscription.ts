/** One subscription of a connection: the markets that it follows. */
import { AppError } from '#src/core/errors.ts'
import type { Coin, Market, Timeframe } from '#src/core/market.ts'
import type { MarketChange } from '#src/live/hub.ts'

import { createLeg, type Leg, type LegOptions, type LegPorts } from './leg.ts'
import type { Player } from './player.ts'

export type SubscriptionOptions = LegOptions & {
  coin: Coin
  timeframe: Timeframe | undefined
  /** The only market; undefined for every open one of the coin. */
  market: Market | undefined
  /** False where only what becomes of markets is asked for. */
  hasRows: boolean
}

export type SubscriptionPorts = LegPorts & {
  describeMarket: (market: Market) => string
}

/** What a connection has under a name. */
export type Subscription = {
  /** The connection takes more again. */
  drained(): void
  /** Sends the last rows. */
  snapshot(): void
  /** Sends the gaps that are new. */
  tellGaps(): void
  end(): void
  /** Of a replay. */
  player?: Player
}

/** Begins a subscription. */
export function subscribe(options: SubscriptionOptions, ports: SubscriptionPorts): Subscription {
  const { coin, timeframe, market: only } = options
  const { hub, send } = ports
  const legs = new Map<string, Leg>()
  const name = JSON.stringify(options.id)
  const isWanted = (market: Market) =>
    (timeframe === undefined || market.timeframe === timeframe) &&
    (only === undefined || market.conditionId === only.conditionId)

  function follow(market: Market): void {
    if (!options.hasRows || legs.has(market.conditionId)) return
    const leg = createLeg(market, options, ports)
    legs.set(market.conditionId, leg)
    leg.start()
  }

  function unfollow(conditionId: string): void {
    legs.get(conditionId)?.end()
    legs.delete(conditionId)
  }

  function onMarket({ kind, market }: MarketChange): void {
    if (!isWanted(market)) return
    send(`{"type":"market_${kind}","id":${name},"data":${ports.describeMarket(market)}}`)
    if (kind === 'open') follow(market)
    // States may still come for some seconds after the end of the window.
    if (kind === 'resolved') unfollow(market.conditionId)
  }

  const watch = hub.watch(coin, (change) => {
    try {
      onMarket(change)
    } catch (error) {
      // One market that cannot be read keeps nobody from the others.
      if (!(error instanceof AppError)) throw error
      ports.onFault(error)
    }
  })

  function end(): void {
    watch.stop()
    for (const conditionId of [...legs.keys()]) unfollow(conditionId)
  }

  try {
    for (const market of only === undefined ? watch.open.filter(isWanted) : [only]) follow(market)
  } catch (error) {
    end()
    throw error
  }
  return {
    drained(): void {
      for (const leg of legs.values()) leg.drained()
    },

    snapshot(): void {
      for (const leg of legs.values()) leg.snapshot()
    },

    tellGaps(): void {
      for (const leg of legs.values()) leg.tellGaps()
    },

    end,
  }
}
