import { formatMillionths, type Millionths, MILLIONTHS_PER_UNIT } from './decimal.ts'

/** Best levels in millionths; price and size are both 0 for an empty side. */
export type BestLevels = {
  bidPrice: Millionths
  bidSize: Millionths
  askPrice: Millionths
  askSize: Millionths
}

/** True if no best level has changed. */
export const isSameTop = (before: BestLevels, after: BestLevels): boolean =>
  before.bidPrice === after.bidPrice &&
  before.bidSize === after.bidSize &&
  before.askPrice === after.askPrice &&
  before.askSize === after.askSize

/** The mid of two prices: up to seven decimals. */
export function formatMid(bidPrice: Millionths, askPrice: Millionths): string {
  const sum = bidPrice + askPrice
  if (sum % 2 === 0) return formatMillionths(sum / 2)
  const below = (sum - 1) / 2
  const fraction = below % MILLIONTHS_PER_UNIT
  return `${(below - fraction) / MILLIONTHS_PER_UNIT}.${String(fraction).padStart(6, '0')}5`
}

/** If the quotient is closer than this to a half, integers decide; far more than its error. */
const DOUBT = 1e-4

/** (bidSize - askSize) / (bidSize + askSize) in millionths, rounded half away from zero. */
export function imbalanceOf(bidSize: Millionths, askSize: Millionths): Millionths {
  const difference = bidSize - askSize
  const scaled = (Math.abs(difference) / (bidSize + askSize)) * MILLIONTHS_PER_UNIT
  const whole = Math.floor(scaled)
  const rest = scaled - whole
  const isDoubtful = Math.abs(rest - 0.5) < DOUBT
  const rounded = isDoubtful ? roundExactly(bidSize, askSize) : whole + (rest > 0.5 ? 1 : 0)
  // Avoids -0, which prints as 0 but is not equal under Object.is.
  return difference < 0 && rounded > 0 ? -rounded : rounded
}

function roundExactly(bidSize: Millionths, askSize: Millionths): number {
  const bid = BigInt(bidSize)
  const ask = BigInt(askSize)
  const difference = bid < ask ? ask - bid : bid - ask
  const sum = bid + ask
  return Number((2n * difference * BigInt(MILLIONTHS_PER_UNIT) + sum) / (2n * sum))
}
