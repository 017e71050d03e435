/**
 * Turns on one thread: some waiters go on in each round of the event loop; owners of a level
 * alternate. A level is served before those of higher numbers, which get a turn after each three.
 */
/**
 * Work in steps that others may go between; each takes well below a millisecond. Where a step yields
 * a promise, the work goes on once that is settled, and what it rejects with is thrown into it.
 */
export type Steps<T> = Generator<Promise<unknown> | undefined, T>

/** Turns of a level after which one of a higher number has its own. */
const TURNS_BEFORE_NEXT = 3

/** The waiters of a level, and its turns since one of a higher number had its own. */
type Queues = { owners: Map<string, (() => void)[]>; waiting: number; turns: number }

/** `beginRound` returns what says, after each waiter, whether another may go on in the round. */
export function createScheduler(beginRound: () => () => boolean = () => () => false) {
  /** By level; the next owner of each is the first. */
  const levels: Queues[] = []
  let waiting = 0
  let hasTime = beginRound()

  const levelAt = (level: number): Queues => {
    while (levels.length <= level) levels.push({ owners: new Map(), waiting: 0, turns: 0 })
    return levels[level] as Queues
  }

  /** The level whose turn it is: undefined where nothing waits. */
  function nextLevel(): Queues | undefined {
    let left = waiting
    for (const queues of levels) {
      left -= queues.waiting
      if (queues.waiting === 0) continue
      if (left === 0) return queues
      if (queues.turns < TURNS_BEFORE_NEXT) {
        queues.turns++
        return queues
      }
      queues.turns = 0
    }
    return undefined
  }

  function round(): void {
    hasTime = beginRound()
    next()
  }

  function next(): void {
    const queues = nextLevel()
    const [[owner, queue] = []] = queues?.owners ?? []
    if (queues === undefined || owner === undefined || queue === undefined) return
    queues.owners.delete(owner)
    const resolve = queue.shift()
    if (queue.length > 0) queues.owners.set(owner, queue)
    queues.waiting--
    waiting--
    resolve?.()
    if (waiting === 0) return
    // What was resolved runs first.
    if (hasTime()) queueMicrotask(next)
    else setImmediate(round)
  }

  /** Waiters of the levels before one, and of those after it. */
  const waitingAround = (level: number) => {
    let before = 0
    for (let each = 0; each < level; each++) before += levels[each]?.waiting ?? 0
    return { before, after: waiting - before - (levels[level]?.waiting ?? 0) }
  }

  return {
    /** Resolves when it is the owner's turn to do one short step. */
    take(owner: string, level = 0): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const queues = levelAt(level)
      const queue = queues.owners.get(owner)
      if (queue === undefined) queues.owners.set(owner, [resolve])
      else queue.push(resolve)
      queues.waiting++
      if (++waiting === 1) setImmediate(round)
      return promise
    },

    waitingOf: (owner: string, level = 0): number => levels[level]?.owners.get(owner)?.length ?? 0,

    /** Turns until the one that the owner would take now, that one too; at most so many. */
    turnsOf(owner: string, level = 0): number {
      const { owners, waiting: ofLevel } = levelAt(level)
      const own =
        Math.min(ofLevel, (owners.get(owner)?.length ?? 0) * owners.size + owners.size) + 1
      const { before, after } = waitingAround(level)
      return (
        own +
        Math.min(before, own * TURNS_BEFORE_NEXT ** level) +
        Math.min(after, Math.floor(own / TURNS_BEFORE_NEXT))
      )
    },

    /** Waiters of a level and of those of higher numbers. */
    waitingFrom(level: number): number {
      return waiting - waitingAround(level).before
    },

    /** Waiters of a level and of those before it. */
    waitingUpTo(level: number): number {
      return waiting - waitingAround(level).after
    },

    get waiting(): number {
      return waiting
    },
  }
}
