/**
 * Headers that report the remaining window or identify the response, so that they always differ.
 */
const counting = ['x-ratelimit-remaining', 'ratelimit', 'x-export-id']

/** The headers that an equal request receives again, without those in `except`, by name. */
export const stableHeaders = (
  { headers }: Response,
  except: readonly string[] = [],
): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(([name]) => !counting.includes(name) && !except.includes(name)),
  )
