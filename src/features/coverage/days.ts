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
import { DAY_MS, MOMENT_MS_MAX, readRange, toIsoDay } from '#src/domain/time.ts'
import { tallyMissing, tallyOfUnknown } from '#src/domain/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { cacheDays } from '#src/history/reads/day-cache.ts'
import { type MarketLists, marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { dataTask } from '#src/http/tasks.ts'

import { type CoinCoverageQuery, DAYS_DEFAULT, DAYS_MAX } from './schema.ts'

type History = MarketLists & Pick<MarketHistory, 'gaps' | 'cursorKey'>
type Given = { coin: Coin; query: CoinCoverageQuery }
export type CoinDay = {
  coin: Coin
  timeframe: Timeframe | undefined
  source: Source | undefined
  startMs: number
}
/** Without a tally, the window has not begun. */
type Entry = { market: Market; tally: CoverageTally | undefined }

const BLOCK = 50

/** Lists the days of a query, oldest first, each printed by `read`. Throws `invalid_parameter`. */
export const dayListTask = (
  name: string,
  read: (history: MarketHistory, day: CoinDay, nowMs: number) => string,
) =>
  dataTask(name, ({ history, clock }, { coin, query }: Given) => {
    const nowMs = clock()
    const { fromMs, toMs } = readDays(query, nowMs)
    const { timeframe } = query
    const source = readSource(history, coin, query.source)
    const texts: string[] = []
    for (let startMs = fromMs; startMs < toMs; startMs += DAY_MS)
      texts.push(read(history, { coin, timeframe, source, startMs }, nowMs))
    return { body: `{"data":[${texts.join(',')}],"nextCursor":null}` }
  })

/** A day as JSON. */
export const readDay = cacheDays(makeDay)

export const daysTask = dayListTask('coverage days', readDay)

function makeDay(
  history: History,
  { coin, timeframe, source, startMs }: CoinDay,
  nowMs: number,
): string {
  const span = { fromMs: startMs, toMs: startMs + DAY_MS }
  const query = { coin, timeframe, source, ...span, order: 'asc', limit: BLOCK } as const
  const entries = [...marketPages(history, query)]
    .flat()
    .map((market): Entry => ({ market, tally: tallyOf(history.gaps(market), market, nowMs) }))
  return dayText(startMs, entries, nowMs)
}

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

/** Prints a day; its markets are by start of window. */
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
    day: toIsoDay(startMs),
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
