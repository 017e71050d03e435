/** The live stream over WebSocket: all sessions of a server. */
import { NotFoundError } from 'elysia'

import { AppError, ifReadable } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import { type Caller, levelOf, unauthenticatedError } from '#src/domain/selling/caller.ts'
import { streamsMaxOf, type TierRoute } from '#src/domain/selling/tier.ts'
import { callOf } from '#src/http/call.ts'
import { noQuery } from '#src/http/kinds.ts'
import type { Rounds } from '#src/http/rounds.ts'
import { searchOf } from '#src/http/target.ts'
import type { Unread } from '#src/http/unread.ts'
import { unknownNameError } from '#src/http/validation.ts'
import { createFanout } from '#src/live/group.ts'
import { createRests } from '#src/live/rests.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import { accessOf, type BeginOptions, createBegin } from './begin.ts'
import type { Message } from './messages.ts'
import { openSession, type Session, type SessionPorts } from './session.ts'
import type { Connection, Sockets } from './sockets.ts'
import type { RowSource } from './sources.ts'

/** Longest message of a client; Bun closes the connection with 1009 beyond it. */
const MESSAGE_BYTES_MAX = 16_384
/** Bun pings idle connections, and closes them after this time without a pong. */
const SILENT_SECONDS = 120
/** Connections of a network address that have not sent a key yet. */
const STRANGERS_PER_ADDRESS = 20
/** Longest time of one round of reading and sending; other work of the thread waits meanwhile. */
const SLICE_MS = 1
/** Interval at which spot prices are read. */
const SPOT_MS = 50
/** Interval at which sessions check keys and heartbeats. */
const SESSIONS_MS = 50
/** When the server stops, connections are closed at random within this time. */
const DRAIN_MS = 9_500

export type StreamDeps = BeginOptions & {
  connections: ConcurrencyLimit
  rounds: Pick<Rounds, 'enter' | 'turn'>
  /** A number from 0 to below 1. */
  random: () => number
  /** Authenticates by the header `Authorization` and the client's network address. */
  authenticator: {
    authenticate: (authorization: string, addressOf: () => string) => Caller | undefined
    find: (authorization: string, addressOf: () => string) => MaybePromise<Caller | undefined>
  }
  entitle: (asked: { access: TierRoute; caller: Caller; coin: Coin }) => void
  used: (caller: Caller, bytes: number) => void
  unread: Pick<Unread, 'take'>
}

const settings = {
  maxPayloadLength: MESSAGE_BYTES_MAX,
  idleTimeout: SILENT_SECONDS,
  // Compression costs five to nine times a plain send.
  perMessageDeflate: false,
}

/** Creates the service. Call `tick` every few milliseconds. */
export function createStreamService(deps: StreamDeps) {
  const { markets, clock, timer } = deps
  const groups = createFanout<Message, RowSource>()
  const spotGroups = createFanout<Message, RowSource>()
  const sessions = new Set<Session>()
  /** Connections that began without a key, oldest first; some have sent one by now. */
  const strangers = new Set<Session>()
  const rests = createRests(timer)
  const ports = createPorts(deps, rests.rest, createBegin(deps, groups, spotGroups))
  const bound = createBound(deps)
  let isStopping = false
  let tickedMs = 0
  let spotMs = Number.NEGATIVE_INFINITY

  /** The oldest connection that has not sent its key yet. */
  function oldestStranger(): Session | undefined {
    for (const session of sessions) if (!session.isAuthenticated && !session.isOver) return session
    return undefined
  }

  /**
   * Reserves a slot until the key arrives. If all slots are taken, the oldest connection without a
   * key is closed: clients normally send the key at once.
   */
  function takeStrangerPlace(address: string): () => void {
    const wanted = {
      owner: `address ${address}`,
      ownMax: STRANGERS_PER_ADDRESS,
      level: levelOf(undefined),
    }
    let place = deps.connections.open(wanted)
    if (place === 'all') {
      oldestStranger()?.end('unauthenticated')
      place = deps.connections.open(wanted)
    }
    if (typeof place !== 'string') return place
    throw busyError(
      place === 'account'
        ? 'There are too many connections without a key from this network address.'
        : 'There are too many connections.',
    )
  }

  const own: Sockets = {
    open(connection: Connection): void {
      const wire = {
        send: (message: string | Uint8Array<ArrayBuffer>) => void connection.send(message),
        buffered: () => connection.getBufferedAmount(),
        close: (code: number, reason: string) => connection.close(code, reason),
        cut: () => connection.terminate?.(),
      }
      const { data } = connection
      const session = openSession(wire, ports, {
        key: data.authorization ?? undefined,
        address: data.address ?? '',
        leaveStrangers: data.leaveStrangers ?? (() => undefined),
      })
      data.session = session
      // The key may have been refused and the connection closed already.
      if (session.isClosed) return
      sessions.add(session)
      if (!session.isAuthenticated) strangers.add(session)
    },

    message: ({ data }: Connection, text: string | Uint8Array): void =>
      data.session?.message(typeof text === 'string' ? text : ''),

    drain: ({ data }: Connection): void => data.session?.drained(),

    close({ data: { session } }: Connection): void {
      if (session === undefined) return
      session.ended()
      bound.leave(session)
      sessions.delete(session)
      strangers.delete(session)
    },
  }

  return {
    /** Handlers for Bun's server. */
    websocket: { ...settings, ...own },

    /**
     * Upgrades a request to a WebSocket, with these response headers. Throws `unauthenticated`,
     * `invalid_parameter` and `not_found`.
     */
    upgrade(request: Request, headers: Headers): void {
      const { peers, caller, isHead, ...call } = callOf(request)
      if (isHead) throw new NotFoundError()
      const authorization = request.headers.get('authorization')
      if (authorization !== null && caller === undefined) throw unauthenticatedError()
      const [name] = new URLSearchParams(searchOf(request.url)).keys()
      if (name !== undefined) throw unknownNameError(name, 'parameter of this route', noQuery)
      if (isStopping) throw busyError('The server is stopping. Connect again.')
      const address = call.address ?? caller?.address ?? ''
      if (caller !== undefined && deps.connections.isFull(levelOf(caller)))
        throw busyError('There are too many connections.')
      const leaveStrangers = caller === undefined ? takeStrangerPlace(address) : () => undefined
      const data = { authorization, address, leaveStrangers, owner: own }
      if (request.method === 'GET' && peers?.upgrade?.(request, { data, headers })) return
      leaveStrangers()
      throw new AppError('not_found', 'Connect with a WebSocket client: docs/live.md shows how.')
    },

    /** Returns true if more rows are to be sent soon. */
    tick(): boolean {
      rests.tick()
      if (sessions.size === 0) return false
      // Unreadable markets are read again at the next tick.
      ifReadable(markets.tick)
      const endMs = timer() + SLICE_MS
      const hasBacklog = groups.tick(() => timer() >= endMs)
      if (timer() - spotMs >= SPOT_MS) {
        spotMs = timer()
        spotGroups.tick(() => false)
      }
      const nowMs = clock()
      if (nowMs - tickedMs < SESSIONS_MS) return hasBacklog
      tickedMs = nowMs
      for (const session of [...sessions]) ifReadable(session.tick)
      bound.tick(sessions)
      return hasBacklog
    },

    /** Closes all connections; clients reconnect elsewhere. */
    stop(): void {
      isStopping = true
      for (const session of sessions) session.drain(deps.random() * DRAIN_MS)
    },

    /** Number of fan-out groups. */
    get followed() {
      return groups.counts.groups
    },

    get sessions() {
      return sessions.size
    },
  }
}

export type StreamService = ReturnType<typeof createStreamService>

/** Bytes in flight on a connection that are not counted. */
const UNCOUNTED_BYTES = 65_536

/**
 * Bounds the unread bytes of connections and responses together. At the limit, the connections with
 * the most are closed, and cut if the client does not read.
 */
function createBound({ unread }: Pick<StreamDeps, 'unread'>) {
  const held = new Map<Session, () => void>()

  function leave(session: Session): void {
    held.get(session)?.()
    held.delete(session)
  }

  return {
    leave,

    tick(sessions: ReadonlySet<Session>): void {
      for (const session of held.keys()) leave(session)
      const slow = [...sessions].filter(({ waitingBytes }) => waitingBytes > UNCOUNTED_BYTES)
      for (const session of slow.toSorted((a, b) => a.waitingBytes - b.waitingBytes)) {
        const { caller, address, waitingBytes } = session
        const place = unread.take(
          {
            owner: caller?.accountId ?? `address ${address}`,
            level: levelOf(caller),
            group: caller?.address,
          },
          waitingBytes,
        )
        if (typeof place !== 'string') held.set(session, place)
        else if (session.isOver) session.cut()
        else session.end('slow')
      }
    },
  }
}

const RETRY_SECONDS = 5
const busyError = (text: string) =>
  new AppError('unavailable', text, { retryAfterSeconds: RETRY_SECONDS })

function createPorts(
  deps: StreamDeps,
  rest: SessionPorts['rest'],
  begin: SessionPorts['begin'],
): SessionPorts {
  const { authenticator } = deps
  const toHeader = (key: string): string => (key.startsWith('Bearer ') ? key : `Bearer ${key}`)
  return {
    clock: deps.clock,
    begin,
    authenticate: (key, address) => authenticator.authenticate(toHeader(key), () => address),
    find: (key, address) => authenticator.find(toHeader(key), () => address),
    entitle: (caller, channel, coin) => deps.entitle({ access: accessOf[channel], caller, coin }),
    used: deps.used,
    rounds: deps.rounds,
    rest,

    takePlace(caller) {
      const { accountId, standing, address } = caller
      return deps.connections.open({
        owner: accountId,
        ownMax: streamsMaxOf(standing.terms),
        level: levelOf(caller),
        group: address,
      })
    },
  }
}
