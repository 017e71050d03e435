/** One subscription of a connection: the markets that it follows, and what it has sent of each. */
import type { Coin, Market, Timeframe } from '#src/core/market.ts'
import { outcomes } from '#src/core/market.ts'
import { comparePositions, type Position } from '#src/core/snapshot.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import type { Follower } from '#src/live/follower.ts'
import type { Hub, MarketChange } from '#src/live/hub.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'

/** Rows that wait for a slow consumer, who chose to be closed, at most. */
const WAITING_MAX = 5000
/** Rows that are read in one step of catching up. */
const STEP_ROWS = 100

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

export type SubscriptionPorts = {
  hub: Hub
  rows: RowReader
  /** The market of now. */
  findMarket: (conditionId: string) => Market | undefined
  /** Members that every message of a row has, whoever gets it. */
  shared: (market: Market, filter: RowFilter, row: LiveRow) => string
  describeMarket: (market: Market) => string
  /** Does work in turns with everybody else's. */
  inTurns: (steps: Steps<void>) => void
  send: (text: string) => void
  /** True while the connection takes no more. */
  isSlow: () => boolean
  tooSlow: () => void
}

/** A market that is followed. */
type Leg = {
  market: Market
  follower: Follower
  /** Rows up to here, inclusive, were sent or passed over. */
  at: Position
  prevSeq: number | null
  /** By outcome, the newest row that could not be sent. */
  waiting: LiveRow[]
  skipped: number
  stop: () => void
}

/** Begins a subscription. */
export function subscribe(options: SubscriptionOptions, ports: SubscriptionPorts) {
  const { id, filter, coin, timeframe, onSlow } = options
  const { hub, rows, send } = ports
  const legs = new Map<string, Leg>()
  const name = JSON.stringify(id)
  let isOver = false

  function sendRow(leg: Leg, row: LiveRow, type: 'row' | 'snapshot' = 'row'): void {
    const shared = ports.shared(leg.market, filter, row)
    const skipped = leg.skipped > 0 ? `"skipped":${leg.skipped},` : ''
    send(`{"type":"${type}","id":${name},"prevSeq":${leg.prevSeq},${skipped}${shared}}`)
    leg.prevSeq = row.position.id
    leg.skipped = 0
  }

  /** Sends, or keeps what the connection does not take now. */
  function deliver(leg: Leg, found: readonly LiveRow[]): void {
    for (const row of found) {
      if (isOver || comparePositions(row.position, leg.at) <= 0) continue
      leg.at = row.position
      if (leg.waiting.length === 0 && !ports.isSlow()) sendRow(leg, row)
      else wait(leg, row)
    }
  }

  function wait(leg: Leg, row: LiveRow): void {
    const older = leg.waiting.findIndex(({ outcome }) => outcome === row.outcome)
    if (onSlow === 'conflate' && older >= 0) {
      leg.waiting.splice(older, 1)
      leg.skipped++
    }
    leg.waiting.push(row)
    if (leg.waiting.length > WAITING_MAX) ports.tooSlow()
  }

  /** Sends the last row of each outcome. */
  function sendSnapshot(leg: Leg): void {
    for (const outcome of filter.outcome === undefined ? outcomes : [filter.outcome]) {
      const row = rows.latest({ ...filter, market: leg.market, outcome })
      if (row === undefined) continue
      if (comparePositions(row.position, leg.at) > 0) leg.at = row.position
      sendRow(leg, row, 'snapshot')
    }
  }

  function follow(market: Market): void {
    if (!options.hasRows || legs.has(market.conditionId)) return
    const follower = hub.follower(market, filter)
    const start = options.from ?? follower.position
    const leg: Leg = {
      ...{ market, follower, at: start, prevSeq: null, waiting: [], skipped: 0 },
      stop: () => hub.leave(follower, subscriber),
    }
    const subscriber = (found: readonly LiveRow[]) => deliver(leg, found)
    legs.set(market.conditionId, leg)
    if (options.from !== undefined) ports.inTurns(catchUp(leg, options.from, subscriber))
    else {
      sendSnapshot(leg)
      follower.join(subscriber)
    }
  }

  /** Reads what is held after a place, and then follows; nothing comes between the two. */
  function* catchUp(leg: Leg, from: Position, join: Parameters<Follower['join']>[0]): Steps<void> {
    let after = from
    while (!isOver) {
      const market = ports.findMarket(leg.market.conditionId) ?? leg.market
      // A place of the past is not read faster than it is taken.
      if (!ports.isSlow()) {
        const page = rows.after({ ...filter, market, after, limit: STEP_ROWS })
        deliver(leg, page.rows)
        after = page.resume
        if (!page.hasMore) {
          leg.follower.join(join)
          send(`{"type":"live","id":${name},"conditionId":"${market.conditionId}"}`)
          return
        }
      }
      yield
    }
  }

  function unfollow(conditionId: string): void {
    legs.get(conditionId)?.stop()
    legs.delete(conditionId)
  }

  function onMarket({ kind, market }: MarketChange): void {
    if (timeframe !== undefined && market.timeframe !== timeframe) return
    if (kind === 'open') follow(market)
    send(`{"type":"market_${kind}","id":${name},"data":${ports.describeMarket(market)}}`)
    // States may still come for some seconds after the end of the window.
    if (kind === 'resolved') unfollow(market.conditionId)
  }

  const watch = options.market === undefined ? hub.watch(coin, onMarket) : undefined
  if (options.market !== undefined) follow(options.market)
  for (const market of watch?.open ?? [])
    if (timeframe === undefined || market.timeframe === timeframe) follow(market)

  return {
    options,

    /** The connection takes more again. */
    drained(): void {
      for (const leg of legs.values()) {
        while (leg.waiting.length > 0 && !ports.isSlow()) {
          const row = leg.waiting.shift()
          if (row) sendRow(leg, row)
        }
      }
    },

    snapshot(): void {
      for (const leg of legs.values()) sendSnapshot(leg)
    },

    /** Markets that are followed, as they are now. */
    markets: (): Market[] =>
      [...legs.keys()].flatMap((conditionId) => ports.findMarket(conditionId) ?? []),

    end(): void {
      isOver = true
      watch?.stop()
      for (const conditionId of [...legs.keys()]) unfollow(conditionId)
    },
  }
}

export type Subscription = ReturnType<typeof subscribe>
