export type CacheCounts = { bytes: number; hits: number; misses: number }

type Entry<Key, Value> = { key: Key; value: Value; size: number; isUsed: boolean }

/** Number of used entries that one step of the hand spares; a full turn would take too long. */
const SPARED_MAX = 64

/**
 * A cache bounded by the sum of the sizes given to `set`. It evicts by CLOCK: a hand moves over the
 * entries and removes those that were not used since its last turn, so a use only sets a mark.
 */
export const createCache = <Key, Value>(sizeMax: number) => new Cache<Key, Value>(sizeMax)

class Cache<Key, Value> {
  readonly #sizeMax: number
  readonly #entries = new Map<Key, Entry<Key, Value>>()
  /** One long-lived iterator: looking up the oldest entries of a `Map` repeatedly is slow. */
  #hand = this.#entries.values()
  #size = 0
  #hits = 0
  #misses = 0

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      this.#misses++
      return undefined
    }
    this.#hits++
    entry.isUsed = true
    return entry.value
  }

  /** Like `get`, but does not count as a use. */
  peek = (key: Key): Value | undefined => this.#entries.get(key)?.value

  /** Ignores a value that is larger than the whole cache. */
  set(key: Key, value: Value, { size }: { size: number }): void {
    this.delete(key)
    if (size > this.#sizeMax) return
    this.#makeRoom(size)
    this.#entries.set(key, { key, value, size, isUsed: false })
    this.#size += size
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#size -= entry.size
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.delete(key)
  }

  counts = (): CacheCounts => ({ bytes: this.#size, hits: this.#hits, misses: this.#misses })

  #makeRoom(size: number): void {
    let spared = 0
    while (this.#size + size > this.#sizeMax) {
      const { value: entry } = this.#hand.next()
      if (entry === undefined) this.#hand = this.#entries.values()
      else if (entry.isUsed && spared++ < SPARED_MAX) entry.isUsed = false
      else this.delete(entry.key)
    }
  }
}
