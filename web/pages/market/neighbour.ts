/** The windows before and after one of the same length, of a coin and a source. */

import { request } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'

export type Direction = 'previous' | 'next'

/** The nearest known market; with `withBooks`, the nearest with recorded books. */
export async function findNeighbour(
  { symbol, timeframe, source, windowStart }: Market,
  direction: Direction,
  withBooks: boolean,
): Promise<Market | undefined> {
  const startMs = Date.parse(windowStart ?? '')
  const range =
    direction === 'next' ? { from: startMs + 1, order: 'asc' } : { to: startMs, order: 'desc' }
  const query = { timeframe, source, ...range, limit: 1, withBooks: withBooks ? true : undefined }
  const { data } = await request<Listed<Market>>(`/v1/${symbol}/markets`, { query })
  return data[0]
}

/** The page of another market that shows it as this page does: its outcome and its colours. */
export function pageOf({ symbol, conditionId }: Market): string {
  const kept = new URLSearchParams(location.search)
  // These parts of the address belong to the window.
  for (const name of ['at', 'from', 'to', 'view']) kept.delete(name)
  const query = kept.toString()
  return `/markets/${symbol}/${conditionId}${query === '' ? '' : `?${query}`}`
}
