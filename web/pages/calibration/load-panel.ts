/**
 * Reads the panel page by page, and the books of entries whose best ask is too small, in batches.
 */

import { request } from '../../lib/api.ts'
import type { Ladders } from '../../lib/backtest.ts'
import type { Level, Listed, Outcome, PanelRow } from '../../lib/bodies.ts'
import type { Observation } from '../../lib/calibration.ts'
import type { PanelCall } from './view.ts'

export type Panel = {
  rows: Observation[]
  markets: number
  isSimulated: boolean
  /** True if there are more markets than the page reads. */
  isCut: boolean
}

type Reading = { signal: AbortSignal; authorization: string | undefined }

/** Markets of a request: the most that the route returns. */
const MARKETS = 500
const PAGES_MAX = 20
export const MARKETS_MAX = PAGES_MAX * MARKETS
/** Moments of a request: a body has at most 64 KiB. */
const MOMENTS = 400
const BATCHES_MAX = 10
export const BOOKS_MAX = BATCHES_MAX * MOMENTS

export async function loadPanel(
  { coin, offsets, ...range }: PanelCall,
  { signal, authorization }: Reading,
  onProgress: (markets: number) => void,
): Promise<Panel> {
  const panel: Panel = { rows: [], markets: 0, isSimulated: false, isCut: false }
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { ...range, offsets: offsets.join(','), limit: MARKETS, cursor }
    const { data, nextCursor } = await request<Listed<PanelRow>>(`/v1/${coin}/panel`, {
      query,
      signal,
      authorization,
    })
    for (const row of data) panel.rows.push(toObservation(row))
    panel.markets += data.length / offsets.length
    panel.isSimulated ||= data.some(({ source }) => source === 'simulated')
    panel.isCut = nextCursor !== null
    if (nextCursor === null) break
    cursor = nextCursor
    onProgress(panel.markets)
  }
  return panel
}

/** Drops the rest of a row: there are tens of thousands of rows. */
const toObservation = (row: PanelRow): Observation => ({
  conditionId: row.conditionId,
  windowEnd: row.windowEnd,
  ts: row.ts,
  offsetMs: row.offsetMs,
  winner: row.winner,
  covered: row.covered,
  up: toState(row.up),
  down: toState(row.down),
})

const toState = (state: PanelRow['up']): Observation['up'] =>
  state && { ask: state.ask, askSize: state.askSize, mid: state.mid }

type BookAt = { conditionId: string; snapshot: { asks: Level[] } | null }

/** Asks as of each entry, by market: of the first `BOOKS_MAX` entries. */
export async function loadLadders(
  entries: readonly Pick<Observation, 'conditionId' | 'ts'>[],
  { coin, outcome }: { coin: string; outcome: Outcome },
  { signal, authorization }: Reading,
): Promise<Ladders> {
  const ladders = new Map<string, readonly Level[]>()
  const moments = entries
    .slice(0, BOOKS_MAX)
    .map(({ conditionId, ts }) => ({ conditionId, outcome, ts }))
  for (let from = 0; from < moments.length; from += MOMENTS) {
    const requests = moments.slice(from, from + MOMENTS)
    const { data } = await request<{ data: BookAt[] }>(`/v1/${coin}/snapshots/at`, {
      method: 'POST',
      body: { requests, fields: 'asks' },
      signal,
      authorization,
    })
    for (const { conditionId, snapshot } of data) ladders.set(conditionId, snapshot?.asks ?? [])
  }
  return ladders
}
