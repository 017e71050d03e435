/**
 * They report how much of a window is left, or name the answer itself, so
 * no two responses have the same.
 */
const counting = ['x-ratelimit-remaining', 'ratelimit', 'x-export-id']

/**
 * The headers of a response that an equal request gets again, without those of `except`, by name.
 */
export const stableHeaders = (
  { headers }: Response,
  except: readonly string[] = [],
): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(([name]) => !counting.includes(name) && !except.includes(name)),
  )
