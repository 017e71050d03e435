import type { Span } from '#src/domain/coverage.ts'

/** The number of remembered states: more than arrive while a message is delayed. */
const TIMES_MAX = 128

/** Times of the last true states of a book, and gaps between them revealed by late messages. */
export class TrueTimes {
  /** Ascending. */
  readonly #times: number[] = []
  #passedOver = false
  #reported: Span = { fromMs: 0, toMs: 0 }

  /** Adds a true state; returns the gap before it in which a state was missed. */
  add(timestampMs: number): Span | undefined {
    const lastMs = this.#times.at(-1)
    const isPassedOver = this.#passedOver && lastMs !== undefined
    this.#passedOver = false
    if (timestampMs !== lastMs) this.#times.push(timestampMs)
    if (this.#times.length > TIMES_MAX) this.#times.shift()
    return isPassedOver ? { fromMs: lastMs + 1, toMs: timestampMs } : undefined
  }

  /** Forgets the times: after the last true state nothing is known. */
  end(): void {
    this.#passedOver = false
  }

  /**
   * Notes a message older than the last state. If no state of its time is known, that state was
   * missed: returns the gap from there to the last state, once.
   */
  late(timestampMs: number): Span | undefined {
    const beforeMs = this.#times.findLast((ms) => ms <= timestampMs)
    const toMs = this.#times.at(-1)
    if (toMs === undefined || beforeMs === timestampMs) return undefined
    if (beforeMs === toMs) {
      this.#passedOver = true
      return undefined
    }
    // States before the first one are known to other connections.
    const fromMs = beforeMs === undefined ? timestampMs : beforeMs + 1
    if (toMs === this.#reported.toMs && fromMs >= this.#reported.fromMs) return undefined
    this.#reported = { fromMs, toMs }
    return this.#reported
  }
}
