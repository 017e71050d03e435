/** Records reference prices, from whichever feeds are configured. */
import type { Coin } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { HistoryWriter } from '#src/history/history.ts'
import { sentenceOf } from '#src/platform/message.ts'
import type { SpotFeed, SpotRefusal } from '#src/venue/feed.ts'

import { connect, type Connection } from './connection.ts'
import type { Journal } from './journal.ts'
import { followPage, type PagePricesOptions } from './page-prices.ts'
import type { Every, OpenSocket, Reporter } from './ports.ts'
import { createSpotReader } from './spot-reader.ts'

const FLUSH_MS = 250
/** A feed has a tick a second of each coin; longer than this it is frozen. */
const QUIET_MS = 30_000
const BACKOFF_MS = 500
const BACKOFF_MS_MAX = 60_000
/** Ticks that wait for the history at most: of eight coins some ten minutes. */
const WAITING_MAX = 5000

export type SpotSource = { name: string; feed: SpotFeed; url: string; key: string }

export type SpotOptions = {
  history: Pick<HistoryWriter, 'putSpot'>
  sources: readonly SpotSource[]
  /** The page of prices, where it is to be asked. */
  page?: Pick<PagePricesOptions, 'page' | 'url' | 'fetch'> | undefined
  coins: readonly Coin[]
  openSocket: OpenSocket
  every: Every
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  journal: Pick<Journal, 'note'>
}

/** Starts to record prices; without sources it does nothing. */
export function recordSpot(options: SpotOptions) {
  const { history, sources, every, reporter } = options
  let waiting: SpotTick[] = []
  const counts = { ticks: 0, dropped: 0 }

  function take(ticks: readonly SpotTick[]): void {
    waiting.push(...ticks)
    for (const { dropped = 0 } of ticks) counts.dropped += dropped
    if (waiting.length > WAITING_MAX) waiting = waiting.slice(-WAITING_MAX)
  }

  function flush(): void {
    if (waiting.length === 0) return
    try {
      counts.ticks += history.putSpot(waiting)
      waiting = []
      reporter.settle('spot', 'Prices can be written again.')
    } catch (error) {
      reporter.report('spot', `Prices cannot be written: ${sentenceOf(error)}`)
    }
  }

  const followed = [
    ...sources.map((source) => followSource(source, options, take)),
    ...(options.page ? [followPage({ ...options, ...options.page }, take)] : []),
  ]
  const stop = every(FLUSH_MS, flush)
  return {
    status: () => ({ ...counts, sources: followed.map(({ status }) => status()) }),
    dispose(): void {
      stop()
      for (const each of followed) each.dispose()
      flush()
    },
  }
}

/** Keeps one source connected. */
function followSource(
  { name, feed, url, key }: SpotSource,
  options: SpotOptions,
  take: (ticks: readonly SpotTick[]) => void,
) {
  const { coins, clock, every, random, reporter, journal } = options
  let connection: Connection | undefined
  let [dueMs, failures, heardMs, faults] = [0, 0, clock(), 0]
  /** What the feed refused last, and whether it did so on this connection. */
  let refused: string | undefined
  let isRefused = false
  const reader = createSpotReader(feed)

  /** Ends the connection where nothing comes over it any more. */
  function refuse({ code, waitMs }: SpotRefusal): void {
    refused = code
    isRefused = true
    const then = waitMs === undefined ? 'Its other prices go on.' : 'Check BOOKFEED_SPOT_KEY.'
    reporter.report(`spot ${name} refused`, `The price feed ${name} refuses: ${code}. ${then}`)
    if (waitMs !== undefined) leave(waitMs)
  }

  function hear(text: string, receivedMs: number): void {
    const refusal = feed.refusal(text)
    if (refusal !== undefined) refuse(refusal)
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
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** failures++) * (0.5 + random())
    dueMs = clock() + Math.max(leastMs * (0.5 + random()), waitMs)
  }

  function end(reason: string): void {
    const [, code] = /^closed with code (\d+)/.exec(reason) ?? []
    const close = feed.closes[Number(code)]
    leave(close?.waitMs ?? 0)
    const text = close?.text ?? reason
    reporter.report(
      `spot ${name}`,
      `No prices come of ${name}: ${text}. The recorder keeps trying.`,
    )
  }

  function tick(): void {
    const nowMs = clock()
    if (connection !== undefined) {
      if (nowMs - heardMs > QUIET_MS) end('it is silent')
    } else if (nowMs >= dueMs) {
      heardMs = nowMs
      isRefused = false
      const hello = feed.hello(coins, key)
      reader.begin()
      journal.note({ kind: 'spotOpened', source: name }, nowMs)
      connection = connect({
        ...options,
        ...{ url, hello, ping: feed.ping },
        onMessage: hear,
        onEnd: end,
      })
    }
  }

  const stop = every(1000, tick)
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
