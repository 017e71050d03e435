import { AppError } from './errors.ts'

/** The current time in Unix milliseconds; injected, so that tests can control it. */
export type Clock = () => number

export const DAY_MS = 86_400_000

export const toIso = (timeMs: number): string => new Date(timeMs).toISOString()

/** The UTC day of a time, `2026-04-14`. */
export const toIsoDay = (timeMs: number): string => toIso(timeMs).slice(0, 10)

/** Prints a time; a value outside the calendar is printed as a number. */
export function formatTime(timeMs: number): string
export function formatTime(timeMs: number | undefined): string | undefined
export function formatTime(timeMs: number | undefined): string | undefined {
  if (timeMs === undefined) return undefined
  const time = new Date(timeMs)
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString()
}

export const toIsoOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : toIso(timeMs)

/** A smaller number is Unix seconds: as milliseconds it would be before 1973-03-03. */
const MILLISECONDS_FROM = 100_000_000_000

export const toUnixMs = (time: number): number => (time >= MILLISECONDS_FROM ? time : time * 1000)

/** 9999-12-31T23:59:59.999Z: a later year has more than four digits. */
export const MOMENT_MS_MAX = 253_402_300_799_999

const rfc3339 =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)$/i

/** True for text in the form of a date-time, even if no such day or time exists. */
export const isDateTime = (text: string): boolean => rfc3339.test(text)

/**
 * Parses Unix milliseconds, Unix seconds (below 100000000000), or RFC 3339 with `Z` or an offset.
 * Accepts the offsets of ISO 8601 and PostgreSQL (`+0000`, `+00`), and the space that pandas and
 * Python print in place of `T`. Truncates to milliseconds. Undefined for everything else: local
 * times, days and times that do not exist, leap seconds, and times before 1970 or after 9999.
 */
export function parseMoment(text: string): number | undefined {
  if (/^(0|[1-9]\d{0,15})$/.test(text)) {
    const unixMs = toUnixMs(Number(text))
    return unixMs <= MOMENT_MS_MAX ? unixMs : undefined
  }
  const [, day, time, fraction = '', sign = '+', hours = '0', minutes = '0'] =
    rfc3339.exec(text) ?? []
  if (day === undefined) return undefined
  const wallMs = Date.parse(`${day}T${time}Z`)
  // Date would take the 30th of February for the 2nd of March.
  if (new Date(wallMs).getUTCDate() !== Number(day.slice(8))) return undefined
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000
  const unixMs =
    wallMs + Number(fraction.slice(0, 3).padEnd(3, '0')) - (sign === '-' ? -offsetMs : offsetMs)
  return unixMs >= 0 && unixMs <= MOMENT_MS_MAX ? unixMs : undefined
}

export const VENUE_OPENED_MS = Date.UTC(2020, 0, 1)
const AHEAD_MS_MAX = 300_000

/** The furthest that a recorder's clock may be behind the venue's. */
const BEFORE_VENUE_MS_MAX = 600_000

/** The reason why an event cannot have been received at this time; undefined if it can. */
export function receiptFault(
  receivedMs: number,
  timeMs: number,
  nowMs: number,
): string | undefined {
  if (receivedMs >= timeMs - BEFORE_VENUE_MS_MAX) return timeFault(receivedMs, nowMs)
  return `${toIso(receivedMs)} is more than ten minutes before \`timestamp\``
}

export function timeFault(timeMs: number, nowMs: number): string | undefined {
  if (timeMs < VENUE_OPENED_MS) return `${toIso(timeMs)} is before 2020, when the venue opened`
  return timeMs > nowMs + AHEAD_MS_MAX ? `${toIso(timeMs)} is in the future` : undefined
}

/** Unix milliseconds: `fromMs` inclusive, `toMs` exclusive. */
export type TimeRange = { fromMs?: number | undefined; toMs?: number | undefined }

/** Throws `invalid_parameter` if the range is empty or reversed. */
export function readRange({ from, to }: { from?: number; to?: number }): TimeRange {
  if (from !== undefined && to !== undefined && to <= from) {
    throw new AppError(
      'invalid_parameter',
      `\`to\` is ${show(to)}, which is not after \`from\`, ${show(from)}. \`from\` is inclusive, \`to\` exclusive.`,
      { param: 'to' },
    )
  }
  return { fromMs: from, toMs: to }
}

const show = (timeMs: number): string => (timeMs <= MOMENT_MS_MAX ? toIso(timeMs) : String(timeMs))
