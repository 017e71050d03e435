/** Milliseconds until the next attempt after `failures` in a row, at least one: each doubles them. */
export const backoffMs = (failures: number, { min, max }: { min: number; max: number }): number =>
  Math.min(max, min * 2 ** (failures - 1))
