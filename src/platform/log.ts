/** Severity of a line: `info` is normal, `error` has failed for good. */
export type Level = 'info' | 'warn' | 'error'
/** Writes a line to the log, `info` by default; `requestId` names the request that it is about. */
export type Log = (line: string, level?: Level, requestId?: string) => void
