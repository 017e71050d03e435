import { coinNames, CoinTabs } from '../../parts/links.tsx'
import './explore.css'

import { useApi } from '../../lib/api.ts'
import type { Coin, Listed } from '../../lib/bodies.ts'
import { showCompact, showDate } from '../../lib/format.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { SampleNote } from '../../parts/sample-note.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { MarketFilters, toQuery, useFilters } from './market-filters.tsx'
import { MarketTable } from './market-table.tsx'
import { OpenMarkets, usePricesNow } from './open-markets.tsx'

export function ExplorePage({ params }: { params: Readonly<Record<string, string>> }) {
  const coins = useApi<Listed<Coin>>('/v1/coins')
  const symbol = (params.coin ?? 'btc').toLowerCase()
  const rights = useRights()
  const isOpen = rights === undefined || mayRead(rights, { route: 'markets', coin: symbol })
  const coin = coins.data?.data.find((each) => each.symbol === symbol)
  return (
    <div class="page">
      <div class="row spread">
        <h1>{`${coinNames[symbol] ?? symbol.toUpperCase()} up or down`}</h1>
        <CoinTabs base="/markets" coin={symbol} />
      </div>
      <Intro coin={coin} />
      {isOpen ? (
        <Listing
          key={symbol}
          coin={symbol}
          held={coin}
          isOn={rights !== undefined && (coins.data ?? coins.problem) !== undefined}
        />
      ) : (
        <TierCard what={`${coinNames[symbol] ?? symbol} markets`} />
      )}
    </div>
  )
}

/** `held`: the recorded data of the coin; undefined until it is loaded. */
type ListingProps = { coin: string; held: Coin | undefined; isOn: boolean }

function Listing({ coin, held, isOn }: ListingProps) {
  const hasBoth = held?.sources.length === 2
  const hasBooks = held !== undefined && held.snapshots > 0
  const filters = useFilters(hasBooks)
  const { dayMs } = filters
  const prices = usePricesNow(coin, isOn)
  const open = prices.data?.data.map(({ conditionId }) => conditionId).join()
  return (
    <>
      <OpenMarkets {...{ coin, prices }} />
      <section class="card flush" aria-labelledby="markets-title">
        <div class="row spread card-head">
          <h2 id="markets-title">
            {dayMs === undefined ? 'Markets' : `Markets of ${showDate(dayMs)}`}
          </h2>
          <MarketFilters {...{ filters, hasBooks, hasBoth }} />
        </div>
        <MarketTable {...{ coin, isOn, open }} filters={toQuery(filters)} />
      </section>
    </>
  )
}

/** Counts of books and markets, and what can be read without a key. */
function Intro({ coin }: { coin: Coin | undefined }) {
  const since = coin?.firstSnapshot ?? null
  const isMixed = coin?.sources.length === 2
  const isSimulated = !isMixed && coin?.sources[0] === 'simulated'
  return (
    <div class="held">
      <p>
        {coin ? (
          <>
            <b class="num">{showCompact(coin.snapshots)}</b> order books of{' '}
            <b class="num">{showCompact(coin.markets)}</b>{' '}
            {coin.markets === 1 ? 'market' : 'markets'}
            {since !== null && `, since ${showDate(Date.parse(since))}`}
            {isMixed ? ' (simulated markets included)' : ''}
            {isSimulated ? ' (simulated)' : ''}
          </>
        ) : (
          ' '
        )}
      </p>
      <SampleNote />
    </div>
  )
}
