import type { Snapshot } from '#src/domain/snapshot.ts'

/** The wait for the last state of a step after its end, by the recorder's clock. */
const LATE_MS_MAX = 25

/**
 * Limits the states of a token per second: passes on the last state of each step of the venue's
 * time when the step is over. A state that arrives after its step was passed on is passed on as
 * well.
 */
export class Pace {
  readonly #stepMs: number
  readonly #pass: (state: Snapshot) => void
  readonly #counts: { leftOut: number }
  #held: Snapshot | undefined

  /** Passes on every state at once if `maxPerSecond` is undefined. */
  constructor(
    maxPerSecond: number | undefined,
    counts: { leftOut: number },
    pass: (state: Snapshot) => void,
  ) {
    this.#stepMs = maxPerSecond === undefined ? 0 : 1000 / maxPerSecond
    this.#counts = counts
    this.#pass = pass
  }

  get heldMs(): number | undefined {
    return this.#held?.timestampMs
  }

  offer(state: Snapshot): void {
    if (this.#stepMs === 0) {
      this.#pass(state)
      return
    }
    if (this.#held !== undefined) {
      if (this.#stepOf(this.#held) === this.#stepOf(state)) this.#counts.leftOut++
      else this.#pass(this.#held)
    }
    this.#held = state
  }

  /** Passes on the held state, because its step is over or nothing else will arrive. */
  flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#pass(held)
  }

  settle(nowMs: number): void {
    const held = this.#held
    if (held === undefined) return
    const endMs = (this.#stepOf(held) + 1) * this.#stepMs
    const overMs = (held.receivedMs ?? 0) + endMs - held.timestampMs
    if (nowMs > overMs + LATE_MS_MAX) this.flush()
  }

  #stepOf({ timestampMs }: Snapshot): number {
    return Math.floor(timestampMs / this.#stepMs)
  }
}
