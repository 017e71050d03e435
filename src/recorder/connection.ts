import type { Clock } from '#src/domain/time.ts'
import type { VenueFeed } from '#src/venue/feed.ts'

import type { Every, OpenSocket } from './ports.ts'

const OPEN_MS_MAX = 5000
/** Consecutive pings without an answer after which the connection is dead. */
const PINGS_MISSED_MAX = 2
const CHECK_MS = 1000

/** Opens a connection to a feed, keeps it alive and detects when it is dead. */
export function connect({
  url,
  hello,
  ping,
  openSocket,
  every,
  clock,
  onMessage,
  onEnd,
}: {
  url: string
  /** Messages sent when the connection opens. */
  hello: readonly string[]
  ping: VenueFeed['ping']
  openSocket: OpenSocket
  every: Every
  clock: Clock
  onMessage(text: string, receivedMs: number): void
  /** Called once, but never after `close`. */
  onEnd(reason: string): void
}) {
  const startedMs = clock()
  let openedMs: number | undefined
  let lastMessageMs: number | undefined
  let answeredMs = startedMs
  let isOver = false

  function end(reason?: string): void {
    if (isOver) return
    isOver = true
    for (const stop of stops) stop()
    socket.close()
    if (reason !== undefined) onEnd(reason)
  }

  const socket = openSocket(url, {
    opened() {
      if (isOver) return
      openedMs = answeredMs = clock()
      for (const text of hello) socket.send(text)
    },
    message(text) {
      if (isOver) return
      const nowMs = clock()
      answeredMs = nowMs
      if (text === ping.answer) return
      lastMessageMs = nowMs
      onMessage(text, nowMs)
    },
    closed: end,
  })

  const stops = [
    every(CHECK_MS, () => {
      const nowMs = clock()
      if (openedMs === undefined) {
        if (nowMs - startedMs > OPEN_MS_MAX) end('the connection did not open')
      } else if (nowMs - answeredMs > ping.everyMs * (PINGS_MISSED_MAX + 1)) {
        end('pings were not answered')
      }
    }),
    every(ping.everyMs, () => {
      if (openedMs !== undefined) socket.send(ping.text)
    }),
  ]

  return {
    /** The time of the last message other than an answer to a ping. */
    get lastMessageMs() {
      return lastMessageMs
    },
    get openedMs() {
      return openedMs
    },
    send: (text: string) => socket.send(text),
    close: () => end(),
  }
}

export type Connection = ReturnType<typeof connect>
