/** Answers what is recorded, of one market and of a coin by day; knows nothing of HTTP. */
import type { CoverageQuestion } from '#src/core/coverage.ts'
import { AppError } from '#src/core/errors.ts'
import { type Coin, isTimeframe, type Market, type Timeframe } from '#src/core/market.ts'
import { type Clock, DAY_MS, MOMENT_MS_MAX, readRange } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { createCache } from '#src/lib/cache.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { createCoverageDay } from './coverage-day.ts'
import {
  type CoinCoverageQuery,
  DAYS_DEFAULT,
  DAYS_MAX,
  type MarketCoverageQuery,
} from './model.ts'

type Deps = { history: Pick<MarketHistory, 'listMarkets' | 'gaps'>; clock: Clock }
type DayPlace = { coin: Coin; timeframe: Timeframe | undefined; startMs: number }
/** `text` once its steps are done. */
type KeptDay = { madeMs: number; steps: Steps<void>; text?: string }

/** Markets that are read in one step. */
const BLOCK = 50
/**
 * How long the account of a day that is over is returned: as long as closed history may be kept.
 */
const OVER_KEPT_MS = 60_000
/** Of one that is not. */
const PENDING_KEPT_MS = 1_000
/** Ten years of days; one takes about a kilobyte. */
const DAYS_KEPT_MAX = 3_660

/** Makes the service of a history. */
export function createCoverageService({ history, clock }: Deps) {
  const days = createCache<string, KeptDay>(DAYS_KEPT_MAX)

  function* makeDay({ coin, timeframe, startMs }: DayPlace, nowMs: number): Steps<string> {
    const day = createCoverageDay(startMs, nowMs)
    // Also where there is no market: a range has hundreds of days.
    yield
    const span = { fromMs: startMs, toMs: startMs + DAY_MS }
    const query = { coin, timeframe, ...span, order: 'asc', limit: BLOCK } as const
    for (const page of marketPages(history, query)) {
      for (const market of page) {
        day.add(market, history.gaps(market))
        yield
      }
    }
    return day.text()
  }

  function beginDay(key: string, place: DayPlace, nowMs: number): KeptDay {
    const day: KeptDay = { madeMs: nowMs, steps: steps() }
    function* steps(): Steps<void> {
      try {
        day.text = yield* makeDay(place, nowMs)
      } finally {
        if (day.text === undefined) days.delete(key)
      }
    }
    days.set(key, day, { size: 1 })
    return day
  }

  /** Several callers who want the same day do its steps together. */
  function* readDay(place: DayPlace, nowMs: number): Steps<string> {
    const key = `${place.coin} ${place.timeframe ?? ''} ${place.startMs}`
    for (;;) {
      const kept = days.get(key)
      const isFresh = kept !== undefined && nowMs - kept.madeMs < keptFor(place, kept)
      const day = isFresh ? kept : beginDay(key, place, nowMs)
      // Steps that failed are over as well, and the day is begun again.
      while (day.text === undefined && !day.steps.next().done) yield
      if (day.text !== undefined) return day.text
    }
  }

  return {
    /** Throws `invalid_parameter`. */
    questionOf(market: Market, query: MarketCoverageQuery): CoverageQuestion {
      const { fromMs, toMs } = readRange(query)
      return {
        market,
        gaps: history.gaps(market),
        fromMs: printable(fromMs),
        toMs: printable(toMs),
        nowMs: clock(),
      }
    },

    /** The list of days as JSON. Throws `invalid_parameter`. */
    *listDays(coin: Coin, query: CoinCoverageQuery): Steps<{ body: string }> {
      const nowMs = clock()
      const { fromMs, toMs } = readDays(query, nowMs)
      const { timeframe = '' } = query
      const filter = isTimeframe(timeframe) ? timeframe : undefined
      const texts: string[] = []
      for (let startMs = fromMs; startMs < toMs; startMs += DAY_MS) {
        texts.push(yield* readDay({ coin, timeframe: filter, startMs }, nowMs))
      }
      return { body: `{"data":[${texts.join(',')}],"nextCursor":null}` }
    },
  }
}

export type CoverageService = ReturnType<typeof createCoverageService>

/**
 * Whether the day was over when its account was made decides, or midnight would show a minute late.
 */
const keptFor = ({ startMs }: DayPlace, { madeMs }: KeptDay): number =>
  startMs + DAY_MS <= madeMs ? OVER_KEPT_MS : PENDING_KEPT_MS

const printable = (timeMs: number | undefined): number | undefined =>
  timeMs === undefined ? undefined : Math.min(timeMs, MOMENT_MS_MAX)

/** The days of a query: `fromMs` and `toMs` are midnights. Throws `invalid_parameter`. */
function readDays(query: CoinCoverageQuery, nowMs: number) {
  const { fromMs: from, toMs: to } = readRange(query)
  const spanMs = DAYS_DEFAULT * DAY_MS
  const firstMs = from === undefined ? undefined : dayOf(Math.min(from, MOMENT_MS_MAX))
  const endMs = to === undefined ? undefined : dayOf(Math.min(to, MOMENT_MS_MAX) + DAY_MS - 1)
  const toMs = endMs ?? (firstMs === undefined ? dayOf(nowMs) + DAY_MS : firstMs + spanMs)
  const fromMs = firstMs ?? Math.max(0, toMs - spanMs)
  if (toMs - fromMs > DAYS_MAX * DAY_MS) {
    throw new AppError(
      'invalid_parameter',
      `\`from\` and \`to\` are ${(toMs - fromMs) / DAY_MS} days apart. Ask for at most ${DAYS_MAX} days at once.`,
      { param: 'to' },
    )
  }
  return { fromMs, toMs: Math.min(toMs, dayOf(MOMENT_MS_MAX) + DAY_MS) }
}

const dayOf = (timeMs: number): number => timeMs - (timeMs % DAY_MS)
