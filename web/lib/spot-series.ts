import type { Market, Spot } from './bodies.ts'

/** This many of the newest prices include one of each running series. */
const NEWEST_MAX = 8
/** A series with a smaller share of the prices of the longest one is too sparse. */
const LEAST_PART = 0.1

const nameOf = ({ source, windowSeconds }: Spot): string => `${source} ${windowSeconds}`

/**
 * The prices of the series that a chart shows: the running one with the shortest average, and if two
 * are alike, with more prices. The series of the venue's page has only prices at ends of windows.
 */
export function pickSeries(prices: readonly Spot[], marketSource: Market['source']): Spot[] {
  const isSimulated = marketSource === 'simulated'
  const own = prices.filter(({ source }) => (source === 'simulated') === isSimulated)
  const goOn = new Set(prices.slice(-NEWEST_MAX).map(nameOf))
  const series = [...Map.groupBy(own, nameOf)].map(([name, rows]) => ({
    rows,
    goesOn: goOn.has(name),
    seconds: rows[0]?.windowSeconds ?? 0,
  }))
  const least = LEAST_PART * Math.max(0, ...series.map(({ rows }) => rows.length))
  const [best] = series
    .filter(({ rows, goesOn }) => goesOn && rows.length >= least)
    .toSorted((a, b) => a.seconds - b.seconds || b.rows.length - a.rows.length)
  return best?.rows ?? none
}

/** One empty list, so that nothing is drawn again. */
const none: Spot[] = []
