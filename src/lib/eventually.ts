/** What an engine elsewhere returns later, and one in this process at once. */
export type Eventually<T> = T | Promise<T>

/** Goes on at once where nothing has to be waited for: a promise costs a tick. */
export const after = <T, U>(
  value: Eventually<T>,
  next: (value: T) => Eventually<U>,
): Eventually<U> => (value instanceof Promise ? value.then(next) : next(value))

/** Runs a synchronous read, and where it lacks something, again when that is there. */
export type Eventual = <T>(read: () => Eventually<T>) => Eventually<T>

/** Thrown by a read that lacks something; nobody but what runs it again may take it. */
export class Missing extends Error {
  constructor() {
    super('This has to be fetched.')
    this.name = 'Missing'
  }
}

/** Does all of them, so that what they lack is fetched at once. Throws what one of them throws. */
export function together<const Reads extends readonly (() => unknown)[]>(
  ...reads: Reads
): { [at in keyof Reads]: ReturnType<Reads[at]> } {
  let missing: Missing | undefined
  const results = reads.map((read) => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      missing = error
      return undefined
    }
  })
  if (missing !== undefined) throw missing
  return results as { [at in keyof Reads]: ReturnType<Reads[at]> }
}

/** Where nothing is ever lacking. */
export const atOnce: Eventual = (read) => read()
