/** The average that a window settles on, at each price of its coin, as the board has it. */

import {
  averageOf,
  averageSeconds,
  averageSources,
  momentSource,
  PRICE_HOLD_MS,
} from '#src/domain/settlement.ts'

import type { Market, Spot } from './bodies.ts'

/** More points are invisible, and each takes the prices of a minute. */
const POINTS_MAX = 1_000

type Window = Pick<Market, 'settlementRule' | 'windowEnd' | 'source'>

/** Start of the averaged time; undefined for a window that does not settle on an average. */
export function settlesFrom({
  settlementRule,
  windowEnd,
}: Omit<Window, 'source'>): number | undefined {
  const seconds = settlementRule === null ? undefined : averageSeconds[settlementRule]
  if (seconds === undefined || windowEnd === null) return undefined
  return Date.parse(windowEnd) - seconds * 1000
}

/**
 * The average as of each spot price: the one that the source of the settlement publishes, else the
 * average of its spot prices. Within the averaged time this is over the part so far, before it over
 * as long a time up to the price. `ticks` are spot prices, `published` averages of that source.
 */
export function averagesOf(
  window: Window,
  ticks: readonly Spot[],
  published: readonly Spot[],
): (number | null)[] | undefined {
  const settlesFromMs = settlesFrom(window)
  if (settlesFromMs === undefined || window.windowEnd === null) return undefined
  const lengthMs = Date.parse(window.windowEnd) - settlesFromMs
  const points = ticks.map(({ timestamp, price }) => ({
    timestampMs: Date.parse(timestamp),
    price: String(price),
  }))
  const stride = Math.ceil(points.length / POINTS_MAX)
  const publishedAt = newestBefore(
    published.filter(
      (each) =>
        each.windowSeconds * 1000 === lengthMs &&
        averageSources[window.source].includes(each.source),
    ),
  )
  const isOfSettlement = ticks[0]?.source === momentSource[window.source]
  let first = 0
  let average: number | null = null
  return points.map(({ timestampMs: toMs }, index) => {
    const isSettlement = toMs > settlesFromMs
    if (!isSettlement && index % stride > 0) return average
    const fromMs = isSettlement ? settlesFromMs : toMs - lengthMs
    while ((points[first]?.timestampMs ?? toMs) < fromMs - PRICE_HOLD_MS) first++
    const text = isOfSettlement
      ? averageOf(points.slice(first, index + 1), { fromMs, toMs })
      : undefined
    average = publishedAt(toMs) ?? (text === undefined ? null : Number(text))
    return average
  })
}

/** Finds the newest price that holds at a moment, for moments that ascend. */
function newestBefore(ticks: readonly Spot[]): (ms: number) => number | null {
  let next = 0
  return (ms) => {
    while (Date.parse(ticks[next]?.timestamp ?? '') <= ms) next++
    const tick = ticks[next - 1]
    return tick && ms - Date.parse(tick.timestamp) <= PRICE_HOLD_MS ? tick.price : null
  }
}
