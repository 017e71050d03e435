/** One subscription of a connection: the markets that it follows. */
import type { Coin, Market, Timeframe } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import type { Hub, MarketChange } from '#src/live/hub.ts'
import type { RowFilter } from '#src/live/rows.ts'

import { createLeg, type Leg, type LegPorts } from './leg.ts'

export type SubscriptionOptions = {
  id: string
  filter: RowFilter
  coin: Coin
  timeframe: Timeframe | undefined
  /** The only market; undefined for every open one of the coin. */
  market: Market | undefined
  /** Exclusive; undefined begins with the last rows. */
  from: Position | undefined
  onSlow: 'conflate' | 'close'
  /** False where only what becomes of markets is asked for. */
  hasRows: boolean
}

export type SubscriptionPorts = LegPorts & {
  hub: Hub
  describeMarket: (market: Market) => string
}

/** Begins a subscription. */
export function subscribe(options: SubscriptionOptions, ports: SubscriptionPorts) {
  const { coin, timeframe } = options
  const { hub, send } = ports
  const legs = new Map<string, Leg>()
  const name = JSON.stringify(options.id)
  const isWanted = (market: Market) => timeframe === undefined || market.timeframe === timeframe

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
    if (kind === 'open') follow(market)
    send(`{"type":"market_${kind}","id":${name},"data":${ports.describeMarket(market)}}`)
    // States may still come for some seconds after the end of the window.
    if (kind === 'resolved') unfollow(market.conditionId)
  }

  const watch = options.market === undefined ? hub.watch(coin, onMarket) : undefined
  for (const market of watch?.open.filter(isWanted) ?? [options.market]) if (market) follow(market)

  return {
    /** The connection takes more again. */
    drained(): void {
      for (const leg of legs.values()) leg.drained()
    },

    /** Sends the last rows. */
    snapshot(): void {
      for (const leg of legs.values()) leg.snapshot()
    },

    /** Markets that are followed, as they are now. */
    markets: (): Market[] =>
      [...legs.keys()].flatMap((conditionId) => ports.findMarket(conditionId) ?? []),

    end(): void {
      watch?.stop()
      for (const conditionId of [...legs.keys()]) unfollow(conditionId)
    },
  }
}

export type Subscription = ReturnType<typeof subscribe>
