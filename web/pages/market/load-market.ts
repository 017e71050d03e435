/** What a market page shows, from the routes that the visitor's tier has. */

import { useEffect, useState } from 'preact/hooks'

import { type Loaded, type Problem, request, toProblem, useApi } from '../../lib/api.ts'
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
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'

const ROWS_MAX = 10_000
const BOOKS_MAX = 1_000
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
  useApi<Market>(name && `/v1/${coin}/markets/${encodeURIComponent(name)}`)

/** All rows of a series of moderate length. */
const series = (market: Market, name: string): Call => {
  const { fromMs, toMs } = spanOf(market)
  return {
    path: `${baseOf(market)}/${name}`,
    query: { from: fromMs, to: toMs, limit: ROWS_MAX },
  }
}

/** Quotes, or prices where the tier has no quotes: both have best bid and ask. */
type Quotes = { quotes: Quote[]; call: Call; isLoaded: boolean; problem?: Problem }

export function useQuotes(market: Market, name: 'quotes' | 'prices'): Quotes {
  const key = useStore(apiKey.store)
  const [state, setState] = useState<Quotes>({
    ...{ quotes: none, call: series(market, name), isLoaded: false },
  })
  const { conditionId } = market
  useEffect(() => {
    const aborter = new AbortController()
    const { signal } = aborter
    const call = series(market, name)
    request<Listed<Quote>>(call.path, { ...call, signal }).then(
      ({ data }) => setState({ quotes: data, call, isLoaded: true }),
      (error: unknown) => {
        const problem = toProblem(error)
        if (!signal.aborted) setState({ quotes: none, call, isLoaded: false, problem })
      },
    )
    return () => aborter.abort()
  }, [conditionId, key, name])
  return state
}

export function useTrades(market: Market): { trades: Trade[]; call: Call } {
  const call = series(market, 'trades')
  return { trades: useApi<Listed<Trade>>(call.path, call.query).data?.data ?? none, call }
}

export function useSpot(market: Market): { ticks: Spot[]; call: Call } {
  const call = { ...series(market, ''), path: `/v1/${market.symbol}/spot` }
  return { ticks: useApi<Listed<Spot>>(call.path, call.query).data?.data ?? none, call }
}
/** The same one each time, so that nothing is drawn again. */
const none: never[] = []

export const useCoverage = (market: Market) => {
  const { fromMs, toMs } = spanOf(market)
  return useApi<Coverage>(`${baseOf(market)}/coverage`, { from: fromMs, to: toMs })
}

type Picture = { outcome: Outcome; agg: Aggregation; isOn: boolean }

export function useHeatmap(market: Market, { outcome, agg, isOn }: Picture) {
  const call = { path: `${baseOf(market)}/heatmap`, query: { outcome, agg, timeBins: 300 } }
  return { ...useApi<Heatmap>(isOn ? call.path : undefined, call.query), call }
}

/** Whole books, one a step; `isOn` once it is known that they may be read. */
export function useBooks(market: Market, outcome: Outcome, isOn: boolean) {
  const { fromMs, toMs } = spanOf(market)
  const seconds = (toMs - fromMs) / 1000
  const fit = Object.entries(steps).find(([, length]) => seconds / length <= BOOKS_MAX)
  const query = {
    ...{ outcome, interval: fit?.[0] ?? '5m', limit: BOOKS_MAX },
    ...{ from: fromMs, to: toMs, fields: 'outcome,timestamp,bids,asks' },
  }
  const call = { path: `${baseOf(market)}/snapshots`, query }
  const loaded: Loaded<Listed<Book>> = useApi(isOn ? call.path : undefined, query)
  return { books: loaded.data?.data ?? none, call }
}
