/** Streams of events (SSE): what is followed, and by whom. */

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
import type { Steps } from '#src/platform/scheduler.ts'

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

/** Writing at one go; everybody else waits that long. */
const SLICE_MS = 4
/** Keys and tiers are looked at again so often, and what was sent is counted. */
const RECHECK_MS = 10_000
/** Those who are sent away come back within that time, not all at once. */
const RETRY_MS = { min: 1000, max: 9999 }
const RETRY_AFTER_SECONDS = 5

type LiveServiceOptions = Omit<EventFeed, 'sources' | 'rowCursors' | 'coinCursors' | 'ready'> & {
  history: MarketHistory
  cursors: CursorCodec
  randomBytes: (length: number) => Uint8Array
  /** Whether keys may have been revoked without this server knowing. */
  isUnconfirmed: () => boolean
}

type LiveStart = {
  options: FollowOptions
  /** Undefined for every open market of the coin. */
  market: Market | undefined
  /** Undefined begins with the last rows. */
  cursor: string | undefined
  isGzip: boolean
  /** Why the caller may not follow any more; undefined as long as that is allowed. */
  refusal: () => AppError | undefined
  /** Returns what gives it back. Throws `too_many_streams` and `unavailable`. */
  takePlace: () => () => void
}

/** Makes the service. `tick` is to be called every few milliseconds. */
export function createLiveService({
  history,
  cursors,
  randomBytes,
  isUnconfirmed,
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
  let wasUnconfirmed = false
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

  /** Ends every stream; clients connect again. */
  function dismiss(): void {
    for (const subscriber of [...subscribers]) end(subscriber)
  }

  /** Ends the streams of those who may not follow any more. */
  function check(nowMs: number): void {
    const isNewlyUnconfirmed = isUnconfirmed() && !wasUnconfirmed
    if (nowMs - checkedMs < RECHECK_MS && !isNewlyUnconfirmed) return
    checkedMs = nowMs
    wasUnconfirmed = isUnconfirmed()
    for (const subscriber of [...subscribers]) {
      const refusal = subscriber.caller.refusal()
      if (refusal === undefined) subscriber.count()
      else end(subscriber, refusal)
    }
  }

  /** Where a stream begins; throws `cursor_invalid` and `cursor_mismatch`. */
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
    *fetchLast({
      options,
      market,
      cursor,
    }: Pick<LiveStart, 'options' | 'market' | 'cursor'>): Steps<void> {
      if (cursor !== undefined || history.archive.place() === undefined) return
      const { coin, timeframe, filter } = options
      const nowMs = clock()
      const open = { coin, timeframe, status: 'open', nowMs, limit: MARKETS_A_READ } as const
      const those = market === undefined ? [...marketPages(history, open)].flat() : [market]
      for (;;) {
        const coming = those.map((each) => readLast(feed, filter, each))
        const waits = coming.filter((each) => each instanceof Promise)
        if (waits.length === 0) return
        yield Promise.all(waits)
      }
    },

    /**
     * Begins a stream for the caller. Throws `cursor_invalid`, `cursor_mismatch`,
     * `too_many_streams` and `unavailable`.
     */
    open(asked: LiveStart): Omit<BodyStream, 'headers'> {
      const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS }
      if (isStopped) throw new AppError('unavailable', 'The server stops.', retry)
      const { options, cursor, isGzip } = asked
      const { filter } = options
      // From the history that streams follow, which may be another than that of the routes.
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

    /** Writes what is new, for some milliseconds; the next call resumes where it stopped. */
    tick(): void {
      if (subscribers.size === 0) return
      markets.tick()
      const nowMs = timer()
      check(nowMs)
      groups.tick(() => timer() - nowMs >= SLICE_MS)
    },

    dismiss,

    /** Ends every stream, and refuses others. */
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

/** Markets that opened since, for as long as one is watched: they may be resolved by now. */
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
