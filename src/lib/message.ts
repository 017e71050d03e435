/** The message of anything that was thrown; not everything thrown is an Error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** The code of what the system reports, such as `ENOENT`; undefined for any other error. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
