/** How often Up won, by the distance of the price of the coin from the strike. */
import type { Coin, Source, Timeframe } from './market.ts'

export type CalibrationMoment = {
  beforeEndMs: number
  /** Standard deviation of the price over that time, as a share of it. */
  deviation: number
  /** Windows at each distance, and those of them that Up won. */
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
