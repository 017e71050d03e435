/** The message of anything that was thrown; not everything thrown is an Error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
