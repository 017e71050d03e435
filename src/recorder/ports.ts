/** The interfaces of the recorder to the outside world. */

import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { Log } from '#src/platform/log.ts'

export type SocketEvents = {
  opened(): void
  message(text: string): void
  /** Called once, however the connection ended, including when it never opened. */
  closed(reason: string): void
}

/** Opens a connection. No callback is called after `close`. */
export type OpenSocket = (
  url: string,
  events: SocketEvents,
) => { send(text: string): void; close(): void }

/** Calls `work` at an interval until the returned function is called. */
export type Every = (ms: number, work: () => void) => () => void

/** Reports problems to the operator: once for each `topic`, until the topic is settled. */
export type Reporter = {
  report(topic: string, text: string): void
  /** Settles a topic, and logs `text` if it was reported. */
  settle(topic: string, text: string): void
  /** True if a topic was reported and is not settled. */
  isOpen(topic: string): boolean
}

export function createReporter(log: Log): Reporter {
  const open = new Set<string>()
  return {
    report(topic, text) {
      if (open.has(topic)) return
      open.add(topic)
      log(text, 'warn')
    },
    settle(topic, text) {
      if (open.delete(topic)) log(text)
    },
    isOpen: (topic) => open.has(topic),
  }
}

/** A recorded market. */
export type LiveMarket = {
  conditionId: string
  slug: string
  coin: Coin
  timeframe: Timeframe
  windowStartMs: number
  windowEndMs: number
  assetIds: { up: string; down: string }
}
