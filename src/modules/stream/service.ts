/** The live stream over WebSocket: the sessions of a server. */
import type { CursorCodec } from '#src/core/cursor.ts'
import { AppError } from '#src/core/errors.ts'
import type { FindMarket } from '#src/core/market-name.ts'
import type { Coin, Market } from '#src/core/market.ts'
import { historyTagOf } from '#src/core/tag.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Visit } from '#src/http/gate.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { createRowCursors } from '#src/live/cursors.ts'
import type { Hub } from '#src/live/hub.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'
import { type Caller, unauthenticatedError } from '#src/selling/caller.ts'
import { streamsMaxOf, type TierRoute } from '#src/selling/tier.ts'

import type { Channel, Operation } from './model.ts'
import { openSession, type Session, type SessionPorts, type Wire } from './session.ts'
import { subscribe } from './subscription.ts'

/** What is on its way of a connection, beyond which nothing more is given to it. */
const BUFFERED_BYTES_MAX = 262_144

export type StreamDeps = {
  history: MarketHistory
  hub: Hub
  rows: RowReader
  cursors: CursorCodec
  findMarket: FindMarket
  clock: Clock
  /** Of the header `Authorization`. */
  authenticate: (authorization: string) => Caller | undefined
  entitle: (asked: { access: TierRoute; caller: Caller; coin: Coin }) => void
  used: (caller: Caller, bytes: number) => void
  describeMarket: (market: Market) => string
}

/** A connection as Bun's server gives it. */
export type Connection = {
  data: { authorization: string | null; session?: Session }
  send(text: string): unknown
  getBufferedAmount(): number
  close(code: number, reason: string): void
}

/** Makes the service. `tick` is to be called every few milliseconds. */
export function createStreamService(deps: StreamDeps) {
  const { hub } = deps
  const sessions = new Set<Session>()
  const works = new Set<Steps<void>>()
  const ports = createPorts(deps, works)

  return {
    /** Makes a live connection of a request. Throws `unauthenticated` and `not_found`. */
    upgrade(request: Request, visit: Visit): void {
      const { peers, caller } = visit
      visit.route = 'stream'
      const authorization = request.headers.get('authorization')
      if (authorization !== null && caller === undefined) throw unauthenticatedError()
      if (request.method === 'GET' && peers?.upgrade?.(request, { data: { authorization } })) return
      throw new AppError('not_found', 'Connect with a WebSocket client: docs/live.md shows how.')
    },

    open(connection: Connection): void {
      const wire: Wire = {
        send: (text) => void connection.send(text),
        isSlow: () => connection.getBufferedAmount() > BUFFERED_BYTES_MAX,
        close: (code, reason) => connection.close(code, reason),
      }
      const session = openSession(wire, ports, connection.data.authorization ?? undefined)
      connection.data.session = session
      sessions.add(session)
    },

    message: ({ data }: Connection, text: string | Uint8Array): void =>
      data.session?.message(typeof text === 'string' ? text : ''),

    drain: ({ data }: Connection): void => data.session?.drained(),

    close({ data: { session } }: Connection): void {
      if (session === undefined) return
      session.ended()
      sessions.delete(session)
    },

    tick(): void {
      if (sessions.size === 0) return
      hub.wake()
      // One step each: whoever catches up from long ago waits for nobody, and nobody for him.
      for (const steps of works) if (steps.next().done) works.delete(steps)
      for (const session of sessions) session.tick()
    },

    /** Asks everybody to connect elsewhere. */
    stop(): void {
      for (const session of sessions) session.drain()
    },

    get sessions() {
      return sessions.size
    },
  }
}

export type StreamService = ReturnType<typeof createStreamService>

function createPorts(deps: StreamDeps, works: Set<Steps<void>>): SessionPorts {
  const { history, hub, rows, clock } = deps
  const cursors = createRowCursors(deps.cursors)
  const places = new Map<string, number>()
  const epoch = historyTagOf(history.cursorKey)

  function shared(market: Market, filter: RowFilter, { position, text }: LiveRow): string {
    const cursor = cursors.encode(market, filter, position)
    const place = `"channel":"${filter.channel}","conditionId":"${market.conditionId}","seq":${position.id}`
    return `${place},"cursor":"${cursor}","epoch":"${epoch}","data":${text}`
  }

  function findNamed(operation: Operation): Market | undefined {
    const { conditionId: name, coin } = operation
    const market = name === undefined ? undefined : deps.findMarket(name)
    if (name !== undefined && market?.coin !== coin)
      throw new AppError('unknown_market', `No market ${name} of ${coin} is held.`)
    return market
  }

  return {
    clock,
    authenticate: (key) => deps.authenticate(key.startsWith('Bearer ') ? key : `Bearer ${key}`),
    entitle: (caller, channel, coin) => deps.entitle({ access: accessOf[channel], caller, coin }),
    used: deps.used,
    gaps: (market) => history.gaps(market),

    takePlace({ accountId, standing }) {
      const taken = places.get(accountId) ?? 0
      if (taken >= streamsMaxOf(standing.terms)) return undefined
      places.set(accountId, taken + 1)
      return () => {
        const left = (places.get(accountId) ?? 1) - 1
        if (left === 0) places.delete(accountId)
        else places.set(accountId, left)
      }
    },

    subscribe(operation, wire) {
      const { id = '', channel, coin = 'btc', timeframe, outcome, depth, from } = operation
      wire.send(JSON.stringify({ type: 'subscribed', id, channel, coin }))
      const filter: RowFilter = {
        channel: channel === 'markets' ? 'trades' : (channel ?? 'trades'),
        outcome,
        depth,
      }
      const market = findNamed(operation)
      const after =
        from === undefined || market === undefined
          ? undefined
          : cursors.decode(market, filter, from)
      const { onSlow = 'conflate' } = operation
      return subscribe(
        {
          id,
          filter,
          coin,
          timeframe,
          market,
          from: after,
          onSlow,
          hasRows: channel !== 'markets',
        },
        {
          ...{ hub, rows, shared },
          findMarket: (conditionId) => history.findMarket(conditionId),
          describeMarket: deps.describeMarket,
          inTurns: (steps) => void works.add(steps),
          ...{ send: wire.send, isSlow: wire.isSlow, tooSlow: wire.tooSlow },
        },
      )
    },
  }
}

/** The route of tiers that includes a channel. */
const accessOf = {
  snapshots: 'snapshots',
  quotes: 'quotes',
  prices: 'prices',
  trades: 'prices',
  markets: 'markets',
} as const satisfies Record<Channel, TierRoute>
