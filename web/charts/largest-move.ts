/** Where the mid of an outcome changed most within some seconds. */

export type Move = { fromMs: number; toMs: number; from: number; to: number }

/**
 * The two moments, at most `withinMs` apart, between whose mids the difference is largest; the first
 * ones of several. Each mid holds from its time (unix seconds) until the next; of a null nothing is
 * known, so no move goes over it. Undefined where the mid never changed.
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
      // It held when the time began.
      if (ms <= toMs - withinMs) break
    }
  }
  return largest
}

/** Of differences of prices, which are millionths. */
const NOISE = 1e-9
