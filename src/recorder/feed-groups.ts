/**
 * Groups of markets, each carried by one connection, so that every market is carried once. The
 * tokens of a connection never change, because the venue's server silently keeps or drops
 * subscriptions. To change them, a second connection is opened, and the first one is closed when
 * the second has every book.
 */

import { type GapReason, silenceMs } from '#src/domain/coverage.ts'
import type { Clock } from '#src/domain/time.ts'
import type { FeedEvent, VenueFeed } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { backoffMs } from './backoff.ts'
import { connect, type Connection } from './connection.ts'
import { type Following, followMarkets } from './following.ts'
import type { Journal } from './journal.ts'
import type { MarketRecording } from './market-recording.ts'
import type { Every, OpenSocket, Reporter } from './ports.ts'

/** The maximum time from opening a connection to its last book. */
const BOOKS_MS_MAX = 5000
/** The overlap of both connections after the newer one has every book. */
const OVERLAP_MS = 300
/** A market this near to its window is subscribed to at once; others wait to be grouped. */
const NEAR_MS = 60_000
const GATHER_MS = 120_000
/** The longest normal silence of a live window; longer timeframes may be silent for longer. */
const QUIET_MS = 5000
/** The longest delay before unknown books are requested again; each delay doubles the last. */
const RETRY_MS_MAX = 60_000
/** The interval at which a connected group checks if it needs another connection. */
const LOOK_MS = 50
const BACKOFF = { firstMs: 500, maxMs: 30_000 }

type FeedConnection = {
  /** The number of the connection in the journal. */
  id: number
  /** Undefined while the connection is being opened. */
  connection: Connection | undefined
  following: Following
  /** Tokens whose book has not arrived. */
  pending: Set<string>
  startedMs: number
  completeMs: number | undefined
}

type FeedGroup = {
  wanted: readonly MarketRecording[]
  current: FeedConnection | undefined
  next: FeedConnection | undefined
  /** The earliest time at which the next connection may be opened. */
  dueMs: number
  lookedMs: number
  /** Consecutive failed connections. */
  failures: number
  rotatedMs: number
  /** Consecutive connections opened because of unknown books. */
  retries: number
}

/** Creates the groups, which do nothing until `want` and `tick` are called. */
export function createFeedGroups({
  url,
  feed,
  openSocket,
  every,
  clock,
  random,
  reporter,
  journal,
  onMessage,
  onUnfollowed,
  isRestart,
}: {
  url: string
  feed: VenueFeed
  isRestart: Venue['isRestart']
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  journal: Journal
  /** Receives every message unchanged, with its events. */
  onMessage(text: string, receivedMs: number, events: readonly FeedEvent[]): void
  /** Receives an event of a market to which the connection has not subscribed. */
  onUnfollowed(event: FeedEvent): void
}) {
  const groups: FeedGroup[] = []
  const counts = { opened: 0, ended: 0, withoutBook: 0, rotations: 0 }

  function open(group: FeedGroup): void {
    counts.opened++
    const nowMs = clock()
    const following = followMarkets(group.wanted, nowMs)
    const tokens = group.wanted.flatMap(({ market: { assetIds } }) => [assetIds.up, assetIds.down])
    const next: FeedConnection = {
      id: journal.begin(following, nowMs),
      connection: undefined,
      following,
      pending: new Set(tokens),
      startedMs: nowMs,
      completeMs: undefined,
    }
    group.next = next
    group.rotatedMs = nowMs
    next.connection = connect({
      url,
      openSocket,
      every,
      clock,
      ping: feed.ping,
      hello: [feed.subscription(tokens, { hasLifecycle: false })],
      onMessage(text, receivedMs) {
        const events = feed.decode(text)
        const isSound = events.every(({ kind }) => kind !== 'fault')
        journal.note({ kind: 'message', connection: next.id, text, isSound }, receivedMs)
        onMessage(text, receivedMs, events)
        for (const event of events) {
          if (event.kind === 'book') next.pending.delete(event.assetId)
          if (!following.take(event, receivedMs)) onUnfollowed(event)
        }
      },
      onEnd: (reason) => ended(group, next, reason),
    })
  }

  function drop({ connection, id }: FeedConnection, reason: GapReason): void {
    connection?.close()
    journal.end(id, reason, clock())
  }

  /** The cause of the silence of a connection that was closed by the venue or sends nothing. */
  function causeOf(reason: GapReason): GapReason {
    const fromMs = clock()
    return isRestart({ fromMs, toMs: fromMs + 1 }) ? 'venue_restart' : reason
  }

  function close(group: FeedGroup): void {
    for (const each of [group.current, group.next]) if (each) drop(each, 'recorder_down')
    group.current = group.next = undefined
  }

  function ended(group: FeedGroup, feedConnection: FeedConnection, reason: string): void {
    counts.ended++
    if (group.current === feedConnection) group.current = undefined
    else if (group.next === feedConnection) group.next = undefined
    drop(feedConnection, causeOf('recorder_down'))
    if (feedConnection.completeMs === undefined) {
      group.dueMs = clock() + backoffMs(BACKOFF, group.failures++, random)
      // The connection requested no books, so only `dueMs` delays the next one.
      if (feedConnection.connection?.openedMs === undefined) group.retries = 0
    }
    if (group.current === undefined)
      reporter.report('feed', `The venue's feed is down: ${reason}. The recorder keeps trying.`)
  }

  function promote(group: FeedGroup, next: FeedConnection): void {
    const { current } = group
    group.current = next
    group.next = undefined
    group.failures = 0
    if (next.pending.size === 0) reporter.settle('books', 'Every book has come.')
    reporter.settle('feed', "The venue's feed is up.")
    if (current === undefined) return
    counts.rotations++
    drop(current, causeOf('venue_silent'))
  }

  /** Decides if the next connection takes over, including when its books do not arrive. */
  function judge(group: FeedGroup, next: FeedConnection, nowMs: number): void {
    const { current } = group
    if (next.pending.size === 0) {
      next.completeMs ??= nowMs
      if (current === undefined || nowMs - next.completeMs >= OVERLAP_MS) promote(group, next)
      return
    }
    if (nowMs - (next.connection?.openedMs ?? nowMs) < BOOKS_MS_MAX) return
    counts.withoutBook += next.pending.size
    const tokens = `${next.pending.size} of ${next.following.follows.size * 2} tokens`
    reporter.report('books', `No book came for ${tokens}: they are asked for again.`)
    if (current === undefined || hasEveryBook(next, current)) promote(group, next)
    else {
      group.next = undefined
      drop(next, 'recorder_down')
    }
  }

  function tick(group: FeedGroup): void {
    const nowMs = clock()
    const { current, lookedMs } = group
    if (group.next !== undefined) judge(group, group.next, nowMs)
    else if (
      nowMs >= group.dueMs &&
      // A group without a connection checks at every tick; the clock may have been set back.
      (current === undefined || nowMs - lookedMs >= LOOK_MS || nowMs < lookedMs)
    ) {
      group.lookedMs = nowMs
      if (needsNext(group, nowMs)) open(group)
    }
    if (group.retries > 0 && isCalm(group, nowMs)) group.retries = 0
  }

  return {
    /** Sets the markets to carry. */
    want(recordings: readonly MarketRecording[]): void {
      const size = Math.floor(feed.tokensMax / 2)
      while (groups.length < Math.ceil(recordings.length / size))
        groups.push({
          wanted: [],
          current: undefined,
          next: undefined,
          dueMs: 0,
          lookedMs: 0,
          failures: 0,
          rotatedMs: 0,
          retries: 0,
        })
      for (const [index, group] of groups.entries())
        group.wanted = recordings.slice(index * size, (index + 1) * size)
    },

    /**
     * True if no message of a market from before `atMs`, by the venue's clock, can still arrive:
     * each connection that carries the market has received later messages, or has been silent for
     * `quietMs`.
     */
    hasPassed(conditionId: string, atMs: number, quietMs: number): boolean {
      const nowMs = clock()
      return groups
        .flatMap(({ current, next }) => [current ?? [], next ?? []].flat())
        .filter(({ following }) => following.follows.has(conditionId))
        .every(
          ({ following, connection, startedMs }) =>
            following.heardMs() >= atMs ||
            nowMs - (connection?.lastMessageMs ?? startedMs) >= quietMs,
        )
    },

    /** Opens and replaces connections. Call it every few milliseconds. */
    tick(): void {
      for (const group of groups) {
        if (group.wanted.length > 0) tick(group)
        else close(group)
      }
    },

    /** Closes every connection; a gap begins for markets that no other feed carries. */
    close: (): void => groups.forEach(close),

    counts,
    status: () =>
      groups.flatMap(({ current, next }) => [
        ...(current ? [describeConnection(current, 'live')] : []),
        ...(next ? [describeConnection(next, 'opening')] : []),
      ]),
  }
}

const describeConnection = (
  { following, pending, startedMs, connection }: FeedConnection,
  state: 'live' | 'opening',
) => ({
  state,
  tokens: following.follows.size * 2,
  withoutBook: pending.size,
  sinceMs: startedMs,
  lastMessageMs: connection?.lastMessageMs,
})

/** True if the next connection, which lacks books, has every book that the current one has. */
const hasEveryBook = (next: FeedConnection, current: FeedConnection): boolean =>
  [...current.following.follows.values()].every(({ recording: { market } }) =>
    [market.assetIds.up, market.assetIds.down].every(
      (assetId) =>
        current.pending.has(assetId) ||
        !next.pending.has(assetId) ||
        !next.following.follows.has(market.conditionId),
    ),
  )

function needsNext(group: FeedGroup, nowMs: number): boolean {
  const { current, wanted, rotatedMs } = group
  if (current === undefined) return true
  const { follows } = current.following
  const missing = wanted.filter(({ market }) => !follows.has(market.conditionId))
  const isNear = missing.some(({ market }) => market.windowStartMs - nowMs < NEAR_MS)
  const sinceMs = nowMs - rotatedMs
  if (isNear || (missing.length > 0 && sinceMs > GATHER_MS)) return true
  if (sinceMs <= patienceMs(group)) return false
  if (!isTroubled(current, wanted, nowMs)) return false
  group.retries++
  return true
}

/**
 * True if the trouble has ended. Receiving books does not end the trouble of a quiet market,
 * because each connection begins with books.
 */
const isCalm = (group: FeedGroup, nowMs: number): boolean =>
  group.current !== undefined &&
  group.next === undefined &&
  nowMs - group.rotatedMs > patienceMs(group) &&
  !isTroubled(group.current, group.wanted, nowMs)

const patienceMs = ({ retries }: FeedGroup): number =>
  Math.min(RETRY_MS_MAX, QUIET_MS * 2 ** retries)

/** True if a book is unknown that another connection may supply. */
function isTroubled(
  { pending, following }: FeedConnection,
  wanted: readonly MarketRecording[],
  nowMs: number,
): boolean {
  if (pending.size > 0) return true
  return wanted.some((recording) => {
    const { market } = recording
    const follow = following.follows.get(market.conditionId)
    const isOpen = nowMs >= market.windowStartMs
    if (nowMs >= market.windowEndMs || !(isOpen || follow)) return false
    if (recording.unknown().length > 0) return true
    const quietMs = Math.max(QUIET_MS, silenceMs(market.timeframe))
    return isOpen && nowMs - (follow?.heardMs ?? nowMs) > quietMs
  })
}
