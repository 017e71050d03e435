import './explore.css'

import { useApi } from '../../lib/api.ts'
import type { Coin, Listed } from '../../lib/bodies.ts'
import { showCompact, showDay } from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { useStore } from '../../lib/store.ts'
import { TierCard } from '../../parts/tier-card.tsx'
import { MarketTable } from './market-table.tsx'
import { OpenMarkets } from './open-markets.tsx'

/** At once, so that nothing moves when the list of coins is there. */
const names: Record<string, string> = {
  btc: 'Bitcoin',
  eth: 'Ethereum',
  sol: 'Solana',
  xrp: 'XRP',
}
const timeframes = ['5m', '15m', '1h', '4h', '1d']

export function ExplorePage({ params }: { params: Readonly<Record<string, string>> }) {
  const coins = useApi<Listed<Coin>>('/v1/coins').data?.data
  const symbol = (params.coin ?? 'btc').toLowerCase()
  const rights = useRights()
  const isOpen = rights === undefined || mayRead(rights, { route: 'markets', coin: symbol })
  const coin = coins?.find((each) => each.symbol === symbol)
  return (
    <div class="page">
      <div class="row spread">
        <h1>{`${names[symbol] ?? symbol.toUpperCase()} up or down`}</h1>
        <nav class="tabs" aria-label="Coin">
          {Object.keys(names).map((each) => (
            <a
              key={each}
              href={`/markets/${each}`}
              {...(each === symbol ? { 'aria-current': 'page' } : {})}
            >
              {each.toUpperCase()}
            </a>
          ))}
        </nav>
      </div>
      <Intro coin={coin} />
      {isOpen ? (
        <Listing coin={symbol} isOn={rights !== undefined} />
      ) : (
        <TierCard what={`${names[symbol] ?? symbol} markets`} />
      )}
    </div>
  )
}

function Listing({ coin, isOn }: { coin: string; isOn: boolean }) {
  const timeframe = useLocation().query.get('timeframe') ?? undefined
  return (
    <>
      <OpenMarkets {...{ coin, isOn }} />
      <section class="card flush" aria-labelledby="markets-title">
        <div class="row spread card-head">
          <h2 id="markets-title">Markets</h2>
          <div class="tabs" role="group" aria-label="Length of the window">
            {[undefined, ...timeframes].map((each) => (
              <button
                key={each}
                type="button"
                aria-pressed={each === timeframe}
                onClick={() => setQuery({ timeframe: each })}
              >
                {each ?? 'All'}
              </button>
            ))}
          </div>
        </div>
        <MarketTable {...{ coin, timeframe, isOn }} />
      </section>
    </>
  )
}

/** What is held, and what may be seen of it. */
function Intro({ coin }: { coin: Coin | undefined }) {
  const sample = useRights()?.sample
  const hasKey = useStore(apiKey.store) !== undefined
  const since = coin?.firstSnapshot ?? null
  const isSimulated = coin?.sources.length === 1 && coin.sources[0] === 'simulated'
  return (
    <div class="intro">
      <p>
        {coin ? (
          <>
            <b class="num">{showCompact(coin.snapshots)}</b> order books of{' '}
            <b class="num">{showCompact(coin.markets)}</b> markets
            {since !== null && `, since ${showDay(Date.parse(since))}`}
            {isSimulated && ' (simulated: nobody traded them)'}
          </>
        ) : (
          ' '
        )}
      </p>
      {!hasKey && sample?.market !== null && (
        // It has its room before it is known what it says.
        <p class={sample ? 'note' : 'note unknown'}>
          Without a key you see a sample: {sample?.coins.join(', ').toUpperCase() ?? 'BTC'} lists
          and prices, and{' '}
          <a href={`/markets/${sample?.market?.symbol}/${sample?.market?.conditionId}`}>
            one whole market
          </a>{' '}
          with every book.
        </p>
      )}
    </div>
  )
}
