/** US Eastern time, by which the venue names its hourly and daily markets. */

const HOUR_MS = 3_600_000
/** Hours that Eastern time can be behind UTC: daylight saving time, standard time. */
const OFFSETS = [4, 5] as const

const clockHands = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
})

/** `month` is 1 to 12, `hour` 0 to 23. */
export type WallHour = { year: number; month: number; day: number; hour: number }

/**
 * The moments, in Unix milliseconds, at which an hour begins on an Eastern clock: one; two in the night in
 * which the clock goes back; none in the hour that it skips in spring, and on days that do not exist.
 */
export function easternMoments(wall: WallHour): number[] {
  const asUtcMs = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour)
  return OFFSETS.map((offset) => asUtcMs + offset * HOUR_MS).filter((momentMs) =>
    shows(momentMs, wall),
  )
}

const shows = (momentMs: number, wall: WallHour): boolean =>
  (['year', 'month', 'day', 'hour'] as const).every((hand) => handAt(momentMs, hand) === wall[hand])

const handAt = (momentMs: number, hand: keyof WallHour): number =>
  Number(clockHands.formatToParts(momentMs).find(({ type }) => type === hand)?.value)

/** The hour, 0 to 23, that an Eastern clock shows when it strikes at a moment; undefined between hours. */
export const easternHour = (momentMs: number): number | undefined =>
  momentMs % HOUR_MS === 0 ? handAt(momentMs, 'hour') : undefined
