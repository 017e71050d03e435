/**
 * Finds the markets of windows that are open or near, and asks what became of those that are over.
 */
import { hasWindow } from '#src/core/coverage.ts'
import {
  type Coin,
  type Market,
  type MarketFacts,
  outcomes,
  strikeFacts,
  type Timeframe,
  timeframeMs,
} from '#src/core/market.ts'
import { type Clock, DAY_MS } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { messageOf } from '#src/lib/message.ts'
import { type Catalogue, CatalogueFault } from '#src/venue/catalogue.ts'
import type { KnownFacts } from '#src/venue/venue.ts'

import type { LiveMarket, Reporter } from './ports.ts'
import { createWindowChain } from './window-chain.ts'

/** Windows after the open one that are looked for. */
const AHEAD = 2
/** Questions that are on their way at a time. */
const ASKED_MAX = 4
const ASK_MS_MAX = 10_000
const BACKOFF_MS = 1000
const BACKOFF_MS_MAX = 60_000
/** Until the strike of an open window is asked for again. */
const STRIKE_MS = 5000
/** How long a market that is not listed yet is left alone: its window is near, or not. */
const UNLISTED_MS = { near: 5000, far: 60_000 }
/** From when on, how often and how long a market that is over is asked for. */
const OUTCOME_STEPS = [
  { untilMs: 600_000, everyMs: 10_000 },
  { untilMs: 21_600_000, everyMs: 60_000 },
  { untilMs: 2 * DAY_MS, everyMs: 3_600_000 },
] as const
/** After the end of its window a market is heard for so long, and then closed. */
const LINGER_MS = 15_000
const CLOSE_MS = 60_000
/** Of a coin in two days there are some 800. */
const MARKETS_MAX = 1000

export type DiscoveryOptions = {
  history: Pick<MarketHistory, 'findMarket' | 'putMarket' | 'putGaps' | 'listMarkets' | 'close'>
  catalogue: Catalogue
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
  /** Whether everything that was heard of a market is stored. */
  isStored(conditionId: string): boolean
}

/** Makes the discovery; it asks nothing before `tick`. */
export function createDiscovery(options: DiscoveryOptions) {
  const { catalogue, clock } = options
  const live = new Map<string, LiveMarket>()
  const questions = createQuestions(options)
  const chain = createWindowChain(options)
  const ask = createAsk(options, {
    chain,
    onMarket: (market) => void live.set(market.conditionId, market),
    findLive: ({ coin, timeframe, startMs }) =>
      [...live.values()].find(
        (each) =>
          each.coin === coin && each.timeframe === timeframe && each.windowStartMs === startMs,
      ),
  })

  /** By name, when the windows end that were looked for. */
  const looked = new Map<string, number>()
  function lookForward(nowMs: number): void {
    for (const window of windowsAt(options, nowMs)) {
      const name = `${window.coin} ${window.timeframe} ${window.startMs}`
      if (looked.has(name)) continue
      looked.set(name, window.endMs)
      questions.add(name, (signal) => ask.find(window, signal), nowMs)
      if (catalogue.strike)
        questions.add(`${name} strike`, (signal) => ask.strike(window, signal), window.startMs)
    }
    for (const [name, endMs] of looked) {
      if (endMs > nowMs) continue
      looked.delete(name)
      questions.drop(name)
      questions.drop(`${name} strike`)
    }
  }

  function endMarkets(nowMs: number): void {
    for (const market of live.values()) {
      if (nowMs >= market.windowEndMs + CLOSE_MS && options.isStored(market.conditionId)) {
        live.delete(market.conditionId)
        watch(market)
        earlier.close(market.conditionId)
      }
    }
  }

  function watch(market: Over): void {
    const { conditionId, windowEndMs } = market
    questions.add(`winner ${conditionId}`, (signal) => ask.resolve(market, signal), windowEndMs)
  }

  const earlier = createEarlier(options)
  function resume(nowMs: number): void {
    for (const market of earlier.list(nowMs)) {
      if (nowMs < market.windowEndMs) live.set(market.conditionId, market)
      else watch(market)
    }
  }
  let isResumed = false

  return {
    /** To be called about every second. */
    tick(): void {
      const nowMs = clock()
      if (!isResumed) resume(nowMs)
      isResumed = true
      lookForward(nowMs)
      endMarkets(nowMs)
      questions.tick()
    },

    /** Markets to be heard, in an order that does not change. */
    live(): LiveMarket[] {
      const nowMs = clock()
      return [...live.values()].filter(({ windowEndMs }) => nowMs < windowEndMs + LINGER_MS)
    },

    /** Whether more may be found at any moment. */
    isAsking: questions.isAsking,
    status: () => ({
      ...{ markets: live.size, asking: questions.size() },
      contradictions: chain.contradictions(),
    }),
    dispose: questions.dispose,
  }
}

/** What an earlier run left. */
function createEarlier({ coins, timeframes, history, reporter }: DiscoveryOptions) {
  /** What is wrong with one market stops no other. */
  function attempt<T>(topic: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      reporter.report(topic, messageOf(error))
      return undefined
    }
  }

  /** Nobody listened up to the end of its window. */
  function end({ conditionId, spans, windowStartMs, windowEndMs: toMs }: Left): void {
    const gaps = outcomes.map((outcome) => ({
      ...{ outcome, toMs, reason: 'recorder_down' as const },
      fromMs: Math.max(windowStartMs, (spans[outcome]?.lastMs ?? 0) + 1),
    }))
    history.putGaps(conditionId, gaps)
    history.close(conditionId)
  }

  return {
    close: (conditionId: string) =>
      attempt(`market ${conditionId}`, () => history.close(conditionId)),

    /** Markets that may still be heard, or whose outcome is not known; those that are over end. */
    list(nowMs: number): LiveMarket[] {
      const query = { nowMs, fromMs: nowMs - 2 * DAY_MS, limit: MARKETS_MAX }
      const found = coins.flatMap(
        (coin) =>
          attempt(`markets of ${coin}`, () => history.listMarkets({ ...query, coin })) ?? [],
      )
      const left = found.filter(isLeft)
      for (const market of left) {
        const isOver = nowMs >= market.windowEndMs && !market.isClosed
        if (isOver) attempt(`market ${market.conditionId}`, () => end(market))
      }
      return left.filter(
        ({ timeframe, windowEndMs }) => nowMs >= windowEndMs || timeframes.includes(timeframe),
      )
    },
  }
}

type Left = Market & LiveMarket

function isLeft(market: Market): market is Left {
  const { source, slug, winner, assetIds } = market
  const isOpen = source === 'recorded' && winner === undefined
  return isOpen && slug !== undefined && hasWindow(market) && !!assetIds.up && !!assetIds.down
}

/** The windows that are open, and the next ones. */
function windowsAt({ coins, timeframes, windowStarts }: DiscoveryOptions, nowMs: number): Window[] {
  return timeframes.flatMap((timeframe) => {
    const starts = windowStarts(timeframe, nowMs, AHEAD + 1)
    const spans = starts.slice(1).map((nextMs, index) => {
      const startMs = starts[index] ?? 0
      return { startMs, endMs: Math.min(nextMs, startMs + lengthOf(timeframe)) }
    })
    return coins.flatMap((coin) => spans.map((span) => ({ coin, timeframe, ...span })))
  })
}

type Question = {
  /** Returns when to ask again; undefined when there is nothing more to ask. */
  ask: (signal: AbortSignal) => Promise<number | undefined>
  dueMs: number
  tries: number
}

/** Asks what is due, few at a time, and again after failures. */
function createQuestions({ clock, random, reporter }: DiscoveryOptions) {
  const questions = new Map<string, Question>()
  const asked = new Set<string>()
  const stop = new AbortController()
  let pausedMs = 0

  function failed(question: Question, error: unknown): void {
    if (stop.signal.aborted) return
    const reason = messageOf(error).replace(/\.$/, '')
    const text = `The venue's catalogue cannot be asked: ${reason}. The recorder keeps trying.`
    reporter.report('catalogue', text)
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** question.tries++)
    question.dueMs = clock() + waitMs * (0.5 + random())
    const { retryAfterMs = 0 } = error instanceof CatalogueFault ? error : {}
    pausedMs = Math.max(pausedMs, clock() + retryAfterMs)
  }

  async function run(name: string, question: Question): Promise<void> {
    asked.add(name)
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(ASK_MS_MAX)])
      const againMs = await question.ask(signal)
      reporter.settle('catalogue', "The venue's catalogue answers again.")
      question.tries = 0
      if (againMs === undefined) questions.delete(name)
      else question.dueMs = againMs
    } catch (error) {
      failed(question, error)
    } finally {
      asked.delete(name)
      tick()
    }
  }

  const isDue = ([name, { dueMs }]: [string, Question], nowMs: number): boolean =>
    nowMs >= pausedMs && dueMs <= nowMs && !asked.has(name)

  function tick(): void {
    const nowMs = clock()
    for (const each of questions) {
      if (asked.size >= ASKED_MAX || stop.signal.aborted) break
      if (isDue(each, nowMs)) void run(...each)
    }
  }

  return {
    add(name: string, ask: Question['ask'], dueMs: number): void {
      if (!questions.has(name)) questions.set(name, { ask, dueMs, tries: 0 })
    },
    drop: (name: string) => void questions.delete(name),
    tick,
    size: () => questions.size,
    isAsking: () => asked.size > 0,
    dispose: () => stop.abort(),
  }
}

type LivePorts = {
  onMarket: (market: LiveMarket) => void
  findLive: (window: Window) => LiveMarket | undefined
  chain: Pick<ReturnType<typeof createWindowChain>, 'check'>
}

/** What is asked of the catalogue. */
function createAsk(options: DiscoveryOptions, { onMarket, findLive, chain }: LivePorts) {
  const { history, catalogue, clock, reporter } = options

  function put(facts: KnownFacts): void {
    try {
      history.putMarket({ ...facts, source: 'recorded' } satisfies MarketFacts)
      chain.check(facts.conditionId)
    } catch (error) {
      // Another source says otherwise, or the row is damaged: what is held stays.
      reporter.report(`market ${facts.conditionId}`, messageOf(error))
    }
  }

  return {
    /** Looks for a window's market. */
    async find(window: Window, signal: AbortSignal): Promise<number | undefined> {
      const nowMs = clock()
      const facts = await catalogue.find(window, { nowMs, signal })
      const { conditionId, assetIds: { up, down } = {}, slug } = facts ?? {}
      if (!facts || !conditionId || !slug || !up || !down) {
        const isNear = window.startMs - nowMs < timeframeMs[window.timeframe]
        return nowMs + (isNear ? UNLISTED_MS.near : UNLISTED_MS.far)
      }
      put(facts)
      onMarket({
        ...{ conditionId, slug, coin: window.coin, timeframe: window.timeframe },
        ...{ windowStartMs: window.startMs, windowEndMs: window.endMs },
        assetIds: { up, down },
      })
      return undefined
    },

    /** Asks for the strike of an open window, and puts it when its market is known. */
    async strike(window: Window, signal: AbortSignal): Promise<number | undefined> {
      const nowMs = clock()
      const strike = await catalogue.strike?.(window, { nowMs, signal })
      const market = findLive(window)
      if (strike === undefined || market === undefined) return nowMs + STRIKE_MS
      put({
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
      const facts = await catalogue.read(market.slug, { nowMs, signal })
      if (facts?.conditionId === market.conditionId) put(facts)
      const isKnown = facts?.winner !== undefined && facts.finalPrice !== undefined
      const step = OUTCOME_STEPS.find(({ untilMs }) => nowMs < market.windowEndMs + untilMs)
      return isKnown || step === undefined ? undefined : nowMs + step.everyMs
    },
  }
}

export type Discovery = ReturnType<typeof createDiscovery>

type Window = Parameters<Catalogue['find']>[0]
type Over = Pick<LiveMarket, 'conditionId' | 'slug' | 'windowEndMs'>

/** A day is 23 or 25 hours long when clocks change; all other windows have their length. */
const lengthOf = (timeframe: Timeframe): number =>
  timeframe === '1d' ? Number.POSITIVE_INFINITY : timeframeMs[timeframe]
