/** One connection to the venue's feed: subscribes, keeps it alive, and notices when it is dead. */
import type { Clock } from '#src/core/time.ts'
import type { FeedEvent, VenueFeed } from '#src/venue/feed.ts'

import type { Every, OpenSocket } from './ports.ts'

/** From asking for a connection to its being open. */
const OPEN_MS_MAX = 10_000
/** Pings in a row without an answer, after which nobody is there. */
const PINGS_MISSED_MAX = 2
const CHECK_MS = 1000

export type ConnectionOptions = {
  url: string
  feed: VenueFeed
  assetIds: readonly string[]
  hasLifecycle: boolean
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** `text` is the message itself. */
  onEvents(events: readonly FeedEvent[], receivedMs: number, text: string): void
  /** Once; not after `close`. */
  onEnd(reason: string): void
}

export type Connection = {
  /** When the last message but an answer to a ping came; undefined before the first. */
  readonly lastMessageMs: number | undefined
  readonly openedMs: number | undefined
  close(): void
}

/** Opens a connection. */
export function connect(options: ConnectionOptions): Connection {
  const { url, feed, assetIds, openSocket, every, clock } = options
  const startedMs = clock()
  const state: { openedMs?: number; lastMessageMs?: number } = {}
  let answeredMs = startedMs
  let isOver = false

  function end(reason?: string): void {
    if (isOver) return
    isOver = true
    for (const stop of stops) stop()
    socket.close()
    if (reason !== undefined) options.onEnd(reason)
  }

  const socket = openSocket(url, {
    opened() {
      if (isOver) return
      state.openedMs = answeredMs = clock()
      socket.send(feed.subscription(assetIds, options))
    },
    message(text) {
      if (isOver) return
      const nowMs = clock()
      answeredMs = nowMs
      if (text === feed.ping.answer) return
      state.lastMessageMs = nowMs
      options.onEvents(feed.decode(text), nowMs, text)
    },
    closed: (reason) => end(reason),
  })

  function check(): void {
    const nowMs = clock()
    if (state.openedMs === undefined) {
      if (nowMs - startedMs > OPEN_MS_MAX) end('the connection did not open')
    } else if (nowMs - answeredMs > feed.ping.everyMs * (PINGS_MISSED_MAX + 1)) {
      end('pings were not answered')
    }
  }
  const stops = [
    every(CHECK_MS, check),
    every(feed.ping.everyMs, () => {
      if (state.openedMs !== undefined) socket.send(feed.ping.text)
    }),
  ]

  return {
    get lastMessageMs() {
      return state.lastMessageMs
    },
    get openedMs() {
      return state.openedMs
    },
    close: () => end(),
  }
}
