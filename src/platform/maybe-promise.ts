/** A value that is available at once or later: a counter in this process, or in another one. */
export type MaybePromise<T> = T | Promise<T>

/** Continues synchronously if the value is not a promise, which saves a tick. */
export const after = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(next) : next(value))
