import { type Coin, coins, coinTable, timeframes } from '#src/core/market.ts'
import { type Clock, toIsoOrNull } from '#src/core/time.ts'
import type { CoinTotals, MarketHistory } from '#src/history/history.ts'
import { route } from '#src/http/route.ts'

import { type CoinBody, CoinList } from './model.ts'

type Deps = { history: Pick<MarketHistory, 'coinTotals'>; clock: Clock }

export const coinRoutes = ({ history, clock }: Deps) => [
  route({
    method: 'GET',
    path: '/v1/coins',
    access: 'open',
    tag: 'markets',
    operationId: 'listCoins',
    summary: 'The coins',
    description: 'What is recorded of each coin. Needs no key: everybody may see what there is.',
    ok: { description: 'The coins.', schema: CoinList },
    caching: 'digest',
    fails: ['damaged'],
    answer() {
      const totals = Map.groupBy(history.coinTotals(clock()), ({ coin }) => coin)
      const data = coins.map((coin) => describeCoin(coin, totals.get(coin) ?? []))
      return { body: JSON.stringify({ data, nextCursor: null }) }
    },
  }),
]

function describeCoin(coin: Coin, totals: readonly CoinTotals[]): CoinBody {
  return {
    symbol: coin,
    name: coinTable[coin].name,
    sources: [...new Set(totals.map(({ source }) => source))].sort(),
    ...sumUp(totals),
    timeframes: timeframes.flatMap((timeframe) => {
      const held = totals.filter((each) => each.timeframe === timeframe)
      return held.length === 0 ? [] : [{ timeframe, ...sumUp(held) }]
    }),
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
    firstSnapshot: toIsoOrNull(firsts.length === 0 ? undefined : Math.min(...firsts)),
    lastSnapshot: toIsoOrNull(lasts.length === 0 ? undefined : Math.max(...lasts)),
  }
}
