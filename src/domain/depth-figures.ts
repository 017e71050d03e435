/**
 * The total size and value of one side of a book, exact, in plain numbers for speed: a panel
 * computes it for thousands of books.
 */
import { formatMillionths, MILLIONTHS_PER_UNIT } from './decimal.ts'
import { formatExact } from './fill.ts'

/** A `Ladder`, or typed columns with the same content. */
export type Levels = {
  prices: readonly number[] | Int32Array
  sizes: readonly number[] | Float64Array
}

export type DepthFigures = {
  levels: number
  /** Shares on all levels. */
  size: string
  /** Price times size of all levels, rounded to six decimals, half up. */
  usdc: string
}

/** Below this, 10^6 times the whole shares, and their cost in millionths, are safe integers. */
const WHOLE_SHARES_MAX = 9_000_000_000

/** Sums one side. Prices are below 1, and a side has at most 2,000 levels (`LEVELS_MAX`). */
export function depthFigures({ prices, sizes }: Levels): DepthFigures {
  let shares = 0
  let rest = 0
  let cost = 0
  let costRest = 0
  for (let index = 0; index < prices.length; index++) {
    const size = sizes[index] ?? 0
    const price = prices[index] ?? 0
    const part = size % MILLIONTHS_PER_UNIT
    const whole = (size - part) / MILLIONTHS_PER_UNIT
    shares += whole
    rest += part
    cost += whole * price
    costRest += part * price
  }
  if (shares >= WHOLE_SHARES_MAX) return hugeFigures({ prices, sizes })
  const carried = costRest % MILLIONTHS_PER_UNIT
  const rounded =
    (costRest - carried) / MILLIONTHS_PER_UNIT + (2 * carried >= MILLIONTHS_PER_UNIT ? 1 : 0)
  return {
    levels: prices.length,
    size: formatMillionths(shares * MILLIONTHS_PER_UNIT + rest),
    usdc: formatMillionths(cost + rounded),
  }
}

function hugeFigures({ prices, sizes }: Levels): DepthFigures {
  let size = 0n
  let cost = 0n
  for (const [index, price] of prices.entries()) {
    size += BigInt(sizes[index] ?? 0)
    cost += BigInt(sizes[index] ?? 0) * BigInt(price)
  }
  return {
    levels: prices.length,
    size: formatExact({ value: size, decimals: 6 }, 6),
    usdc: formatExact({ value: cost, decimals: 12 }, 6),
  }
}
