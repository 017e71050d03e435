/** A stream of events: what waits to be sent, and what the text so far amounts to. */
import type { AppError } from '#src/domain/errors.ts'
import type { TextSum } from '#src/history/history.ts'
import type { Sink } from '#src/http/stream.ts'
import type { Subscriber } from '#src/live/group.ts'
import { crcBetween, crcJoin } from '#src/platform/crc32.ts'

import type { EventSource } from './source.ts'

/** What waits for a client, beyond which nothing more is read for it. */
const WAITING_BYTES_MAX = 262_144

export type FollowingCaller = {
  /** Why the caller may not follow any more; undefined as long as that is allowed. */
  refusal: () => AppError | undefined
  /** Leaves the group. */
  leave: () => void
}

/** A class, as a thousand are written to at once: less of each is touched. */
export class EventSubscriber implements Subscriber<Uint8Array, EventSource> {
  /** One field for both: with another one each push takes half as long again. */
  readonly caller: FollowingCaller
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isOver = false
  #fault: unknown
  /** Where the next piece goes, once one is asked for. */
  #sink: Sink | undefined
  #asked: PromiseWithResolvers<void> | undefined
  /** The sums of its own text and of that of its group when it joined the group. */
  #joined: { own: TextSum; group: TextSum } | undefined

  constructor(caller: FollowingCaller) {
    this.caller = caller
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

  /** Counts what was sent. */
  count(): void {
    this.#sink?.count()
  }

  /** The sum of its text, where that of its group has the sum `now`. */
  sumAt(now: TextSum): TextSum {
    if (this.#joined === undefined) return { ...now }
    const { own, group } = this.#joined
    const more = now.bytes - group.bytes
    const crc = crcJoin(own.crc, crcBetween(group.crc, now.crc, more), more)
    return { crc, bytes: own.bytes + more }
  }

  move(from: EventSource, to: EventSource): void {
    this.#joined = { own: this.sumAt(from.encoder.sum), group: { ...to.encoder.sum } }
  }

  /** Cuts the stream off. */
  fail(error: unknown): void {
    this.end(error)
    this.caller.leave()
  }

  /** Nothing follows; with an error what was sent is cut off. */
  end(error?: unknown): void {
    this.#isOver = true
    this.#fault = error
    this.#sink?.end(error)
    this.#rest()
  }

  /** Pending while the client has all: asking a thousand clients each time is costly. */
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
