/** The share of windows that Up won, by the distance of the coin's price from the strike. */
import type { Coin, Source, Timeframe } from './market.ts'

export type CalibrationMoment = {
  beforeEndMs: number
  /** Standard deviation of the price over that time, as a share of the price. */
  deviation: number
  /** Number of windows at each distance, and of those that Up won. */
  windows: number[]
  ups: number[]
}

export type CalibrationTable = {
  symbol: Coin
  timeframe: Timeframe
  source: Source
  madeAt: string
  from: string
  to: string
  markets: number
  /** In standard deviations, ascending. */
  edges: number[]
  /** The earliest first. */
  moments: CalibrationMoment[]
}
