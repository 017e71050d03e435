/** Throws if `condition` is false. For bugs of ours, not for bad input: callers see a plain 500. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`)
}
