/** The page of the venue's site with the prices at the start and the end of a window. */

import { isCoin, type Timeframe, timeframeMs } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { isRecord } from '#src/platform/record.ts'

import type { MarketWindow } from '../catalogue.ts'
import type { PricePage } from '../feed.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'

/** The page's names for window lengths. */
const variants: Readonly<Record<Timeframe, string>> = {
  '5m': 'fiveminute',
  '15m': 'fifteen',
  '1h': 'hourly',
  '4h': 'fourhour',
  '1d': 'daily',
}
/** The shortest windows have the most prices. */
const TIMEFRAME = '5m'
const PERIOD_MS = timeframeMs[TIMEFRAME]

/** `windowSeconds` selects averages (TWAP) of this many seconds; 0 selects spot prices. */
export function pricePath(
  { coin, timeframe, startMs, endMs }: MarketWindow,
  windowSeconds: number,
): string {
  const query = new URLSearchParams({
    symbol: coin.toUpperCase(),
    eventStartTime: new Date(startMs).toISOString(),
    variant: variants[timeframe],
    endDate: new Date(endMs).toISOString(),
  })
  if (windowSeconds > 0) {
    query.set('twapEnabled', 'true')
    query.set('twapLookbackSeconds', String(windowSeconds))
  }
  return `/api/crypto/crypto-price?${query}`
}

export const pricePage: PricePage = {
  url: 'https://polymarket.com',
  windowsSeconds: [0, 60],
  periodMs: PERIOD_MS,

  path: ({ coin, startMs, windowSeconds }) =>
    pricePath({ coin, timeframe: TIMEFRAME, startMs, endMs: startMs + PERIOD_MS }, windowSeconds),

  decode(text, receivedMs) {
    const { asked, answer } = toRecord(parseJson(text))
    const { coin, startMs, windowSeconds } = toRecord(asked)
    const { openPrice, closePrice, completed, timestamp, incomplete } = toRecord(answer)
    const isKnown = [startMs, windowSeconds].every(Number.isSafeInteger) && isRecord(answer)
    if (!isKnown || typeof coin !== 'string' || !isCoin(coin)) return undefined
    // Until the window ends, the last price has the time of the response.
    const closeMs = completed === true ? Number(startMs) + PERIOD_MS : Number(timestamp)
    const prices = [
      { timestampMs: Number(startMs), value: incomplete === true ? null : openPrice },
      { timestampMs: closeMs, value: closePrice },
    ]
    return prices.flatMap(({ timestampMs, value }): SpotTick[] => {
      const price = exactDecimal(value, 0)
      if (price === undefined || !Number.isSafeInteger(timestampMs)) return []
      const series = { coin, source: 'price_page', windowSeconds: Number(windowSeconds) }
      return [{ ...series, timestampMs, receivedMs, price }]
    })
  },
}

const toRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})
