/**
 * Sends what changed on the board to all followers, twice a second. A slow reader skips the states in
 * between: its next event has each row as it is then.
 */
import type { AppError } from '#src/domain/errors.ts'
import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { BodyStream, Sink } from '#src/http/stream.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { Board } from './windows.ts'

const SEND_MS = 500
/** Reading at one go; everybody else waits that long. */
const SLICE_MS = 3
/** Without a change an event without rows is sent, so that a client knows that it has all. */
const HEARTBEAT_MS = 5_000
/** Keys and tiers are looked at again so often. */
const RECHECK_MS = 5_000
const RETRY_MS = 3_000

/** A caller with a stream: the coins of its tier as of now, or why it may not follow any more. */
export type Follower = {
  timeframe: Timeframe | undefined
  coins: () => readonly Coin[] | AppError
  /** Gives the place among the streams of the account back. */
  leave: () => void
}

type Subscriber = {
  follower: Follower
  readonly coins: readonly Coin[]
  /** What was sent last, and on the monotonic clock when. */
  version: number
  sentMs: number
  checkedMs: number
  isStale: boolean
  /** Where the next event goes, if the client has taken all before it. */
  waiting: { sink: Sink; resolve: () => void } | undefined
  /** Why it ends; `stopped` where the server does. */
  end: AppError | 'stopped' | undefined
}

export type BoardStream = ReturnType<typeof createBoardStream>

/** `tick` is to be called every few milliseconds. */
export function createBoardStream({
  board,
  timer,
  clock,
  staleSince,
}: {
  board: Board
  timer: Clock
  clock: Clock
  staleSince: StaleSince
}) {
  const subscribers = new Set<Subscriber>()
  /** Texts of the board as it is, by what is wanted and from where on. */
  const printed = new Map<string, string | undefined>()
  let printedVersion = 0
  /** Subscribers that are still to be given what is new in this round. */
  let queue: Subscriber[] = []
  let reading: Steps<void> | undefined
  let isWaiting = false
  let roundMs = Number.NEGATIVE_INFINITY
  let fault: unknown

  function changesFor({ follower, coins, version }: Subscriber): string | undefined {
    if (printedVersion !== board.version) printed.clear()
    printedVersion = board.version
    const { timeframe } = follower
    const key = `${version} ${timeframe} ${coins.join()}`
    if (!printed.has(key)) printed.set(key, board.printChanges({ coins, timeframe }, version))
    return printed.get(key)
  }

  /** What is to be sent now; empty where nothing is. */
  function takeText(subscriber: Subscriber): string {
    let text = subscriber.version === 0 ? `retry:${RETRY_MS}\n\n` : ''
    const staleMs = staleSince('history')
    if (staleMs !== undefined && !subscriber.isStale)
      text += `event:stale\ndata:{"since":"${toIso(staleMs)}"}\n\n`
    const changes = changesFor(subscriber)
    if (changes !== undefined) text += `event:board\ndata:${changes}\n\n`
    if (staleMs === undefined && subscriber.isStale)
      text += `event:current\ndata:{"time":"${toIso(clock())}"}\n\n`
    subscriber.isStale = staleMs !== undefined
    subscriber.version = board.version
    const isQuiet = text === '' && timer() - subscriber.sentMs >= HEARTBEAT_MS
    const time = toIso(staleMs ?? clock())
    return isQuiet ? `event:board\ndata:{"time":"${time}","data":[],"closed":[]}\n\n` : text
  }

  /** Sends what is new; returns whether that was anything. */
  function give(subscriber: Subscriber, sink: Sink): boolean {
    const { end } = subscriber
    if (end !== undefined) {
      if (end !== 'stopped') {
        const { code, message: detail } = end
        sink.put(encoder.encode(`event:end\ndata:${JSON.stringify({ code, detail })}\n\n`))
      }
      sink.end()
      return true
    }
    const text = takeText(subscriber)
    if (text === '') return false
    subscriber.sentMs = timer()
    sink.put(encoder.encode(text))
    sink.count()
    return true
  }

  /** Gives subscribers what is new for some milliseconds; the next call goes on. */
  function sendOn(): void {
    const endMs = timer() + SLICE_MS
    for (let subscriber = queue.pop(); subscriber !== undefined; subscriber = queue.pop()) {
      check(subscriber)
      const { waiting } = subscriber
      if (waiting !== undefined && give(subscriber, waiting.sink)) {
        subscriber.waiting = undefined
        waiting.resolve()
      }
      if (timer() >= endMs) return
    }
  }

  /** Ends the stream of a caller who may not follow any more. */
  function check(subscriber: Subscriber): void {
    if (timer() - subscriber.checkedMs < RECHECK_MS) return
    subscriber.checkedMs = timer()
    const now = subscriber.follower.coins()
    if (now instanceof Error) subscriber.end ??= now
    // The client connects again, and gets the coins of the tier as it is then.
    else if (now.join() !== subscriber.coins.join()) subscriber.end ??= 'stopped'
  }

  /** Goes on reading for some milliseconds; returns whether all was read. */
  function readOn(): boolean {
    if (isWaiting) return false
    reading ??= board.refresh()
    const endMs = timer() + SLICE_MS
    do {
      const step = fault === undefined ? reading.next() : reading.throw(fault)
      fault = undefined
      if (step.done) {
        reading = undefined
        return true
      }
      if (step.value !== undefined) {
        isWaiting = true
        step.value.catch((error: unknown) => (fault = error)).finally(() => (isWaiting = false))
        return false
      }
    } while (timer() < endMs)
    return false
  }

  function failAll(error: unknown): void {
    reading = undefined
    for (const { waiting } of [...subscribers]) {
      waiting?.sink.end(error)
      waiting?.resolve()
    }
  }

  return {
    /** Begins a stream with all rows; the board must have been read. */
    open(follower: Follower, coins: readonly Coin[]): Omit<BodyStream, 'headers'> {
      const subscriber: Subscriber = {
        follower,
        coins,
        version: 0,
        sentMs: timer(),
        checkedMs: timer(),
        isStale: false,
        waiting: undefined,
        end: undefined,
      }
      subscribers.add(subscriber)
      return {
        pieces: {
          pull(sink) {
            // What is new since the last round waits for the next, so that all share one text.
            if (subscriber.version > 0 && subscriber.end === undefined) {
              const { promise, resolve } = Promise.withResolvers<void>()
              subscriber.waiting = { sink, resolve }
              return promise
            }
            give(subscriber, sink)
            return undefined
          },
          cancel: () => undefined,
        },
        onEnd() {
          subscribers.delete(subscriber)
          subscriber.waiting?.resolve()
          follower.leave()
        },
      }
    },

    tick(): void {
      if (subscribers.size === 0) return
      if (queue.length > 0) {
        sendOn()
        return
      }
      if (reading === undefined) {
        if (timer() - roundMs < SEND_MS) return
        roundMs = timer()
      }
      try {
        if (!readOn()) return
      } catch (error) {
        failAll(error)
        return
      }
      queue = [...subscribers]
      sendOn()
    },

    /** Ends every stream; clients connect again. */
    stop(): void {
      for (const subscriber of subscribers) subscriber.end = 'stopped'
      queue = [...subscribers]
      while (queue.length > 0) sendOn()
    },
  }
}

const encoder = new TextEncoder()
