/** The current time in Unix milliseconds; injected, so that tests can move it. */
export type Clock = () => number

export const DAY_MS = 86_400_000

/** A time as every answer prints it: ISO 8601, UTC, milliseconds. */
export const toIso = (timeMs: number): string => new Date(timeMs).toISOString()

/** Below it a Unix time is in seconds: as milliseconds it would lie before 1973-03-03. */
const MILLISECONDS_FROM = 100_000_000_000

/** A Unix time in milliseconds, whether it was given in these or in seconds. */
export const toUnixMs = (time: number): number => (time >= MILLISECONDS_FROM ? time : time * 1000)

const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,3})?(?:[Zz]|([+ -])((?:[01]\d|2[0-3]):[0-5]\d))$/

/**
 * Reads a moment in Unix milliseconds from a Unix time or from a text of RFC 3339; undefined for anything else. A
 * space in front of an offset is a `+` that was not percent-encoded.
 */
export function parseMoment(sent: unknown): number | undefined {
  if (typeof sent === 'number') {
    return Number.isSafeInteger(sent) && sent >= 0 ? toUnixMs(sent) : undefined
  }
  const match = typeof sent === 'string' ? rfc3339.exec(sent) : null
  if (match === null) return undefined
  const [text, year = '', month = '', day = '', sign] = match
  // The 30th of February would be taken for the 2nd of March.
  const isDay = new Date(Date.UTC(+year, +month - 1, +day)).getUTCDate() === +day
  const timeMs = Date.parse((sign === ' ' ? text.replace(' ', '+') : text).toUpperCase())
  return isDay && timeMs >= 0 ? timeMs : undefined
}

/** The year in which the venue opened: nothing of it is older. */
export const VENUE_OPENED_MS = Date.UTC(2020, 0, 1)
/** How far the venue's clock may be ahead of ours. */
const AHEAD_MS_MAX = 300_000

/** How far a recorder's clock may be before the venue's. */
const BEFORE_VENUE_MS_MAX = 600_000

/** Says why what happened at `timeMs` cannot have been received at `receivedMs`, seen from now; undefined when it can. */
export function receiptFault(
  receivedMs: number,
  timeMs: number,
  nowMs: number,
): string | undefined {
  if (receivedMs >= timeMs - BEFORE_VENUE_MS_MAX) return timeFault(receivedMs, nowMs)
  return `${toIso(receivedMs)} is more than ten minutes before \`timestamp\``
}

/** Says why nothing can have happened at a time, seen from now; undefined when it can. */
export function timeFault(timeMs: number, nowMs: number): string | undefined {
  if (timeMs < VENUE_OPENED_MS) return `${toIso(timeMs)} is before 2020, when the venue opened`
  return timeMs > nowMs + AHEAD_MS_MAX ? `${toIso(timeMs)} is in the future` : undefined
}
