/**
 * One connection of the stream: who it is of, what is asked of it, and what it has subscribed to.
 */
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import { type Caller, levelOf } from '#src/domain/selling/caller.ts'
import { streamsMaxOf } from '#src/domain/selling/tier.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { Paced } from '#src/live/runner.ts'
import { count } from '#src/platform/count.ts'

import { createHolder, type HolderPorts } from './holder.ts'
import { idOf, readOperation } from './operation.ts'
import { type Channel, closeCodes, type CloseReason, type Op, type Operations } from './schema.ts'
import type { Outlet } from './send-queue.ts'
import type { Player, Subscription } from './subscription.ts'

const HEARTBEAT_MS = 30_000
/** As the venue has them: a text that a client sends to hear that the connection is alive. */
const [PING, PONG] = ['PING', 'PONG']
/** Subscriptions for each connection that a tier includes. */
const CHANNELS_PER_CONNECTION = 20
const OPERATIONS_A_SECOND = 50
/** Wrong operations in a row after which the connection is closed. */
const FAULTS_MAX = 20
/** Operations over the limit in a row after which the connection is closed. */
const HASTY_MAX = 1000
/** On its way to a connection, beyond which it gets no more rows. */
const SLOW_BYTES = 262_144
/** Beyond these it is closed: messages that are not rows do not wait. Bun would drop 16 MiB. */
const BUFFERED_BYTES_MAX = 4_194_304
/** Rows that wait for a connection, of all of its subscriptions. */
const HELD_BYTES_MAX = 8_388_608
/** So long may it take what was sent before it is closed; Bun cuts off sooner what it closes. */
const TAKING_MS = 60_000

/** The connection. */
export type Wire = {
  send(text: string): void
  /** Bytes that were sent and not yet taken. */
  buffered(): number
  close(code: number, reason: string): void
  /** Closes it at once, without what waits. */
  cut(): void
}

export type SessionPorts = HolderPorts & {
  clock: Clock
  staleSince: StaleSince
  /** Whether keys may have been revoked without this server knowing. */
  isUnconfirmed(): boolean
  /** Throws `tier_route` and `tier_coin`. */
  entitle(caller: Caller, channel: Channel, coin: Coin): void
  begin(operation: Operations['subscribe'] | Operations['replay'], outlet: Outlet): Subscription
  /** Counts what was sent. */
  used(caller: Caller, bytes: number): void
  run(by: { owner: string; level: number }, steps: Paced, onError: (error: unknown) => void): void
  /** Does short work where there is time for it now; returns whether it did. */
  tryNow(act: () => void): boolean
}

type Opened = {
  /** What a header had, if anything. */
  key: string | undefined
  /** The network address of the client. */
  address: string
  /** Gives back the place of a connection whose key has not come yet. */
  leaveStrangers: () => void
}

/** Begins a session. */
export function openSession(wire: Wire, ports: SessionPorts, opened: Opened) {
  const { key, address, leaveStrangers } = opened
  const { clock } = ports
  let heartbeatMs = HEARTBEAT_MS
  let drainMs = Number.POSITIVE_INFINITY
  let isStale = false

  const line = createLine(wire, ports, () => {
    for (const each of subscriptions.values()) each.end()
    subscriptions.clear()
  })
  const { say, end } = line
  const holder = createHolder(ports, address, {
    say,
    end,
    onCaller: (caller) => {
      leaveStrangers()
      line.caller = caller
      list.endUnentitled(caller, say)
    },
  })
  const list = createSubscriptions(ports, line.outletOf, () => line.isOver)
  const { subscriptions } = list
  const perform = createOperations(list, holder.look, {
    auth({ key }) {
      // It may have been made a moment ago by another server.
      const isUnknown = ports.authenticate(key, address) === undefined
      const caughtUp = isUnknown ? ports.catchUp(key) : undefined
      if (caughtUp !== undefined) return caughtUp.then(() => holder.authenticate(key))
      holder.authenticate(key)
      return undefined
    },
    heartbeat({ seconds }) {
      heartbeatMs = seconds * 1000
    },
    subscribe: (operation) => list.add(operation, holder.required()),
    replay: (operation) => list.add(operation, holder.required()),
    unsubscribe({ id }) {
      list.find(id).end()
      subscriptions.delete(id)
      say({ type: 'unsubscribed', id })
    },
  })
  if (key !== undefined) holder.authenticate(key)

  const queue = createQueue(ports, line, perform)

  /** Says once that what is sent is stale, and once that it is current again. */
  function sayAge(nowMs: number, sinceMs: number | undefined): void {
    if (line.caller === undefined || isStale === (sinceMs !== undefined)) return
    isStale = sinceMs !== undefined
    if (sinceMs === undefined) say({ type: 'current', time: toIso(nowMs) })
    else say({ type: 'stale', since: toIso(sinceMs) })
  }

  return {
    message: queue.add,

    drained(): void {
      line.close()
      for (const each of subscriptions.values()) each.drained()
    },

    /** To be called a few times a second. */
    tick(): void {
      const nowMs = clock()
      line.close()
      if (nowMs >= drainMs) end('drain')
      if (line.caller !== undefined && ports.isUnconfirmed()) end('unconfirmed')
      holder.check(nowMs)
      const sinceMs = ports.staleSince('history')
      sayAge(nowMs, sinceMs)
      if (nowMs - line.sentMs < heartbeatMs) return
      const staleSince = sinceMs === undefined ? undefined : toIso(sinceMs)
      say({ type: 'heartbeat', time: toIso(nowMs), staleSince })
    },

    /** The connection is gone. */
    ended(): void {
      line.stop()
      leaveStrangers()
      holder.leave()
    },

    /** Bytes that the client has not taken, on their way and held. */
    get waitingBytes() {
      return line.waitingBytes()
    },

    address,

    /** Whom they are counted under; undefined before the key has come. */
    get caller() {
      return line.caller
    },

    /** Leaves the connection with what waits on it. */
    cut(): void {
      line.stop()
      wire.cut()
    },

    get isOver() {
      return line.isOver
    },

    get isClosed() {
      return line.isClosed
    },

    get isAuthenticated() {
      return line.caller !== undefined
    },

    /** Nothing more is sent, and its place among those without a key is free at once. */
    end(reason: CloseReason): void {
      leaveStrangers()
      end(reason)
    },

    /** Ends it in so many milliseconds. */
    drain(delayMs: number): void {
      drainMs = clock() + delayMs
    },
  }
}

export type Session = ReturnType<typeof openSession>

/** Who the work of a connection is done for. */
const ownerOf = (caller: Caller | undefined) => ({
  owner: caller?.accountId ?? '',
  level: levelOf(caller),
})

/** What is sent over a connection, until it ends. */
function createLine(wire: Wire, { clock, used, run }: SessionPorts, onEnd: () => void) {
  let held = 0
  let reason: CloseReason | undefined
  let closeMs: number = 0
  const line = {
    caller: undefined as Caller | undefined,
    sentMs: clock(),
    waitingBytes: () => wire.buffered() + (line.isOver ? 0 : held),
    /** Nothing more is sent, and later the connection is closed. */
    isOver: false,
    isClosed: false,
    stop(): void {
      if (line.isOver) return
      line.isOver = true
      onEnd()
    },
    end(why: CloseReason): void {
      if (line.isOver) return
      line.stop()
      reason = why
      closeMs = clock() + TAKING_MS
      line.close()
    },
    /** Closes what has ended once all that was sent is taken: the code comes after that. */
    close(): void {
      if (reason === undefined || (wire.buffered() > 0 && clock() < closeMs)) return
      const { code, text } = closeCodes[reason]
      reason = undefined
      line.isClosed = true
      wire.close(code, text)
    },
    send(text: string): void {
      if (line.isOver) return
      if (wire.buffered() > BUFFERED_BYTES_MAX) {
        line.end('slow')
        return
      }
      line.sentMs = clock()
      if (line.caller) used(line.caller, text.length)
      wire.send(text)
    },
    say: (value: object): void => line.send(JSON.stringify(value)),
    fail(error: unknown, id?: string): void {
      if (error instanceof AppError) line.say(problemOf(error, id))
      else line.end('internal')
    },
    outletOf: (id: string): Outlet => ({
      send: line.send,
      isSlow: () => wire.buffered() > SLOW_BYTES,
      hold(bytes) {
        held += bytes
        if (held > HELD_BYTES_MAX) line.end('slow')
      },
      inTurns(steps) {
        run(ownerOf(line.caller), steps, (error) => line.fail(error, id))
      },
      onFault: (error) => line.fail(error, id),
    }),
  }
  return line
}

/** What comes after an operation that returns a promise waits for it. */
type Perform = { [O in Op]: (operation: Operations[O]) => Promise<void> | void }
type OfPlayer = 'snapshot' | 'pause' | 'resume' | 'seek' | 'speed'

/** Those on a subscription by its name, beside the others. */
const createOperations = (
  { find, player }: Pick<ReturnType<typeof createSubscriptions>, 'find' | 'player'>,
  /** Ends what the key or the tier does not include any more. */
  look: () => void,
  others: Omit<Perform, OfPlayer>,
): Perform => {
  const entitledPlayer = (id: string): Player => {
    look()
    return player(id)
  }
  return {
    ...others,
    snapshot({ id }) {
      look()
      find(id).snapshot()
    },
    pause: ({ id }) => player(id).pause(),
    resume: ({ id }) => entitledPlayer(id).resume(),
    seek: ({ id, to }) => entitledPlayer(id).seek(to),
    speed: ({ id, speed }) => entitledPlayer(id).setSpeed(speed),
  }
}

/** What a connection has subscribed to, by the names that it gave. */
function createSubscriptions(
  ports: SessionPorts,
  outletOf: (id: string) => Outlet,
  isOver: () => boolean,
) {
  const subscriptions = new Map<string, Subscription>()
  /** What the tier must include for each. */
  const needs = new WeakMap<Subscription, { channels: readonly Channel[]; coin: Coin }>()

  function find(id: string): Subscription {
    const subscription = subscriptions.get(id)
    if (subscription) return subscription
    throw idError('No subscription has this id.')
  }

  return {
    subscriptions,
    find,

    add(operation: Parameters<SessionPorts['begin']>[0], by: Caller): void {
      const { id, channel, coin } = operation
      const channels: Channel[] = [channel]
      if ('with' in operation && operation.with) channels.push(operation.with)
      for (const each of channels) ports.entitle(by, each, coin)
      if (subscriptions.has(id)) throw idError('A subscription has this id already.')
      const most = streamsMaxOf(by.standing.terms) * CHANNELS_PER_CONNECTION
      if (subscriptions.size >= most)
        throw new AppError(
          'too_many_streams',
          `Your tier includes ${count(most, 'subscription')} on each connection.`,
        )
      const begun = ports.begin(operation, outletOf(id))
      // What it sent may have ended the connection, and with it all that was subscribed to.
      if (isOver()) begun.end()
      else {
        subscriptions.set(id, begun)
        needs.set(begun, { channels, coin })
      }
    },

    /** Ends what the tier of a caller does not include any more, and says why. */
    endUnentitled(caller: Caller, say: (value: object) => void): void {
      for (const [id, subscription] of [...subscriptions]) {
        const needed = needs.get(subscription)
        if (needed === undefined) continue
        try {
          for (const each of needed.channels) ports.entitle(caller, each, needed.coin)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          subscription.end()
          subscriptions.delete(id)
          const why = `The subscription has ended. ${error.message}`
          say(problemOf(new AppError(error.code, why, error.extras), id))
          say({ type: 'unsubscribed', id })
        }
      }
    },

    player(id: string): Player {
      const { player } = find(id)
      if (player) return player
      throw idError('That is no replay.')
    },
  }
}

const idError = (text: string) => parameterError('id', text)

/** Operations in their order: at once, or in turns with everybody's work. */
function createQueue(
  { clock, run, tryNow }: SessionPorts,
  line: ReturnType<typeof createLine>,
  perform: Perform,
) {
  const waiting: string[] = []
  const assertPace = createPace(clock)
  let faults = 0
  let hasty = 0
  /** The first waiting operation, while it waits for something itself. */
  let begun: Promise<void> | undefined

  function fail(error: unknown, text: string): void {
    line.fail(error, idOf(text))
    if (++faults >= FAULTS_MAX) line.end('protocol')
  }

  function act(text: string): void {
    if (text === PING) {
      line.send(PONG)
      return
    }
    try {
      const operation = readOperation(text)
      const later = perform[operation.op](operation as never)
      begun = later instanceof Promise ? later.catch((error) => fail(error, text)) : undefined
      faults = 0
    } catch (error) {
      fail(error, text)
    }
  }

  function* actInTurns(): Paced {
    for (let text = waiting[0]; text !== undefined && !line.isOver; text = waiting[0]) {
      if (begun === undefined) act(text)
      if (begun !== undefined) yield begun
      begun = undefined
      waiting.shift()
      yield 0
    }
  }

  return {
    add(text: string): void {
      if (line.isOver) return
      try {
        assertPace(waiting.length)
        hasty = 0
      } catch (error) {
        line.fail(error, idOf(text))
        if (++hasty >= HASTY_MAX) line.end('protocol')
        return
      }
      if (waiting.length === 0 && tryNow(() => act(text)) && begun === undefined) return
      if (waiting.push(text) === 1) run(ownerOf(line.caller), actInTurns(), line.fail)
    },
  }
}

/** Throws `rate_limited` for an operation too many, in a second or of those that wait. */
function createPace(clock: Clock): (waiting: number) => void {
  let second = 0
  let count = 0
  return (waiting) => {
    const now = Math.floor(clock() / 1000)
    count = now === second ? count + 1 : 1
    second = now
    if (Math.max(count, waiting + 1) > OPERATIONS_A_SECOND)
      throw new AppError('rate_limited', `Send ${OPERATIONS_A_SECOND} operations a second at most.`)
  }
}

const problemOf = ({ code, message, extras }: AppError, id?: string) => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: message,
  ...extras,
})
