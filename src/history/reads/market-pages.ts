/** Walks through lists of markets, and the one that greeting and documentation show. */
import { tallyCoverage } from '#src/domain/coverage.ts'
import {
  type Coin,
  coins,
  type Market,
  type Source,
  type SourceChoice,
} from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { CoinTotals, MarketHistory, MarketQuery } from '../history.ts'

/** All markets of a query in pages of its `limit`, none empty; each is read when asked for. */
export function* marketPages(
  history: Pick<MarketHistory, 'listMarkets'>,
  query: MarketQuery,
): Generator<Market[]> {
  let page = history.listMarkets(query)
  while (page.length > 0) {
    yield page
    if (page.length < query.limit) return
    page = history.listMarkets({ ...query, after: page.at(-1) })
  }
}

/**
 * The `source` of a query for markets of a coin: those that were recorded as soon as there is one,
 * unless others are asked for. Undefined where no market is to be left out.
 */
export function readSource(
  history: Pick<MarketHistory, 'sourcesOf'>,
  coin: Coin,
  asked: SourceChoice | undefined,
): Source | undefined {
  if (asked === 'all') return undefined
  const held = history.sourcesOf(coin)
  const wanted = asked ?? (held.includes('recorded') ? 'recorded' : 'simulated')
  return held.every((source) => source === wanted) ? undefined : wanted
}

const NEWEST_COUNT = 10
const PAGE_MARKETS = 500
/** A window begins within this of its snapshots: what a list names beyond is not looked at. */
const APART_MS = 30 * DAY_MS

type Reads = Pick<MarketHistory, 'listMarkets' | 'coinTotals' | 'gaps' | 'trades' | 'spot'>

/**
 * The market that shows most: over and resolved, with books of both outcomes, recorded, with its
 * strike; among the newest of these the one that is covered best, and has trades and spot.
 */
export function findExampleMarket(
  history: Reads,
  among: readonly Coin[] = coins,
): Market | undefined {
  const held = history.coinTotals(0).filter(({ snapshots }) => snapshots > 0)
  const newest = among.flatMap((coin) => {
    const totals = held.filter((total) => total.coin === coin)
    return totals.length === 0 ? [] : [...listHeld(history, coin, totals).take(NEWEST_COUNT)]
  })
  const ranked = newest.map((market) => ({ market, rank: rankOf(market) }))
  const most = Math.max(...ranked.map(({ rank }) => rank))
  // Only of these more is read.
  const best = ranked.filter(({ rank }) => rank === most).map(({ market }) => market)
  let found = best[0]
  let shares = -1
  for (const market of best.length > 1 ? best : []) {
    const share = coveredOf(history, market) + seriesOf(history, market)
    if (share > shares) [found, shares] = [market, share]
    if (share === SHARE_MAX) break
  }
  return found
}

/** Each counts more than all after it. */
const rankOf = (market: Market): number =>
  [
    market.isClosed,
    market.winner !== undefined,
    hasBoth(market),
    market.source !== 'simulated',
    market.strike !== undefined,
  ].reduce((rank, has) => 2 * rank + Number(has), 0)

/** Of all that can be covered; a tenth of it for trades, and for prices of the coin. */
const SHARE_MAX = 12

function coveredOf(history: Reads, market: Market): number {
  const nowMs = market.windowEndMs ?? market.lastSnapshotMs ?? 0
  const { coveredMs, totalMs } = tallyCoverage({ market, nowMs, gaps: history.gaps(market) })
  return totalMs === 0 ? 0 : (10 * coveredMs) / totalMs
}

function seriesOf(history: Reads, market: Market): number {
  const { coin, windowStartMs: fromMs, windowEndMs: toMs } = market
  const spot = history.spot({ coin, fromMs, toMs, order: 'asc', limit: 1 })
  return history.trades({ market, first: 1 }).length + spot.length
}

const hasBoth = ({ spans }: Market): boolean => spans.up !== undefined && spans.down !== undefined

/** Markets that have snapshots, newest first: not those that only a list names. */
function* listHeld(history: Reads, coin: Coin, totals: readonly CoinTotals[]) {
  const fromMs = Math.min(...totals.map(({ firstSnapshotMs = 0 }) => firstSnapshotMs)) - APART_MS
  const toMs = Math.max(...totals.map(({ lastSnapshotMs = 0 }) => lastSnapshotMs)) + APART_MS
  for (const page of marketPages(history, { coin, fromMs, toMs, limit: PAGE_MARKETS })) {
    yield* page.filter(({ lastSnapshotMs }) => lastSnapshotMs !== undefined)
  }
}
