/**
 * Finds the markets of windows that are open or near, and asks what became of those that are over.
 */
import { hasWindow } from '#src/core/coverage.ts'
import { ifSound } from '#src/core/errors.ts'
import {
  type Coin,
  type Market,
  type MarketFacts,
  strikeFacts,
  type Timeframe,
  timeframeMs,
} from '#src/core/market.ts'
import { type Clock, DAY_MS } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { messageOf } from '#src/lib/message.ts'
import { type Catalogue, CatalogueFault } from '#src/venue/catalogue.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import type { KnownFacts, MarketWindow } from '#src/venue/venue.ts'

import { listMissed, LOOK_BACK_MS, type MissedWindow, putDowntime } from './downtime.ts'
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
  history: Pick<
    MarketHistory,
    'putMarket' | 'putGaps' | 'record' | 'findMarket' | 'listMarkets' | 'close'
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
  const chain = createWindowChain(options)
  const ask = createAsk(options, {
    chain,
    watch: (market) => watch(market),
    onMarket: (market) => void live.set(market.conditionId, market),
    findLive: ({ coin, timeframe, startMs }) =>
      [...live.values()].find(
        (each) =>
          each.coin === coin && each.timeframe === timeframe && each.windowStartMs === startMs,
      ),
  })

  const looking = createLooking(options, { questions, ask })

  function endMarkets(nowMs: number): void {
    for (const market of live.values()) {
      if (nowMs >= market.windowEndMs + CLOSE_MS && options.isStored(market.conditionId)) {
        live.delete(market.conditionId)
        watch(market)
        closeMarket(market.conditionId)
      }
    }
  }

  function closeMarket(conditionId: string, isCutShort = false): void {
    try {
      const held = isCutShort ? history.findMarket(conditionId) : undefined
      if (held?.isClosed === false) putDowntime(history, held)
      history.close(conditionId)
    } catch (error) {
      reporter.report(`market ${conditionId}`, messageOf(error))
    }
  }

  function watch(market: Over): void {
    const { conditionId, windowEndMs } = market
    questions.add(`winner ${conditionId}`, (signal) => ask.resolve(market, signal), windowEndMs)
  }

  const onMarket = (market: LiveMarket): void => void live.set(market.conditionId, market)
  const resuming = createResuming(options, { questions, ask, watch, closeMarket, onMarket })

  return {
    /** To be called about every second. */
    tick(): void {
      const nowMs = clock()
      resuming.begin(nowMs)
      looking.look(nowMs)
      endMarkets(nowMs)
      questions.tick()
      resuming.goOn(nowMs)
    },

    /** Markets to be heard, in an order that does not change. */
    live(): LiveMarket[] {
      const nowMs = clock()
      return [...live.values()].filter(({ windowEndMs }) => nowMs < windowEndMs + LINGER_MS)
    },

    /** What the venue says by itself only shortens the waiting: everything is asked for anyway. */
    take(event: FeedEvent): void {
      if (event.kind === 'announced') looking.announced(event.slug)
      const market = event.kind === 'resolved' && live.get(event.conditionId)
      if (market) watch(market)
      if (event.kind === 'resolved') questions.hasten(`winner ${event.conditionId}`)
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

type Ending = {
  onMarket: (market: LiveMarket) => void
  watch: (market: Over) => void
  closeMarket: (id: string, isCutShort: boolean) => void
}

/** What an earlier run left, and what passed since. */
function createResuming(options: DiscoveryOptions, { questions, ask, ...end }: Asking & Ending) {
  let missed: MissedWindow[] | undefined
  return {
    /** Does so once. */
    begin(nowMs: number): void {
      if (missed !== undefined) return
      missed = ifSound(() => listMissed(options, nowMs)) ?? []
      for (const market of listLeft(options, nowMs)) {
        const isOver = nowMs >= market.windowEndMs
        if (isOver) end.watch(market)
        else if (options.timeframes.includes(market.timeframe)) end.onMarket(market)
        // Nobody listened up to its end.
        if (isOver && !market.isClosed) end.closeMarket(market.conditionId, true)
      }
    },

    /** Windows that go on come first: those that were missed are asked for when there is room. */
    goOn(nowMs: number): void {
      for (const window of missed?.splice(0, questions.room()) ?? [])
        questions.add(
          `missed ${window.coin} ${window.timeframe} ${window.startMs}`,
          (signal) => ask.missed(window, signal),
          nowMs,
        )
    },
  }
}

/** Asks for the windows that are open or near, each once. */
function createLooking(options: DiscoveryOptions, { questions, ask }: Asking) {
  const looked = new Map<string, Window>()
  return {
    look(nowMs: number): void {
      for (const window of windowsAt(options, nowMs)) {
        const name = `${window.coin} ${window.timeframe} ${window.startMs}`
        if (looked.has(name)) continue
        looked.set(name, window)
        questions.add(name, (signal) => ask.find(window, signal), nowMs)
        if (options.catalogue.strike)
          questions.add(`${name} strike`, (signal) => ask.strike(window, signal), window.startMs)
      }
      for (const [name, { endMs }] of looked) {
        if (endMs > nowMs) continue
        looked.delete(name)
        questions.drop(name)
        questions.drop(`${name} strike`)
      }
    },

    /** The venue lists a market now: the window of that name is asked for at once. */
    announced(slug: string): void {
      for (const [name, window] of looked)
        if (options.slugOf(window) === slug) questions.hasten(name)
    },
  }
}

type Asking = { questions: ReturnType<typeof createQuestions>; ask: ReturnType<typeof createAsk> }

type Left = Market & LiveMarket

function isLeft(market: Market): market is Left {
  const { source, slug, winner, assetIds } = market
  const isOpen = source === 'recorded' && winner === undefined
  return isOpen && slug !== undefined && hasWindow(market) && !!assetIds.up && !!assetIds.down
}

/** Markets of an earlier run that may still be heard, or of which the outcome is not known. */
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
    /** Asks at once what waits for its time. */
    hasten(name: string): void {
      const question = questions.get(name)
      if (question !== undefined) question.dueMs = clock()
    },
    tick,
    size: () => questions.size,
    isAsking: () => asked.size > 0,
    /** How many more could be asked now, but for one. */
    room: () => Math.max(0, ASKED_MAX - 1 - asked.size),
    dispose: () => stop.abort(),
  }
}

type LivePorts = {
  onMarket: (market: LiveMarket) => void
  findLive: (window: Window) => LiveMarket | undefined
  chain: Pick<ReturnType<typeof createWindowChain>, 'check'>
  watch: (market: Over) => void
}

/** What is asked of the catalogue. */
function createAsk(options: DiscoveryOptions, { onMarket, findLive, chain, watch }: LivePorts) {
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

    /** Asks which market a window had that nobody recorded; what is not listed any more is left. */
    async missed(window: Window, signal: AbortSignal): Promise<undefined> {
      const facts = await catalogue.find(window, { nowMs: clock(), signal })
      if (facts === undefined) return
      put(facts)
      const market = history.findMarket(facts.conditionId)
      if (market === undefined) return
      putDowntime(history, market)
      history.close(facts.conditionId)
      const { conditionId, slug } = facts
      if (slug !== undefined) watch({ conditionId, slug, windowEndMs: window.endMs })
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

type Window = Parameters<Catalogue['find']>[0]
type Over = Pick<LiveMarket, 'conditionId' | 'slug' | 'windowEndMs'>

/** A day is 23 or 25 hours long when clocks change; all other windows have their length. */
const lengthOf = (timeframe: Timeframe): number =>
  timeframe === '1d' ? Number.POSITIVE_INFINITY : timeframeMs[timeframe]
