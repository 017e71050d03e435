/** What a market page shows, from the routes that the visitor's tier has. */

import { useMemo, useState } from 'preact/hooks'

import { finerQuery } from '../../charts/heat-columns.ts'
import { mirrorHeat } from '../../charts/mirror.ts'
import type { Range } from '../../charts/time-axis.ts'
import { request, useApi } from '../../lib/api.ts'
import type {
  Book,
  Coverage,
  Heatmap,
  Listed,
  Market,
  Outcome,
  Quote,
  Spot,
  Trade,
} from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { usePoll } from '../../lib/poll.ts'
import { averagesOf } from '../../lib/settlement.ts'

const ROWS_MAX = 10_000
const BOOKS_MAX = 1_000
/** A price of one source may come so much later than one of another. */
const LATE_MS = 30_000
/** What is asked for at a time while a market is open: spot, and trades. */
const SERIES = 2
/** Steps of books: the first of which a window has no more than a page. */
const steps = { '1s': 1, '5s': 5, '15s': 15, '1m': 60, '5m': 300 } as const
export const aggregations = ['max', 'last', 'time-weighted'] as const
export type Aggregation = (typeof aggregations)[number]

export const baseOf = ({ symbol, conditionId }: Market): string =>
  `/v1/${symbol}/markets/${conditionId}`

/** The trading window, else what is held. */
export function spanOf(market: Market): { fromMs: number; toMs: number } {
  const from = market.windowStart ?? market.firstSnapshot
  const to = market.windowEnd ?? market.lastSnapshot
  const fromMs = Date.parse(from ?? '1970-01-01')
  return { fromMs, toMs: Math.max(fromMs + 1_000, Date.parse(to ?? '1970-01-01')) }
}

export const useMarket = (coin: string, name: string | undefined) =>
  useApi<Market>(name && `/v1/${coin}/markets/${encodeURIComponent(name)}`, undefined, { everyMs })
/** Who won is known some time after the window. */
const everyMs = (market: Market | undefined) => (market?.status === 'closed' ? AGAIN_MS : undefined)
const AGAIN_MS = 30_000

/** All rows of a series of moderate length. */
const series = (market: Market, name: string) => {
  const { fromMs, toMs } = spanOf(market)
  return {
    path: `${baseOf(market)}/${name}`,
    query: { from: fromMs, to: toMs, limit: ROWS_MAX },
  } satisfies Call
}

/** Quotes, or prices where the tier has no quotes: both have best bid and ask. */
export function useQuotes(market: Market, name: 'quotes' | 'prices', again: string) {
  const call = series(market, name)
  const loaded = useApi<Listed<Quote>>(call.path, call.query, { again })
  return { ...loaded, quotes: loaded.data?.data ?? none, call, isLoaded: loaded.data !== undefined }
}

/** Pages of quotes that are asked for at most to find one moment. */
const PAGES_MAX = 4

/** The quotes of a part of a window, of which the first are kept where there are very many. */
export async function loadQuotes(
  { path }: Pick<Call, 'path'>,
  { fromMs, toMs }: Range,
): Promise<Quote[]> {
  const rows: Quote[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { from: fromMs, to: toMs, limit: ROWS_MAX, cursor }
    const { data, nextCursor }: Listed<Quote> = await request(path, { query })
    rows.push(...data)
    if (nextCursor === null) break
    cursor = nextCursor
  }
  return rows
}

type Growing = { isOn: boolean; isOpen: boolean; again: string }

export function useTrades(market: Market, growing: Growing): { trades: Trade[]; call: Call } {
  const call = series(market, 'trades')
  return { trades: useGrowing<Trade>(call, growing), call }
}

export type SpotSeries = {
  ticks: Spot[]
  /** As of each tick; undefined for a window that settles on no average. */
  averages: (number | null)[] | undefined
}

export function useSpot(market: Market, growing: Growing): SpotSeries & { call: Call } {
  const { query } = series(market, 'spot')
  // With the price of the end, up to which the last average is.
  const call = { path: `/v1/${market.symbol}/spot`, query: { ...query, to: query.to + 1 } }
  const all = useGrowing<Spot>(call, growing)
  const { source, settlementRule, windowEnd } = market
  const shown = useMemo(() => {
    const ticks = ofOneSeries(all, source)
    const [first] = ticks
    const published = all.filter(({ windowSeconds }) => windowSeconds > 0)
    const isOfMoment = first?.windowSeconds === 0
    const window = { settlementRule, windowEnd, source }
    return { ticks, averages: isOfMoment ? averagesOf(window, ticks, published) : undefined }
  }, [all, source, settlementRule, windowEnd])
  return { ...shown, call }
}

const SERIES_MAX = 8

/** As the price in lists: the shortest average that goes on, and no other between its prices. */
function ofOneSeries(ticks: Spot[], marketSource: Market['source']): Spot[] {
  const isSimulated = marketSource === 'simulated'
  const [newest] = ticks
    .slice(-SERIES_MAX)
    .filter(({ source }) => (source === 'simulated') === isSimulated)
    .toReversed()
    .toSorted((a, b) => a.windowSeconds - b.windowSeconds)
  if (newest === undefined) return none
  return ticks.filter(
    ({ source, windowSeconds }) =>
      source === newest.source && windowSeconds === newest.windowSeconds,
  )
}

type Rows<T> = { of: Listed<T> | undefined; rows: T[] }

/** Rows of a series; while the market is open its last ones are asked for every few seconds. */
function useGrowing<T extends { timestamp: string }>(
  { path, query }: ReturnType<typeof series>,
  { isOn, isOpen, again }: Growing,
): T[] {
  const { data } = useApi<Listed<T>>(isOn ? path : undefined, query, { again })
  const [grown, setGrown] = useState<Rows<T>>({ of: undefined, rows: none })
  const rows = grown.of === data ? grown.rows : (data?.data ?? none)
  const grow = async () => {
    const lastMs = Date.parse(rows.at(-1)?.timestamp ?? '') || 0
    const from = Math.max(query.from, lastMs - LATE_MS)
    // It is asked again whatever happens.
    const page = await request<Listed<T>>(path, { query: { ...query, from } }).catch(() => null)
    const held = rows.findIndex(({ timestamp }) => Date.parse(timestamp) >= from)
    const before = held < 0 ? rows : rows.slice(0, held)
    if (page === null || before.length + page.data.length === rows.length) return
    setGrown({ of: data, rows: [...before, ...page.data] })
  }
  usePoll(() => void grow(), isOn && isOpen && data !== undefined, SERIES)
  return rows
}

/** The same one each time, so that nothing is drawn again. */
const none: never[] = []

/** The gaps of a market so far; one that is whole is not asked for any. */
export const useCoverage = (market: Market, again: string) => {
  const isWhole = market.outcomes.every(({ coverage }) => coverage.covered === 1)
  const path = isWhole ? undefined : `${baseOf(market)}/coverage`
  return useApi<Coverage>(path, undefined, { again })
}

type Picture = { outcome: Outcome; isOn: boolean; again: string }
type HeatPicture = Picture & {
  agg: Aggregation
  /** Whether trades may be read: what was pulled and what was traded follows from them. */
  mayTrades: boolean
}

const heatQuery = ({
  outcome,
  agg,
  mayTrades,
}: Pick<HeatPicture, 'outcome' | 'agg' | 'mayTrades'>) => ({
  outcome,
  agg,
  timeBins: 300,
  include: mayTrades ? 'removed' : undefined,
})

export function useHeatmap(market: Market, { isOn, again, ...wanted }: HeatPicture) {
  const call = { path: `${baseOf(market)}/heatmap`, query: heatQuery(wanted) }
  return { ...useApi<Heatmap>(isOn ? call.path : undefined, call.query, { again }), call }
}

type FinerPicture = {
  /** Of the whole window, as it is shown; what is finer is as it. */
  heat: Heatmap | undefined
  /** Whether it is the mirror of what was requested. */
  isMirrored: boolean
  call: Call
  whole: Range
  /** The part that is seen. */
  shown: Range
  again: string
}

/** Finer columns of the part that is seen, once they are here; undefined while they are not needed. */
export function useFinerHeatmap(picture: FinerPicture): Heatmap | undefined {
  const { heat, isMirrored, call, whole, shown, again } = picture
  const finer = heat && finerQuery(whole, shown, heat.stepMs)
  const { data } = useApi<Heatmap>(finer && call.path, { ...call.query, ...finer }, { again })
  const found = useMemo(() => data && (isMirrored ? mirrorHeat(data) : data), [data, isMirrored])
  if (heat === undefined || finer === undefined || found === undefined) return undefined
  const isSame = found.outcome === heat.outcome && found.agg === heat.agg
  return isSame && found.stepMs < heat.stepMs ? found : undefined
}

type BookPicture = Picture & { view: 'consolidated' | undefined }

/** Whole books, one a step; `isOn` once it is known that they may be read. */
export function useBooks(market: Market, { outcome, view, isOn, again }: BookPicture) {
  const { fromMs, toMs } = spanOf(market)
  const seconds = (toMs - fromMs) / 1000
  const fit = Object.entries(steps).find(([, length]) => seconds / length <= BOOKS_MAX)
  const [interval, stepSeconds] = fit ?? (['5m', steps['5m']] as const)
  const query = {
    outcome,
    view,
    interval,
    limit: BOOKS_MAX,
    from: fromMs,
    to: toMs,
    fields: 'outcome,timestamp,bids,asks',
  }
  const call = { path: `${baseOf(market)}/snapshots`, query }
  const loaded = useApi<Listed<Book>>(isOn ? call.path : undefined, query, { again })
  return { ...loaded, books: loaded.data?.data ?? none, stepMs: stepSeconds * 1000, call }
}
