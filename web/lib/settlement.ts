/** The average that a window settles on, at each price of its coin, as the board has it. */

import { averageOf, averageSeconds, PRICE_HOLD_MS } from '#src/domain/settlement.ts'

import type { Market, Spot } from './bodies.ts'

/** More points are not seen, and each is made of the prices of a minute. */
const POINTS_MAX = 1_000

type Window = Pick<Market, 'settlementRule' | 'windowEnd'>

/** When the time begins that the average is of; undefined for a window that settles otherwise. */
export function settlesFrom({ settlementRule, windowEnd }: Window): number | undefined {
  const seconds = settlementRule === null ? undefined : averageSeconds[settlementRule]
  if (seconds === undefined || windowEnd === null) return undefined
  return Date.parse(windowEnd) - seconds * 1000
}

/**
 * The average as of each price of the moment: from the start of that time on, of the prices since;
 * before, what the feed publishes, or without that the average of as long a time up to the price.
 * `ticks` are prices of the moment, `published` averages of the same source.
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
    published.filter((each) => each.windowSeconds * 1000 === lengthMs),
  )
  let first = 0
  let average: number | null = null
  return points.map(({ timestampMs: toMs }, index) => {
    const isSettlement = toMs > settlesFromMs
    if (!isSettlement && index % stride > 0) return average
    const fromMs = isSettlement ? settlesFromMs : toMs - lengthMs
    while ((points[first]?.timestampMs ?? toMs) < fromMs - PRICE_HOLD_MS) first++
    const text = averageOf(points.slice(first, index + 1), { fromMs, toMs })
    const computed = text === undefined ? null : Number(text)
    const told = publishedAt(toMs)
    average = isSettlement ? (computed ?? told) : (told ?? computed)
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
