/** Reference prices of a coin: every price, or bars. */
import { startOf } from '#src/domain/cursor.ts'
import { exactNumber } from '#src/domain/decimal.ts'
import { type SpotFilters, spotList } from '#src/domain/lists.ts'
import type { Coin } from '#src/domain/market.ts'
import { intervalMs } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import {
  addToBars,
  type SpotBar,
  type SpotQuery as StoreQuery,
  type StoredTick,
} from '#src/domain/spot.ts'
import { readRange, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import { readList } from '#src/http/cursor-list.ts'
import { type TableForm, tableTask } from '#src/http/table.ts'
import type { TaskPorts } from '#src/http/tasks.ts'

import { SpotList, type SpotQuery } from './schema.ts'

type Spot = Pick<MarketHistory, 'spot' | 'lastSpotId'>
type Given = { coin: Coin; query: SpotQuery; table: TableForm }
type Page = { rows: object[]; last: Position | undefined; hasMore: boolean }

/** Ticks in one read. */
const BLOCK = 1000
/** Ticks after which a page of bars ends, with the current step. */
const TICKS_MAX = 100_000

export const spotTask = tableTask('spot', SpotList, readPage)

function readTicks(history: Spot, query: StoreQuery): Page {
  const ticks: StoredTick[] = []
  for (;;) {
    const last = ticks.at(-1)
    const limit = Math.min(BLOCK, query.limit - ticks.length) + 1
    const found = history.spot({ ...query, after: last ?? query.after, limit })
    ticks.push(...found.slice(0, limit - 1))
    const hasMore = found.length === limit
    if (!hasMore || ticks.length >= query.limit)
      return { rows: ticks.map(describeTick), last: ticks.at(-1), hasMore }
  }
}

/**
 * Reads whole steps: a page has at least one, and never splits a step. The last bar may still grow
 * while recording continues.
 */
function readBars(history: Spot, query: StoreQuery, stepMs: number): Page {
  const page = createBarPage(query, stepMs)
  for (;;) {
    const found = history.spot({ ...query, after: page.last() ?? query.after, limit: BLOCK })
    for (const tick of found) if (!page.add(tick)) return page.end(true)
    if (found.length < BLOCK) return page.end(false)
  }
}

/** Rejects with `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
async function readPage(
  { history, cursors }: TaskPorts,
  { coin, query }: Given,
): Promise<DataAnswer> {
  const { order, limit, cursor, interval, source, window: windowSeconds } = query
  const { fromMs, toMs } = readRange(query)
  const filters: SpotFilters = { coin, order, fromMs, toMs, interval, source, windowSeconds }
  return readList(cursors, {
    list: spotList,
    filters,
    cursor,
    read(after) {
      const seen = history.lastSpotId()
      const asked: StoreQuery = { ...filters, after, limit }
      const page =
        interval === undefined
          ? readTicks(history, asked)
          : readBars(history, asked, intervalMs[interval])
      const last = page.last ?? after ?? startOf(filters)
      const isEmpty =
        page.rows.length === 0 && history.spot({ coin, order: 'desc', limit: 1 }).length === 0
      const reason = isEmpty
        ? `No price of ${coin} is recorded: this server has no source of prices, or its sources have not sent any yet.`
        : null
      return {
        rows: page.rows.map((row) => JSON.stringify(row)),
        last: { timestampMs: last.timestampMs, id: last.id },
        hasMore: page.hasMore,
        // At the end, a stream continues from this position: prices that arrive late are new to it.
        resume: page.hasMore ? undefined : { timestampMs: last.timestampMs, id: last.id, seen },
        members: { reason },
      }
    },
  })
}

/** Builds a page of bars from ticks in the order of the query. */
function createBarPage({ order, limit }: StoreQuery, stepMs: number) {
  const rows: object[] = []
  const bars = new Map<string, SpotBar>()
  let ticks = 0
  let steps = 0
  let startMs = 0
  let last: StoredTick | undefined

  function endStep(): void {
    for (const bar of bars.values()) rows.push(describeBar(bar, startMs, stepMs))
    bars.clear()
    steps++
  }

  return {
    /** Returns false if the page ended before this tick. */
    add(tick: StoredTick): boolean {
      const tickStartMs = Math.floor(tick.timestampMs / stepMs) * stepMs
      if (last !== undefined && tickStartMs !== startMs) {
        endStep()
        if (steps === limit || ticks >= TICKS_MAX) return false
      }
      startMs = tickStartMs
      last = tick
      ticks++
      addToBars(bars, tick, order)
      return true
    },

    last: () => last,

    end(hasMore: boolean): Page {
      if (!hasMore) endStep()
      return { rows, last, hasMore }
    },
  }
}

/** A price as a row of the response. */
export const describeTick = (tick: StoredTick) => ({
  id: String(tick.id),
  source: tick.source,
  windowSeconds: tick.windowSeconds,
  timestamp: toIso(tick.timestampMs),
  price: exactNumber(tick.price),
  receivedAt: tick.receivedMs === undefined ? null : toIso(tick.receivedMs),
  sequence: tick.sequence ?? null,
  dropped: tick.dropped ?? 0,
})

const describeBar = (bar: SpotBar, startMs: number, stepMs: number) => ({
  source: bar.source,
  windowSeconds: bar.windowSeconds,
  start: toIso(startMs),
  end: toIso(startMs + stepMs),
  open: exactNumber(bar.open),
  high: exactNumber(bar.high),
  low: exactNumber(bar.low),
  close: exactNumber(bar.close),
  ticks: bar.ticks,
})
