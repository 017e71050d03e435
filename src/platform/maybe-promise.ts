/** What is there at once, or arrives later: a counter in this process, or in another. */
export type MaybePromise<T> = T | Promise<T>

/** Goes on at once where nothing has to be waited for: a promise costs a tick. */
export const after = <T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(next) : next(value))
