import type { Span } from '#src/core/coverage.ts'

/** True states remembered: more than come while a message is held up. */
const TIMES_MAX = 128

/** The times of a book's last true states, and what they turn out to have passed over. */
export class TrueTimes {
  /** Ascending. */
  readonly #times: number[] = []
  #passedOver = false
  #reportedMs = 0

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
   * among ours, unless it was said again. Returns the time around it, once.
   */
  late(timestampMs: number): Span | undefined {
    const index = this.#times.findLastIndex((ms) => ms <= timestampMs)
    const [lastMs, nextMs] = [this.#times[index], this.#times[index + 1]]
    if (lastMs === undefined || lastMs === timestampMs || lastMs === this.#reportedMs)
      return undefined
    if (nextMs === undefined) {
      this.#passedOver = true
      return undefined
    }
    this.#reportedMs = lastMs
    return { fromMs: lastMs + 1, toMs: nextMs }
  }
}
