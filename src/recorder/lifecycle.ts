/**
 * A connection of its own that hears which markets the venue announces and resolves. It needs none
 * of them, because everything is asked for anyway: only sooner.
 */
import type { Clock } from '#src/domain/time.ts'
import type { FaultEvent, FeedEvent, VenueFeed } from '#src/venue/feed.ts'

import { connect, type Connection } from './connection.ts'
import type { Every, LiveMarket, OpenSocket, Reporter } from './ports.ts'

const TICK_MS = 1000
const BACKOFF_MS = 1000
const BACKOFF_MS_MAX = 60_000

export type LifecycleOptions = {
  feed: VenueFeed
  url: string
  /** A subscription names tokens, of which those of one market are enough. */
  live(): readonly LiveMarket[]
  onEvent(event: FeedEvent): void
  /** A message that cannot be read. */
  onFault(event: FaultEvent): void
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
}

/** Starts to listen once a market is known, and keeps on. */
export function followLifecycle(options: LifecycleOptions) {
  const { feed, clock, random, reporter } = options
  let connection: Connection | undefined
  let [dueMs, failures, events] = [0, 0, 0]

  function hear(text: string): void {
    failures = 0
    reporter.settle('lifecycle', 'The venue announces markets again.')
    for (const event of feed.decode(text)) {
      if (event.kind === 'fault') options.onFault(event)
      if (event.kind !== 'announced' && event.kind !== 'resolved') continue
      events++
      options.onEvent(event)
    }
  }

  function end(reason: string): void {
    connection = undefined
    dueMs = clock() + Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** failures++) * (0.5 + random())
    const text = `The venue announces no markets: ${reason}. The recorder asks for them.`
    reporter.report('lifecycle', text)
  }

  const stop = options.every(TICK_MS, () => {
    const [market] = options.live()
    if (connection !== undefined || market === undefined || clock() < dueMs) return
    const { up, down } = market.assetIds
    connection = connect({
      ...options,
      hello: [feed.subscription([up, down], { hasLifecycle: true })],
      ping: feed.ping,
      onMessage: hear,
      onEnd: end,
    })
  })

  return {
    status: () => ({ events, isConnected: connection?.openedMs !== undefined }),
    dispose(): void {
      stop()
      connection?.close()
    },
  }
}
