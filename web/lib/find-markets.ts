/** Looks up the markets that the terms of a search describe. */

import { ProblemError, type QueryValues, request } from './api.ts'
import type { Listed, Market } from './bodies.ts'
import { serverNowMs } from './clock.ts'
import { DAY_MS, startOfDay } from './days.ts'
import type { FindTerms } from './find-terms.ts'

const FOUND_MAX = 8
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** The newest markets, among which one is found by the beginning of its id. */
const NEWEST_MAX = 1_000
/** More windows than begin within four hours. */
const NEAR_MAX = 100

type Asking = {
  terms: FindTerms
  /** The coin that is searched if the terms name none. */
  coin: string
  /** Coins to search for an id, which does not name its coin. */
  coins: readonly string[]
  signal: AbortSignal
}

type List = (query: QueryValues) => Promise<Listed<Market>>

/** `hasMore`: only the first markets are listed. */
export type FoundMarkets = { markets: Market[]; hasMore: boolean }

/** Throws `ProblemError`, and nothing else but an abort. */
export async function findMarkets({ terms, coin, coins, signal }: Asking): Promise<FoundMarkets> {
  const { name, prefix, timeframe, dayMs, momentMs, minutes } = terms
  const list: List = (query) =>
    request<Listed<Market>>(`/v1/${terms.coin ?? coin}/markets`, { query, signal })
  const all = (markets: Market[]): FoundMarkets => ({ markets, hasMore: false })
  const first = ({ data, nextCursor }: Listed<Market>): FoundMarkets => ({
    markets: data,
    hasMore: nextCursor !== null,
  })
  if (name !== undefined) {
    const isSlug = !/^(0x|\d)/.test(name)
    return isSlug ? first(await list({ slug: name })) : all(await findById(name, coins, signal))
  }
  if (prefix !== undefined) {
    const { data } = await list({ timeframe, limit: NEWEST_MAX })
    const found = data.filter(({ conditionId }) => conditionId.startsWith(prefix))
    return { markets: found.slice(0, FOUND_MAX), hasMore: found.length > FOUND_MAX }
  }
  if (momentMs !== undefined) {
    const atMs = minutes === undefined ? undefined : await findLast(list, minutes)
    return all(await findAt(list, atMs ?? momentMs, timeframe))
  }
  if (dayMs !== undefined) {
    return first(await list({ timeframe, from: dayMs, to: dayMs + DAY_MS, limit: FOUND_MAX }))
  }
  // Upcoming markets are listed a day before: the newest that have begun are wanted.
  return first(await list({ timeframe, to: serverNowMs() + 1, limit: FOUND_MAX }))
}

/** The last moment with this time of day on which there are books; undefined if there is none. */
async function findLast(list: List, minutes: number): Promise<number | undefined> {
  // Upcoming windows have books before they begin.
  const { data } = await list({ withBooks: true, to: serverNowMs() + 1, limit: 1 })
  const lastMs = Date.parse(data[0]?.windowStart ?? '')
  if (Number.isNaN(lastMs)) return undefined
  const atMs = startOfDay(lastMs) + minutes * MINUTE_MS
  // A window that has just begun has books, and a later time of its day has none yet.
  return atMs > Math.min(serverNowMs(), Date.parse(data[0]?.windowEnd ?? '')) ? atMs - DAY_MS : atMs
}

/** Windows that contain a moment, the shortest first. */
async function findAt(
  list: List,
  momentMs: number,
  timeframe: string | undefined,
): Promise<Market[]> {
  const to = momentMs + 1
  const found =
    timeframe === undefined
      ? await Promise.all([
          list({ from: to - 4 * HOUR_MS, to, limit: NEAR_MAX }),
          list({ timeframe: '1d', to, limit: 1 }),
        ])
      : [await list({ timeframe, to, limit: 1 })]
  // A window of a day that begins within these hours is in both lists.
  const byId = new Map(
    found.flatMap(({ data }) => data).map((market) => [market.conditionId, market]),
  )
  return [...byId.values()]
    .filter(({ windowEnd }) => windowEnd !== null && Date.parse(windowEnd) > momentMs)
    .toSorted((a, b) => lengthOf(a) - lengthOf(b))
}

const lengthOf = ({ windowStart, windowEnd }: Market): number =>
  Date.parse(windowEnd ?? '') - Date.parse(windowStart ?? '')

async function findById(
  id: string,
  coins: readonly string[],
  signal: AbortSignal,
): Promise<Market[]> {
  const find = async (coin: string): Promise<Market[]> => {
    try {
      return [await request<Market>(`/v1/${coin}/markets/${id}`, { signal })]
    } catch (error) {
      if (error instanceof ProblemError && error.problem.status === 404) return []
      throw error
    }
  }
  return (await Promise.all(coins.map(find))).flat()
}
