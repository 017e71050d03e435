export type CacheCounts = { bytes: number; hits: number; misses: number }

type Entry<Key, Value> = { key: Key; value: Value; size: number; isUsed: boolean }

/** Used entries that are passed over at one go; a whole round would take too long. */
const SPARED_MAX = 64

/**
 * A cache bounded by the sum of the sizes given to `set`. A hand moves over the entries, and
 * takes those that were not used since it came by (CLOCK): a use is a mark, and moves nothing.
 */
export const createCache = <Key, Value>(sizeMax: number) => new Cache<Key, Value>(sizeMax)

class Cache<Key, Value> {
  readonly #sizeMax: number
  readonly #entries = new Map<Key, Entry<Key, Value>>()
  /** A `Map` turns slow where its oldest entries are looked for again and again. */
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

  /** As `get`, but no use. */
  peek = (key: Key): Value | undefined => this.#entries.get(key)?.value

  /** Keeps nothing that is larger than the whole. */
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
