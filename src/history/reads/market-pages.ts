/** Walks through lists of markets, and the one that greeting and documentation show. */
import { type Coin, coins, type Market } from '#src/core/market.ts'
import { DAY_MS } from '#src/core/time.ts'

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

const NEWEST_COUNT = 10
const PAGE_MARKETS = 500
/** A window begins within this of its snapshots: what a list names beyond is not looked at. */
const APART_MS = 30 * DAY_MS

type Reads = Pick<MarketHistory, 'listMarkets' | 'coinTotals'>

/** The newest market that is whole, with books of both outcomes if there is one. */
export function findExampleMarket(history: Reads): Market | undefined {
  const held = history.coinTotals(0).filter(({ snapshots }) => snapshots > 0)
  const newest = coins.flatMap((coin) => {
    const totals = held.filter((total) => total.coin === coin)
    return totals.length === 0 ? [] : [...listHeld(history, coin, totals).take(NEWEST_COUNT)]
  })
  const whole = newest.filter(({ isClosed }) => isClosed)
  return whole.find(hasBoth) ?? whole[0] ?? newest.find(hasBoth) ?? newest[0]
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
