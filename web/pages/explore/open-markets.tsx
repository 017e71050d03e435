/** The open markets of a coin with their prices, asked again every few seconds. */

import { type Loaded, useApi } from '../../lib/api.ts'
import type { PricesNow } from '../../lib/bodies.ts'
import { serverNowMs, useNow } from '../../lib/clock.ts'
import { showCoinPrice, showLength, showPrice, showWindow } from '../../lib/format.ts'
import { usePoll } from '../../lib/poll.ts'
import { SimulatedTag } from '../../parts/simulated.tsx'

/** Open markets rarely pause for so long. */
const SILENT_MS = 30_000

type OpenMarket = PricesNow['data'][number]

/** Requests the prices every few seconds; `isOn` once it is known that they may be read. */
export function usePricesNow(coin: string, isOn: boolean): Loaded<PricesNow> {
  const loaded = useApi<PricesNow>(isOn ? `/v1/${coin}/prices` : undefined)
  const { status = 0 } = loaded.problem ?? {}
  // A server that was busy once is asked again.
  usePoll(loaded.reload, isOn && status !== 401 && status !== 403)
  return loaded
}

type ListProps = { coin: string; prices: Loaded<PricesNow> }

export function OpenMarkets({ coin, prices: { data, problem } }: ListProps) {
  if (problem && data === undefined) return null
  return (
    <section aria-label="Open now" class="open-markets">
      {data === undefined && <div class="card open-market" aria-busy="true" />}
      {data?.data.map((market) => (
        <OpenCard key={market.conditionId} {...{ coin, market, spot: data.spot }} />
      ))}
      {data?.data.length === 0 && (
        <p class="card open-market note">No market of this coin is open now.</p>
      )}
    </section>
  )
}

type Props = { coin: string; market: OpenMarket; spot: PricesNow['spot'] }

function OpenCard({ coin, market, spot }: Props) {
  const now = useNow()
  const { conditionId, timeframe, windowStart, windowEnd, up, down } = market
  const leftMs = windowEnd === null ? undefined : Date.parse(windowEnd) - now
  const isBefore = windowStart !== null && Date.parse(windowStart) > now
  const newestMs = Math.max(...[up, down].map((side) => Date.parse(side?.timestamp ?? '') || 0))
  const silentMs = serverNowMs() - newestMs
  const isSilent = newestMs > 0 && !isBefore && silentMs >= SILENT_MS
  const share = up?.mid ?? (down?.mid == null ? undefined : 1 - down.mid)
  return (
    <a
      class={isSilent ? 'card open-market is-silent' : 'card open-market'}
      href={`/markets/${coin}/${conditionId}`}
    >
      <span class="row spread">
        <strong>{timeframe}</strong>
        <SimulatedTag source={market.source} />
        <span class={`tag num${isSilent ? '' : ' live'}`}>
          {isBefore || leftMs === undefined ? 'open' : `${showLength(leftMs)} left`}
        </span>
      </span>
      <span class="note num">{showWindow(windowStart, windowEnd)}</span>
      <span class="row spread open-prices num">
        <span class="up">▲ {showPrice(up?.mid)}</span>
        <span class="down">{showPrice(down?.mid)} ▼</span>
      </span>
      <svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="split-down" width="100" height="4" />
        {share !== undefined && <rect class="split-up" width={share * 100} height="4" />}
      </svg>
      <span class="note num">
        {isSilent ? `No new book for ${showLength(silentMs)}` : spotText(coin, spot)}
      </span>
    </a>
  )
}

const spotText = (coin: string, spot: PricesNow['spot']): string =>
  spot ? `${coin.toUpperCase()} ${showCoinPrice(spot.price)}` : 'No spot price recorded'
