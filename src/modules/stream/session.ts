/**
 * One connection of the stream: who it is of, what is asked of it, and what it has subscribed to.
 */
import { ENDLESS_MS, type Gap } from '#src/core/coverage.ts'
import { AppError } from '#src/core/errors.ts'
import type { Coin, Market } from '#src/core/market.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import { type Caller, unauthenticatedError } from '#src/selling/caller.ts'
import { streamsMaxOf } from '#src/selling/tier.ts'

import { type Channel, closeCodes, type Operation } from './model.ts'
import { readOperation } from './operation.ts'
import type { Subscription } from './subscription.ts'

const AUTH_MS = 10_000
const HEARTBEAT_MS = 30_000
/** Keys and tiers are looked at again so often. */
const RECHECK_MS = 10_000
/** Subscriptions for each connection that a tier includes. */
const CHANNELS_PER_CONNECTION = 20
const GAPS_MS = 500
const OPERATIONS_A_SECOND = 50
/** Operations that were wrong in a row, after which somebody is not speaking to us. */
const FAULTS_MAX = 20

/** The connection. */
export type Wire = {
  send(text: string): void
  isSlow(): boolean
  close(code: number, reason: string): void
}
export type Outlet = Wire & { tooSlow(): void }

export type SessionPorts = {
  clock: Clock
  /** Undefined for a key that is not valid. */
  authenticate(key: string): Caller | undefined
  /** Throws `tier_route` and `tier_coin`. */
  entitle(caller: Caller, channel: Channel, coin: Coin): void
  subscribe(operation: Operation, outlet: Outlet): Subscription
  gaps(market: Market): readonly Gap[]
  /** Counts what was sent. */
  used(caller: Caller, bytes: number): void
  /** Takes a place among the connections of an account; undefined where there is none left. */
  takePlace(caller: Caller): (() => void) | undefined
}

/** Begins a session; `key` is what a header had, if anything. */
export function openSession(wire: Wire, ports: SessionPorts, key: string | undefined) {
  const { clock } = ports
  let [heartbeatMs, sentMs, gapsMs, faults] = [HEARTBEAT_MS, clock(), clock(), 0]

  const outlet: Outlet = {
    ...wire,
    send(text) {
      sentMs = clock()
      holder.used(text.length)
      wire.send(text)
    },
    tooSlow: () => end('slow'),
  }
  const end = (why: keyof typeof closeCodes) =>
    wire.close(closeCodes[why].code, closeCodes[why].text)
  const say = (value: object) => outlet.send(JSON.stringify(value))
  const holder = createHolder(ports, { say, end })
  const watch = createGapWatch(ports)
  const list = createSubscriptions(ports, outlet)
  const { subscriptions } = list

  const perform: Record<Operation['op'], (operation: Operation) => void> = {
    auth: (operation) => holder.authenticate(operation.key ?? ''),
    heartbeat({ seconds = 0 }) {
      heartbeatMs = seconds * 1000
    },
    subscribe: (operation) => list.add(operation, holder.caller()),
    snapshot: ({ id }) => list.find(id).snapshot(),
    unsubscribe({ id }) {
      list.find(id).end()
      subscriptions.delete(id ?? '')
      say({ type: 'unsubscribed', id })
    },
  }
  const assertPace = createPace(clock)
  if (key !== undefined) holder.authenticate(key)

  return {
    message(text: string): void {
      let id: string | undefined
      try {
        assertPace()
        const operation = readOperation(text)
        id = operation.id
        perform[operation.op](operation)
        faults = 0
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        say(problemOf(error, id))
        if (++faults >= FAULTS_MAX) end('protocol')
      }
    },

    drained(): void {
      for (const each of subscriptions.values()) each.drained()
    },

    /** To be called a few times a second. */
    tick(): void {
      const nowMs = clock()
      holder.check(nowMs)
      if (nowMs - gapsMs > GAPS_MS) {
        gapsMs = nowMs
        for (const text of watch(subscriptions)) outlet.send(text)
      }
      if (nowMs - sentMs >= heartbeatMs) say({ type: 'heartbeat', time: toIso(nowMs) })
    },

    ended(): void {
      for (const each of subscriptions.values()) each.end()
      subscriptions.clear()
      holder.leave()
    },

    drain: (): void => end('drain'),
  }
}

export type Session = ReturnType<typeof openSession>

/** What a connection has subscribed to, by the names that it gave. */
function createSubscriptions(ports: SessionPorts, outlet: Outlet) {
  const subscriptions = new Map<string, Subscription>()
  return {
    subscriptions,

    add(operation: Operation, by: Caller): void {
      const { id = '', channel = 'markets', coin = 'btc' } = operation
      ports.entitle(by, channel, coin)
      if (subscriptions.has(id)) throw idError('A subscription has this id already.')
      const most = streamsMaxOf(by.standing.terms) * CHANNELS_PER_CONNECTION
      if (subscriptions.size >= most)
        throw new AppError('too_many_streams', `Your tier has ${most} subscriptions a connection.`)
      subscriptions.set(id, ports.subscribe(operation, outlet))
    },

    find(id = ''): Subscription {
      const subscription = subscriptions.get(id)
      if (subscription) return subscription
      throw idError('No subscription has this id.')
    },
  }
}

const idError = (text: string) => new AppError('invalid_parameter', text, { param: 'id' })

type HolderPorts = { say(value: object): void; end(why: keyof typeof closeCodes): void }

/** Whose connection it is. */
function createHolder(ports: SessionPorts, { say, end }: HolderPorts) {
  const openedMs = ports.clock()
  let caller: Caller | undefined
  let leave: (() => void) | undefined
  let [ownKey, checkedMs] = ['', openedMs]

  return {
    /** Throws `unauthenticated`. */
    caller(): Caller {
      if (caller) return caller
      throw new AppError('unauthenticated', 'Send `{"op":"auth","key":"bf_live_…"}` first.')
    },

    authenticate(key: string): void {
      const found = ports.authenticate(key)
      if (found === undefined || found.isBlocked) {
        say(problemOf(unauthenticatedError()))
        end('unauthenticated')
        return
      }
      leave ??= ports.takePlace(found)
      if (leave === undefined) {
        end('limit')
        return
      }
      caller = found
      ownKey = key
      say({ type: 'authenticated', tier: found.standing.terms.tierId })
    },

    /** Ends a connection whose key did not come, or is not valid any more. */
    check(nowMs: number): void {
      if (caller === undefined && nowMs - openedMs > AUTH_MS) end('unauthenticated')
      if (caller === undefined || nowMs - checkedMs < RECHECK_MS) return
      checkedMs = nowMs
      const now = ports.authenticate(ownKey)
      if (now === undefined || now.isBlocked) end('unauthenticated')
      else caller = now
    },

    used(bytes: number): void {
      if (caller) ports.used(caller, bytes)
    },

    leave: (): void => leave?.(),
  }
}

/** Throws `rate_limited` for an operation too many. */
function createPace(clock: Clock): () => void {
  let [second, count] = [0, 0]
  return () => {
    const now = Math.floor(clock() / 1000)
    count = now === second ? count + 1 : 1
    second = now
    if (count > OPERATIONS_A_SECOND)
      throw new AppError('rate_limited', `Send ${OPERATIONS_A_SECOND} operations a second at most.`)
  }
}

/** Returns the messages of gaps that were not there before, or have ended. */
function createGapWatch(ports: SessionPorts) {
  const known = new Map<string, Set<string>>()
  return function* (subscriptions: ReadonlyMap<string, Subscription>): Generator<string> {
    for (const [id, { markets }] of subscriptions) {
      for (const market of markets()) {
        const { conditionId } = market
        const before = known.get(`${id} ${conditionId}`)
        const now = new Set(ports.gaps(market).map((gap) => JSON.stringify(describeGap(gap))))
        known.set(`${id} ${conditionId}`, now)
        const head = `{"type":"gap","id":${JSON.stringify(id)},"conditionId":"${conditionId}",`
        for (const gap of before ? now.difference(before) : []) yield `${head}${gap.slice(1)}`
      }
    }
  }
}

const describeGap = ({ outcome, fromMs, toMs, reason }: Gap) => ({
  ...{ outcome, reason, from: toIso(fromMs) },
  to: toMs === ENDLESS_MS ? null : toIso(toMs),
})

const problemOf = ({ code, message, extras }: AppError, id?: string) => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  ...{ code, detail: message, ...extras },
})
