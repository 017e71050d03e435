/** A market to show: the greeting and the documentation take their examples from it. */
import { type Coin, coins, type Market } from '#src/core/market.ts'
import { DAY_MS } from '#src/core/time.ts'

import type { CoinTotals, MarketHistory } from '../history.ts'
import { marketPages } from './market-pages.ts'

const NEWEST_COUNT = 10
const PAGE_MARKETS = 500
/**
 * A market's window begins within this of its snapshots: what a list names beyond is not looked at.
 */
const APART_MS = 30 * DAY_MS

type Reads = Pick<MarketHistory, 'listMarkets' | 'coinTotals'>

/**
 * The newest market that is whole, with books of both outcomes if one has them; a market that has
 * just begun would show next to nothing.
 */
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

/** Markets of a coin that have snapshots, newest first: not those that only a list names. */
function* listHeld(history: Reads, coin: Coin, totals: readonly CoinTotals[]) {
  const fromMs = Math.min(...totals.map(({ firstSnapshotMs = 0 }) => firstSnapshotMs)) - APART_MS
  const toMs = Math.max(...totals.map(({ lastSnapshotMs = 0 }) => lastSnapshotMs)) + APART_MS
  for (const page of marketPages(history, { coin, fromMs, toMs, limit: PAGE_MARKETS })) {
    yield* page.filter(({ lastSnapshotMs }) => lastSnapshotMs !== undefined)
  }
}
