/**
 * The delay before the next attempt: doubled after each consecutive failure up to `maxMs`, with a
 * jitter of ±50 %. `random` is from 0 to 1.
 */
export const backoffMs = (
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
  failures: number,
  random: () => number,
): number => Math.min(maxMs, firstMs * 2 ** failures) * (0.5 + random())
