/** Finds the largest change of an outcome's mid within some seconds. */

import type { Outcome, Quote } from '../lib/bodies.ts'
import { type Gap, toLines } from './line-data.ts'

export type Move = { fromMs: number; toMs: number; from: number; to: number }

/**
 * The two moments, at most `withinMs` apart, between whose mids the difference is largest; the
 * first ones of several. Each mid holds from its time (unix seconds) until the next; of a null
 * nothing is known, so no move goes over it. Undefined where the mid never changed.
 */
export function findLargestMove(
  times: readonly number[],
  mids: readonly (number | null)[],
  withinMs: number,
): Move | undefined {
  const changes = times
    .map((seconds, index) => ({ ms: seconds * 1000, mid: mids[index] ?? null }))
    .filter(({ mid }, index, all) => mid !== all[index - 1]?.mid)
  let largest: Move | undefined
  let largestSize = 0
  for (const [index, { ms: toMs, mid: to }] of changes.entries()) {
    if (to === null) continue
    for (let before = index - 1; before >= 0; before--) {
      const { ms = 0, mid: from = null } = changes[before] ?? {}
      if (from === null) break
      const size = Math.abs(to - from)
      if (size > largestSize + NOISE) {
        largestSize = size
        largest = { fromMs: Math.max(ms, toMs - withinMs), toMs, from, to }
      }
      // This mid held when the time began.
      if (ms <= toMs - withinMs) break
    }
  }
  return largest
}

/**
 * The largest move within one that was found in steps, from the quotes of its time. The mid that it
 * began with holds until the first of them. Undefined where these do not change it.
 */
export function findFinerMove(
  { fromMs, from }: Move,
  { outcome, quotes, gaps }: { outcome: Outcome; quotes: readonly Quote[]; gaps: readonly Gap[] },
  withinMs: number,
): Move | undefined {
  const timestamp = new Date(fromMs).toISOString()
  const first: Quote = { outcome, timestamp, bid: null, ask: null, mid: from }
  const [times, ups, downs] = toLines([first, ...quotes], gaps, ({ mid }) => mid)
  return findLargestMove(times, (outcome === 'up' ? ups : downs) ?? [], withinMs)
}

/** Tolerance of a difference of prices, which are millionths. */
const NOISE = 1e-9
