/** What the board shows while no window is open: the sample market, and the newest windows before. */

import { useEffect } from 'preact/hooks'

import { request, useAsked } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'
import { serverNowMs } from '../../lib/clock.ts'
import { facts } from '../../lib/facts.ts'
import { apiKey } from '../../lib/key.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { useStore } from '../../lib/store.ts'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { WindowList } from './away.tsx'

/** Of a coin: some of these may be to come. */
const MARKETS_MAX = 20

type Props = {
  rights: Rights
  coin: string | undefined
  timeframe: string | undefined
  /** Once the list, or why there is none, is there. */
  onSettled: () => void
}

export function NothingOpen({ rights, coin, timeframe, onSettled }: Props) {
  const coins = Object.keys(facts.coins ?? {}).filter(
    (each) =>
      (coin === undefined || each === coin) && mayRead(rights, { route: 'markets', coin: each }),
  )
  const { data, problem, reload } = useAsked({
    // Names what is read: several lists.
    url: coins.length > 0 ? `${coins.join()} ${timeframe}` : undefined,
    ask: (_, { signal }) => readFinished(coins, timeframe, signal),
    whose: useStore(apiKey.store),
  })
  const isSettled = data !== undefined || problem !== undefined || coins.length === 0
  useEffect(() => {
    if (isSettled) onSettled()
  }, [isSettled])
  const market = facts.sample?.market
  const what = [coin?.toUpperCase(), timeframe, 'window'].filter((each) => each !== undefined)
  return (
    <div class="card-body stack">
      <p class="note">
        No {what.join(' ')} is open now.{' '}
        {market && (
          <>
            Every book of a finished one is in the{' '}
            <a href={`/markets/${market.symbol}/${market.conditionId}`}>sample market</a>.
          </>
        )}
      </p>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {data?.length === 0 && <p class="note">No finished one is recorded either.</p>}
      <div class="away finished">
        <WindowList title="Newest finished windows" markets={data ?? []}>
          {(each) => <MarketState market={each} />}
        </WindowList>
      </div>
    </div>
  )
}

/** Windows with books that are over, the newest first. Throws if one of the lists cannot be read. */
async function readFinished(
  coins: readonly string[],
  timeframe: string | undefined,
  signal: AbortSignal,
): Promise<Market[]> {
  const query = { withBooks: true, limit: MARKETS_MAX, timeframe }
  const pages = await Promise.all(
    coins.map((coin) => request<Listed<Market>>(`/v1/${coin}/markets`, { query, signal })),
  )
  return pages
    .flatMap(({ data }) => data)
    .filter(isFinished)
    .toSorted((a, b) => (b.windowEnd ?? '').localeCompare(a.windowEnd ?? ''))
}

/** The history of a window may be final before its end. */
const isFinished = ({ status, windowEnd }: Market): boolean =>
  (status === 'closed' || status === 'resolved') &&
  windowEnd !== null &&
  Date.parse(windowEnd) <= serverNowMs()
