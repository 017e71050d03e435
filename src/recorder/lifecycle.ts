import type { Clock } from '#src/domain/time.ts'
import type { FaultEvent, FeedEvent, VenueFeed } from '#src/venue/feed.ts'

import { backoffMs } from './backoff.ts'
import { connect, type Connection } from './connection.ts'
import type { Every, LiveMarket, OpenSocket, Reporter } from './ports.ts'

const TICK_MS = 1000
const BACKOFF = { firstMs: 1000, maxMs: 60_000 }

/**
 * Receives the markets that the venue announces and resolves over a separate connection, which
 * opens when a market is known. The recorder does not depend on it: it requests everything anyway
 * and only learns sooner.
 */
export function followLifecycle({
  feed,
  url,
  live,
  onEvent,
  onFault,
  openSocket,
  every,
  clock,
  random,
  reporter,
}: {
  feed: VenueFeed
  url: string
  /** Live markets; a subscription must name tokens, and those of one market suffice. */
  live(): readonly LiveMarket[]
  onEvent(event: FeedEvent): void
  /** Receives a message that cannot be read. */
  onFault(event: FaultEvent): void
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
}) {
  let connection: Connection | undefined
  let dueMs = 0
  let failures = 0
  let events = 0

  function hear(text: string): void {
    failures = 0
    reporter.settle('lifecycle', 'The venue announces markets again.')
    for (const event of feed.decode(text)) {
      if (event.kind === 'fault') onFault(event)
      if (event.kind !== 'announced' && event.kind !== 'resolved') continue
      events++
      onEvent(event)
    }
  }

  function end(reason: string): void {
    connection = undefined
    dueMs = clock() + backoffMs(BACKOFF, failures++, random)
    const text = `The venue announces no markets: ${reason}. The recorder asks for them.`
    reporter.report('lifecycle', text)
  }

  const stop = every(TICK_MS, () => {
    const [market] = live()
    if (connection !== undefined || market === undefined || clock() < dueMs) return
    const { up, down } = market.assetIds
    connection = connect({
      url,
      hello: [feed.subscription([up, down], { hasLifecycle: true })],
      ping: feed.ping,
      openSocket,
      every,
      clock,
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
