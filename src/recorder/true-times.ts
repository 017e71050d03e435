import type { Span } from '#src/domain/coverage.ts'

/** True states remembered: more than come while a message is held up. */
const TIMES_MAX = 128

/** The times of a book's last true states, and what they turn out to have passed over. */
export class TrueTimes {
  /** Ascending. */
  readonly #times: number[] = []
  #passedOver = false
  #reported: Span = { fromMs: 0, toMs: 0 }

  /** Adds a true state; returns the time before it in which something was passed over. */
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
   * Notes what was said of a time after something of a later one: the state of that time is not
   * among ours, unless it was said again. Returns the time from there to the last state, once.
   */
  late(timestampMs: number): Span | undefined {
    const beforeMs = this.#times.findLast((ms) => ms <= timestampMs)
    const toMs = this.#times.at(-1)
    if (toMs === undefined || beforeMs === timestampMs) return undefined
    if (beforeMs === toMs) {
      this.#passedOver = true
      return undefined
    }
    // Before the first one there are those of other connections.
    const fromMs = beforeMs === undefined ? timestampMs : beforeMs + 1
    if (toMs === this.#reported.toMs && fromMs >= this.#reported.fromMs) return undefined
    this.#reported = { fromMs, toMs }
    return this.#reported
  }
}
