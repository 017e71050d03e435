/** Event streams (SSE): opens, feeds and ends them. */

import type { CursorCodec } from '#src/domain/cursor.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import type { BodyStream } from '#src/http/stream.ts'
import { createCoinCursors, createRowCursors, type FeedPosition } from '#src/live/cursors.ts'
import { createFanout } from '#src/live/group.ts'
import { MARKETS_A_READ, UNRESOLVED_MS } from '#src/live/market-watch.ts'
import { START } from '#src/live/rows.ts'

import { createEventEncoder } from './encoder.ts'
import {
  createEventSource,
  type EventFeed,
  type EventSource,
  followMarket,
  type FollowOptions,
  readLast,
  toAscii,
} from './source.ts'
import { EventSubscriber } from './subscriber.ts'

/** Longest time of one round of writing; other work of the thread waits meanwhile. */
const SLICE_MS = 4
/** Interval at which keys and tiers are checked and sent bytes are metered. */
const RECHECK_MS = 10_000
/** Reconnection delay of clients when the server stops, spread over this range. */
const RETRY_MS = { min: 1000, max: 9999 }
const RETRY_AFTER_SECONDS = 5

type LiveServiceOptions = Omit<EventFeed, 'sources' | 'rowCursors' | 'coinCursors' | 'ready'> & {
  history: MarketHistory
  cursors: CursorCodec
  randomBytes: (length: number) => Uint8Array
}

type LiveStart = {
  options: FollowOptions
  /** Undefined for all open markets of the coin. */
  market: Market | undefined
  /** Undefined to begin with the last rows. */
  cursor: string | undefined
  isGzip: boolean
  /** Reason why the caller may no longer follow; undefined while it may. */
  refusal: () => AppError | undefined
  /** Reserves a slot and returns its release. Throws `too_many_streams` and `unavailable`. */
  takePlace: () => () => void
}

/** Creates the service. Call `tick` every few milliseconds. */
export function createLiveService({
  history,
  cursors,
  randomBytes,
  ...shared
}: LiveServiceOptions) {
  const { rows, markets, clock, timer } = shared
  const feed: EventFeed = {
    ...shared,
    sources: history,
    rowCursors: createRowCursors(cursors),
    coinCursors: createCoinCursors(history, cursors),
    ready: history.ready,
  }
  const groups = createFanout<Uint8Array, EventSource>()
  const subscribers = new Set<EventSubscriber>()
  let checkedMs = timer()
  let isStopped = false

  function leave(subscriber: EventSubscriber): void {
    subscribers.delete(subscriber)
    groups.leave(subscriber)
  }

  function end(subscriber: EventSubscriber, refusal?: AppError): void {
    const source = groups.settle(subscriber)
    if (source === undefined) return
    const { encoder } = source
    const own = encoder.fork(subscriber.sumAt(encoder.sum))
    if (refusal !== undefined) subscriber.push(own.event(`event:end\ndata:${problemText(refusal)}`))
    const [low = 0, high = 0] = randomBytes(2)
    const spread = ((low + high * 256) / 65_536) * (RETRY_MS.max - RETRY_MS.min)
    subscriber.push(own.event(`retry:${Math.floor(RETRY_MS.min + spread)}`))
    subscriber.push(own.end())
    leave(subscriber)
    subscriber.end()
  }

  /** Ends every stream; clients reconnect. */
  function dismiss(): void {
    for (const subscriber of [...subscribers]) end(subscriber)
  }

  /** Ends the streams of callers whose key or tier no longer allows them. */
  function check(nowMs: number): void {
    if (nowMs - checkedMs < RECHECK_MS) return
    checkedMs = nowMs
    for (const subscriber of [...subscribers]) {
      const refusal = subscriber.caller.refusal()
      if (refusal === undefined) subscriber.count()
      else end(subscriber, refusal)
    }
  }

  /** Start position of a stream. Throws `cursor_invalid` and `cursor_mismatch`. */
  function startOf({ options, market, cursor }: LiveStart): Partial<FeedPosition>[] {
    if (market === undefined) {
      if (cursor === undefined) return []
      const positions = feed.coinCursors.decode(options, cursor)
      return [...positions, ...missedSince(positions, history, options, clock())]
    }
    if (cursor === undefined) return [{ market }]
    return [{ market, position: feed.rowCursors.decode(market, options.filter, cursor) }]
  }

  return {
    /** Fetches the last rows with which a stream begins. */
    async fetchLast({
      options,
      market,
      cursor,
    }: Pick<LiveStart, 'options' | 'market' | 'cursor'>): Promise<void> {
      if (cursor !== undefined || history.archive.place() === undefined) return
      const { coin, timeframe, filter } = options
      const nowMs = clock()
      const open = { coin, timeframe, status: 'open', nowMs, limit: MARKETS_A_READ } as const
      const those = market === undefined ? [...marketPages(history, open)].flat() : [market]
      for (;;) {
        const coming = those.map((each) => readLast(feed, filter, each))
        const waits = coming.filter((each) => each instanceof Promise)
        if (waits.length === 0) return
        await Promise.all(waits)
      }
    },

    /**
     * Opens a stream. Throws `cursor_invalid`, `cursor_mismatch`, `too_many_streams` and
     * `unavailable`.
     */
    open(asked: LiveStart): Omit<BodyStream, 'headers'> {
      const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS }
      if (isStopped) throw new AppError('unavailable', 'The server is stopping.', retry)
      const { options, cursor, isGzip } = asked
      const { filter } = options
      // Streams may follow another history than the routes (in test mode).
      const market = (asked.market && history.findMarket(asked.market.conditionId)) ?? asked.market
      const followed = new Map(
        startOf({ ...asked, market }).flatMap(({ market: each, position }) =>
          each ? [[each.conditionId, followMarket(feed, filter, each, position)]] : [],
        ),
      )
      const close = asked.takePlace()
      const isMixed = options.conditionId === undefined
      const encoder = createEventEncoder(history, rows, { filter, isGzip, isMixed })
      const subscriber: EventSubscriber = new EventSubscriber({
        refusal: asked.refusal,
        leave: () => leave(subscriber),
      })
      const onEnd = () => {
        close()
        leave(subscriber)
      }
      const source = createEventSource(feed, options, encoder, followed)
      subscribers.add(subscriber)
      groups.add(JSON.stringify([options, isGzip]), source, subscriber)
      try {
        for (const piece of source.begin(cursor !== undefined)) subscriber.push(piece)
      } catch (error) {
        onEnd()
        throw error
      }
      return { pieces: subscriber, onEnd }
    },

    /** Writes new rows for some milliseconds; the next call continues. */
    tick(): void {
      if (subscribers.size === 0) return
      markets.tick()
      const nowMs = timer()
      check(nowMs)
      groups.tick(() => timer() - nowMs >= SLICE_MS)
    },

    dismiss,

    /** Ends every stream and refuses new ones. */
    stop(): void {
      isStopped = true
      dismiss()
    },

    get counts() {
      return groups.counts
    },
  }
}

export type LiveService = ReturnType<typeof createLiveService>

const problemText = ({ code, message, extras }: AppError): string =>
  toAscii(JSON.stringify({ code, detail: message, ...extras }))

/** Markets that opened after the position, even if they are resolved by now. */
function missedSince(
  positions: readonly FeedPosition[],
  history: MarketHistory,
  { coin, timeframe }: FollowOptions,
  nowMs: number,
): FeedPosition[] {
  const lastMs = Math.max(
    nowMs - UNRESOLVED_MS,
    ...positions.map(({ position }) => position.timestampMs),
  )
  const known = new Set(positions.map(({ market }) => market.conditionId))
  const range = { fromMs: lastMs + 1, toMs: nowMs + 1, limit: MARKETS_A_READ }
  const pages = marketPages(history, { coin, timeframe, ...range, order: 'asc' })
  return [...pages]
    .flat()
    .filter(({ conditionId, windowStartMs = 0 }) => {
      return windowStartMs > lastMs && windowStartMs <= nowMs && !known.has(conditionId)
    })
    .map((market) => ({ market, position: START }))
}
