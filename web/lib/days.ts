/** UTC days, as pages and addresses have them. */

export const DAY_MS = 86_400_000

/** The first millisecond of the day of a moment. */
export const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS

/** `2026-04-14`. */
export const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export const dayAfter = (day: string): string => toDay(Date.parse(day) + DAY_MS)
