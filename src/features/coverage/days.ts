import {
  type CoverageTally,
  type Gap,
  hasWindow,
  printedShare,
  sumTallies,
  tallyCoverage,
  tallyReasons,
} from '#src/domain/coverage.ts'
import { parameterError } from '#src/domain/errors.ts'
import {
  type Coin,
  type Market,
  outcomes,
  type Source,
  type Timeframe,
  timeframeMs,
  timeframes,
} from '#src/domain/market.ts'
import { type Clock, DAY_MS, MOMENT_MS_MAX, readRange, toIso } from '#src/domain/time.ts'
import { tallyMissing, tallyOfUnknown } from '#src/domain/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type MarketLists, marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { createCache } from '#src/platform/cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { type CoinCoverageQuery, DAYS_DEFAULT, DAYS_MAX } from './schema.ts'

type CoverageDeps = {
  history: MarketLists & Pick<MarketHistory, 'sourcesOf' | 'gaps'>
  clock: Clock
}
type DayPlace = {
  coin: Coin
  timeframe: Timeframe | undefined
  source: Source | undefined
  startMs: number
}
/** `text` once its steps are done. */
type KeptDay = { madeMs: number; steps: Steps<void>; text?: string }
/** No tally: of a window that has not begun. */
type Entry = { market: Market; tally: CoverageTally | undefined }

const BLOCK = 50
/** How long a day that is over is returned: as long as closed history may be kept. */
const OVER_KEPT_MS = 60_000
const PENDING_KEPT_MS = 1_000
/** Ten years of days; one takes about a kilobyte. */
const DAYS_KEPT_MAX = 3_660

/** Makes what lists the days of a coin as JSON; it throws `invalid_parameter`. */
export function createDayList({ history, clock }: CoverageDeps) {
  const days = createCache<string, KeptDay>(DAYS_KEPT_MAX)

  function* makeDay({ coin, timeframe, source, startMs }: DayPlace, nowMs: number): Steps<string> {
    const entries: Entry[] = []
    // Also where there is no market: a range has hundreds of days.
    yield
    const span = { fromMs: startMs, toMs: startMs + DAY_MS }
    const query = { coin, timeframe, source, ...span, order: 'asc', limit: BLOCK } as const
    for (const page of marketPages(history, query)) {
      for (const market of page) {
        entries.push({ market, tally: tallyOf(history.gaps(market), market, nowMs) })
        yield
      }
      if (page.length === 0) yield
    }
    return dayText(startMs, entries, nowMs)
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
    const key = `${place.coin} ${place.timeframe ?? ''} ${place.source ?? ''} ${place.startMs}`
    for (;;) {
      const kept = days.get(key)
      const isFresh = kept !== undefined && nowMs - kept.madeMs < keptFor(place, kept)
      const day = isFresh ? kept : beginDay(key, place, nowMs)
      // Steps that failed are over as well, and the day is begun again.
      while (day.text === undefined && !day.steps.next().done) yield
      if (day.text !== undefined) return day.text
    }
  }

  return function* (coin: Coin, query: CoinCoverageQuery): Steps<{ body: string }> {
    const nowMs = clock()
    const { fromMs, toMs } = readDays(query, nowMs)
    const { timeframe } = query
    const source = readSource(history, coin, query.source)
    const texts: string[] = []
    for (let startMs = fromMs; startMs < toMs; startMs += DAY_MS) {
      texts.push(yield* readDay({ coin, timeframe, source, startMs }, nowMs))
    }
    return { body: `{"data":[${texts.join(',')}],"nextCursor":null}` }
  }
}

/** Whether the day was over when it was made decides, or midnight would show a minute late. */
const keptFor = ({ startMs }: DayPlace, { madeMs }: KeptDay): number =>
  startMs + DAY_MS <= madeMs ? OVER_KEPT_MS : PENDING_KEPT_MS

/** The days of a query: `fromMs` and `toMs` are midnights. Throws `invalid_parameter`. */
function readDays(query: CoinCoverageQuery, nowMs: number) {
  const { fromMs: from, toMs: to } = readRange(query)
  const spanMs = DAYS_DEFAULT * DAY_MS
  const firstMs = from === undefined ? undefined : dayOf(from)
  const endMs = to === undefined ? undefined : dayOf(to + DAY_MS - 1)
  const toMs = endMs ?? (firstMs === undefined ? dayOf(nowMs) + DAY_MS : firstMs + spanMs)
  const fromMs = firstMs ?? Math.max(0, toMs - spanMs)
  if (toMs - fromMs > DAYS_MAX * DAY_MS) {
    throw parameterError(
      'to',
      `\`from\` and \`to\` are ${(toMs - fromMs) / DAY_MS} days apart. Request at most ${DAYS_MAX} days at once.`,
    )
  }
  return { fromMs, toMs: Math.min(toMs, dayOf(MOMENT_MS_MAX) + DAY_MS) }
}

const dayOf = (timeMs: number): number => timeMs - (timeMs % DAY_MS)

function tallyOf(gaps: readonly Gap[], market: Market, nowMs: number) {
  if (!hasWindow(market)) {
    return market.firstSnapshotMs === undefined ? undefined : tallyOfUnknown(outcomes.length)
  }
  const { windowStartMs: fromMs, windowEndMs } = market
  const question = { market, gaps, nowMs }
  const toMs = Math.min(windowEndMs, nowMs)
  return toMs > fromMs ? tallyCoverage({ ...question, fromMs, toMs }) : undefined
}

/** A day as it is served; its markets are by the start of their windows. */
function dayText(startMs: number, entries: readonly Entry[], nowMs: number): string {
  const range = { fromMs: startMs, toMs: startMs + DAY_MS, nowMs }
  const byTimeframe = Map.groupBy(entries, ({ market }) => market.timeframe)
  const listed = timeframes.flatMap((timeframe) => {
    const held = byTimeframe.get(timeframe)
    if (held === undefined) return []
    const startsMs = held.flatMap(({ market }) => (hasWindow(market) ? market.windowStartMs : []))
    const missing = tallyMissing(startsMs, { timeframe, ...range }, outcomes.length)
    const sum = sumTallies([...held.flatMap(({ tally }) => tally ?? []), missing])
    return [{ timeframe, markets: held.length, sum }]
  })
  const { totalMs, coveredMs, gaps } = sumTallies(listed.map(({ sum }) => sum))
  const total = (pick: (market: Market) => number) =>
    entries.reduce((sum, { market }) => sum + pick(market), 0)
  const up = total(({ snapshotCounts }) => snapshotCounts.up)
  const down = total(({ snapshotCounts }) => snapshotCounts.down)
  const verified = total(({ verifiedCounts }) => verifiedCounts.up + verifiedCounts.down)
  const silencesMs = entries.flatMap(({ market: { longestSilenceMs } }) =>
    outcomes.flatMap((outcome) => longestSilenceMs[outcome] ?? []),
  )
  return JSON.stringify({
    day: toIso(startMs).slice(0, 'YYYY-MM-DD'.length),
    state: stateOf({ coveredMs, gaps }, range.toMs > nowMs),
    markets: entries.length,
    timeframes: listed.map(({ timeframe, markets, sum }) => ({
      timeframe,
      markets,
      windows: DAY_MS / timeframeMs[timeframe],
      covered: printedShare(sum.coveredMs, sum.totalMs),
    })),
    snapshots: { up, down },
    covered: printedShare(coveredMs, totalMs),
    gaps: tallyReasons.flatMap((reason) => {
      const sum = gaps.get(reason)
      return sum === undefined ? [] : [{ reason, count: sum.count, durationMs: sum.ms }]
    }),
    verified: printedShare(verified, up + down),
    longestSilenceMs: silencesMs.length === 0 ? null : Math.max(...silencesMs),
  })
}

function stateOf({ coveredMs, gaps }: Omit<CoverageTally, 'totalMs'>, isPending: boolean) {
  if (isPending) return 'pending'
  if (coveredMs === 0 && !gaps.has('window_unknown')) return 'missing'
  return gaps.size > 0 ? 'degraded' : 'available'
}
