const encoder = new TextEncoder()

const VARINT_BASE = 128

/** A growable byte buffer; reused, so that a body allocates only its result. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>
  #view: DataView
  #length = 0
  #taken = 0

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity)
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** Number of bytes written since `reset`, including those taken. */
  get offset(): number {
    return this.#taken + this.#length
  }

  reset(): void {
    this.#length = 0
    this.#taken = 0
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

  byte(value: number): void {
    this.reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** Little-endian, modulo 2 ** 32. */
  int32(value: number): void {
    this.reserve(4)
    this.#view.setInt32(this.#length, value, true)
    this.#length += 4
  }

  /** Little-endian. */
  float64(value: number): void {
    this.reserve(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  /** LEB128, at most 2 ** 53. */
  varint(value: number): void {
    let rest = value
    while (rest >= VARINT_BASE) {
      this.byte((rest % VARINT_BASE) + VARINT_BASE)
      rest = Math.floor(rest / VARINT_BASE)
    }
    this.byte(rest)
  }

  /** The bytes written since `reset` and not yet taken; valid until the next write. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Copies the bytes written since the last call. */
  take(): Uint8Array<ArrayBuffer> {
    const piece = this.view().slice()
    this.#taken += this.#length
    this.#length = 0
    return piece
  }

  reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.view())
    this.#bytes = grown
    this.#view = new DataView(grown.buffer)
  }
}
