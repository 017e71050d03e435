/**
 * One lane of connections that carries every market. A connection is never asked for other tokens
 * than those that it began with, because the venue's server keeps and silently drops
 * subscriptions: another one is opened beside it, and it is closed when that has every book.
 */
import { type GapReason, silenceMs } from '#src/domain/coverage.ts'
import type { Clock } from '#src/domain/time.ts'
import type { FeedEvent, VenueFeed } from '#src/venue/feed.ts'

import { connect, type Connection } from './connection.ts'
import { type Following, followMarkets } from './following.ts'
import type { Journal } from './journal.ts'
import type { MarketRecording } from './market-recording.ts'
import type { Every, OpenSocket, Reporter } from './ports.ts'

/** From a connection's being open to the last of its books. */
const BOOKS_MS_MAX = 5000
/** How long two connections run beside each other once the newer has every book. */
const OVERLAP_MS = 300
/** A market this near to its window is subscribed to at once; others wait for more to come. */
const NEAR_MS = 60_000
const GATHER_MS = 120_000
/** A live window without a message for so long is not usual; what is, by timeframe, is longer. */
const QUIET_MS = 5000
/** Until books that are not known are asked for again: twice as long each time, up to this. */
const RETRY_MS_MAX = 60_000
/** How often a lane with a connection looks whether it needs another. */
const LOOK_MS = 50
const BACKOFF_MS = 500
const BACKOFF_MS_MAX = 30_000

export type LaneOptions = {
  url: string
  feed: VenueFeed
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  journal: Journal
  /** Every message as it came, and what is said in it. */
  onMessage(text: string, receivedMs: number, events: readonly FeedEvent[]): void
  /** An event of a market that the connection was not asked for. */
  onUnfollowed(event: FeedEvent): void
}

type Shard = {
  /** Its number in the journal. */
  id: number
  /** Undefined while it is being made. */
  connection: Connection | undefined
  following: Following
  /** Tokens whose book has not come. */
  pending: Set<string>
  startedMs: number
  completeMs: number | undefined
}
/** A group of markets that one connection carries. */
type Slot = {
  wanted: MarketRecording[]
  current: Shard | undefined
  next: Shard | undefined
  /** When a next connection may be opened, and how many failed in a row. */
  dueMs: number
  lookedMs: number
  failures: number
  rotatedMs: number
  /** Connections in a row that were opened for books that are not known. */
  retries: number
}

/** Makes a lane; `want` and `tick` make it work. */
export function createLane(options: LaneOptions) {
  const { feed } = options
  const slots: Slot[] = []
  const counts = { opened: 0, ended: 0, withoutBook: 0, rotations: 0 }
  const rotation = createRotation(options, counts)

  return {
    /** The markets to be carried from now on. */
    want(recordings: readonly MarketRecording[]): void {
      const size = Math.floor(feed.tokensMax / 2)
      const needed = Math.ceil(recordings.length / size)
      while (slots.length < needed) slots.push(newSlot())
      for (const [at, slot] of slots.entries())
        slot.wanted = recordings.slice(at * size, (at + 1) * size)
    },

    /** To be called every few milliseconds. */
    tick(): void {
      for (const slot of slots) {
        if (slot.wanted.length > 0) rotation.tick(slot)
        else rotation.close(slot)
      }
    },

    /** Closes every connection; a gap begins where there is no other lane. */
    close: (): void => slots.forEach(rotation.close),

    counts,
    status: () =>
      slots.flatMap(({ current, next }) => [
        ...(current ? [statusOf(current, 'live')] : []),
        ...(next ? [statusOf(next, 'opening')] : []),
      ]),
  }
}

const statusOf = (shard: Shard, state: 'live' | 'opening') => ({
  state,
  tokens: shard.following.follows.size * 2,
  withoutBook: shard.pending.size,
  sinceMs: shard.startedMs,
  lastMessageMs: shard.connection?.lastMessageMs,
})

type Counts = Record<'opened' | 'ended' | 'withoutBook' | 'rotations', number>

/** Opens and closes the connections of shards. */
function createShards(options: LaneOptions) {
  const { feed, clock, journal } = options

  function open(wanted: readonly MarketRecording[], onEnd: (shard: Shard, reason: string) => void) {
    const nowMs = clock()
    const following = followMarkets(wanted, nowMs)
    const shard = newShard(following, journal.begin(following, nowMs), nowMs)
    shard.connection = connect({
      ...options,
      ping: feed.ping,
      hello: [feed.subscription([...shard.pending], { hasLifecycle: false })],
      onMessage(text, receivedMs) {
        const events = feed.decode(text)
        const isSound = events.every(({ kind }) => kind !== 'fault')
        journal.note({ kind: 'message', connection: shard.id, text, isSound }, receivedMs)
        options.onMessage(text, receivedMs, events)
        for (const event of events) {
          if (event.kind === 'book') shard.pending.delete(event.assetId)
          if (!following.take(event, receivedMs)) options.onUnfollowed(event)
        }
      },
      onEnd: (reason) => onEnd(shard, reason),
    })
    return shard
  }

  function drop({ connection, id }: Shard, reason: GapReason): void {
    connection?.close()
    journal.end(id, reason, clock())
  }

  return { open, drop }
}

/** Replaces the connections of slots. */
function createRotation(options: LaneOptions, counts: Counts) {
  const { clock, random, reporter } = options
  const shards = createShards(options)
  const { drop } = shards

  function open(slot: Slot): void {
    counts.opened++
    slot.next = shards.open(slot.wanted, (shard, reason) => ended(slot, shard, reason))
    slot.rotatedMs = slot.next.startedMs
  }

  function ended(slot: Slot, shard: Shard, reason: string): void {
    counts.ended++
    if (slot.current === shard) slot.current = undefined
    else if (slot.next === shard) slot.next = undefined
    drop(shard, 'recorder_down')
    if (shard.completeMs === undefined) {
      const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** slot.failures++)
      slot.dueMs = clock() + waitMs * (0.5 + random())
      // It did not ask for the books: only `dueMs` makes the next one wait.
      if (shard.connection?.openedMs === undefined) slot.retries = 0
    }
    if (slot.current === undefined)
      reporter.report('feed', `The venue's feed is down: ${reason}. The recorder keeps trying.`)
  }

  /** Whether the next connection may take over, and what to do when its books do not come. */
  function judge(slot: Slot, next: Shard, nowMs: number): void {
    const { current } = slot
    const { openedMs = nowMs } = next.connection ?? {}
    if (next.pending.size === 0) {
      next.completeMs ??= nowMs
      if (current === undefined || nowMs - next.completeMs >= OVERLAP_MS) promote(slot, next)
      return
    }
    if (nowMs - openedMs >= BOOKS_MS_MAX) giveUp(slot, next)
  }

  function giveUp(slot: Slot, next: Shard): void {
    const { current } = slot
    counts.withoutBook += next.pending.size
    const tokens = `${next.pending.size} of ${next.following.follows.size * 2} tokens`
    reporter.report('books', `No book came for ${tokens}: they are asked for again.`)
    if (current === undefined || isBetter(next, current)) promote(slot, next)
    else {
      slot.next = undefined
      drop(next, 'recorder_down')
    }
  }

  function promote(slot: Slot, next: Shard): void {
    const { current } = slot
    slot.current = next
    slot.next = undefined
    slot.failures = 0
    if (next.pending.size === 0) reporter.settle('books', 'Every book has come.')
    reporter.settle('feed', "The venue's feed is up.")
    if (current === undefined) return
    counts.rotations++
    drop(current, 'venue_silent')
  }

  return {
    tick(slot: Slot): void {
      const nowMs = clock()
      if (slot.next !== undefined) judge(slot, slot.next, nowMs)
      else if (nowMs >= slot.dueMs && isTimeToLook(slot, nowMs)) {
        slot.lookedMs = nowMs
        if (needsNext(slot, nowMs)) open(slot)
      }
      if (slot.retries > 0 && isCalm(slot, nowMs)) slot.retries = 0
    },

    close(slot: Slot): void {
      for (const shard of [slot.current, slot.next]) if (shard) drop(shard, 'recorder_down')
      slot.current = slot.next = undefined
    },
  }
}

function newShard(following: Following, id: number, nowMs: number): Shard {
  const markets = [...following.follows.values()].map(({ recording }) => recording.market)
  const tokens = markets.flatMap(({ assetIds }) => [assetIds.up, assetIds.down])
  return {
    ...{ id, following, pending: new Set(tokens) },
    ...{ startedMs: nowMs, completeMs: undefined, connection: undefined },
  }
}

export type Lane = ReturnType<typeof createLane>

const newSlot = (): Slot => ({
  ...{ wanted: [], current: undefined, next: undefined },
  ...{ dueMs: 0, lookedMs: 0, failures: 0, rotatedMs: 0, retries: 0 },
})

/** Whether a connection that lacks books has every one that the other has. */
const isBetter = (next: Shard, current: Shard): boolean =>
  [...current.following.follows.values()].every(({ recording: { market } }) =>
    [market.assetIds.up, market.assetIds.down].every(
      (assetId) =>
        current.pending.has(assetId) ||
        !next.pending.has(assetId) ||
        !next.following.follows.has(market.conditionId),
    ),
  )

/** A slot without a connection looks at every tick; the clock may have been set back. */
const isTimeToLook = ({ current, lookedMs }: Slot, nowMs: number): boolean =>
  current === undefined || nowMs - lookedMs >= LOOK_MS || nowMs < lookedMs

function needsNext(slot: Slot, nowMs: number): boolean {
  const { current, wanted, rotatedMs } = slot
  if (current === undefined) return true
  const { follows } = current.following
  const missing = wanted.filter(({ market }) => !follows.has(market.conditionId))
  const isNear = missing.some(({ market }) => market.windowStartMs - nowMs < NEAR_MS)
  const sinceMs = nowMs - rotatedMs
  if (isNear || (missing.length > 0 && sinceMs > GATHER_MS)) return true
  if (sinceMs <= patienceMs(slot)) return false
  if (!isTroubled(current, slot, nowMs)) return false
  slot.retries++
  return true
}

/** Each connection begins with books: that they came does not end the trouble of a quiet market. */
const isCalm = (slot: Slot, nowMs: number): boolean =>
  slot.current !== undefined &&
  slot.next === undefined &&
  nowMs - slot.rotatedMs > patienceMs(slot) &&
  !isTroubled(slot.current, slot, nowMs)

const patienceMs = ({ retries }: Slot): number => Math.min(RETRY_MS_MAX, QUIET_MS * 2 ** retries)

/** Whether a book that is to be known is not, as far as another connection may help. */
function isTroubled(current: Shard, { wanted }: Slot, nowMs: number): boolean {
  if (current.pending.size > 0) return true
  return wanted.some((recording) => {
    const { market } = recording
    const follow = current.following.follows.get(market.conditionId)
    const isOpen = nowMs >= market.windowStartMs
    if (nowMs >= market.windowEndMs || !(isOpen || follow)) return false
    if (recording.unknown().length > 0) return true
    const quietMs = Math.max(QUIET_MS, silenceMs(market.timeframe))
    return isOpen && nowMs - (follow?.heardMs ?? nowMs) > quietMs
  })
}
