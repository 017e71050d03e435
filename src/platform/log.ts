/** How bad it is what a line says: `info` is as it should be, `error` has failed for good. */
export type Level = 'info' | 'warn' | 'error'
/** Writes a line about what a service does; `info` unless it is said, and for which request. */
export type Log = (line: string, level?: Level, requestId?: string) => void
