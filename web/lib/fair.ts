/** The share of past windows in the same position that Up won, and the edge against the price. */

import type { CalibrationTable, Outcome } from './bodies.ts'
import { verdictOf, wilson } from './calibration.ts'

type Place = { price: number; strike: number; leftMs: number }
export type Fair = {
  /** Distance from the strike, in standard deviations of the time that is left. */
  distance: number
  /**
   * Windows that were at this distance with about this time left, and those of them that Up won.
   */
  count: number
  wins: number
  share: number
}

/** Reads the moment nearest to the time that is left; undefined if no past window was there. */
export function fairOf(
  { edges, moments }: Pick<CalibrationTable, 'edges' | 'moments'>,
  { price, strike, leftMs }: Place,
): Fair | undefined {
  const apart = ({ beforeEndMs }: { beforeEndMs: number }) => Math.abs(beforeEndMs - leftMs)
  const [nearest] = moments.toSorted((a, b) => apart(a) - apart(b))
  if (nearest === undefined || leftMs <= 0) return undefined
  const { beforeEndMs, deviation, windows, ups } = nearest
  const distance = Math.log(price / strike) / (deviation * Math.sqrt(leftMs / beforeEndMs))
  const index = edges.findLastIndex((edge) => distance >= edge) + 1
  const count = windows[index] ?? 0
  const wins = ups[index] ?? 0
  return count === 0 ? undefined : { distance, count, wins, share: wins / count }
}

export type Edge = {
  /** The outcome whose price is below its share. */
  side: Outcome
  size: number
  /** True if the price is outside of the interval of the share: the edge is significant. */
  isMeant: boolean
}

export function edgeOf({ count, wins, share }: Fair, mid: number): Edge {
  const interval = wilson(wins, count)
  const isMeant = verdictOf({ count, meanPrice: mid, interval }) !== 'fits'
  return { side: share < mid ? 'down' : 'up', size: Math.abs(share - mid), isMeant }
}

/** The standard deviation of the price over a whole window, as a share of it. */
export const deviationOf = ({ moments }: Pick<CalibrationTable, 'moments'>): number | undefined =>
  moments[0]?.deviation
