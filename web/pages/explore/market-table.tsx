import { useEffect, useState } from 'preact/hooks'

import { request, toProblem, useApi } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'
import { showCount, showDollars, showShare, showWindow } from '../../lib/format.ts'
import { navigate } from '../../lib/location.ts'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'

const PAGE = 25

type Props = { coin: string; timeframe: string | undefined; isOn: boolean }

export function MarketTable({ coin, timeframe, isOn }: Props) {
  const path = `/v1/${coin}/markets`
  const query = { limit: PAGE, timeframe }
  const first = useApi<Listed<Market>>(isOn ? path : undefined, query)
  const [more, setMore] = useState<Listed<Market>[]>([])
  useEffect(() => setMore([]), [first.data])
  if (first.problem) {
    return (
      <div class="card-body">
        <ProblemCard problem={first.problem} onRetry={first.reload} />
      </div>
    )
  }
  const pages = first.data === undefined ? [] : [first.data, ...more]
  const cursor = pages.at(-1)?.nextCursor ?? undefined
  const loadMore = async () => {
    try {
      const page = await request<Listed<Market>>(path, { query: { ...query, cursor } })
      setMore([...more, page])
    } catch (error) {
      first.reload()
      return toProblem(error)
    }
    return undefined
  }
  const markets = pages.flatMap(({ data }) => data)
  return (
    <>
      <div class="table-wrap market-list" aria-busy={first.isLoading}>
        <table>
          <thead>
            <tr>
              <th>Window (UTC)</th>
              <th class="wide">Length</th>
              <th>State</th>
              <th class="right wide">Strike</th>
              <th class="right wide">Final</th>
              <th class="right">Covered</th>
              <th class="right wide">Books</th>
            </tr>
          </thead>
          <tbody>
            {markets.map((market) => (
              <MarketRow key={market.conditionId} {...{ coin, market }} />
            ))}
          </tbody>
        </table>
        {first.data !== undefined && markets.length === 0 && (
          <p class="card-body note">Nothing of this is recorded.</p>
        )}
      </div>
      {cursor !== undefined && (
        <div class="card-body">
          <button type="button" class="button" onClick={loadMore}>
            Show more
          </button>
        </div>
      )}
    </>
  )
}

function MarketRow({ coin, market }: { coin: string; market: Market }) {
  const { conditionId, windowStart, windowEnd, timeframe, strike, finalPrice, snapshots } = market
  const href = `/markets/${coin}/${conditionId}`
  const shares = market.outcomes.flatMap(({ coverage }) => coverage.covered ?? [])
  const covered = shares.length === 0 ? null : Math.min(...shares)
  return (
    <tr class="link-row" onClick={() => navigate(href)}>
      <td class="num">
        <a href={href}>{showWindow(windowStart, windowEnd)}</a>
      </td>
      <td class="wide">{timeframe}</td>
      <td>
        <MarketState market={market} />
      </td>
      <td class="right num wide">{showDollars(strike)}</td>
      <td class="right num wide">{showDollars(finalPrice)}</td>
      <td class="right num">{showShare(covered)}</td>
      <td class="right num wide">{showCount(snapshots)}</td>
    </tr>
  )
}
