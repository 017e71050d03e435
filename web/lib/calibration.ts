/**
 * How often an outcome won, by its price some time before the end: counts, shares and intervals,
 * from rows of the panel. A market counts once at each moment.
 */

import type { Outcome, PanelRow } from './bodies.ts'

type State = Pick<NonNullable<PanelRow['up']>, 'ask' | 'askSize' | 'mid'>
/** The members of a panel row that are read. */
export type Observation = Pick<
  PanelRow,
  'conditionId' | 'windowEnd' | 'ts' | 'offsetMs' | 'winner' | 'covered'
> &
  Record<Outcome, State | null>

/** Why a row is not counted: a gap at its moment, no price, or no winner, as of a void market. */
export type LeftOut = { gap: number; noPrice: number; noWinner: number }

export type Interval = { low: number; high: number }

/** The normal quantile of a 95 % interval. */
const Z = 1.959964

/** Wilson's 95 % interval of a share; `count` is above 0. */
export function wilson(wins: number, count: number): Interval {
  const share = wins / count
  const spread = (Z * Z) / count
  const middle = (share + spread / 2) / (1 + spread)
  const half = (Z * Math.sqrt((share * (1 - share)) / count + spread / (4 * count))) / (1 + spread)
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/** The mean, and its 95 % interval by the standard deviation if there are at least two values. */
export function meanOf(values: readonly number[]): { mean: number; interval?: Interval } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  if (values.length < 2) return { mean }
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const half = Z * Math.sqrt(squares / (values.length - 1) / values.length)
  return { mean, interval: { low: mean - half, high: mean + half } }
}

export type Bin = {
  /** Bounds of its prices in cents: the first inclusive, the second exclusive. */
  fromCents: number
  toCents: number
  count: number
  wins: number
  share: number
  interval: Interval
  meanPrice: number
}

/** One moment before the end. */
export type Column = {
  offsetMs: number
  /** By price; undefined where no market had such a price. */
  bins: (Bin | undefined)[]
  count: number
  wins: number
  /** The mean of (price − result)², where the result is 1 or 0; undefined without rows. */
  brier: number | undefined
  leftOut: LeftOut
}

export type Grid = { outcome: Outcome; widthCents: number; columns: Column[] }

/** Widths of bins in cents; each divides a dollar. */
export const widths = [2, 5, 10] as const

const MILLION = 1_000_000
const CENT = 10_000

/** Up, unless Down has more than twice as many rows that can be counted. */
export function betterKnown(rows: readonly Observation[]): Outcome {
  const countOf = (outcome: Outcome) =>
    rows.filter((row) => row.covered[outcome] && row[outcome]?.mid != null && row.winner !== null)
      .length
  return countOf('down') > 2 * countOf('up') ? 'down' : 'up'
}

/** Counts the rows of each moment, in the order in which the moments appear. */
export function calibrate(
  rows: readonly Observation[],
  outcome: Outcome,
  widthCents: number,
): Grid {
  const byOffset = Map.groupBy(rows, ({ offsetMs }) => offsetMs)
  const columns = [...byOffset].map(([offsetMs, each]) =>
    countColumn(each, { offsetMs, outcome, widthCents }),
  )
  return { outcome, widthCents, columns }
}

function countColumn(
  rows: readonly Observation[],
  { offsetMs, outcome, widthCents }: { offsetMs: number; outcome: Outcome; widthCents: number },
): Column {
  const leftOut: LeftOut = { gap: 0, noPrice: 0, noWinner: 0 }
  const tallies = Array.from({ length: 100 / widthCents }, () => ({ count: 0, wins: 0, prices: 0 }))
  let squares = 0
  for (const row of rows) {
    const mid = row[outcome]?.mid ?? null
    const tally = mid === null ? undefined : tallies[binOf(mid, widthCents)]
    if (!row.covered[outcome]) leftOut.gap++
    else if (mid === null || tally === undefined) leftOut.noPrice++
    else if (row.winner === null) leftOut.noWinner++
    else {
      const result = row.winner === outcome ? 1 : 0
      tally.count++
      tally.wins += result
      tally.prices += mid
      squares += (mid - result) ** 2
    }
  }
  const count = tallies.reduce((sum, tally) => sum + tally.count, 0)
  const wins = tallies.reduce((sum, tally) => sum + tally.wins, 0)
  const bins = tallies.map((tally, index) =>
    tally.count === 0
      ? undefined
      : {
          fromCents: index * widthCents,
          toCents: (index + 1) * widthCents,
          count: tally.count,
          wins: tally.wins,
          share: tally.wins / tally.count,
          interval: wilson(tally.wins, tally.count),
          meanPrice: tally.prices / tally.count,
        },
  )
  return { offsetMs, bins, count, wins, brier: count === 0 ? undefined : squares / count, leftOut }
}

/** By whole millionths, so that 0.55 is where bins of 5 cents begin. */
const binOf = (price: number, widthCents: number): number =>
  Math.floor(Math.round(price * MILLION) / (widthCents * CENT))

/** With fewer markets an interval is too wide to judge a price. */
export const COUNT_MIN = 10

/** Compares how often an outcome won with its price, by the interval of its share. */
export function verdictOf({
  count,
  meanPrice,
  interval,
}: Pick<Bin, 'count' | 'meanPrice' | 'interval'>): 'more' | 'less' | 'fits' {
  if (count >= COUNT_MIN && interval.low > meanPrice) return 'more'
  return count >= COUNT_MIN && interval.high < meanPrice ? 'less' : 'fits'
}
