import './market.css'
import { showMarket } from '../../lib/format.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { useTitle } from '../../lib/title.ts'
import { ProblemCard } from '../../parts/problem.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { useMarket } from './load-market.ts'
import { LiveMarket } from './market-view.tsx'

/** The page of a market: its facts, then its charts. */
export function MarketPage({ params }: { params: Readonly<Record<string, string>> }) {
  const { coin = '', market: name = '' } = params
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin, market: name })
  const { data, problem, reload } = useMarket(coin, mayList ? name : undefined)
  useTitle(problem?.status === 404 ? 'Market not found' : data && showMarket(data))
  if (mayList === false) return <TierCard what={`${coin.toUpperCase()} markets`} />
  // Loaded data stays while the server is away.
  if (problem && data === undefined) {
    return (
      <div class="page">
        <h1>{coin.toUpperCase()} market</h1>
        <ProblemCard problem={problem} onRetry={reload} />
        <p>
          <a href={`/markets/${coin}`}>All {coin.toUpperCase()} markets</a>
        </p>
      </div>
    )
  }
  if (data === undefined || rights === undefined) return <div class="page-wait" aria-busy="true" />
  return <LiveMarket key={data.conditionId} {...{ market: data, rights }} onChange={reload} />
}
