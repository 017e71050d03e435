/**
 * Finds the markets of windows that are open or near, and asks what became of those that are over.
 */
import { hasWindow } from '#src/domain/coverage.ts'
import { ifSound } from '#src/domain/errors.ts'
import {
  type Coin,
  isListed,
  type Market,
  strikeFacts,
  type Timeframe,
  timeframeMs,
  winnerOf,
} from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type Catalogue, isUsable } from '#src/venue/catalogue.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import type { MarketWindow } from '#src/venue/venue.ts'

import {
  type Closing,
  createClosing,
  listMissed,
  LOOK_BACK_MS,
  type MissedWindow,
  tailsOf,
} from './downtime.ts'
import { createFacts, type Facts } from './facts.ts'
import type { LiveMarket, Reporter } from './ports.ts'
import { createQuestions, type Questions } from './questions.ts'
import { createWindowChain } from './window-chain.ts'
import type { WindowListing } from './window-watch.ts'

/** Windows after the open one that are looked for. */
const AHEAD = 2
/** Until the strike of an open window is asked for again. */
const STRIKE_MS = 5000
/** Until what could not be stored of a window that was missed is looked for again. */
const STORE_MS = 5000
/** How long a market that is not listed yet is left alone: its window is near, or not. */
const UNLISTED_MS = { near: 5000, far: 60_000 }
/** How often and how long a market that is over is asked for: most are resolved within 25 s. */
const OUTCOME_STEPS = [
  { untilMs: 60_000, everyMs: 5000 },
  { untilMs: 600_000, everyMs: 10_000 },
  { untilMs: 21_600_000, everyMs: 60_000 },
  { untilMs: 2 * DAY_MS, everyMs: 3_600_000 },
] as const
/** After the end of its window a market is heard for so long, and asked for from then on. */
const LINGER_MS = 15_000
const CLOSE_MS = 60_000
/** Of a series that are looked at to see whether one was recorded. */
const SERIES_MARKETS_MAX = 10
/** Of a coin in two days there are some 800. */
const MARKETS_MAX = 1000

export type DiscoveryOptions = {
  history: Pick<
    MarketHistory,
    'putMarket' | 'putGaps' | 'record' | 'findMarket' | 'listMarkets' | 'gaps' | 'close'
  >
  catalogue: Catalogue
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  slugOf(window: MarketWindow): string
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  /** Whether nothing of a market waits to be stored, so that it may be closed. */
  isStored(conditionId: string): boolean
}

/** Makes the discovery; it asks nothing before `tick`. */
export function createDiscovery(options: DiscoveryOptions) {
  const { history, clock, reporter } = options
  const live = new Map<string, LiveMarket>()
  const questions = createQuestions(options)
  const closing = createClosing(options)
  const chain = createWindowChain(options)
  const facts = createFacts({ history, chain, reporter })
  const ask = createAsk(options, {
    facts,
    closing,
    ...{ watch, onMarket },
    findLive: ({ coin, timeframe, startMs }) =>
      [...live.values()].find(
        (each) =>
          each.coin === coin && each.timeframe === timeframe && each.windowStartMs === startMs,
      ),
  })

  const looking = createLooking(options, { questions, ask })
  /** Of the venue: events of markets that are not looked for. */
  const others = { announced: 0, resolved: 0 }

  function endMarkets(nowMs: number): void {
    for (const market of live.values()) {
      const { conditionId } = market
      const isDue = nowMs >= market.windowEndMs + CLOSE_MS
      if (!isDue || !options.isStored(conditionId) || !facts.isStored(conditionId)) continue
      live.delete(conditionId)
      closing.add(conditionId, 'venue_silent')
    }
  }

  function watch(market: Over): void {
    const { conditionId, windowEndMs } = market
    questions.add(`winner ${conditionId}`, (signal) => ask.resolve(market, signal), {
      dueMs: windowEndMs + LINGER_MS,
    })
  }

  function onMarket(market: LiveMarket): void {
    live.set(market.conditionId, market)
    watch(market)
  }
  const resuming = createResuming(options, { questions, ask, watch, closing, onMarket })

  return {
    /** To be called about every second. */
    tick(): void {
      const nowMs = clock()
      facts.tick()
      resuming.begin(nowMs)
      looking.look(nowMs)
      endMarkets(nowMs)
      closing.tick()
      questions.tick()
      resuming.goOn(nowMs)
    },

    /** Markets to be heard, whose facts are stored, in an order that does not change. */
    live(): LiveMarket[] {
      const nowMs = clock()
      return [...live.values()].filter(
        ({ windowEndMs, conditionId }) =>
          nowMs < windowEndMs + LINGER_MS && facts.isStored(conditionId),
      )
    },

    /** What the venue says by itself only shortens the waiting: everything is asked for anyway. */
    take(event: FeedEvent): void {
      if (event.kind === 'announced' && !looking.announced(event.slug)) others.announced++
      const market = event.kind === 'resolved' && live.get(event.conditionId)
      if (market) watch(market)
      else if (event.kind === 'resolved') others.resolved++
      if (event.kind === 'resolved') questions.hasten(`winner ${event.conditionId}`)
    },

    /** The windows that are looked for, and what the catalogue says of them. */
    windows: looking.windows,

    /** Whether more may be found at any moment. */
    isAsking: questions.isAsking,
    status: () => ({
      ...{ markets: live.size, asking: questions.size() },
      contradictions: chain.contradictions(),
      others,
    }),
    dispose: questions.dispose,
  }
}

type Ending = {
  onMarket: (market: LiveMarket) => void
  watch: (market: Over) => void
  closing: Closing
}

/** What an earlier run left, and what passed since. */
function createResuming(options: DiscoveryOptions, { questions, ask, ...end }: Asking & Ending) {
  let missed: MissedWindow[] | undefined

  function takeOver(market: Left): void {
    if (market.winner === undefined) end.watch(market)
    // Nobody listened up to its end.
    if (!market.isClosed || tailsOf(market).length > 0)
      end.closing.add(market.conditionId, 'recorder_down')
  }

  return {
    /** Does so once. */
    begin(nowMs: number): void {
      if (missed !== undefined) return
      missed = ifSound(() => listMissed(options, nowMs)) ?? []
      for (const market of listLeft(options, nowMs)) {
        if (nowMs >= market.windowEndMs) takeOver(market)
        else if (market.winner === undefined && options.timeframes.includes(market.timeframe))
          end.onMarket(market)
      }
    },

    /** Windows that go on come first: those that were missed are asked for when there is room. */
    goOn(nowMs: number): void {
      for (const window of missed?.splice(0, questions.room()) ?? [])
        questions.add(
          `missed ${window.coin} ${window.timeframe} ${window.startMs}`,
          (signal) => ask.missed(window, signal),
          { dueMs: nowMs },
        )
    },
  }
}

/** Asks for the windows that are open or near, each once. */
function createLooking(options: DiscoveryOptions, { questions, ask }: Asking) {
  type Looked = { window: Window; listing: Listing }
  const looked = new Map<string, Looked>()
  /** Whether the venue lists windows of a coin and length, as far as was seen. */
  const seen = new Map<string, boolean>()
  const wasListed = ({ coin, timeframe }: Window): boolean => {
    const series = seriesOf({ coin, timeframe })
    const known = seen.get(series) ?? holdsSeries(options, { coin, timeframe })
    seen.set(series, known)
    return known
  }
  return {
    look(nowMs: number): void {
      for (const window of windowsAt(options, nowMs)) {
        const name = `${window.coin} ${window.timeframe} ${window.startMs}`
        if (looked.has(name)) continue
        const own: Looked = { window, listing: { kind: 'not_asked' } }
        const answered = (listing: Answer) => {
          if (listing.kind !== 'not_listed') seen.set(seriesOf(window), true)
          own.listing =
            listing.kind === 'not_listed' ? { ...listing, wasListed: wasListed(window) } : listing
        }
        looked.set(name, own)
        questions.add(name, (signal) => ask.find(window, signal, answered), { dueMs: nowMs })
        if (options.catalogue.strike)
          questions.add(`${name} strike`, (signal) => ask.strike(window, signal), {
            dueMs: window.startMs,
            source: 'page',
          })
      }
      for (const [name, { window }] of looked) {
        if (window.endMs > nowMs) continue
        looked.delete(name)
        questions.drop(name)
        questions.drop(`${name} strike`)
      }
    },

    /**
     * The venue lists a market now: the window of that name is asked for at once. Returns whether
     * there is one.
     */
    announced(slug: string | undefined): boolean {
      const names = [...looked].flatMap(([name, { window }]) =>
        options.slugOf(window) === slug ? name : [],
      )
      names.forEach(questions.hasten)
      return names.length > 0
    },

    windows: (): WindowListing[] =>
      [...looked.values()].map(({ window, listing }) => {
        const { startMs, endMs } = window
        const series = seriesOf(window)
        return { name: options.slugOf(window), series, startMs, endMs, ...listing }
      }),
  }
}

const seriesOf = ({ coin, timeframe }: Pick<Window, 'coin' | 'timeframe'>): string =>
  `${coin} ${timeframe}`

/** Whether an earlier run recorded a window of a series not long ago. */
function holdsSeries(
  { history, clock }: DiscoveryOptions,
  series: Pick<Window, 'coin' | 'timeframe'>,
): boolean {
  const range = { fromMs: clock() - LOOK_BACK_MS, toMs: clock(), limit: SERIES_MARKETS_MAX }
  const held = ifSound(() => history.listMarkets({ ...series, ...range })) ?? []
  return held.some(({ source }) => source === 'recorded')
}

/** What the catalogue says when it is asked for a window. */
type Answer =
  | { kind: 'not_listed' }
  | { kind: 'not_usable'; reason: string }
  | { kind: 'listed'; conditionId: string }
type Listing =
  | { kind: 'not_asked' }
  | { kind: 'not_listed'; wasListed: boolean }
  | Exclude<Answer, { kind: 'not_listed' }>

type Asking = { questions: Questions; ask: ReturnType<typeof createAsk> }

type Left = Market & LiveMarket

function isLeft(market: Market): market is Left {
  const { source, slug, assetIds } = market
  return (
    source === 'recorded' &&
    slug !== undefined &&
    hasWindow(market) &&
    !!assetIds.up &&
    !!assetIds.down
  )
}

/** Markets of an earlier run, which may still be heard, or of which something is not known. */
function listLeft({ coins, history }: DiscoveryOptions, nowMs: number): Left[] {
  const query = { nowMs, fromMs: nowMs - LOOK_BACK_MS, limit: MARKETS_MAX }
  const found = coins.flatMap(
    (coin) => ifSound(() => history.listMarkets({ ...query, coin })) ?? [],
  )
  return found.filter(isLeft)
}

/** The windows that are open, and the next ones. */
function windowsAt({ coins, timeframes, windowStarts }: DiscoveryOptions, nowMs: number): Window[] {
  return timeframes.flatMap((timeframe) => {
    const starts = windowStarts(timeframe, nowMs, AHEAD + 1)
    const spans = starts.slice(1).map((nextMs, index) => {
      const startMs = starts[index] ?? 0
      return { startMs, endMs: Math.min(nextMs, startMs + lengthOf(timeframe)) }
    })
    return coins
      .filter((coin) => isListed(coin, timeframe))
      .flatMap((coin) => spans.map((span) => ({ coin, timeframe, ...span })))
  })
}

type LivePorts = {
  onMarket: (market: LiveMarket) => void
  findLive: (window: Window) => LiveMarket | undefined
  facts: Facts
  closing: Closing
  watch: (market: Over) => void
}

/** What is asked of the catalogue. */
function createAsk(options: DiscoveryOptions, { facts, closing, ...ports }: LivePorts) {
  const { history, catalogue, clock } = options

  return {
    /** Looks for a window's market; `answered` takes what the catalogue says. */
    async find(
      window: Window,
      signal: AbortSignal,
      answered: (listing: Answer) => void,
    ): Promise<number | undefined> {
      const nowMs = clock()
      const again = (listing: Answer): number => {
        answered(listing)
        const isNear = window.startMs - nowMs < timeframeMs[window.timeframe]
        return nowMs + (isNear ? UNLISTED_MS.near : UNLISTED_MS.far)
      }
      const found = await catalogue.find(window, { nowMs, signal })
      if (found === undefined) return again({ kind: 'not_listed' })
      if (!isUsable(found)) return again({ kind: 'not_usable', reason: found.unusable })
      const { conditionId, assetIds: { up, down } = {}, slug } = found
      if (!slug || !up || !down)
        return again({ kind: 'not_usable', reason: 'no ids of its outcomes' })
      answered({ kind: 'listed', conditionId })
      facts.put(found)
      ports.onMarket({
        ...{ conditionId, slug, coin: window.coin, timeframe: window.timeframe },
        ...{ windowStartMs: window.startMs, windowEndMs: window.endMs },
        assetIds: { up, down },
      })
      return undefined
    },

    /** Asks which market a window had that nobody recorded; what is not listed any more is left. */
    async missed(window: Window, signal: AbortSignal): Promise<number | undefined> {
      const nowMs = clock()
      const found = await catalogue.find(window, { nowMs, signal })
      if (!isUsable(found)) return undefined
      facts.put(found)
      const { conditionId, slug } = found
      if (!facts.isStored(conditionId)) return nowMs + STORE_MS
      if (history.findMarket(conditionId) === undefined) return undefined
      closing.add(conditionId, 'recorder_down')
      if (slug !== undefined) ports.watch({ conditionId, slug, windowEndMs: window.endMs })
      return undefined
    },

    /** Asks for the strike of an open window, and puts it when its market is known. */
    async strike(window: Window, signal: AbortSignal): Promise<number | undefined> {
      const nowMs = clock()
      const strike = await catalogue.strike?.(window, { nowMs, signal })
      const market = ports.findLive(window)
      if (strike === undefined || market === undefined) return nowMs + STRIKE_MS
      facts.put({
        conditionId: market.conditionId,
        coin: window.coin,
        timeframe: window.timeframe,
        ...strikeFacts(strike, { windowStartMs: window.startMs, source: 'price_page' }),
      })
      return undefined
    },

    /** Asks who won a market whose window is over. */
    async resolve(market: Over, signal: AbortSignal): Promise<number | undefined> {
      const nowMs = clock()
      const found = await catalogue.read(market.slug, { nowMs, signal })
      if (found?.conditionId === market.conditionId) facts.put(found)
      // A void market may turn out to have been won.
      const isKnown =
        found !== undefined && winnerOf(found) !== undefined && found.finalPrice !== undefined
      const step = OUTCOME_STEPS.find(({ untilMs }) => nowMs < market.windowEndMs + untilMs)
      return isKnown || step === undefined ? undefined : nowMs + step.everyMs
    },
  }
}

type Window = Parameters<Catalogue['find']>[0]
type Over = Pick<LiveMarket, 'conditionId' | 'slug' | 'windowEndMs'>

/** A day is 23 or 25 hours long when clocks change; all other windows have their length. */
const lengthOf = (timeframe: Timeframe): number =>
  timeframe === '1d' ? Number.POSITIVE_INFINITY : timeframeMs[timeframe]
