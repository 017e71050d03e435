import type { Span } from '#src/domain/coverage.ts'

/** How many states are remembered: more than come while a message is held up. */
const TIMES_MAX = 128

/** The times of a book's last true states, and the times that a late message shows they missed. */
export class TrueTimes {
  /** Ascending. */
  readonly #times: number[] = []
  #passedOver = false
  #reported: Span = { fromMs: 0, toMs: 0 }

  /** Adds a true state; returns the span before it in which a state was missed. */
  add(timestampMs: number): Span | undefined {
    const lastMs = this.#times.at(-1)
    const isPassedOver = this.#passedOver && lastMs !== undefined
    this.#passedOver = false
    if (timestampMs !== lastMs) this.#times.push(timestampMs)
    if (this.#times.length > TIMES_MAX) this.#times.shift()
    return isPassedOver ? { fromMs: lastMs + 1, toMs: timestampMs } : undefined
  }

  /** From the last true state on nothing is known. */
  end(): void {
    this.#passedOver = false
  }

  /**
   * Notes a message about a time earlier than the last state. Unless a state of that time is known,
   * it was missed: returns the span from there to the last state, once.
   */
  late(timestampMs: number): Span | undefined {
    const beforeMs = this.#times.findLast((ms) => ms <= timestampMs)
    const toMs = this.#times.at(-1)
    if (toMs === undefined || beforeMs === timestampMs) return undefined
    if (beforeMs === toMs) {
      this.#passedOver = true
      return undefined
    }
    // Other connections have the states before the first one.
    const fromMs = beforeMs === undefined ? timestampMs : beforeMs + 1
    if (toMs === this.#reported.toMs && fromMs >= this.#reported.fromMs) return undefined
    this.#reported = { fromMs, toMs }
    return this.#reported
  }
}
