import type { Coin, Timeframe } from './market.ts'

/** The last heartbeat of a recorder. */
export type RecorderSign = {
  /** Id of the run of its process. */
  id: string
  /** Name of its machine. */
  name: string
  /** Records every combination of these coins and timeframes. */
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  /** Unix milliseconds by its own clock. */
  startedMs: number
  signMs: number
}
