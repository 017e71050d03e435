/** One who follows: what waits to be sent, and what the text so far amounts to. */
import type { AppError } from '#src/domain/errors.ts'
import type { TextSum } from '#src/history/history.ts'
import type { Sink } from '#src/http/stream.ts'
import { crcBetween, crcJoin } from '#src/platform/crc32.ts'

/** What waits of a follower, beyond which nothing more is made for him. */
const WAITING_BYTES_MAX = 262_144

/** A class, as a thousand are written to at once: less of each is touched. */
export class Member {
  /** Why he may not follow any more; undefined as long as he may. */
  readonly refusal: () => AppError | undefined
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isOver = false
  #fault: unknown
  /** Where the next piece goes, once one is asked for. */
  #sink: Sink | undefined
  #asked: PromiseWithResolvers<void> | undefined
  /** His text where he joined, and that of whom he joined. */
  #joined: { own: TextSum; other: TextSum } | undefined

  constructor(refusal: () => AppError | undefined) {
    this.refusal = refusal
  }

  get isFull(): boolean {
    return this.#bytes > WAITING_BYTES_MAX
  }

  /** Returns whether the piece was taken; else it waits. */
  push(piece: Uint8Array): boolean {
    if (this.#sink === undefined) {
      this.#waiting.push(piece)
      this.#bytes += piece.length
      return false
    }
    if (!this.#sink.put(piece)) this.#rest()
    return true
  }

  /** Counts what was sent to him. */
  count(): void {
    this.#sink?.count()
  }

  /** The sum of his text, where the text of those whom he follows with has the sum `now`. */
  sumAt(now: TextSum): TextSum {
    if (this.#joined === undefined) return { ...now }
    const { own, other } = this.#joined
    const more = now.bytes - other.bytes
    const crc = crcJoin(own.crc, crcBetween(other.crc, now.crc, more), more)
    return { crc, bytes: own.bytes + more }
  }

  join(before: TextSum, other: TextSum): void {
    this.#joined = { own: this.sumAt(before), other: { ...other } }
  }

  /** Nothing follows; with an error what was sent is cut off. */
  end(error?: unknown): void {
    this.#isOver = true
    this.#fault = error
    this.#sink?.end(error)
    this.#rest()
  }

  /** While it is pending nobody asks, which is costly where a thousand follow. */
  pull(to: Sink): Promise<void> | void {
    const isTaken = this.#bytes === 0 || to.put(this.#take())
    to.count()
    if (!isTaken) return
    if (this.#isOver) return to.end(this.#fault)
    this.#sink = to
    this.#asked = Promise.withResolvers()
    return this.#asked.promise
  }

  cancel(): void {
    this.end()
  }

  /** What comes waits until it is asked for. */
  #rest(): void {
    this.count()
    this.#sink = undefined
    this.#asked?.resolve()
  }

  #take(): Uint8Array {
    const [first] = this.#waiting
    const isOne = first !== undefined && this.#waiting.length === 1
    const piece = isOne ? first : Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#bytes = 0
    return piece
  }
}
