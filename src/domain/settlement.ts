/** Settlement prices of windows that settle on an average of the coin's prices. */

import type { Outcome, SettlementRule, Source } from './market.ts'

/** Length in seconds of the average at the end of a window; absent for other rules. */
export const averageSeconds: Readonly<Partial<Record<SettlementRule, number>>> = {
  twap60: 60,
  twap30: 30,
}

/**
 * Publishers of these averages, in order of precedence: Chainlink's feed, or the venue's page that
 * prints them. The published average decides; an average of one price a second is only close to it.
 */
export const averageSources: Readonly<Record<Source, readonly string[]>> = {
  recorded: ['chainlink', 'price_page'],
  simulated: ['simulated'],
}

/** Publishers of the spot prices from which the averages are computed. */
export const momentSource: Readonly<Record<Source, string>> = {
  recorded: 'chainlink',
  simulated: 'simulated',
}

/** The series of a coin's prices whose values at both ends of a window decide it. */
export type SettlementSeries = {
  /** In order of precedence. */
  readonly publishers: readonly string[]
  readonly windowSeconds: number
}

/** Undefined for a rule whose prices are not recorded, which are Binance's candles. */
export function settlementSeriesOf(
  rule: SettlementRule,
  source: Source,
): SettlementSeries | undefined {
  if (rule === 'spot') return { publishers: [momentSource[source]], windowSeconds: 0 }
  const windowSeconds = averageSeconds[rule]
  return windowSeconds === undefined
    ? undefined
    : { publishers: averageSources[source], windowSeconds }
}

/** Up wins at the strike or above it. Prices are compared exactly, whatever their digits. */
export function winnerAt(strike: string, finalPrice: string): Outcome {
  const decimals = Math.max(decimalsOf(strike), decimalsOf(finalPrice))
  return unitsOf(finalPrice, decimals) >= unitsOf(strike, decimals) ? 'up' : 'down'
}

const decimalsOf = (price: string): number => price.split('.')[1]?.length ?? 0

/** A price in units of its last of so many decimals. */
function unitsOf(price: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = price.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** The longest averaging time of all rules. */
export const SETTLEMENT_MS_MAX = 60_000

/** The time for which a price holds if no other follows: feeds publish one a second. */
export const PRICE_HOLD_MS = 5_000
/** The share of the time for which prices must be known. */
const KNOWN_SHARE_MIN = 0.9
const DECIMALS_MAX = 8

type Ticks = readonly { timestampMs: number; price: string }[]
type Span = { fromMs: number; toMs: number }

/**
 * Integral of price over time, in units of the last digit times milliseconds; undefined if prices
 * are missing.
 */
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

/** Decimals of the prices, limited so that sums of them are exact. */
const digitsOf = (prices: readonly string[]): number =>
  Math.min(DECIMALS_MAX, Math.max(0, ...prices.map(decimalsOf)))

/**
 * The time-weighted average of spot prices, each of which holds until the next: `fromMs` inclusive,
 * `toMs` exclusive, so the price at the end has no weight. Rounded half up to the decimals of the
 * prices. `ticks` ascend by time, have one source, and begin with the price that holds at `fromMs`.
 * Undefined if prices are missing.
 */
export function averageOf(ticks: Ticks, span: Span): string | undefined {
  const decimals = digitsOf(ticks.map(({ price }) => price))
  const found = sumOf(ticks, span, decimals)
  if (found === undefined) return undefined
  const { sum, knownMs, unitsPerDollar } = found
  return (Math.round(sum / knownMs) / unitsPerDollar).toFixed(decimals)
}

/** Tolerance of a division: an exact quotient may come out slightly too large. */
const UNITS_SLACK = 1e-6

/**
 * The average that the prices from `toMs` to `endMs` need for the average of the whole time, from
 * `fromMs`, to reach the strike; rounded up to the decimals of the prices. Undefined if prices are
 * missing so far, and at the end.
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
