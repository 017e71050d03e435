/** What the recorder uses of the outside world. */

import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { Log } from '#src/platform/log.ts'

/** A connection that was asked for; nothing is called after `close`. */
export type Socket = { send(text: string): void; close(): void }

export type SocketEvents = {
  opened(): void
  message(text: string): void
  /** Once, however it ended; also when it never opened. */
  closed(reason: string): void
}

export type OpenSocket = (url: string, events: SocketEvents) => Socket

/** Calls `work` every so often until the returned function is called. */
export type Every = (ms: number, work: () => void) => () => void

/** Says something to the operator: once for each `topic`, until `settle` of it. */
export type Reporter = {
  report(topic: string, text: string): void
  /** What was reported is over; says so if it was. */
  settle(topic: string, text: string): void
  /** Whether a topic was reported and is not settled. */
  isOpen(topic: string): boolean
}

/** Makes a reporter that writes lines. */
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
