/**
 * How long to wait before the next try: twice as long after each failure in a row, up to `maxMs`,
 * and by chance half as long to half as long again. `random` is from 0 to 1.
 */
export const backoffMs = (
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
  failures: number,
  random: () => number,
): number => Math.min(maxMs, firstMs * 2 ** failures) * (0.5 + random())
