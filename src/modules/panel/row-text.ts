/**
 * Rows of a panel as JSON. A page has thousands of numbers, so texts are
 * joined instead of objects made.
 */
import { exactNumber, formatMillionths } from '#src/core/decimal.ts'
import { type DepthFigures, depthFigures } from '#src/core/depth-figures.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import { toIso } from '#src/core/time.ts'
import type { Trade } from '#src/core/trade.ts'
import { quoteText } from '#src/wire/quote-bytes.ts'

import type { Offset } from './offsets.ts'
import type { ClosedMarket } from './selection.ts'

/** What a row says of a moment; texts are JSON. */
export type Moment = {
  offset: Offset
  tsMs: number
  lastTrade: Trade | undefined
  isCovered: { up: boolean; down: boolean }
  up: string
  down: string
}

/** What the rows of a market begin with, brace included. */
export function marketText(market: ClosedMarket): string {
  const { conditionId, slug, timeframe, strike, finalPrice, winner, winnerSource } = market
  const text = JSON.stringify({
    conditionId,
    slug: slug ?? null,
    timeframe,
    windowStart: toIso(market.windowStartMs),
    windowEnd: toIso(market.windowEndMs),
    strike: strike === undefined ? null : exactNumber(strike),
    finalPrice: finalPrice === undefined ? null : exactNumber(finalPrice),
    winner: winner ?? null,
    winnerSource: winnerSource ?? null,
  })
  return text.slice(0, -1)
}

/** A row, after what its market's rows begin with. */
export function rowText(market: string, { offset, tsMs, ...moment }: Moment): string {
  const { lastTrade, isCovered, up, down } = moment
  const place = `"offset":"${offset.text}","offsetMs":${-offset.beforeMs || 0},"ts":"${toIso(tsMs)}"`
  const covered = `"covered":{"up":${isCovered.up},"down":${isCovered.down}}`
  const trade = `"lastTrade":${lastTrade === undefined ? 'null' : tradeText(lastTrade)}`
  return `${market},${place},${trade},${covered},"up":${up},"down":${down}}`
}

function tradeText({ price, outcome, timestampMs }: Trade): string {
  const traded = outcome === undefined ? 'null' : `"${outcome}"`
  return `{"price":${formatMillionths(price)},"outcome":${traded},"timestamp":"${toIso(timestampMs)}"}`
}

/** The state prevailing at a moment. */
export function stateText(snapshot: Snapshot, tsMs: number): string {
  const { timestampMs, bids, asks } = snapshot
  const age = `"timestamp":"${toIso(timestampMs)}","ageMs":${tsMs - timestampMs}`
  const quote = quoteText({
    bidPrice: bids.prices[0] ?? 0,
    bidSize: bids.sizes[0] ?? 0,
    askPrice: asks.prices[0] ?? 0,
    askSize: asks.sizes[0] ?? 0,
  })
  const depth = `"bids":${depthText(depthFigures(bids))},"asks":${depthText(depthFigures(asks))}`
  return `{${age},${quote},${depth}}`
}

const depthText = ({ levels, size, usdc }: DepthFigures): string =>
  `{"levels":${levels},"size":${size},"usdc":${usdc}}`
