import { ENDLESS_MS, type Span } from '#src/core/coverage.ts'

/**
 * Takes one outcome's rows by time and knows where its books contradict their hash: from the millisecond of a
 * contradicted row to the first verified row of a later one. The order within a millisecond does not matter.
 */
export class VerdictTally {
  verifiedCount = 0
  readonly #closed: Span[] = []
  #openMs = -1
  #contradictedMs = -1

  /** Continues after an open span, if any: all rows to come are later. */
  constructor(openMs = -1) {
    this.#openMs = openMs
    this.#contradictedMs = openMs
  }

  add(timeMs: number, isVerified: boolean | undefined): void {
    if (isVerified === true) this.#verify(timeMs)
    if (isVerified === false) this.#contradict(timeMs)
  }

  #verify(timeMs: number): void {
    this.verifiedCount++
    if (this.#openMs < 0 || timeMs <= this.#contradictedMs) return
    this.#closed.push({ fromMs: this.#openMs, toMs: timeMs })
    this.#openMs = -1
  }

  #contradict(timeMs: number): void {
    this.#contradictedMs = timeMs
    if (this.#openMs >= 0) return
    const last = this.#closed.at(-1)
    // A verified row of the same millisecond ended it too early.
    this.#openMs = last?.toMs === timeMs ? last.fromMs : timeMs
    if (last?.toMs === timeMs) this.#closed.pop()
  }

  /** Ascending and apart from each other; the last one may be endless. */
  get gaps(): Span[] {
    const open = { fromMs: this.#openMs, toMs: ENDLESS_MS }
    return this.#openMs < 0 ? [...this.#closed] : [...this.#closed, open]
  }
}
