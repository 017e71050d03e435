/** US Eastern time, by which the venue names its hourly and daily markets. */

const HOUR_MS = 3_600_000
/** Hours by which Eastern time can lag UTC: daylight saving time, standard time. */
const OFFSETS = [4, 5] as const

/** Creates the format at its first use, because the start of the service does not need it. */
function lazyFormat(options: Intl.DateTimeFormatOptions): () => Intl.DateTimeFormat {
  let format: Intl.DateTimeFormat | undefined
  return () =>
    (format ??= new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York', ...options }))
}

const clockHands = lazyFormat({
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
})
const dates = lazyFormat({ month: 'long', day: 'numeric' })
const times = lazyFormat({ hour: 'numeric', minute: '2-digit' })

/** `month` is 1 to 12, `hour` 0 to 23. */
export type WallHour = { year: number; month: number; day: number; hour: number }

/**
 * The times at which an hour begins on an Eastern clock, in Unix milliseconds: two in the night
 * when clocks go back; none for the hour that they skip, and on dates that do not exist.
 */
export function easternMoments(wall: WallHour): number[] {
  const asUtcMs = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour)
  return OFFSETS.map((offset) => asUtcMs + offset * HOUR_MS).filter((momentMs) =>
    (['year', 'month', 'day', 'hour'] as const).every(
      (each) => handAt(momentMs, each) === wall[each],
    ),
  )
}

const handAt = (momentMs: number, which: keyof WallHour): number =>
  Number(
    clockHands()
      .formatToParts(momentMs)
      .find(({ type }) => type === which)?.value,
  )

/** The hour, 0 to 23, that begins on an Eastern clock at this time; undefined between hours. */
export const easternHour = (momentMs: number): number | undefined =>
  momentMs % HOUR_MS === 0 ? handAt(momentMs, 'hour') : undefined

/** Prints a time as titles do: `June 24`, `3:50AM`. */
export const clockTime = (momentMs: number): { date: string; time: string } => ({
  date: dates().format(momentMs),
  // Some versions of the locale data have a narrow space before AM.
  time: times().format(momentMs).replace(/\s/g, ''),
})

/** Date and hour on an Eastern clock: `month` in lower-case words, `hour` 0 to 23. */
export function easternDate(momentMs: number) {
  const [month = '', day = ''] = dates().format(momentMs).toLowerCase().split(' ')
  return {
    year: handAt(momentMs, 'year'),
    month,
    day: Number(day),
    hour: handAt(momentMs, 'hour'),
  }
}
