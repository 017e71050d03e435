/** The average that a window settles on, at each price of its coin, as the board has it. */

import {
  averageOf,
  averageSeconds,
  averageSources,
  momentSource,
  PRICE_HOLD_MS,
} from '#src/domain/settlement.ts'

import type { Market, Spot } from './bodies.ts'

/** More points are not seen, and each is made of the prices of a minute. */
const POINTS_MAX = 1_000

type Window = Pick<Market, 'settlementRule' | 'windowEnd' | 'source'>

/** When the time begins that the average is of; undefined for a window that settles otherwise. */
export function settlesFrom({
  settlementRule,
  windowEnd,
}: Omit<Window, 'source'>): number | undefined {
  const seconds = settlementRule === null ? undefined : averageSeconds[settlementRule]
  if (seconds === undefined || windowEnd === null) return undefined
  return Date.parse(windowEnd) - seconds * 1000
}

/**
 * The average as of each price of the moment: what the source of the settlement publishes, or
 * without that the average of its prices, from the start of that time on of those since, before of
 * those of as long a time up to the price. `ticks` are prices of the moment, `published` averages of
 * that source.
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
