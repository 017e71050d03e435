import './market.css'
import { useEvery } from '../../lib/poll.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { ProblemCard } from '../../parts/problem.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { useMarket } from './load-market.ts'
import { LiveMarket } from './market-view.tsx'

const AGAIN_MS = 30_000

/** One market: what it is, then its pictures. */
export function MarketPage({ params }: { params: Readonly<Record<string, string>> }) {
  const { coin = '', market: name = '' } = params
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin, market: name })
  const { data, problem, reload } = useMarket(coin, mayList ? name : undefined)
  // Who won is known some time after the window.
  useEvery(AGAIN_MS, data?.status === 'closed', reload)
  if (mayList === false) return <TierCard what={`${coin.toUpperCase()} markets`} />
  if (problem) {
    return (
      <div class="page">
        <h1>{coin.toUpperCase()} market</h1>
        <ProblemCard problem={problem} onRetry={reload} />
      </div>
    )
  }
  if (data === undefined || rights === undefined) return <div class="page-wait" aria-busy="true" />
  return <LiveMarket key={data.conditionId} {...{ market: data, rights }} onChange={reload} />
}
