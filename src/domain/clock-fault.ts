/** Clocks that differ by no more agree on which windows are open, over or missing. */
const APART_MS_MAX = 2000

/**
 * The reason why a clock this far ahead of the database's, or of the median of it and other
 * processes, cannot be used; undefined if it can.
 */
export function clockFault(aheadMs: number, others = 0): string | undefined {
  if (Math.abs(aheadMs) <= APART_MS_MAX) return undefined
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  const where = aheadMs > 0 ? 'ahead of' : 'behind'
  const whose =
    others === 0
      ? 'the clock of the database'
      : 'the clocks of the database and of the other processes'
  return `The clock of this machine is ${seconds} s ${where} ${whose}.`
}

/**
 * The median of how far clocks are ahead of the database's, with its own, which is 0. Of two in the
 * middle, the one nearer to the database counts: a process alone with it cannot outvote it.
 */
export function referenceOf(aheadMs: readonly number[]): number {
  const sorted = [0, ...aheadMs].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? 0
  if (!Number.isInteger(middle)) return upper
  const lower = sorted[middle - 1] ?? 0
  return Math.abs(lower) < Math.abs(upper) ? lower : upper
}

/** The distance of a value from a range, 0 inside it. */
export const distanceFrom = (valueMs: number, leastMs: number, mostMs: number): number =>
  valueMs < leastMs ? valueMs - leastMs : Math.max(0, valueMs - mostMs)
