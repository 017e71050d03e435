/** Turns on one thread: one waiter goes on in each round of the event loop; owners alternate. */
/** Work in steps that others may go between; each takes well below a millisecond. */
export type Steps<T> = Generator<void, T>

export function createScheduler() {
  /** The next owner first; one without waiters is not there. */
  const queues = new Map<string, (() => void)[]>()
  let waiting = 0

  function next(): void {
    const [[owner, queue] = []] = queues
    if (owner === undefined || queue === undefined) return
    queues.delete(owner)
    const resolve = queue.shift()
    if (queue.length > 0) queues.set(owner, queue)
    waiting--
    resolve?.()
    if (waiting > 0) setImmediate(next)
  }

  return {
    /** Resolves when it is the owner's turn to do one short step. */
    take(owner: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const queue = queues.get(owner)
      if (queue === undefined) queues.set(owner, [resolve])
      else queue.push(resolve)
      if (++waiting === 1) setImmediate(next)
      return promise
    },

    get waiting(): number {
      return waiting
    },
  }
}
