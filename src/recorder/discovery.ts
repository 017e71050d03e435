/** Finds the markets of open and upcoming windows, and requests the outcomes of ended ones. */

import { hasWindow } from '#src/domain/coverage.ts'
import { ifReadable, ifSound } from '#src/domain/errors.ts'
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
import { findPublishedStrike } from '#src/history/reads/settlement-read.ts'
import { type Catalogue, isUsable, type MarketWindow } from '#src/venue/catalogue.ts'
import { type FeedEvent, resolvedFacts } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { createCosts } from './costs.ts'
import { createClosing, listMissed, listTails, LOOK_BACK_MS } from './downtime.ts'
import { createFacts } from './facts.ts'
import type { LiveMarket, Reporter } from './ports.ts'
import { createQuestions } from './questions.ts'
import { createWindowChain } from './window-chain.ts'
import type { WindowListing } from './window-watch.ts'

/** Windows after the open one that are searched for. */
const AHEAD = 2
/** The interval at which the strike of an open window is requested again. */
const STRIKE_MS = 5000
/** The delay before a missed window is searched for again if its facts could not be stored. */
const STORE_MS = 5000
/**
 * The delay before a market that is not listed yet is searched for again, by how near its window
 * is.
 */
const UNLISTED_MS = { near: 5000, far: 60_000 }
/**
 * Intervals at which the outcome of an ended market is requested; most markets are resolved within
 * 25 s.
 */
const OUTCOME_STEPS = [
  { untilMs: 60_000, everyMs: 5000 },
  { untilMs: 600_000, everyMs: 10_000 },
  { untilMs: 21_600_000, everyMs: 60_000 },
  { untilMs: 2 * DAY_MS, everyMs: 3_600_000 },
] as const
/**
 * The minimum time for which a market is recorded after its window ends; then its outcome is
 * requested. A connection that is silent for this long has nothing more to say about the market.
 */
export const LINGER_MS = 15_000
const CLOSE_MS = 60_000
/** Markets of a series that are examined to find out if one was recorded. */
const SERIES_MARKETS_MAX = 10
/** A coin has some 800 markets in two days. */
const MARKETS_MAX = 1000

/** Creates the discovery, which requests nothing before the first `tick`. */
export function createDiscovery({
  history,
  catalogue,
  venue,
  coins,
  timeframes,
  clock,
  clockFault,
  random,
  reporter,
  isStored,
}: {
  history: Pick<
    MarketHistory,
    'putMarket' | 'putGaps' | 'record' | 'findMarket' | 'listMarkets' | 'gaps' | 'close' | 'spot'
  >
  catalogue: Catalogue
  venue: Pick<Venue, 'windowStarts' | 'slugOf'>
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  clock: Clock
  /** The option of the same name in `RecorderOptions`. */
  clockFault: () => string | undefined
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  /** True if everything received of a market is stored, so that it may be closed. */
  isStored(conditionId: string): boolean
}) {
  const questions = createQuestions(clock, random, reporter)
  const closing = createClosing(history, clock, reporter)
  const chain = createWindowChain(history, reporter)
  const facts = createFacts(history, reporter, chain.check)
  const costs = createCosts({ history, catalogue, put: facts.put, clock, random, reporter })
  const live = new Map<string, LiveMarket>()
  /** Windows that are searched for, by the name of their question. */
  const looked = new Map<string, { window: MarketWindow; listing: WindowListing }>()
  /** Series whose windows the venue has or has not been seen to list. */
  const wereListed = new Map<string, boolean>()
  /** Counts events of markets that are not followed. */
  const others = { announced: 0, resolved: 0 }
  /** Windows that passed while no recorder ran; undefined before the first tick. */
  let missed: MarketWindow[] | undefined

  /** True if the venue listed a window of the series, in this run or an earlier one. */
  function wasListed({ coin, timeframe }: MarketWindow): boolean {
    const series = `${coin} ${timeframe}`
    const nowMs = clock()
    const range = { fromMs: nowMs - LOOK_BACK_MS, toMs: nowMs, limit: SERIES_MARKETS_MAX }
    const known =
      wereListed.get(series) ??
      (ifSound(() => history.listMarkets({ coin, timeframe, ...range })) ?? []).some(
        ({ source }) => source === 'recorded',
      )
    wereListed.set(series, known)
    return known
  }

  /** True if the history has a market, so that its rows can be stored. */
  const isHeld = (conditionId: string): boolean =>
    facts.isStored(conditionId) || ifReadable(() => history.findMarket(conditionId)) !== undefined

  function addMarket(market: LiveMarket): void {
    live.set(market.conditionId, market)
    watchOutcome(market)
    costs.watch(market)
  }

  function watchOutcome(market: Parameters<typeof askOutcome>[0]): void {
    const dueMs = market.windowEndMs + LINGER_MS
    questions.add(`winner ${market.conditionId}`, dueMs, (signal) => askOutcome(market, signal))
  }

  async function askOutcome(
    { conditionId, slug, windowEndMs }: Pick<LiveMarket, 'conditionId' | 'slug' | 'windowEndMs'>,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const nowMs = clock()
    const found = await catalogue.read(slug, { nowMs, signal })
    if (found?.conditionId === conditionId) await facts.put(found)
    // A void market may later turn out to have a winner.
    const isKnown =
      found !== undefined && winnerOf(found) !== undefined && found.finalPrice !== undefined
    const step = OUTCOME_STEPS.find(({ untilMs }) => nowMs < windowEndMs + untilMs)
    return isKnown || step === undefined ? undefined : nowMs + step.everyMs
  }

  async function askWindow(
    window: MarketWindow,
    signal: AbortSignal,
    note: (
      listing:
        | { kind: 'not_listed'; wasListed: boolean }
        | { kind: 'not_usable'; reason: string }
        | { kind: 'listed'; conditionId: string },
    ) => void,
  ): Promise<number | undefined> {
    const { coin, timeframe, startMs, endMs } = window
    const nowMs = clock()
    const isNear = startMs - nowMs < timeframeMs[timeframe]
    const againMs = nowMs + (isNear ? UNLISTED_MS.near : UNLISTED_MS.far)
    const found = await catalogue.find(window, { nowMs, signal })
    if (found === undefined) {
      note({ kind: 'not_listed', wasListed: wasListed(window) })
      return againMs
    }
    wereListed.set(`${coin} ${timeframe}`, true)
    if (!isUsable(found)) {
      note({ kind: 'not_usable', reason: found.unusable })
      return againMs
    }
    const { conditionId, assetIds: { up, down } = {}, slug } = found
    if (!slug || !up || !down) {
      note({ kind: 'not_usable', reason: 'no ids of its outcomes' })
      return againMs
    }
    note({ kind: 'listed', conditionId })
    const stored = facts.put(found)
    addMarket({
      conditionId,
      slug,
      coin,
      timeframe,
      windowStartMs: startMs,
      windowEndMs: endMs,
      assetIds: { up, down },
    })
    await stored
    return undefined
  }

  async function askStrike(window: MarketWindow, signal: AbortSignal): Promise<number | undefined> {
    const { coin, timeframe, startMs } = window
    const nowMs = clock()
    const strike = await catalogue.strike?.(window, { signal })
    const market = [...live.values()].find(
      (each) =>
        each.coin === coin && each.timeframe === timeframe && each.windowStartMs === startMs,
    )
    if (strike === undefined || market === undefined) return nowMs + STRIKE_MS
    const { conditionId } = market
    const known = strikeFacts(strike, { windowStartMs: startMs, source: 'price_page' })
    await facts.put({ conditionId, coin, timeframe, ...known })
    return undefined
  }

  /** Reads the strikes of open windows from the recorded prices. */
  function readStrikes(nowMs: number): void {
    for (const { conditionId, windowStartMs, windowEndMs } of live.values()) {
      if (nowMs < windowStartMs || nowMs >= windowEndMs) continue
      const market = ifSound(() => history.findMarket(conditionId))
      if (market === undefined || market.strike !== undefined) continue
      const { coin, timeframe } = market
      const strike = ifSound(() => findPublishedStrike(history, market))
      if (strike === undefined) continue
      const known = strikeFacts(strike, { windowStartMs, source: 'feed' })
      void facts.put({ conditionId, coin, timeframe, ...known })
    }
  }

  /** Requests the market of a window that was not recorded, unless it is not listed. */
  async function askMissed(window: MarketWindow, signal: AbortSignal): Promise<number | undefined> {
    const nowMs = clock()
    const found = await catalogue.find(window, { nowMs, signal })
    if (!isUsable(found)) return undefined
    await facts.put(found)
    const { conditionId, slug } = found
    if (!facts.isStored(conditionId)) return nowMs + STORE_MS
    if (history.findMarket(conditionId) === undefined) return undefined
    closing.add(conditionId, 'recorder_down')
    if (slug !== undefined) watchOutcome({ conditionId, slug, windowEndMs: window.endMs })
    return undefined
  }

  /** Resumes the markets of an earlier run. Returns the windows that have passed since. */
  function resume(nowMs: number): MarketWindow[] {
    const windows = ifSound(() =>
      coins.flatMap((coin) =>
        timeframes.flatMap((timeframe) =>
          listMissed(history, venue.windowStarts, { coin, timeframe }, nowMs),
        ),
      ),
    )
    const query = { nowMs, fromMs: nowMs - LOOK_BACK_MS, limit: MARKETS_MAX }
    const left = coins
      .flatMap((coin) => ifSound(() => history.listMarkets({ ...query, coin })) ?? [])
      .filter(isLeft)
    for (const market of left) {
      const isOpen = nowMs < market.windowEndMs
      if (isOpen && market.winner === undefined && timeframes.includes(market.timeframe))
        addMarket(market)
      if (isOpen) continue
      if (market.winner === undefined) watchOutcome(market)
      // The market was not recorded to the end of its window.
      if (!market.isClosed || listTails(market).length > 0)
        closing.add(market.conditionId, 'recorder_down')
    }
    return windows ?? []
  }

  /** The open windows and the next ones. */
  function windowsAt(nowMs: number): MarketWindow[] {
    return timeframes.flatMap((timeframe) => {
      const starts = venue.windowStarts(timeframe, nowMs, AHEAD + 1)
      // A day has 23 or 25 hours when clocks change; all other windows have a fixed length.
      const lengthMs = timeframe === '1d' ? Number.POSITIVE_INFINITY : timeframeMs[timeframe]
      const spans = starts.slice(1).map((nextMs, index) => {
        const startMs = starts[index] ?? 0
        return { startMs, endMs: Math.min(nextMs, startMs + lengthMs) }
      })
      return coins
        .filter((coin) => isListed(coin, timeframe))
        .flatMap((coin) => spans.map((span) => ({ coin, timeframe, ...span })))
    })
  }

  /** Requests each window once and drops the windows that are over. */
  function look(nowMs: number): void {
    for (const window of windowsAt(nowMs)) {
      const { coin, timeframe, startMs, endMs } = window
      const series = `${coin} ${timeframe}`
      const name = `${series} ${startMs}`
      if (looked.has(name)) continue
      const about = { name: venue.slugOf(window), series, startMs, endMs }
      const own = { window, listing: { ...about, kind: 'not_asked' } as WindowListing }
      looked.set(name, own)
      questions.add(name, nowMs, (signal) =>
        askWindow(window, signal, (listing) => {
          own.listing = { ...about, ...listing }
        }),
      )
      if (catalogue.strike)
        questions.add(`${name} strike`, startMs, (signal) => askStrike(window, signal), 'page')
    }
    for (const [name, { window }] of looked) {
      if (window.endMs > nowMs) continue
      looked.delete(name)
      questions.drop(name)
      questions.drop(`${name} strike`)
    }
  }

  /** Closes markets whose windows are over. */
  function close(nowMs: number): void {
    for (const { conditionId, windowEndMs } of live.values()) {
      if (nowMs < windowEndMs + CLOSE_MS) continue
      if (!isStored(conditionId) || !facts.isStored(conditionId)) continue
      live.delete(conditionId)
      costs.drop(conditionId)
      closing.add(conditionId, 'venue_silent')
    }
    void closing.tick()
  }

  return {
    /** Starts due requests. Call it about once a second. */
    tick(): void {
      const nowMs = clock()
      const isClockRight = clockFault() === undefined
      void facts.tick()
      if (isClockRight) missed ??= resume(nowMs)
      look(nowMs)
      readStrikes(nowMs)
      if (isClockRight) close(nowMs)
      questions.tick()
      costs.tick()
      if (missed === undefined || !isClockRight) return
      // Open windows come first; missed windows are requested when there is room.
      for (const window of missed.splice(0, questions.room())) {
        const name = `missed ${window.coin} ${window.timeframe} ${window.startMs}`
        questions.add(name, nowMs, (signal) => askMissed(window, signal))
      }
    },

    /**
     * Markets to record, in a fixed order: those that the history has. A market whose facts cannot be
     * stored, because the disk is full, is recorded all the same.
     */
    live(): LiveMarket[] {
      const nowMs = clock()
      return [...live.values()].filter(
        ({ windowEndMs, conditionId }) =>
          (nowMs < windowEndMs + LINGER_MS || clockFault() !== undefined) && isHeld(conditionId),
      )
    },

    /**
     * Takes an announcement of the venue. All windows are requested anyway, so this mostly saves
     * time; but it also supplies winners that the catalogue never names.
     */
    take(event: FeedEvent): void {
      if (event.kind === 'announced') {
        const names = [...looked].flatMap(([name, { listing }]) =>
          listing.name === event.slug ? name : [],
        )
        names.forEach(questions.hasten)
        if (names.length === 0) others.announced++
      }
      if (event.kind !== 'resolved') return
      const market = live.get(event.conditionId)
      if (market) watchOutcome(market)
      else others.resolved++
      const known = ifSound(() => history.findMarket(event.conditionId))
      const isOver = known?.windowEndMs !== undefined && clock() >= known.windowEndMs
      const won = isOver && known.source === 'recorded' ? resolvedFacts(known, event) : undefined
      if (won !== undefined) void facts.put(won)
      questions.hasten(`winner ${event.conditionId}`)
    },

    /** The windows that are searched for, with their state in the catalogue. */
    windows: (): WindowListing[] => [...looked.values()].map(({ listing }) => listing),

    /** True if a question is under way, so that another market may be found at any moment. */
    isAsking: questions.isAsking,
    status: () => ({
      markets: live.size,
      asking: questions.size(),
      contradictions: chain.contradictions(),
      others,
    }),
    /** Resolves when all writes of the discovery have ended. */
    async dispose(): Promise<void> {
      questions.dispose()
      costs.dispose()
      await Promise.all([facts.tick(), closing.tick()])
    },
  }
}

/** True if a market of an earlier run must still be recorded or lacks facts. */
function isLeft(market: Market): market is Market & LiveMarket {
  const { source, slug, assetIds } = market
  const isRecorded = source === 'recorded' && slug !== undefined && hasWindow(market)
  return isRecorded && !!assetIds.up && !!assetIds.down
}
