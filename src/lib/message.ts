/** The message of anything that was thrown; not everything thrown is an Error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** What the system calls a failure, such as `ENOENT`; the error as text if it has no such name. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
