/** What operations begin: subscriptions and replays, with the cursors of the routes. */
import type { Gap } from '#src/domain/coverage.ts'
import {
  type CursorCodec,
  decodePosition,
  decodeSeen,
  encodeSpotPlace,
  namingCursor,
} from '#src/domain/cursor.ts'
import { AppError, ifSound, parameterError } from '#src/domain/errors.ts'
import type { FindMarket } from '#src/domain/market-name.ts'
import type { Market, MarketAsOf } from '#src/domain/market.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { historyTagOf } from '#src/domain/tag.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRowCursors } from '#src/live/cursors.ts'
import type { Hub } from '#src/live/hub.ts'
import { marketAsOf, type ReplayRange } from '#src/live/replay.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'
import type { SpotFilter, SpotPlace, SpotWatch } from '#src/live/spot.ts'

import { startReplay } from './player.ts'
import type { Channel, Operations } from './schema.ts'
import type { SessionOutlet } from './session.ts'
import { subscribeSpot } from './spot-leg.ts'
import { subscribe, type Subscription } from './subscription.ts'

export type BeginDeps = {
  history: MarketHistory
  hub: Hub
  spot: SpotWatch
  rows: RowReader
  /** As streams tell them; the same list as long as it is true. */
  gaps: (market: Market) => readonly Gap[]
  cursors: CursorCodec
  findMarket: FindMarket
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  describeMarket: (market: Market | MarketAsOf, nowMs: number) => string
  /** What replays play, where that is not what is followed. */
  recorded?: { history: MarketHistory; rows: RowReader; clock: Clock } | undefined
  /** The row of `GET /v1/{coin}/spot`. */
  describeTick: (tick: StoredTick) => object
}

type Begun = Operations['subscribe'] | Operations['replay']

/** Returns what begins the operations. */
export function createBegin(deps: BeginDeps) {
  const { history, hub, rows, clock, recorded = deps } = deps
  const codec = createRowCodec(deps)
  const findMarket = (conditionId: string) => history.findMarket(conditionId)

  function findNamed({ conditionId: name, coin, timeframe }: Begun): Market | undefined {
    const market = name === undefined ? undefined : deps.findMarket(name)
    if (name !== undefined && market?.coin !== coin)
      throw new AppError('unknown_market', `No market ${name} of ${coin} is held.`)
    if (market !== undefined && timeframe !== undefined && timeframe !== market.timeframe) {
      const why = `\`timeframe\` is ${timeframe}, but the market is one of ${market.timeframe}.`
      throw parameterError('timeframe', `${why} Leave out one of the two.`)
    }
    return market
  }

  function subscribeTo(asked: Operations['subscribe'], outlet: SessionOutlet): Subscription {
    const { id, coin, timeframe, channel, from, onSlow } = asked
    if (channel === 'spot') {
      const filter = spotFilterOf(asked)
      const after = from === undefined ? undefined : asFrom(() => codec.placeOfTick(filter, from))
      const ports = { ...outlet, history, watch: deps.spot, shared: codec.sharedTick }
      return subscribeSpot({ id, filter, from: after, onSlow }, ports)
    }
    const market = findNamed(asked)
    const filter = filterOf(asked)
    const after =
      from === undefined || !market ? undefined : asFrom(() => codec.placeOf(market, filter, from))
    const hasRows = channel !== 'markets'
    return subscribe(
      { id, filter, coin, timeframe, market, from: after, onSlow, hasRows },
      {
        ...{ ...outlet, hub, rows, findMarket, shared: codec.shared },
        gaps: (each) => ifSound(() => deps.gaps(each)) ?? [],
        describeMarket: (each) => deps.describeMarket(each, clock()),
      },
    )
  }

  function replay(asked: Operations['replay'], outlet: SessionOutlet): Subscription {
    const { id, coin, timeframe, channel, from: fromMs, to: toMs, cursor, speed } = asked
    const isSpot = channel === 'spot'
    const named = findNamed(asked)
    const market = named && recorded.history.findMarket(named.conditionId)
    const filter = filterOf(asked)
    const spot = isSpot || asked.with === 'spot' ? spotFilterOf(asked) : undefined
    const has = { hasMarkets: !isSpot, hasRows: channel !== 'markets' }
    const range = { filter, coin, timeframe, market, fromMs, toMs, spot, ...has }
    return startReplay(
      { id, speed, range: { ...range, after: placeIn(range, cursor) } },
      {
        ...{ ...outlet, ...recorded, read: recorded.rows, timer: deps.timer },
        shared: codec.shared,
        sharedTick: codec.sharedTick,
        describeEvent: (event) =>
          deps.describeMarket(marketAsOf(event.market, event), event.timeMs),
      },
    )
  }

  function placeIn(
    { market, filter, spot }: Pick<ReplayRange, 'market' | 'filter' | 'spot'>,
    cursor: string | undefined,
  ): Position | undefined {
    if (cursor === undefined) return undefined
    if (market !== undefined) return codec.placeOf(market, filter, cursor)
    return spot && codec.placeOfTick(spot, cursor)
  }

  return (asked: Begun, outlet: SessionOutlet): Subscription => {
    const { id, channel, coin } = asked
    // Whatever is wrong is said before anything is sent.
    const unsent: string[] = []
    let isReady = false
    const send = (text: string) => (isReady ? outlet.send(text) : void unsent.push(text))
    const begun =
      asked.op === 'replay'
        ? replay(asked, { ...outlet, send })
        : subscribeTo(asked, { ...outlet, send })
    isReady = true
    outlet.send(JSON.stringify({ type: 'subscribed', id, channel, coin }))
    for (const text of unsent) outlet.send(text)
    return begun
  }
}

const asFrom = <Place extends Position>(decode: () => Place): Place => namingCursor('from', decode)

const filterOf = ({ channel, outcome, depth }: Begun): RowFilter => ({
  // Of `markets` no row is read.
  channel: channel === 'markets' || channel === 'spot' ? 'trades' : channel,
  ...{ outcome, depth },
})

const spotFilterOf = ({ coin, source, window }: Begun): SpotFilter => ({
  ...{ coin, source, windowSeconds: window },
})

/** Rows as messages, and their places as cursors of the routes. */
function createRowCodec({ cursors, history, describeTick }: BeginDeps) {
  const epoch = historyTagOf(history.cursorKey)
  const rowCursors = createRowCursors(cursors)
  const spotScopeOf = ({ coin, source, windowSeconds }: SpotFilter) =>
    `spot ${coin} asc....${source ?? ''}.${windowSeconds ?? ''}`
  /** Without a cursor, nobody continues after it. */
  const tail = (cursor: string | undefined, data: string) =>
    `${cursor === undefined ? '' : `"cursor":"${cursor}",`}"epoch":"${epoch}","data":${data}}`

  return {
    placeOf: rowCursors.decode,
    placeOfTick(filter: SpotFilter, cursor: string): SpotPlace {
      const payload = cursors.decode(spotScopeOf(filter), cursor)
      return { ...decodePosition(payload), seen: decodeSeen(payload) ?? history.lastSpotId() }
    },

    shared(market: Market, filter: RowFilter, { position, seq, text, isPart }: LiveRow): string {
      const cursor = isPart ? undefined : rowCursors.encode(market, filter, position)
      const place = `"channel":"${filter.channel}","conditionId":"${market.conditionId}"`
      return `${place},"seq":${seq},${tail(cursor, text)}`
    },

    sharedTick(filter: SpotFilter, tick: StoredTick, at?: Position & { seen?: number }): string {
      const cursor = at && cursors.encode(spotScopeOf(filter), encodeSpotPlace(at))
      const place = `"channel":"spot","coin":"${filter.coin}","seq":${tick.id}`
      return `${place},${tail(cursor, JSON.stringify(describeTick(tick)))}`
    },
  }
}

/** The channel of an operation, as tiers name it. */
export const accessOf = {
  ...{ snapshots: 'snapshots', quotes: 'quotes', prices: 'prices', trades: 'prices' },
  ...{ spot: 'prices', markets: 'markets' },
} as const satisfies Record<Channel, TierRoute>
