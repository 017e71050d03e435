/** Matches strings, which stay unchanged, and numbers, which are marked. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Prefix of a number that became a string: JSON never contains this character unescaped. */
const MARK = '\u0001'

/**
 * Parses JSON and passes each number through `read` digit for digit, so that a decimal library gets
 * what the server printed, without a float in between.
 */
export function parseExactly(text: string, read: (digits: string) => unknown): unknown {
  const marked = text.replace(tokens, (token) =>
    token.startsWith('"') ? token : `"\\u0001${token}"`,
  )
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? read(value.slice(1)) : value,
  )
}

/** A body with another type in place of each number. */
export type Exact<Body, N> = Body extends number
  ? N
  : Body extends readonly (infer Item)[]
    ? Exact<Item, N>[]
    : Body extends object
      ? { [Name in keyof Body]: Exact<Body[Name], N> }
      : Body
