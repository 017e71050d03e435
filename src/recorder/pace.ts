import type { Snapshot } from '#src/domain/snapshot.ts'

/** How long after a step its last state may still come, by the recorder's clock. */
const LATE_MS_MAX = 25

/**
 * Limits the states of a token in a second: passes on the last one of each step of the venue's
 * time, once the step is over. A state that comes after its step was passed on is one more.
 */
export class Pace {
  readonly #stepMs: number
  readonly #pass: (state: Snapshot) => void
  readonly #counts: { leftOut: number }
  #held: Snapshot | undefined

  /** Without `maxPerSecond` every state is passed on at once. */
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

  /** Passes on the held state, because its step is over or nothing else will come. */
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
