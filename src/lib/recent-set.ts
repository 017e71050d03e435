/**
 * Remembers about the last `size` texts, at least half as many and at most `size`: two sets, of
 * which the older is forgotten when the newer is half full. Cheaper than a cache that keeps exact
 * order.
 */
export class RecentSet {
  readonly #half: number
  #newer = new Set<string>()
  #older = new Set<string>()

  constructor(size: number) {
    this.#half = Math.ceil(size / 2)
  }

  has(text: string): boolean {
    return this.#newer.has(text) || this.#older.has(text)
  }

  add(text: string): void {
    this.#newer.add(text)
    if (this.#newer.size < this.#half) return
    this.#older = this.#newer
    this.#newer = new Set()
  }
}
