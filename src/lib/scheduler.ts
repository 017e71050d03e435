/** Turns on one thread: some waiters go on in each round of the event loop; owners alternate. */
/** Work in steps that others may go between; each takes well below a millisecond. */
export type Steps<T> = Generator<void, T>

/** `beginRound` returns what says, after each waiter, whether another may go on in the round. */
export function createScheduler(beginRound: () => () => boolean = () => () => false) {
  /** The next owner first; one without waiters is not there. */
  const queues = new Map<string, (() => void)[]>()
  let waiting = 0
  let hasTime = beginRound()

  function round(): void {
    hasTime = beginRound()
    next()
  }

  function next(): void {
    const [[owner, queue] = []] = queues
    if (owner === undefined || queue === undefined) return
    queues.delete(owner)
    const resolve = queue.shift()
    if (queue.length > 0) queues.set(owner, queue)
    waiting--
    resolve?.()
    if (waiting === 0) return
    // What was resolved runs first.
    if (hasTime()) queueMicrotask(next)
    else setImmediate(round)
  }

  return {
    /** Resolves when it is the owner's turn to do one short step. */
    take(owner: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const queue = queues.get(owner)
      if (queue === undefined) queues.set(owner, [resolve])
      else queue.push(resolve)
      if (++waiting === 1) setImmediate(round)
      return promise
    },

    waitingOf: (owner: string): number => queues.get(owner)?.length ?? 0,

    /** Turns until the one that the owner would take now, that one too; at most so many. */
    turnsOf: (owner: string): number =>
      Math.min(waiting, (queues.get(owner)?.length ?? 0) * queues.size + queues.size) + 1,

    get waiting(): number {
      return waiting
    },
  }
}
