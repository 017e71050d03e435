/** One subscription of a connection: the markets that it follows. */
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin, Market, Timeframe } from '#src/domain/market.ts'
import type { MarketChange } from '#src/live/hub.ts'

import { createLeg, type Leg, type LegOptions, type LegPorts } from './leg.ts'
import { emptyText } from './outbox.ts'
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
  /** Sends the last rows. Throws `invalid_parameter` where it has none. */
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

  let isOver = false

  function follow(market: Market): void {
    if (isOver || !options.hasRows || legs.has(market.conditionId)) return
    const leg = createLeg(market, options, ports)
    legs.set(market.conditionId, leg)
    leg.start()
  }

  function onMarket({ kind, market }: MarketChange): void {
    if (!isWanted(market)) return
    const text = `{"type":"market_${kind}","id":${name},"data":${ports.describeMarket(market)}}`
    const leg = legs.get(market.conditionId)
    // States may still come for some seconds after the end of the window.
    if (kind === 'resolved' && leg) leg.finish(text)
    else if (leg) leg.tell(text)
    else send(text)
    if (kind === 'open') follow(market)
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
    isOver = true
    watch.stop()
    for (const leg of legs.values()) leg.end()
    legs.clear()
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
      if (!options.hasRows)
        throw parameterError('id', 'The channel `markets` has no rows, and so no snapshot.')
      const sent = [...legs.values()].map((leg) => leg.snapshot())
      if (!sent.includes(true)) send(emptyText(name))
    },

    tellGaps(): void {
      for (const [conditionId, leg] of legs) {
        leg.tellGaps()
        if (leg.isDone) legs.delete(conditionId)
      }
    },

    end,
  }
}
