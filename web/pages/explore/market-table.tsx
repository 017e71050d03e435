import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { type QueryValues, request, toProblem, urlOf, useApi } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'
import { showCovered } from '../../lib/covered.ts'
import { showCoinPrice, showCount, showWindowTimes } from '../../lib/format.ts'
import { navigate, setQuery } from '../../lib/location.ts'
import { Button } from '../../parts/button.tsx'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'

const PAGE = 25

/** The winner is known some time after the window. */
const AGAIN_MS = 30_000

type Props = {
  coin: string
  filters: QueryValues
  isOn: boolean
  /** Ids of the open markets; undefined until they are known. */
  open: string | undefined
}

export function MarketTable({ coin, filters, isOn, open }: Props) {
  const path = `/v1/${coin}/markets`
  const query = { limit: PAGE, ...filters }
  const url = urlOf(path, query)
  const first = useApi<Listed<Market>>(isOn ? path : undefined, query, { everyMs: AGAIN_MS })
  const [list, setList] = useState<List>({ of: '', data: [], nextCursor: null })
  useLayoutEffect(() => {
    const { data } = first
    if (data && !first.isLoading) setList((before) => renew(before, data, url))
  }, [first.data, first.isLoading])
  // A window has begun, or is over.
  const known = useRef(open)
  useEffect(() => {
    if (known.current !== undefined && known.current !== open) first.reload()
    known.current = open
  }, [open])
  if (first.problem && list.of !== url) {
    return (
      <div class="card-body">
        <ProblemCard problem={first.problem} onRetry={first.reload} />
      </div>
    )
  }
  const cursor = list.nextCursor ?? undefined
  const loadMore = async () => {
    try {
      const page = await request<Listed<Market>>(path, { query: { ...query, cursor } })
      setList(({ data }) => ({ ...page, of: url, data: [...data, ...page.data] }))
    } catch (error) {
      first.reload()
      return toProblem(error)
    }
    return undefined
  }
  const { data: markets } = list
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
        {list.of === url && markets.length === 0 && (
          <p class="card-body note">
            {filters.withBooks === true ? (
              <>
                No market with books matches.{' '}
                <Button
                  text="Show all markets"
                  look="tiny"
                  onClick={() => setQuery({ books: 'no' })}
                />
              </>
            ) : (
              'No market matches.'
            )}
          </p>
        )}
      </div>
      {cursor !== undefined && (
        <div class="card-body">
          <Button text="Show more" onClick={loadMore} />
        </div>
      )}
    </>
  )
}

type List = Listed<Market> & { of: string }

/** The newest markets, followed by those of the list if no market between them is missing. */
function renew(before: List, first: Listed<Market>, of: string): List {
  const ids = new Set(first.data.map(({ conditionId }) => conditionId))
  const last = before.data.findLastIndex(({ conditionId }) => ids.has(conditionId))
  if (before.of !== of || last < 0) return { ...first, of }
  const older = before.data.slice(last + 1)
  return older.length === 0 ? { ...first, of } : { ...before, data: [...first.data, ...older] }
}

function MarketRow({ coin, market }: { coin: string; market: Market }) {
  const { conditionId, windowStart, windowEnd, timeframe, strike, finalPrice, snapshots } = market
  const href = `/markets/${coin}/${conditionId}`
  return (
    <tr class="link-row" onClick={() => navigate(href)}>
      <td class="num">
        <a href={href}>{showWindowTimes(windowStart, windowEnd)}</a>{' '}
        <SimulatedTag source={market.source} />
      </td>
      <td class="wide">{timeframe}</td>
      <td>
        <MarketState market={market} />
      </td>
      <td class="right num wide">{showCoinPrice(strike)}</td>
      <td class="right num wide">{showCoinPrice(finalPrice)}</td>
      <td class="right num">{showCovered(market)}</td>
      <td class="right num wide">{showCount(snapshots)}</td>
    </tr>
  )
}
