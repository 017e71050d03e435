/** What a window settles on, where that is an average of its coin's prices. */

import type { SettlementRule, Source } from './market.ts'

/** The seconds before the end of a window that its average is of; absent for other rules. */
export const averageSeconds: Readonly<Partial<Record<SettlementRule, number>>> = {
  twap60: 60,
  twap30: 30,
}

/**
 * Who publishes these averages, the first before the others: Chainlink's feed, or the venue's page,
 * which prints them. The published average decides; one of prices of a second is only near it.
 */
export const averageSources: Readonly<Record<Source, readonly string[]>> = {
  recorded: ['chainlink', 'price_page'],
  simulated: ['simulated'],
}

/** Who publishes the prices of the moment that these are averages of. */
export const momentSource: Readonly<Record<Source, string>> = {
  recorded: 'chainlink',
  simulated: 'simulated',
}

/** The longest time that a window settles on. */
export const SETTLEMENT_MS_MAX = 60_000

/** How long a price holds when no other comes: feeds have one a second. */
export const PRICE_HOLD_MS = 5_000
/** The share of the time for which prices must be known. */
const KNOWN_SHARE_MIN = 0.9
const DECIMALS_MAX = 8

type Ticks = readonly { timestampMs: number; price: string }[]
type Span = { fromMs: number; toMs: number }

const decimalsOf = (price: string): number => price.split('.')[1]?.length ?? 0

/** Price times time, in units of the last digit and milliseconds; undefined where prices are missing. */
function sumOf(ticks: Ticks, { fromMs, toMs }: Span, decimals: number) {
  const unitsPerDollar = 10 ** decimals
  let sum = 0
  let knownMs = 0
  for (const [index, { timestampMs, price }] of ticks.entries()) {
    const nextMs = ticks[index + 1]?.timestampMs ?? toMs
    const heldMs =
      Math.min(nextMs, timestampMs + PRICE_HOLD_MS, toMs) - Math.max(timestampMs, fromMs)
    if (heldMs <= 0) continue
    sum += Math.round(Number(price) * unitsPerDollar) * heldMs
    knownMs += heldMs
  }
  if (knownMs === 0 || knownMs < KNOWN_SHARE_MIN * (toMs - fromMs)) return undefined
  return { sum, knownMs, unitsPerDollar }
}

/** Digits behind the point of prices, as far as sums of them are exact. */
const digitsOf = (prices: readonly string[]): number =>
  Math.min(DECIMALS_MAX, Math.max(0, ...prices.map(decimalsOf)))

/**
 * The average of prices of the moment, each of which holds until the next: `fromMs` inclusive,
 * `toMs` exclusive, so the price at the end has no weight. It is rounded half up to the digits of
 * the prices. `ticks` ascend by time, are of one
 * source, and begin with the price that holds at `fromMs`. Undefined where prices are missing.
 */
export function averageOf(ticks: Ticks, span: Span): string | undefined {
  const decimals = digitsOf(ticks.map(({ price }) => price))
  const found = sumOf(ticks, span, decimals)
  if (found === undefined) return undefined
  const { sum, knownMs, unitsPerDollar } = found
  return (Math.round(sum / knownMs) / unitsPerDollar).toFixed(decimals)
}

/** Of a division: a whole number of units may come out a little above itself. */
const UNITS_SLACK = 1e-6

/**
 * The average that prices from `toMs` to `endMs` must have for that of the whole time, from `fromMs`
 * on, to reach the strike: rounded up to the digits of the prices. Undefined where prices are missing
 * so far, and at the end.
 */
export function neededAverage(
  ticks: Ticks,
  { fromMs, toMs, endMs, strike }: Span & { endMs: number; strike: string },
): string | undefined {
  const decimals = digitsOf([strike, ...ticks.map(({ price }) => price)])
  const found = sumOf(ticks, { fromMs, toMs }, decimals)
  if (found === undefined || toMs >= endMs) return undefined
  const { sum, knownMs, unitsPerDollar } = found
  const soFar = (sum / knownMs) * (toMs - fromMs)
  const whole = Math.round(Number(strike) * unitsPerDollar) * (endMs - fromMs)
  const units = Math.ceil((whole - soFar) / (endMs - toMs) - UNITS_SLACK)
  return (units / unitsPerDollar).toFixed(decimals)
}
