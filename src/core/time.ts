/** The current time in Unix milliseconds; injected, so that tests can move it. */
export type Clock = () => number

export const DAY_MS = 86_400_000

/** A time as every answer prints it: ISO 8601, UTC, milliseconds. */
export const toIso = (timeMs: number): string => new Date(timeMs).toISOString()
