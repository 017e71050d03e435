/** Spans of a growing text that repeat an earlier part of it, in ascending order. */
export class Copies {
  #starts = new Int32Array(256)
  #ends = new Int32Array(256)
  #distances = new Int32Array(256)
  #count = 0
  #next = 0

  reset(): void {
    this.#count = 0
    this.#next = 0
  }

  /** Adds a span after all others, or extends the last one if it continues it. */
  add(start: number, end: number, distance: number): void {
    const last = this.#count - 1
    if (this.#ends[last] === start && this.#distances[last] === distance) {
      this.#ends[last] = end
      return
    }
    if (this.#count === this.#starts.length) this.#grow()
    this.#starts[this.#count] = start
    this.#ends[this.#count] = end
    this.#distances[this.#count++] = distance
  }

  /**
   * The end of the span that contains `from` and repeats the text `distance` before it; 0 if there
   * is none. Must be called with ascending `from`.
   */
  endOf(from: number, distance: number): number {
    while (this.#next < this.#count && (this.#ends[this.#next] ?? 0) <= from) this.#next++
    const at = this.#next
    const isSpan =
      at < this.#count && (this.#starts[at] ?? 0) <= from && this.#distances[at] === distance
    return isSpan ? (this.#ends[at] ?? 0) : 0
  }

  #grow(): void {
    const grow = (column: Int32Array): Int32Array<ArrayBuffer> => {
      const grown = new Int32Array(column.length * 2)
      grown.set(column)
      return grown
    }
    this.#starts = grow(this.#starts)
    this.#ends = grow(this.#ends)
    this.#distances = grow(this.#distances)
  }
}

export const noCopies = new Copies()
