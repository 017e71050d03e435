/** One connection of the stream: what is asked of it, and what it has subscribed to. */
import type { Gap } from '#src/core/coverage.ts'
import { ENDLESS_MS } from '#src/core/coverage.ts'
import { AppError } from '#src/core/errors.ts'
import type { Coin, Market } from '#src/core/market.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { Caller } from '#src/selling/caller.ts'
import { streamsMaxOf } from '#src/selling/tier.ts'

import { closeCodes, type Operation } from './model.ts'
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

export type SessionPorts = {
  clock: Clock
  /** Undefined for a key that is not valid. */
  authenticate(key: string): Caller | undefined
  /** Throws `tier_route` and `tier_coin`. */
  entitle(caller: Caller, channel: NonNullable<Operation['channel']>, coin: Coin): void
  subscribe(operation: Operation, wire: Wire & { tooSlow(): void }): Subscription
  gaps(market: Market): readonly Gap[]
  /** Counts what was sent. */
  used(caller: Caller, bytes: number): void
  /** Takes a place among the connections of an account; undefined where there is none left. */
  takePlace(caller: Caller): (() => void) | undefined
}

/** Begins a session; `key` is what a header had, if anything. */
export function openSession(wire: Wire, ports: SessionPorts, key: string | undefined) {
  const { clock } = ports
  const openedMs = clock()
  const subscriptions = new Map<string, Subscription>()
  const gapsKnown = new Map<string, Set<string>>()
  const place: { leave?: (() => void) | undefined } = {}
  let caller: Caller | undefined
  let [ownKey, heartbeatMs] = ['', HEARTBEAT_MS]
  let [sentMs, checkedMs, gapsMs, faults] = [openedMs, openedMs, openedMs, 0]

  const end = ({ code, text }: { code: number; text: string }) => wire.close(code, text)
  const out = {
    ...wire,
    send(text: string) {
      sentMs = clock()
      if (caller !== undefined) ports.used(caller, text.length)
      wire.send(text)
    },
    tooSlow: () => end(closeCodes.slow),
  }
  const say = (value: object) => out.send(JSON.stringify(value))

  function authenticate(given: string): void {
    const found = ports.authenticate(given)
    if (found === undefined || found.isBlocked) {
      say(problemOf(new AppError('unauthenticated', 'The key is not valid.')))
      end(closeCodes.unauthenticated)
      return
    }
    place.leave ??= ports.takePlace(found)
    if (place.leave === undefined) {
      end(closeCodes.limit)
      return
    }
    caller = found
    ownKey = given
    say({ type: 'authenticated', tier: found.standing.terms.tierId })
  }

  function subscribe(operation: Operation, by: Caller): void {
    const { id = '', channel = 'markets', coin = 'btc' } = operation
    ports.entitle(by, channel, coin)
    if (subscriptions.has(id))
      throw new AppError('invalid_parameter', 'A subscription has this id.', { param: 'id' })
    const most = streamsMaxOf(by.standing.terms) * CHANNELS_PER_CONNECTION
    if (subscriptions.size >= most)
      throw new AppError('too_many_streams', `Your tier has ${most} subscriptions a connection.`)
    say({ type: 'subscribed', id, channel, coin })
    subscriptions.set(id, ports.subscribe(operation, out))
  }

  function find(id = ''): Subscription {
    const subscription = subscriptions.get(id)
    if (subscription) return subscription
    throw new AppError('invalid_parameter', 'No subscription has this id.', { param: 'id' })
  }

  function perform(operation: Operation): void {
    const { op, id = '', seconds = 0 } = operation
    if (op === 'auth') authenticate(operation.key ?? '')
    else if (op === 'heartbeat') heartbeatMs = seconds * 1000
    else if (caller === undefined)
      throw new AppError('unauthenticated', 'Send `{"op":"auth","key":"bf_live_…"}` first.')
    else if (op === 'subscribe') subscribe(operation, caller)
    else if (op === 'snapshot') find(id).snapshot()
    else {
      find(id).end()
      subscriptions.delete(id)
      say({ type: 'unsubscribed', id })
    }
  }

  function sendGaps(): void {
    for (const [id, { markets }] of subscriptions) {
      for (const market of markets()) {
        const { conditionId } = market
        const gaps = ports.gaps(market).map((gap) => JSON.stringify(describeGap(gap)))
        const known = gapsKnown.get(`${id} ${conditionId}`)
        gapsKnown.set(`${id} ${conditionId}`, new Set(gaps))
        for (const gap of known ? gaps.filter((each) => !known.has(each)) : [])
          out.send(
            `{"type":"gap","id":${JSON.stringify(id)},"conditionId":"${conditionId}",${gap.slice(1)}`,
          )
      }
    }
  }

  /** Operations of this second. */
  const pace = { second: 0, count: 0 }
  function assertPace(): void {
    const second = Math.floor(clock() / 1000)
    pace.count = pace.second === second ? pace.count + 1 : 1
    pace.second = second
    if (pace.count > OPERATIONS_A_SECOND)
      throw new AppError('rate_limited', `Send ${OPERATIONS_A_SECOND} operations a second at most.`)
  }

  if (key !== undefined) authenticate(key)

  return {
    message(text: string): void {
      let operation: Operation | undefined
      try {
        assertPace()
        operation = readOperation(text)
        perform(operation)
        faults = 0
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        say(problemOf(error, operation?.id))
        if (++faults >= FAULTS_MAX) end(closeCodes.protocol)
      }
    },

    drained(): void {
      for (const each of subscriptions.values()) each.drained()
    },

    /** To be called a few times a second. */
    tick(): void {
      const nowMs = clock()
      if (caller === undefined && nowMs - openedMs > AUTH_MS) end(closeCodes.unauthenticated)
      if (caller !== undefined && nowMs - checkedMs > RECHECK_MS) {
        checkedMs = nowMs
        const now = ports.authenticate(ownKey)
        if (now === undefined || now.isBlocked) end(closeCodes.unauthenticated)
        else caller = now
      }
      if (nowMs - gapsMs > GAPS_MS) {
        gapsMs = nowMs
        sendGaps()
      }
      if (nowMs - sentMs >= heartbeatMs) say({ type: 'heartbeat', time: toIso(nowMs) })
    },

    ended(): void {
      for (const each of subscriptions.values()) each.end()
      subscriptions.clear()
      place.leave?.()
    },

    drain: (): void => end(closeCodes.drain),
  }
}

export type Session = ReturnType<typeof openSession>

const describeGap = ({ outcome, fromMs, toMs, reason }: Gap) => ({
  ...{ outcome, reason, from: toIso(fromMs) },
  to: toMs === ENDLESS_MS ? null : toIso(toMs),
})

const problemOf = ({ code, message, extras }: AppError, id?: string) => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  ...{ code, detail: message, ...extras },
})
