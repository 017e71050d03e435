/**
 * Sends changes of the board to all subscribers, twice a second. A slow reader skips states: its
 * next event has the latest state of each row.
 */
import type { AppError } from '#src/domain/errors.ts'
import type { Coin, Timeframe } from '#src/domain/market.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { BodyStream, Sink } from '#src/http/stream.ts'

import type { Board } from './board.ts'

const SEND_MS = 500
/** Longest time of one round of sending; other work of the thread waits meanwhile. */
const SLICE_MS = 3
/** Without a change, an empty event tells the client that it is up to date. */
const HEARTBEAT_MS = 5_000
/** Interval at which keys and tiers of subscribers are checked again. */
const RECHECK_MS = 5_000
const RETRY_MS = 3_000

/** A subscribed caller: the coins that its tier currently allows, or why the stream must end. */
export type Follower = {
  timeframe: Timeframe | undefined
  coins: () => readonly Coin[] | AppError
  /** Returns the slot to the account's stream limit. */
  leave: () => void
}

type Subscriber = {
  follower: Follower
  readonly coins: readonly Coin[]
  /** Version of the board in the last event, and its monotonic time. */
  version: number
  sentMs: number
  checkedMs: number
  /** Sink of the next event; set once the client has read all earlier ones. */
  waiting: { sink: Sink; resolve: () => void } | undefined
  /** Reason of the end; `stopped` when the server stops. */
  end: AppError | 'stopped' | undefined
}

export type BoardStream = ReturnType<typeof createBoardStream>

/** Call `tick` every few milliseconds. */
export function createBoardStream({
  board,
  timer,
  clock,
}: {
  board: Board
  timer: Clock
  clock: Clock
}) {
  const subscribers = new Set<Subscriber>()
  /** Texts of the current board, by coins, timeframe and version. */
  const printed = new Map<string, string | undefined>()
  let printedVersion = 0
  /** Subscribers that have not been served in this round. */
  let queue: Subscriber[] = []
  let isReading = false
  let roundMs = Number.NEGATIVE_INFINITY

  function changesFor({ follower, coins, version }: Subscriber): string | undefined {
    if (printedVersion !== board.version) printed.clear()
    printedVersion = board.version
    const { timeframe } = follower
    const key = `${version} ${timeframe} ${coins.join()}`
    if (!printed.has(key)) printed.set(key, board.printChanges({ coins, timeframe }, version))
    return printed.get(key)
  }

  /** Text to send now; empty if there is none. */
  function takeText(subscriber: Subscriber): string {
    let text = subscriber.version === 0 ? `retry:${RETRY_MS}\n\n` : ''
    const changes = changesFor(subscriber)
    if (changes !== undefined) text += `event:board\ndata:${changes}\n\n`
    subscriber.version = board.version
    const isQuiet = text === '' && timer() - subscriber.sentMs >= HEARTBEAT_MS
    return isQuiet
      ? `event:board\ndata:{"time":"${toIso(clock())}","data":[],"closed":[]}\n\n`
      : text
  }

  /** Sends changes; returns true if there were any. */
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

  /** Serves subscribers for some milliseconds; the next call continues. */
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

  /** Ends the stream of a caller whose key or tier no longer allows it. */
  function check(subscriber: Subscriber): void {
    if (timer() - subscriber.checkedMs < RECHECK_MS) return
    subscriber.checkedMs = timer()
    const now = subscriber.follower.coins()
    if (now instanceof Error) subscriber.end ??= now
    // The client connects again, and gets the coins of the tier as it is then.
    else if (now.join() !== subscriber.coins.join()) subscriber.end ??= 'stopped'
  }

  async function read(): Promise<void> {
    isReading = true
    roundMs = timer()
    try {
      await board.refresh()
      queue = [...subscribers]
      sendOn()
    } catch (error) {
      failAll(error)
    } finally {
      isReading = false
    }
  }

  function failAll(error: unknown): void {
    for (const { waiting } of [...subscribers]) {
      waiting?.sink.end(error)
      waiting?.resolve()
    }
  }

  return {
    /** Opens a stream that begins with all rows; the board must have been read before. */
    open(follower: Follower, coins: readonly Coin[]): Omit<BodyStream, 'headers'> {
      const subscriber: Subscriber = {
        follower,
        coins,
        version: 0,
        sentMs: timer(),
        checkedMs: timer(),
        waiting: undefined,
        end: undefined,
      }
      subscribers.add(subscriber)
      return {
        pieces: {
          pull(sink) {
            // Changes since the last round wait for the next one, so that all subscribers share one
            // text.
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
      if (queue.length > 0) sendOn()
      else if (!isReading && timer() - roundMs >= SEND_MS) void read()
    },

    /** Ends every stream; clients reconnect. */
    stop(): void {
      for (const subscriber of subscribers) subscriber.end = 'stopped'
      queue = [...subscribers]
      while (queue.length > 0) sendOn()
    },
  }
}

const encoder = new TextEncoder()
