/** Says what there is of each coin; knows nothing of HTTP. */
import { type Coin, coins, coinTable, timeframes } from '#src/core/market.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { CoinTotals, MarketHistory } from '#src/history/history.ts'

import type { CoinBody, CoinList } from './model.ts'

type Deps = { history: Pick<MarketHistory, 'coinTotals'>; clock: Clock }

/** Makes the service of a history. */
export const createCoinService = ({ history, clock }: Deps) => ({
  list(): CoinList {
    const totals = history.coinTotals(clock())
    const data = coins.map((coin) =>
      describeCoin(
        coin,
        totals.filter((each) => each.coin === coin),
      ),
    )
    return { data, nextCursor: null }
  },
})

export type CoinService = ReturnType<typeof createCoinService>

function describeCoin(coin: Coin, totals: readonly CoinTotals[]): CoinBody {
  const held = timeframes.filter((timeframe) => totals.some((each) => each.timeframe === timeframe))
  return {
    symbol: coin,
    name: coinTable[coin].name,
    sources: [...new Set(totals.map(({ source }) => source))].sort(),
    ...sumUp(totals),
    timeframes: held.map((timeframe) => ({
      timeframe,
      ...sumUp(totals.filter((each) => each.timeframe === timeframe)),
    })),
  }
}

function sumUp(totals: readonly CoinTotals[]) {
  const firsts = totals.flatMap(({ firstSnapshotMs }) => firstSnapshotMs ?? [])
  const lasts = totals.flatMap(({ lastSnapshotMs }) => lastSnapshotMs ?? [])
  const sum = (pick: (each: CoinTotals) => number) =>
    totals.reduce((total, each) => total + pick(each), 0)
  return {
    markets: sum(({ markets }) => markets),
    openMarkets: sum(({ openMarkets }) => openMarkets),
    snapshots: sum(({ snapshots }) => snapshots),
    firstSnapshot: firsts.length === 0 ? null : toIso(Math.min(...firsts)),
    lastSnapshot: lasts.length === 0 ? null : toIso(Math.max(...lasts)),
  }
}
