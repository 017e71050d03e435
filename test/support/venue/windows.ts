/** The start of windows, and their names at the venue. */

export type Window = { coin: string; timeframe: string; startMs: number; endMs: number }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const lengths: Record<string, number> = {
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '4h': 4 * HOUR_MS,
}
const names: Record<string, string> = { btc: 'bitcoin', eth: 'ethereum', sol: 'solana' }

const clock = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'long',
  day: 'numeric',
  hour: 'numeric',
})

/** The clock of New York: `{ year: '2026', month: 'november', day: '22', hour: '5' }`. */
const eastern = (atMs: number): Record<string, string> =>
  Object.fromEntries(
    clock.formatToParts(atMs).map(({ type, value }) => [type, value.toLowerCase()]),
  )

const easternHour = (atMs: number): number => Number(eastern(atMs).hour)

/** The last full hour at or before a moment at which New York's clock shows a matching hour. */
function easternBefore(atMs: number, isIt: (hour: number) => boolean): number {
  let hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
  while (!isIt(easternHour(hourMs))) hourMs -= HOUR_MS
  return hourMs
}

/** The window of a timeframe that includes a moment. Days end at noon in New York. */
export function windowAt(coin: string, timeframe: string, atMs: number): Window {
  if (timeframe === '1d') {
    const startMs = easternBefore(atMs, (hour) => hour === 12)
    // 23 to 25 hours long.
    const endMs = easternBefore(startMs + 26 * HOUR_MS, (hour) => hour === 12)
    return { coin, timeframe, startMs, endMs }
  }
  const lengthMs = lengths[timeframe] ?? HOUR_MS
  const startMs =
    timeframe === '4h'
      ? easternBefore(atMs, (hour) => hour % 4 === 0)
      : Math.floor(atMs / lengthMs) * lengthMs
  return { coin, timeframe, startMs, endMs: startMs + lengthMs }
}

export function slugOf({ coin, timeframe, startMs, endMs }: Window): string {
  const name = names[coin] ?? coin
  if (timeframe === '1d') {
    const { year, month, day } = eastern(endMs)
    return `${name}-up-or-down-on-${month}-${day}-${year}`
  }
  if (timeframe !== '1h') return `${coin}-updown-${timeframe}-${startMs / 1000}`
  const { year, month, day, hour } = eastern(startMs)
  const half = Number(hour) < 12 ? 'am' : 'pm'
  return `${name}-up-or-down-${month}-${day}-${year}-${Number(hour) % 12 || 12}${half}-et`
}
