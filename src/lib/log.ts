/** How bad it is what a line says: `info` is as it should be, `error` has failed for good. */
export type Level = 'info' | 'warn' | 'error'
/** Writes a line about what a service does by itself; `info` unless it is said. */
export type Log = (line: string, level?: Level) => void
