/** What the recorder uses of the outside world. */

import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { Log } from '#src/platform/log.ts'

export type SocketEvents = {
  opened(): void
  message(text: string): void
  /** Called once, however the connection ended; also when it never opened. */
  closed(reason: string): void
}

/** Opens a connection. After `close` none of its events is called. */
export type OpenSocket = (
  url: string,
  events: SocketEvents,
) => { send(text: string): void; close(): void }

/** Calls `work` at an interval until the returned function is called. */
export type Every = (ms: number, work: () => void) => () => void

/** Tells the operator what is wrong: once for each `topic`, until the topic is settled. */
export type Reporter = {
  report(topic: string, text: string): void
  /** Says `text` if the topic was reported. */
  settle(topic: string, text: string): void
  /** Whether a topic was reported and is not settled. */
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

/** A market that is recorded. */
export type LiveMarket = {
  conditionId: string
  slug: string
  coin: Coin
  timeframe: Timeframe
  windowStartMs: number
  windowEndMs: number
  assetIds: { up: string; down: string }
}
