/** One event stream: its queue, and the checksum of its text. */
import type { AppError } from '#src/domain/errors.ts'
import type { TextSum } from '#src/history/history.ts'
import type { Sink } from '#src/http/stream.ts'
import type { Subscriber } from '#src/live/group.ts'
import { crcBetween, crcJoin } from '#src/platform/crc32.ts'

import type { EventSource } from './source.ts'

/** Queued bytes beyond which no more rows are read for the client. */
const WAITING_BYTES_MAX = 262_144

export type FollowingCaller = {
  /** Reason why the caller may no longer follow; undefined while it may. */
  refusal: () => AppError | undefined
  /** Leaves the group. */
  leave: () => void
}

/**
 * A class, because a thousand subscribers are written to at once and objects of a class are faster.
 */
export class EventSubscriber implements Subscriber<Uint8Array, EventSource> {
  /** One field for the caller's facts: a second field makes each push 50 % slower. */
  readonly caller: FollowingCaller
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isOver = false
  #fault: unknown
  /** Sink for the next piece, once requested. */
  #sink: Sink | undefined
  #asked: PromiseWithResolvers<void> | undefined
  /** Checksums of this stream and of its group at the time of joining. */
  #joined: { own: TextSum; group: TextSum } | undefined

  constructor(caller: FollowingCaller) {
    this.caller = caller
  }

  get isFull(): boolean {
    return this.#bytes > WAITING_BYTES_MAX
  }

  /** Returns true if the client took the piece; otherwise queues it. */
  push(piece: Uint8Array): boolean {
    if (this.#sink === undefined) {
      this.#waiting.push(piece)
      this.#bytes += piece.length
      return false
    }
    if (!this.#sink.put(piece)) this.#rest()
    return true
  }

  /** Meters the sent bytes. */
  count(): void {
    this.#sink?.count()
  }

  /** Checksum of this stream when that of the group is `now`. */
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

  /** Aborts the stream. */
  fail(error: unknown): void {
    this.end(error)
    this.caller.leave()
  }

  /** Ends the stream; with an error, aborts it. */
  end(error?: unknown): void {
    this.#isOver = true
    this.#fault = error
    this.#sink?.end(error)
    this.#rest()
  }

  /** Stays pending while the queue is empty: polling a thousand clients would be costly. */
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

  /** Keeps later pieces in the queue until the next pull. */
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
