/** One connection to a feed: introduces itself, keeps it alive, and notices when it is dead. */
import type { Clock } from '#src/domain/time.ts'
import type { Ping } from '#src/venue/feed.ts'

import type { Every, OpenSocket } from './ports.ts'

/** From asking for a connection to its being open. */
const OPEN_MS_MAX = 5000
/** Pings in a row without an answer, after which nobody is there. */
const PINGS_MISSED_MAX = 2
const CHECK_MS = 1000

export type ConnectionOptions = {
  url: string
  /** What is sent when it is open. */
  hello: readonly string[]
  ping: Ping
  openSocket: OpenSocket
  every: Every
  clock: Clock
  onMessage(text: string, receivedMs: number): void
  /** Once; not after `close`. */
  onEnd(reason: string): void
}

export type Connection = {
  /** When the last message but an answer to a ping came; undefined before the first. */
  readonly lastMessageMs: number | undefined
  readonly openedMs: number | undefined
  send(text: string): void
  close(): void
}

/** Opens a connection. */
export function connect(options: ConnectionOptions): Connection {
  const { url, hello, ping, openSocket, every, clock } = options
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
      for (const text of hello) socket.send(text)
    },
    message(text) {
      if (isOver) return
      const nowMs = clock()
      answeredMs = nowMs
      if (text === ping.answer) return
      state.lastMessageMs = nowMs
      options.onMessage(text, nowMs)
    },
    closed: (reason) => end(reason),
  })

  function check(): void {
    const nowMs = clock()
    if (state.openedMs === undefined) {
      if (nowMs - startedMs > OPEN_MS_MAX) end('the connection did not open')
    } else if (nowMs - answeredMs > ping.everyMs * (PINGS_MISSED_MAX + 1)) {
      end('pings were not answered')
    }
  }
  const stops = [
    every(CHECK_MS, check),
    every(ping.everyMs, () => {
      if (state.openedMs !== undefined) socket.send(ping.text)
    }),
  ]

  return {
    get lastMessageMs() {
      return state.lastMessageMs
    },
    get openedMs() {
      return state.openedMs
    },
    send: (text) => socket.send(text),
    close: () => end(),
  }
}
