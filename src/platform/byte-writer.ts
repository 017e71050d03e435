const encoder = new TextEncoder()

/** A growable run of bytes; reused, so that a body allocates nothing but its result. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity)
  }

  reset(): void {
    this.#length = 0
  }

  bytes(run: Uint8Array): void {
    this.reserve(run.length)
    this.#bytes.set(run, this.#length)
    this.#length += run.length
  }

  text(ascii: string): void {
    this.reserve(ascii.length)
    this.#length += encoder.encodeInto(ascii, this.#bytes.subarray(this.#length)).written
  }

  /** What was written since `reset`; valid until more is. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.view())
    this.#bytes = grown
  }
}
