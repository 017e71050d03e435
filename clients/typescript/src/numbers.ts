/** A JSON text as alternating strings, which stay, and numbers, which are marked. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Before a number that became a string: JSON has no such character unescaped. */
const MARK = '\u0001'

/**
 * Parses JSON whose numbers go through `read` as they are written, digit for digit, so that a
 * decimal library gets what the server printed and no float is in between.
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
