/** Loads the data of a market page from the routes that the visitor's tier includes. */

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
import { pickSeries } from '../../lib/spot-series.ts'

const ROWS_MAX = 10_000
const BOOKS_MAX = 1_000
/** The most by which the prices of one source are later than those of another. */
const LATE_MS = 30_000
/** Series that are polled while a market is open: spot and trades. */
const SERIES = 2
/** Steps of books, of which the first that fits a window into a page is used. */
const steps = { '1s': 1, '5s': 5, '15s': 15, '1m': 60, '5m': 300 } as const
export const aggregations = ['max', 'last', 'time-weighted'] as const
export type Aggregation = (typeof aggregations)[number]

export const baseOf = ({ symbol, conditionId }: Market): string =>
  `/v1/${symbol}/markets/${conditionId}`

/** The trading window, else the span of the stored books. */
export function spanOf(market: Market): { fromMs: number; toMs: number } {
  const from = market.windowStart ?? market.firstSnapshot
  const to = market.windowEnd ?? market.lastSnapshot
  const fromMs = Date.parse(from ?? '1970-01-01')
  return { fromMs, toMs: Math.max(fromMs + 1_000, Date.parse(to ?? '1970-01-01')) }
}

export const useMarket = (coin: string, name: string | undefined) =>
  useApi<Market>(name && `/v1/${coin}/markets/${encodeURIComponent(name)}`, undefined, { everyMs })
/** The winner is known some time after the window. */
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

/** The most pages of quotes that are requested to find one moment. */
const PAGES_MAX = 4

/** The quotes of a part of a window; only the first ones if there are very many. */
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
  /** The averages at each tick; undefined for a window that does not settle on one. */
  averages: (number | null)[] | undefined
}

export function useSpot(market: Market, growing: Growing): SpotSeries & { call: Call } {
  const { query } = series(market, 'spot')
  // Includes the price at the end, where the last average ends.
  const call = { path: `/v1/${market.symbol}/spot`, query: { ...query, to: query.to + 1 } }
  const all = useGrowing<Spot>(call, growing)
  const { source, settlementRule, windowEnd } = market
  const shown = useMemo(() => {
    const ticks = pickSeries(all, source)
    const [first] = ticks
    const published = all.filter(({ windowSeconds }) => windowSeconds > 0)
    const isOfMoment = first?.windowSeconds === 0
    const window = { settlementRule, windowEnd, source }
    return { ticks, averages: isOfMoment ? averagesOf(window, ticks, published) : undefined }
  }, [all, source, settlementRule, windowEnd])
  return { ...shown, call }
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
    // The request is repeated after any result.
    const page = await request<Listed<T>>(path, { query: { ...query, from } }).catch(() => null)
    const held = rows.findIndex(({ timestamp }) => Date.parse(timestamp) >= from)
    const before = held < 0 ? rows : rows.slice(0, held)
    if (page === null || before.length + page.data.length === rows.length) return
    setGrown({ of: data, rows: [...before, ...page.data] })
  }
  usePoll(() => void grow(), isOn && isOpen && data !== undefined, SERIES)
  return rows
}

/** One empty list, so that nothing is drawn again. */
const none: never[] = []

/** The gaps of a market so far. A complete market has none, so they are not requested. */
export const useCoverage = (market: Market, again: string) => {
  const isWhole = market.outcomes.every(({ coverage }) => coverage.covered === 1)
  const path = isWhole ? undefined : `${baseOf(market)}/coverage`
  return useApi<Coverage>(path, undefined, { again })
}

type Picture = { outcome: Outcome; isOn: boolean; again: string }
type HeatPicture = Picture & {
  agg: Aggregation
  /** True if trades may be read, from which pulled and traded sizes follow. */
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
  /**
   * The heat map of the whole window as it is shown; finer ones have its outcome and aggregation.
   */
  heat: Heatmap | undefined
  /** True if the heat map is mirrored. */
  isMirrored: boolean
  call: Call
  whole: Range
  /** The visible part. */
  shown: Range
  again: string
}

/** Finer columns of the visible part, once loaded; undefined while they are not needed. */
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
