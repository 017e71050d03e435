/** What follows from the times and verdicts of one outcome's snapshots, taken in order of time. */
import { ENDLESS_MS, type Span } from '#src/core/coverage.ts'

/** Takes times, ascending; measures the pauses between them. */
export class TimeTally {
  /** Pauses longer than is usual: from the millisecond after a snapshot to the next, exclusive. */
  readonly gaps: Span[] = []
  /** Longest pause; negative while there are not two times. */
  longestMs = -1
  /** Both -1 while there is no snapshot. */
  firstMs = -1
  lastMs = -1
  readonly #quietMs: number

  constructor(quietMs: number) {
    this.#quietMs = quietMs
  }

  get span(): { firstMs: number; lastMs: number } | undefined {
    return this.lastMs < 0 ? undefined : { firstMs: this.firstMs, lastMs: this.lastMs }
  }

  get longest(): number | undefined {
    return this.longestMs < 0 ? undefined : this.longestMs
  }

  /** Continues after a snapshot, with the longest pause before it. */
  resume(lastMs: number, longestMs: number | undefined): void {
    this.firstMs = lastMs
    this.lastMs = lastMs
    this.longestMs = longestMs ?? -1
  }

  add(timeMs: number): void {
    const fromMs = this.lastMs
    // How many states a millisecond has says nothing about pauses.
    if (timeMs === fromMs) return
    this.lastMs = timeMs
    if (fromMs < 0) {
      this.firstMs = timeMs
      return
    }
    const ms = timeMs - fromMs
    if (ms > this.longestMs) this.longestMs = ms
    if (ms > this.#quietMs) this.gaps.push({ fromMs: fromMs + 1, toMs: timeMs })
  }
}

/**
 * Knows where books contradict their hash: from the millisecond of a contradicted row to the first
 * verified row of a later one. The order within a millisecond does not matter.
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

/** Both of one outcome. */
export type OutcomeTally = { times: TimeTally; verdicts: VerdictTally }

export const newOutcomeTallies = (quietMs: number): { up: OutcomeTally; down: OutcomeTally } => ({
  up: { times: new TimeTally(quietMs), verdicts: new VerdictTally() },
  down: { times: new TimeTally(quietMs), verdicts: new VerdictTally() },
})
