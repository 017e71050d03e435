/** The live stream over WebSocket: the sessions of a server. */
import { AppError, ifReadable } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import { isWellFormedKey, tokenOf } from '#src/domain/selling/api-key.ts'
import {
  type Caller,
  levelOf,
  unauthenticatedError,
  uncheckedError,
} from '#src/domain/selling/caller.ts'
import { streamsMaxOf, type TierRoute } from '#src/domain/selling/tier.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { noQuery, parseQuery } from '#src/http/schema-reader.ts'
import { searchOf } from '#src/http/target.ts'
import type { Unread } from '#src/http/unread.ts'
import type { Visit } from '#src/http/visit.ts'
import type { Work } from '#src/http/work.ts'
import { createFanout } from '#src/live/group.ts'
import type { Runner } from '#src/live/runner.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'

import { accessOf, type BeginOptions, createBegin } from './begin.ts'
import type { Message } from './messages.ts'
import { openSession, type Session, type SessionPorts } from './session.ts'
import type { Connection, Sockets } from './sockets.ts'
import type { RowSource } from './sources.ts'

/** Of what a client sends; Bun closes with 1009 beyond. */
const MESSAGE_BYTES_MAX = 16_384
/** Bun sends pings, and ends a connection whose other end is silent for so long. */
const SILENT_SECONDS = 120
/** Connections of a network address whose key has not come yet. */
const STRANGERS_PER_ADDRESS = 20
/** Reading and sending at one go; everybody else waits that long. */
const SLICE_MS = 1
/** Prices are looked at so often. */
const SPOT_MS = 50
/** Sessions look at keys and heartbeats so often. */
const SESSIONS_MS = 50
/** When a server stops, everybody leaves within this time, not all at once. */
const DRAIN_MS = 9_500

export type StreamDeps = BeginOptions & {
  runner: Runner
  connections: ConcurrencyLimit
  work: Pick<Work, 'tryNow'>
  /** From 0 to below 1. */
  random: () => number
  /** By the header `Authorization`, and the network address of the client. */
  authenticate: (authorization: string, addressOf: () => string) => Caller | undefined
  /** To be called once before a key counts as unknown. */
  catchUp: (() => Promise<void>) | undefined
  entitle: (asked: { access: TierRoute; caller: Caller; coin: Coin }) => void
  used: (caller: Caller, bytes: number) => void
  unread: Pick<Unread, 'take'>
  staleSince: StaleSince
  /** Whether keys may have been revoked without this server knowing. */
  isUnconfirmed: () => boolean
}

const settings = {
  maxPayloadLength: MESSAGE_BYTES_MAX,
  idleTimeout: SILENT_SECONDS,
  // It costs five to nine times a plain send.
  perMessageDeflate: false,
}

/** Makes the service. `tick` is to be called every few milliseconds. */
export function createStreamService(deps: StreamDeps) {
  const { markets, runner, clock, timer } = deps
  const groups = createFanout<Message, RowSource>()
  const spotGroups = createFanout<Message, RowSource>()
  const sessions = new Set<Session>()
  /** Those that began without a key, the oldest first; some have one by now. */
  const strangers = new Set<Session>()
  const ports = createPorts(deps, createBegin(deps, groups, spotGroups))
  const bound = createBound(deps)
  let isStopping = false
  let tickedMs = 0
  let spotMs = Number.NEGATIVE_INFINITY

  /** Of those whose key has not come yet, the one that has had most time to send it. */
  function oldestStranger(): Session | undefined {
    for (const session of sessions) if (!session.isAuthenticated && !session.isOver) return session
    return undefined
  }

  /**
   * Takes a place until the key comes. Where there is none left, the oldest connection without a
   * key gives way: a client sends its key as soon as it is connected.
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
        send: (text: string) => void connection.send(text),
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
      // Its key may have been refused already, and Bun have said that it is closed.
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
    /** For Bun's server. */
    websocket: { ...settings, ...own },

    /**
     * Makes a live connection of a request, answered with these headers. Throws `unauthenticated`,
     * `invalid_parameter` and `not_found`.
     */
    upgrade(request: Request, visit: Visit, headers: Headers): void {
      const { peers, caller } = visit
      visit.route = 'stream'
      const authorization = request.headers.get('authorization')
      if (authorization !== null && caller === undefined) throw unauthenticatedError()
      parseQuery(noQuery, searchOf(request.url))
      if (isStopping) throw busyError('The server stops. Connect again.')
      const address = visit.address ?? caller?.address ?? ''
      if (caller !== undefined && deps.connections.isFull(levelOf(caller)))
        throw busyError('There are too many connections.')
      const leaveStrangers = caller === undefined ? takeStrangerPlace(address) : () => undefined
      const data = { authorization, address, leaveStrangers, owner: own }
      if (request.method === 'GET' && peers?.upgrade?.(request, { data, headers })) return
      leaveStrangers()
      throw new AppError('not_found', 'Connect with a WebSocket client: docs/live.md shows how.')
    },

    /** Returns whether rows are left that are to be handed on soon. */
    tick(): boolean {
      if (sessions.size === 0) return false
      // What cannot be read now is looked at again at the next tick.
      ifReadable(markets.tick)
      const endMs = timer() + SLICE_MS
      const hasBacklog = groups.tick(() => timer() >= endMs)
      if (timer() - spotMs >= SPOT_MS) {
        spotMs = timer()
        spotGroups.tick(() => false)
      }
      runner.tick()
      const nowMs = clock()
      if (nowMs - tickedMs < SESSIONS_MS) return hasBacklog
      tickedMs = nowMs
      for (const session of [...sessions]) ifReadable(session.tick)
      bound.tick(sessions)
      return hasBacklog
    },

    /** Asks everybody to connect elsewhere. */
    stop(): void {
      isStopping = true
      for (const session of sessions) session.drain(deps.random() * DRAIN_MS)
    },

    /** What is followed, once for all that are in step. */
    get followed() {
      return groups.counts.groups
    },

    get sessions() {
      return sessions.size
    },
  }
}

export type StreamService = ReturnType<typeof createStreamService>

/** A connection has so much on its way without being counted. */
const UNCOUNTED_BYTES = 65_536

/**
 * Counts what waits on connections with the answers that wait. Where a bound is reached, those with
 * the most are closed, and cut off where they do not take what was sent before.
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

function createPorts(deps: StreamDeps, begin: SessionPorts['begin']): SessionPorts {
  const { catchUp } = deps
  const toHeader = (key: string): string => (key.startsWith('Bearer ') ? key : `Bearer ${key}`)
  return {
    clock: deps.clock,
    staleSince: deps.staleSince,
    isUnconfirmed: deps.isUnconfirmed,
    begin,
    authenticate: (key, address) => deps.authenticate(toHeader(key), () => address),
    catchUp(key) {
      if (catchUp === undefined || !isWellFormedKey(tokenOf(toHeader(key)) ?? '')) return undefined
      return catchUp().catch((cause: unknown) => {
        throw uncheckedError(cause)
      })
    },
    entitle: (caller, channel, coin) => deps.entitle({ access: accessOf[channel], caller, coin }),
    used: deps.used,
    run: deps.runner.run,
    tryNow: deps.work.tryNow,

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
