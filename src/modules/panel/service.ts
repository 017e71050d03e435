/**
 * Panels: the state of each market at moments before its expiry, a page of markets at a time. A
 * page opens thousands of books, so it is made in slices between which other requests are served.
 */
import { type CoverageTally, type Span, tallyCoverage, tallyText } from '#src/core/coverage.ts'
import {
  type CursorCodec,
  decodeMarketPlace,
  encodeMarketPlace,
  startOfMarkets,
} from '#src/core/cursor.ts'
import { type Coin, type Outcome, outcomes, type Timeframe } from '#src/core/market.ts'
import { type Clock, readRange } from '#src/core/time.ts'
import { tallyOfNothing, tallyOfUnknown } from '#src/core/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { createSnapshotScanner } from '#src/wire/snapshot-json.ts'

import type { PanelQuery } from './model.ts'
import { type Offset, readOffsets } from './offsets.ts'
import { marketText, rowText, stateText } from './row-text.ts'
import { type ClosedMarket, countMissing, selectMarkets } from './selection.ts'

type Deps = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
}

export type PanelPage = {
  body: string
  isClosed: boolean
  resumeCursor: string
  /** Of the moments of all rows, and of those that windows without a market would have. */
  coverage: string
}

/** Makes the service of a history. */
export function createPanelService({ history, cursors, clock }: Deps) {
  const scanner = createSnapshotScanner()

  /** The text of the state of an outcome prevailing at a moment, `null` if there is none. */
  function stateAt(cell: Cell, outcome: Outcome): string {
    const { market, tsMs, maxAgeMs } = cell
    const row = history.at({ market, outcome, timestampMs: tsMs })
    if (row === undefined || tsMs - row.timestampMs > maxAgeMs) return 'null'
    const text = row.text()
    return stateText(scanner.scan(text, 0, text.length), tsMs)
  }

  function toRow(market: string, cell: Cell): string {
    const { offset, tsMs, coverage } = cell
    const [lastTrade] = history.trades({ market: cell.market, toMs: tsMs + 1, last: 1 })
    const isCovered = { up: coverage.up.coveredMs > 0, down: coverage.down.coveredMs > 0 }
    const states = { up: stateAt(cell, 'up'), down: stateAt(cell, 'down') }
    return rowText(market, { offset, tsMs, lastTrade, isCovered, ...states })
  }

  return {
    /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
    *page(coin: Coin, query: PanelQuery): Steps<PanelPage> {
      const { scope, offsets, range, maxAgeMs } = readRequest(coin, query)
      const { cursor } = query
      const place = cursor === undefined ? undefined : cursors.decode(scope, cursor)
      const after = place === undefined ? undefined : decodeMarketPlace(place)
      const nowMs = clock()
      const chosen = yield* selectMarkets(history, { ...range, after }, nowMs)
      const momentsOf = (markets: number) => markets * offsets.length * outcomes.length
      const missing = momentsOf(countMissing(chosen, { ...range, after }, nowMs))
      const rows: string[] = []
      const tallies = [tallyOfNothing(missing, missing), tallyOfUnknown(momentsOf(chosen.unknown))]
      for (const market of chosen.markets) {
        const head = marketText(market)
        const gaps = history.gaps(market)
        for (const offset of offsets) {
          const tsMs = market.windowEndMs - offset.beforeMs
          const question = { market, gaps, ...momentOf(market, tsMs), nowMs }
          const coverage = {
            up: tallyCoverage({ ...question, outcome: 'up' }),
            down: tallyCoverage({ ...question, outcome: 'down' }),
          }
          tallies.push(coverage.up, coverage.down)
          rows.push(toRow(head, { market, offset, tsMs, maxAgeMs, coverage }))
          yield
        }
      }
      const last = chosen.markets.at(-1) ?? after ?? startOfMarkets({ ...range, order: 'asc' })
      const resumeCursor = cursors.encode(scope, encodeMarketPlace(last))
      const nextCursor = chosen.hasMore ? `"${resumeCursor}"` : 'null'
      const body = `{"data":[${rows.join(',')}],"nextCursor":${nextCursor}}`
      return { body, isClosed: chosen.isFinal, resumeCursor, coverage: tallyText(tallies) }
    },
  }
}

export type PanelService = ReturnType<typeof createPanelService>

/** One market at one moment. */
type Cell = {
  market: ClosedMarket
  offset: Offset
  tsMs: number
  maxAgeMs: number
  coverage: Record<Outcome, CoverageTally>
}

/** The expiry is not in the window any more; the state prevailing there was recorded before. */
function momentOf({ windowEndMs }: ClosedMarket, tsMs: number): Span {
  const fromMs = Math.min(tsMs, windowEndMs - 1)
  return { fromMs, toMs: fromMs + 1 }
}

function readRequest(coin: Coin, query: PanelQuery) {
  const timeframe = query.timeframe as Timeframe
  const offsets = readOffsets(query.offsets, timeframe)
  const { fromMs, toMs } = readRange(query)
  const { limit, maxAgeMs = Number.POSITIVE_INFINITY } = query
  const moments = offsets.map(({ text }) => text).join(',')
  const filters = `${moments} ${fromMs ?? ''} ${toMs ?? ''} ${query.maxAgeMs ?? ''}`
  return {
    scope: `panel ${coin} ${timeframe} ${filters}`,
    offsets,
    range: { coin, timeframe, fromMs, toMs, limit },
    maxAgeMs,
  }
}
