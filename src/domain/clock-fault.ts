/** Processes whose clocks differ by more do not agree on what is open, over or missing. */
const APART_MS_MAX = 2000

/** Why a clock that is ahead of the database's by so much cannot be used; undefined if it can. */
export function clockFault(aheadMs: number): string | undefined {
  if (Math.abs(aheadMs) <= APART_MS_MAX) return undefined
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  const where = aheadMs > 0 ? 'ahead of' : 'behind'
  return `The clock of this machine is ${seconds} s ${where} the clock of the database.`
}

/** The distance of a value from a range, 0 within it: how far a clock is ahead of one known by bounds. */
export const distanceFrom = (valueMs: number, leastMs: number, mostMs: number): number =>
  valueMs < leastMs ? valueMs - leastMs : Math.max(0, valueMs - mostMs)
