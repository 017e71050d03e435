/** Throws when `condition` is false: a bug of ours, never bad input, so callers see a plain 500. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`)
}
