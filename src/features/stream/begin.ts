/** Opens subscriptions and replays. */

import type { Gap } from '#src/domain/coverage.ts'
import { type CursorCodec, withCursorParam } from '#src/domain/cursor.ts'
import { AppError, ifReadable, ifSound, parameterError } from '#src/domain/errors.ts'
import type { FindMarket, Market, MarketAsOf } from '#src/domain/market.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { historyTagOf } from '#src/domain/tag.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type FeedSources, MarketCursor } from '#src/live/feed.ts'
import type { MarketWatch } from '#src/live/market-watch.ts'
import { marketAsOf, type ReplayRange } from '#src/live/replay.ts'
import type { RowFilter, RowReader } from '#src/live/rows.ts'
import { SpotCursor, type SpotFilter } from '#src/live/spot.ts'
import type { By } from '#src/platform/pool/queue.ts'

import { createMessages, liveMessage } from './messages.ts'
import { type ReplayEvents, startReplay } from './player.ts'
import type { Channel, Operations } from './schema.ts'
import { createSendQueue, type Outlet } from './send-queue.ts'
import { createMarketSource, createSpotSource } from './sources.ts'
import { createSubscriber, type Groups, type StreamSubscriber } from './subscriber.ts'
import { subscribeMarkets, subscribeSpot, type Subscription } from './subscription.ts'

export type BeginOptions = {
  history: MarketHistory
  markets: MarketWatch
  rows: RowReader
  cursors: CursorCodec
  findMarket: FindMarket
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  describeMarket: (market: Market | MarketAsOf, nowMs?: number) => string
  /** Reads what a replay plays. */
  playReplay: (by: By, range: ReplayRange) => ReplayEvents
  /** The row of `GET /v1/{coin}/spot`. */
  describeTick: (tick: StoredTick) => object
}

type Begun = Operations['subscribe'] | Operations['replay']

const noGaps: readonly Gap[] = []

/** `groups` fan out rows of markets, `spotGroups` spot prices. */
export function createBegin(options: BeginOptions, groups: Groups, spotGroups: Groups) {
  const { history, markets, rows, timer } = options
  const messages = createMessages({
    cursors: options.cursors,
    epoch: historyTagOf(history.cursorKey),
    describeTick: options.describeTick,
    lastSpotId: history.lastSpotId,
  })
  const sources: FeedSources = {
    // An unreadable market is read again at the next tick.
    findMarket: (conditionId) => ifReadable(() => history.findMarket(conditionId)),
    gaps: (market) => ifSound(() => history.gaps(market)) ?? noGaps,
  }

  function findNamed({ conditionId: name, coin, timeframe }: Begun): Market | undefined {
    const market = name === undefined ? undefined : options.findMarket(name)
    if (name !== undefined && market?.coin !== coin)
      throw new AppError('unknown_market', `No market ${name} of ${coin} is recorded.`)
    if (market !== undefined && timeframe !== undefined && timeframe !== market.timeframe) {
      const why = `\`timeframe\` is ${timeframe}, but the timeframe of the market is ${market.timeframe}.`
      throw parameterError('timeframe', `${why} Leave out one of the two.`)
    }
    return market
  }

  function followMarket(
    { id, onSlow }: Operations['subscribe'],
    market: Market,
    filter: RowFilter,
    from: Position | undefined,
    outlet: Outlet,
  ): StreamSubscriber {
    const { conditionId } = market
    const start = from ?? rows.end(market, filter)
    const cursor = new MarketCursor(sources, market, start, { seen: rows.seen(filter) })
    if (from === undefined) cursor.waitForRows()
    return createSubscriber({
      id,
      onSlow,
      source: createMarketSource(cursor, filter, rows, messages),
      key: `${conditionId} ${filter.channel} ${filter.outcome} ${filter.depth}`,
      live: from && liveMessage({ conditionId }),
      groups,
      outlet,
    })
  }

  function followSpot(
    { id, onSlow, coin, from, ...asked }: Operations['subscribe'],
    outlet: Outlet,
  ): StreamSubscriber {
    const filter = spotFilterOf({ coin, ...asked })
    const position =
      from === undefined
        ? undefined
        : withCursorParam('from', () => messages.spotPositionOf(filter, from))
    const cursor = new SpotCursor(history, filter, position)
    return createSubscriber({
      id,
      onSlow,
      source: createSpotSource(cursor, filter, history, messages),
      key: `${coin} ${filter.source} ${filter.windowSeconds}`,
      live: position && liveMessage({ coin }),
      groups: spotGroups,
      // Unreadable prices are read again at the next tick.
      outlet: { ...outlet, onFault() {} },
    })
  }

  function subscribe(asked: Operations['subscribe'], outlet: Outlet): Subscription {
    const { id, coin, timeframe, channel, from, onSlow } = asked
    const { push: send } = createSendQueue(id, onSlow, outlet)
    if (channel === 'spot') return subscribeSpot(followSpot(asked, outlet), send)
    const market = findNamed(asked)
    const filter = filterOf(asked)
    const position =
      from === undefined || market === undefined
        ? undefined
        : withCursorParam('from', () => messages.positionOf(market, filter, from))
    return subscribeMarkets({
      coin,
      timeframe,
      market,
      markets,
      follow:
        channel === 'markets'
          ? undefined
          : (each) => followMarket(asked, each, filter, position, outlet),
      describeMarket: (each) => options.describeMarket(each),
      send,
      onFault: outlet.onFault,
    })
  }

  function replay(asked: Operations['replay'], outlet: Outlet): Subscription {
    const { id, coin, timeframe, channel, from: fromMs, to: toMs, cursor, speed } = asked
    const hasMarkets = channel !== 'spot'
    const market = findNamed(asked)
    const filter = filterOf(asked)
    const spot = !hasMarkets || asked.with === 'spot' ? spotFilterOf(asked) : undefined
    const hasRows = channel !== 'markets'
    const after = positionIn(cursor, market, filter, spot)
    return startReplay({
      id,
      speed,
      range: { filter, coin, timeframe, market, fromMs, toMs, after, spot, hasMarkets, hasRows },
      read: (part) => options.playReplay(outlet.by(), part),
      timer,
      messages,
      describeEvent: (event) =>
        options.describeMarket(marketAsOf(event.market, event), event.timeMs),
      outlet,
    })
  }

  function positionIn(
    cursor: string | undefined,
    market: Market | undefined,
    filter: RowFilter,
    spot: SpotFilter | undefined,
  ): Position | undefined {
    if (cursor === undefined) return undefined
    if (market !== undefined) return messages.positionOf(market, filter, cursor)
    return spot && messages.spotPositionOf(spot, cursor)
  }

  return (asked: Begun, outlet: Outlet): Subscription => {
    const { id, channel, coin } = asked
    // Errors are sent before the first row.
    const unsent: string[] = []
    let isReady = false
    const send = (text: string) => (isReady ? outlet.send(text) : void unsent.push(text))
    const begun =
      asked.op === 'replay'
        ? replay(asked, { ...outlet, send })
        : subscribe(asked, { ...outlet, send })
    isReady = true
    outlet.send(JSON.stringify({ type: 'subscribed', id, channel, coin }))
    for (const text of unsent) outlet.send(text)
    return begun
  }
}

const filterOf = ({ channel, outcome, depth }: Begun): RowFilter => ({
  // The channel `markets` reads no rows.
  channel: channel === 'markets' || channel === 'spot' ? 'trades' : channel,
  outcome,
  depth,
})

const spotFilterOf = ({
  coin,
  source,
  window,
}: Pick<Begun, 'coin' | 'source' | 'window'>): SpotFilter => ({
  coin,
  source,
  windowSeconds: window,
})

/** Routes of the tier that each channel needs. */
export const accessOf = {
  snapshots: 'snapshots',
  changes: 'snapshots',
  quotes: 'quotes',
  prices: 'prices',
  trades: 'prices',
  spot: 'prices',
  markets: 'markets',
} as const satisfies Record<Channel, TierRoute>
