/**
 * The result of a verb of a store in a file, whose promise is settled when the call returns. Throws
 * the error of the verb, and if the promise is not settled.
 */
export function settled<T>(promise: Promise<T>): T {
  const status = Bun.peek.status(promise)
  const end = Bun.peek(promise)
  if (status === 'fulfilled') return end as T
  if (status === 'pending') throw new Error('Only a verb of a store in a file is done at once.')
  promise.catch(() => undefined)
  throw end
}
