/** One connection of the stream: its account, its operations and its subscriptions. */
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import { type Caller, levelOf } from '#src/domain/selling/caller.ts'
import { streamsMaxOf } from '#src/domain/selling/tier.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { Rounds } from '#src/http/rounds.ts'
import { count } from '#src/platform/count.ts'
import { after } from '#src/platform/maybe-promise.ts'
import type { By } from '#src/platform/pool/queue.ts'
import { createZlibStream, type ZlibStream } from '#src/platform/zlib-stream.ts'

import { createHolder, type HolderPorts } from './holder.ts'
import { idOf, readOperation } from './operation.ts'
import { type Channel, closeCodes, type CloseReason, type Op, type Operations } from './schema.ts'
import type { Outlet } from './send-queue.ts'
import type { Player, Subscription } from './subscription.ts'

const HEARTBEAT_MS = 30_000
/** Text messages with which the venue's clients test a connection. */
const [PING, PONG] = ['PING', 'PONG']
/** Subscriptions on each connection. */
const CHANNELS_PER_CONNECTION = 20
const OPERATIONS_A_SECOND = 50
/** Consecutive invalid operations after which the connection is closed. */
const FAULTS_MAX = 20
/** Consecutive operations above the rate limit after which the connection is closed. */
const HASTY_MAX = 1000
/** Unsent bytes beyond which a connection gets no more rows. */
const SLOW_BYTES = 262_144
/**
 * Unsent bytes beyond which the connection is closed: messages other than rows are not queued. Bun
 * would drop messages at 16 MiB.
 */
const BUFFERED_BYTES_MAX = 4_194_304
/** Bytes of rows queued for a connection, over all subscriptions. */
const HELD_BYTES_MAX = 8_388_608
/**
 * How long a client may take to read what was sent before a close; Bun itself would cut the
 * connection sooner.
 */
const TAKING_MS = 60_000

/** The connection. */
export type Wire = {
  send(message: string | Uint8Array<ArrayBuffer>): void
  /** Bytes that were sent but not read by the client. */
  buffered(): number
  close(code: number, reason: string): void
  /** Closes the connection at once and drops unsent data. */
  cut(): void
}

export type SessionPorts = HolderPorts & {
  clock: Clock
  /** Throws `tier_route` and `tier_coin`. */
  entitle(caller: Caller, channel: Channel, coin: Coin): void
  begin(operation: Operations['subscribe'] | Operations['replay'], outlet: Outlet): Subscription
  /** Meters the bytes sent. */
  used(caller: Caller, bytes: number): void
  rounds: Pick<Rounds, 'enter' | 'turn'>
  /** Resolves after so many milliseconds. */
  rest(ms: number): Promise<void>
}

type Opened = {
  /** Key of the request header, if any. */
  key: string | undefined
  /** Network address of the client. */
  address: string
  /** Returns the slot of a connection that has not sent a key yet. */
  leaveStrangers: () => void
}

/** Opens a session. */
export function openSession(wire: Wire, ports: SessionPorts, opened: Opened) {
  const { key, address, leaveStrangers } = opened
  const { clock } = ports
  let heartbeatMs = HEARTBEAT_MS
  let drainMs = Number.POSITIVE_INFINITY

  const sendWaiting = () => {
    for (const each of subscriptions.values()) each.drained()
  }
  const line = createLine(wire, ports, {
    onEnd() {
      for (const each of subscriptions.values()) each.end()
      subscriptions.clear()
    },
    onRoom: sendWaiting,
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
  function begin(operation: Operations['subscribe'] | Operations['replay']): void {
    const caller = holder.required()
    line.encode(operation.encoding)
    list.add(operation, caller)
  }

  const perform = createOperations(list, holder.look, {
    auth: ({ key, encoding }) =>
      after(holder.authenticate(key), () => {
        if (line.caller !== undefined) line.encode(encoding)
      }),
    heartbeat({ seconds }) {
      heartbeatMs = seconds * 1000
    },
    subscribe: begin,
    replay: begin,
    unsubscribe({ id }) {
      list.find(id).end()
      subscriptions.delete(id)
      say({ type: 'unsubscribed', id })
    },
  })
  if (key !== undefined) void holder.authenticate(key)

  const queue = createQueue(ports, line, perform)

  return {
    message: queue.add,

    drained(): void {
      line.close()
      sendWaiting()
    },

    /** Call a few times a second. */
    tick(): void {
      const nowMs = clock()
      line.close()
      if (nowMs >= drainMs) end('drain')
      holder.check(nowMs)
      if (nowMs - line.sentMs >= heartbeatMs) say({ type: 'heartbeat', time: toIso(nowMs) })
    },

    /** Handles the end of the connection. */
    ended(): void {
      line.stop()
      line.forget()
      leaveStrangers()
      holder.leave()
    },

    /** Unread bytes: sent ones and queued ones. */
    get waitingBytes() {
      return line.waitingBytes()
    },

    address,

    /** Account for which bytes are counted; undefined before the key. */
    get caller() {
      return line.caller
    },

    /** Cuts the connection and drops its queue. */
    cut(): void {
      line.stop()
      line.forget()
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

    /** Stops sending, and frees the slot of a connection without a key at once. */
    end(reason: CloseReason): void {
      leaveStrangers()
      end(reason)
    },

    /** Ends the session after a delay. */
    drain(delayMs: number): void {
      drainMs = clock() + delayMs
    },
  }
}

export type Session = ReturnType<typeof openSession>

/** Account that the work of a connection is scheduled for. */
const ownerOf = (caller: Caller | undefined): By => ({
  owner: caller?.accountId ?? '',
  level: levelOf(caller),
})

/** Outgoing messages of a connection. */
function createLine(
  wire: Wire,
  { clock, used, rounds, rest }: SessionPorts,
  on: {
    onEnd: () => void
    /** Called when compression has caught up and the connection takes rows again. */
    onRoom: () => void
  },
) {
  let held = 0
  let zlib: ZlibStream | undefined
  let isBehind = false
  const buffered = () => wire.buffered() + (zlib?.waiting() ?? 0)
  const sendBytes = (message: Uint8Array<ArrayBuffer>) => {
    if (line.caller) used(line.caller, message.length)
    wire.send(message)
    isBehind ||= buffered() > SLOW_BYTES
    if (!isBehind || zlib?.waiting() !== 0) return
    isBehind = false
    on.onRoom()
  }
  let reason: CloseReason | undefined
  let closeMs: number = 0
  const line = {
    caller: undefined as Caller | undefined,
    sentMs: clock(),
    waitingBytes: () => buffered() + (line.isOver ? 0 : held),
    /** True when nothing more is sent; the connection closes later. */
    isOver: false,
    isClosed: false,
    stop(): void {
      if (line.isOver) return
      line.isOver = true
      on.onEnd()
    },
    end(why: CloseReason): void {
      if (line.isOver) return
      line.stop()
      reason = why
      closeMs = clock() + TAKING_MS
      line.close()
    },
    /**
     * Closes an ended connection once the client has read everything: the close code comes last.
     */
    close(): void {
      if (reason === undefined || (buffered() > 0 && clock() < closeMs)) return
      const { code, text } = closeCodes[reason]
      reason = undefined
      line.isClosed = true
      wire.close(code, text)
    },
    /** Sends all further messages in one zlib stream. */
    encode(encoding: 'zlib-stream' | undefined): void {
      if (encoding === undefined) return
      zlib ??= createZlibStream(sendBytes, () => line.end('internal'))
    },
    /** Drops messages that are not compressed yet. */
    forget(): void {
      zlib?.close()
    },
    send(text: string): void {
      if (line.isOver) return
      if (buffered() > BUFFERED_BYTES_MAX) {
        line.end('slow')
        return
      }
      line.sentMs = clock()
      if (zlib !== undefined) {
        // Marks the end of a message for clients that inflate it in pieces.
        zlib.write(`${text}\n`)
        isBehind ||= buffered() > SLOW_BYTES
        return
      }
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
      isSlow: () => buffered() > SLOW_BYTES,
      hold(bytes) {
        held += bytes
        if (held > HELD_BYTES_MAX) line.end('slow')
      },
      by: () => ownerOf(line.caller),
      turn: () => rounds.turn(ownerOf(line.caller)),
      rest,
      watch: (work) => void work.catch((error) => line.fail(error, id)),
      onFault: (error) => line.fail(error, id),
    }),
  }
  return line
}

/** While an operation is asynchronous, later ones wait for it. */
type Perform = { [O in Op]: (operation: Operations[O]) => Promise<void> | void }
type OfPlayer = 'snapshot' | 'pause' | 'resume' | 'seek' | 'speed'

/** Operations on existing subscriptions, besides those that open them. */
const createOperations = (
  { find, player }: Pick<ReturnType<typeof createSubscriptions>, 'find' | 'player'>,
  /** Ends subscriptions that the key or tier no longer allows. */
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

/** Subscriptions of a connection, by id. */
function createSubscriptions(
  ports: SessionPorts,
  outletOf: (id: string) => Outlet,
  isOver: () => boolean,
) {
  const subscriptions = new Map<string, Subscription>()
  /** Channels and coin that the tier must include for each subscription. */
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
      if (subscriptions.has(id)) throw idError('The id is already in use by another subscription.')
      const most = streamsMaxOf(by.standing.terms) * CHANNELS_PER_CONNECTION
      if (subscriptions.size >= most)
        throw new AppError(
          'too_many_streams',
          `Your tier allows ${count(most, 'subscription')} on each connection.`,
        )
      const begun = ports.begin(operation, outletOf(id))
      // Sending may have ended the connection with all its subscriptions.
      if (isOver()) begun.end()
      else {
        subscriptions.set(id, begun)
        needs.set(begun, { channels, coin })
      }
    },

    /** Ends subscriptions that the caller's tier no longer includes, and sends the reason. */
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
      throw idError('The subscription is not a replay.')
    },
  }
}

const idError = (text: string) => parameterError('id', text)

/** Performs the operations of a connection, one after the other. */
function createQueue(
  { clock, rounds }: SessionPorts,
  line: ReturnType<typeof createLine>,
  perform: Perform,
) {
  const waiting: string[] = []
  const assertPace = createPace(clock)
  let faults = 0
  let hasty = 0

  function fail(error: unknown, text: string): void {
    line.fail(error, idOf(text))
    if (++faults >= FAULTS_MAX) line.end('protocol')
  }

  /** Returns a promise only if the next operation has to wait for this one. */
  function act(text: string): Promise<void> | undefined {
    if (text === PING) {
      line.send(PONG)
      return undefined
    }
    try {
      const operation = readOperation(text)
      const later = perform[operation.op](operation as never)
      faults = 0
      return later instanceof Promise ? later.catch((error) => fail(error, text)) : undefined
    } catch (error) {
      fail(error, text)
      return undefined
    }
  }

  /** Most operations complete without waiting. */
  async function actOnAll(): Promise<void> {
    for (let [text] = waiting; text !== undefined && !line.isOver; [text] = waiting) {
      try {
        const wait = rounds.enter(ownerOf(line.caller))
        if (wait !== undefined) await wait
        const begun = act(text)
        if (begun !== undefined) await begun
      } catch (error) {
        line.fail(error, idOf(text))
      }
      waiting.shift()
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
      if (waiting.push(text) === 1) void actOnAll()
    },
  }
}

/** Throws `rate_limited` if too many operations arrive in a second or are queued. */
function createPace(clock: Clock): (waiting: number) => void {
  let second = 0
  let count = 0
  return (waiting) => {
    const now = Math.floor(clock() / 1000)
    count = now === second ? count + 1 : 1
    second = now
    if (Math.max(count, waiting + 1) > OPERATIONS_A_SECOND)
      throw new AppError('rate_limited', `Send at most ${OPERATIONS_A_SECOND} operations a second.`)
  }
}

const problemOf = ({ code, message, extras }: AppError, id?: string) => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: message,
  ...extras,
})
