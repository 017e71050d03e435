import { AsyncLocalStorage } from 'node:async_hooks'

/** What an engine elsewhere returns later, and one in this process at once. */
export type Eventually<T> = T | Promise<T>

/** Goes on at once where nothing has to be waited for: a promise costs a tick. */
export const after = <T, U>(
  value: Eventually<T>,
  next: (value: T) => Eventually<U>,
): Eventually<U> => (value instanceof Promise ? value.then(next) : next(value))

/** Runs a synchronous read, and where it lacks something, again when that is there. */
export type Eventual = <T>(read: () => Eventually<T>) => Eventually<T>

/** Where nothing is ever lacking. */
export const atOnce: Eventual = (read) => read()

/** Thrown by a read that lacks something; only the code that runs it again may catch it. */
export class Missing extends Error {
  /**
   * Resolves when it is there, or cannot be had; never rejects. Undefined where the read itself has
   * to fetch it.
   */
  readonly coming: Promise<unknown> | undefined

  constructor(coming?: Promise<unknown>) {
    // Where it was thrown says nothing, and takes longer than all else of it.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super('This has to be fetched.')
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Missing'
    this.coming = coming
  }
}

/** Does all of them, so that what they lack is fetched at once. Throws what one of them throws. */
export function together<const Reads extends readonly (() => unknown)[]>(
  ...reads: Reads
): { [at in keyof Reads]: ReturnType<Reads[at]> } {
  const missing: Missing[] = []
  const results = reads.map((read) => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      missing.push(error)
      return undefined
    }
  })
  const coming = missing.flatMap((each) => each.coming ?? [])
  if (missing.length > 0) throw new Missing(coming.length > 0 ? Promise.all(coming) : undefined)
  return results as { [at in keyof Reads]: ReturnType<Reads[at]> }
}

/**
 * Reads the first of what follows. Where it is lacking, the next ones are asked for with it, four
 * times as many each time, so that a walk through many chunks runs again only a few times.
 */
export function readAhead<T, Read>(
  first: T,
  read: (one: T) => Read,
  next: (count: number) => readonly T[],
): Read {
  try {
    return read(first)
  } catch (error) {
    if (!(error instanceof Missing)) throw error
    const others = next(readingNow()?.widen() ?? 0)
    together(...[first, ...others].map((one) => () => read(one)))
    throw error
  }
}

/** A read that never comes to its end is a fault of ours. */
const RUNS_MAX = 10_000

const readings = new AsyncLocalStorage<Reading>()

/** The current read; undefined outside of a read that runs again, or after its end. */
export function readingNow(): Reading | undefined {
  const reading = readings.getStore()
  return reading?.isOver === false ? reading : undefined
}

/**
 * A clock that stands still during a read: a run that asked for what depends on the time would
 * never find what the run before it had fetched.
 */
export const stillInReads = (clock: () => number) => (): number =>
  readingNow()?.timeBy(clock) ?? clock()

/** What is asked for ahead is kept until the read ends. */
const AHEAD_MAX = 256

/** One read, over all its runs. */
export class Reading {
  #ahead = 0
  readonly #times = new Map<() => number, number>()
  isOver = false
  /** What it has found so far and would ask for again; or why that cannot be had. */
  readonly found = new Map<string, unknown>()

  /** To be called once. */
  run<T>(read: () => Eventually<T>): Eventually<T> {
    let result: Eventually<T>
    try {
      result = this.#run(read, 0)
    } catch (error) {
      this.end()
      throw error
    }
    if (result instanceof Promise) return result.finally(() => this.end())
    this.end()
    return result
  }

  /** By a clock, when it was first asked. */
  timeBy(clock: () => number): number {
    const known = this.#times.get(clock)
    if (known !== undefined) return known
    const nowMs = clock()
    this.#times.set(clock, nowMs)
    return nowMs
  }

  /** How much may be asked for ahead this time. */
  widen(): number {
    const ahead = this.#ahead
    this.#ahead = Math.min(AHEAD_MAX, 4 * ahead + 3)
    return ahead
  }

  /** Called when nothing is read any more. */
  end(): void {
    this.isOver = true
  }

  /** Called before the next run; what it lacked is there then. Never rejects. */
  async fetch(): Promise<void> {
    // What is coming by itself is all.
  }

  /** Waits for what is coming by itself, which may take long. */
  async waitFor(coming: Promise<unknown>): Promise<void> {
    await coming
  }

  #run<T>(read: () => Eventually<T>, runs: number): Eventually<T> {
    const again = async (error: unknown): Promise<T> => {
      if (!(error instanceof Missing) || runs === RUNS_MAX) throw error
      await this.fetch()
      if (error.coming !== undefined) await this.waitFor(error.coming)
      return this.#run(read, runs + 1)
    }
    try {
      const result = readings.run(this, read)
      if (!(result instanceof Promise)) return result
      return result.catch(again)
    } catch (error) {
      return again(error)
    }
  }
}
