/**
 * Steps that series can be asked for in, in milliseconds; they begin at multiples
 * of themselves since 1970, UTC.
 */
export const intervalMs = {
  '1s': 1_000,
  '5s': 5_000,
  '10s': 10_000,
  '15s': 15_000,
  '30s': 30_000,
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '30m': 1_800_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
} as const satisfies Record<string, number>
export type Interval = keyof typeof intervalMs
export const intervals = Object.keys(intervalMs) as Interval[]
