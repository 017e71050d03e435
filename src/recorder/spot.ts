/** Records reference prices from the configured feeds. */

import type { Coin } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { sentenceOf } from '#src/platform/message.ts'
import type { SpotFeed } from '#src/venue/feed.ts'

import { backoffMs } from './backoff.ts'
import { connect, type Connection } from './connection.ts'
import type { Journal } from './journal.ts'
import { followPage, type SpotPage } from './page-prices.ts'
import type { Every, OpenSocket, Reporter } from './ports.ts'
import { createSpotReader } from './spot-reader.ts'

const FLUSH_MS = 250
/** A feed sends a tick per second and coin; after this silence it is considered frozen. */
const QUIET_MS = 30_000
const BACKOFF = { firstMs: 500, maxMs: 60_000 }
/** The maximum number of ticks that wait for the history: some ten minutes of eight coins. */
const WAITING_MAX = 5000

export type SpotOptions = {
  history: Pick<MarketHistory, 'putSpot'>
  sources: readonly { name: string; feed: SpotFeed; url: string; key: string }[]
  /** The page of prices, if it is to be polled. */
  page?: SpotPage | undefined
  coins: readonly Coin[]
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  journal: Pick<Journal, 'note'>
}

/** Starts to record prices; does nothing without sources. */
export function recordSpot(options: SpotOptions) {
  const { history, page, every, reporter } = options
  let waiting: SpotTick[] = []
  let writing: Promise<void> | undefined
  const counts = { ticks: 0, dropped: 0 }

  function take(ticks: readonly SpotTick[]): void {
    waiting.push(...ticks)
    for (const { dropped = 0 } of ticks) counts.dropped += dropped
    if (waiting.length > WAITING_MAX) waiting = waiting.slice(-WAITING_MAX)
  }

  async function write(ticks: readonly SpotTick[]): Promise<void> {
    try {
      counts.ticks += await history.putSpot(ticks)
      reporter.settle('spot', 'Prices can be written again.')
    } catch (error) {
      reporter.report('spot', `Prices cannot be written: ${sentenceOf(error)}`)
      waiting = [...ticks, ...waiting].slice(-WAITING_MAX)
    }
  }

  function flush(): void {
    if (writing !== undefined || waiting.length === 0) return
    const ticks = waiting
    waiting = []
    writing = write(ticks).finally(() => {
      writing = undefined
    })
  }

  const followed = options.sources.map((source) => followSource(source, options, take))
  const pages = page === undefined ? [] : [followPage(page, options, take)]
  const all = [...followed, ...pages]
  const stop = every(FLUSH_MS, flush)
  return {
    status: () => ({ ...counts, sources: all.map(({ status }) => status()) }),
    async dispose(): Promise<void> {
      stop()
      for (const each of all) each.dispose()
      await writing
      flush()
      await writing
    },
  }
}

/** Keeps one source connected. */
function followSource(
  { name, feed, url, key }: SpotOptions['sources'][number],
  { coins, openSocket, clock, every, random, reporter, journal }: SpotOptions,
  take: (ticks: readonly SpotTick[]) => void,
) {
  let connection: Connection | undefined
  let dueMs = 0
  let failures = 0
  let heardMs = clock()
  let faults = 0
  /** The last refusal of the feed. */
  let refused: string | undefined
  /** True if the feed refused something on this connection. */
  let isRefused = false
  const reader = createSpotReader(feed)

  function hear(text: string, receivedMs: number): void {
    const refusal = feed.refusal(text)
    if (refusal !== undefined) {
      const { code, waitMs } = refusal
      refused = code
      isRefused = true
      const then = waitMs === undefined ? 'Its other prices go on.' : 'Check BOOKFEED_SPOT_KEY.'
      reporter.report(`spot ${name} refused`, `The price feed ${name} refuses: ${code}. ${then}`)
      // The connection will deliver nothing more.
      if (waitMs !== undefined) leave(waitMs)
    }
    const answer = feed.answer(text, coins)
    if (answer !== undefined) connection?.send(answer)
    const ticks = reader.read(text, receivedMs)
    const isSound = ticks !== undefined
    journal.note({ kind: 'spotMessage', source: name, text, isSound }, receivedMs)
    if (ticks === undefined) faults++
    else if (ticks.length > 0) {
      heardMs = receivedMs
      failures = 0
      reporter.settle(`spot ${name}`, `Prices of ${name} come again.`)
      if (!isRefused) {
        refused = undefined
        reporter.settle(`spot ${name} refused`, `The price feed ${name} refuses nothing any more.`)
      }
      take(ticks)
    }
  }

  function leave(leastMs: number): void {
    connection?.close()
    connection = undefined
    const waitMs = backoffMs(BACKOFF, failures++, random)
    dueMs = clock() + Math.max(leastMs * (0.5 + random()), waitMs)
  }

  function end(reason: string): void {
    const [, code] = /^closed with code (\d+)/.exec(reason) ?? []
    const { text = reason, waitMs = 0 } = feed.closes[Number(code)] ?? {}
    leave(waitMs)
    const keeps = 'The recorder keeps trying.'
    reporter.report(`spot ${name}`, `No prices come of ${name}: ${text}. ${keeps}`)
  }

  const stop = every(1000, () => {
    const nowMs = clock()
    if (connection !== undefined) {
      if (nowMs - heardMs > QUIET_MS) end('it is silent')
    } else if (nowMs >= dueMs) {
      heardMs = nowMs
      isRefused = false
      const hello = feed.hello(coins, key)
      reader.begin()
      journal.note({ kind: 'spotOpened', source: name }, nowMs)
      const events = { onMessage: hear, onEnd: end }
      connection = connect({ url, hello, ping: feed.ping, openSocket, every, clock, ...events })
    }
  })
  return {
    status: () => ({
      name,
      faults,
      isConnected: connection?.openedMs !== undefined,
      heardMs,
      refused,
    }),
    dispose(): void {
      stop()
      connection?.close()
    },
  }
}
