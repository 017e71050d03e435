import type { Snapshot } from '#src/domain/snapshot.ts'

type PaceOptions = {
  maxPerSecond?: number | undefined
  counts: { leftOut: number }
  output: { state: (state: Snapshot) => void }
}

/** How long after a step its last state may still come, by the recorder's clock. */
const LATE_MS_MAX = 25

/**
 * Passes on at most so many states of a token in a second: the last one of each step of the venue's
 * time, once the step is over. What comes after its step was passed on is one more.
 */
export class Pace {
  readonly #stepMs: number
  readonly #pass: (state: Snapshot) => void
  readonly #counts: { leftOut: number }
  #held: Snapshot | undefined

  /** Without `maxPerSecond` every state is passed on at once. */
  constructor({ maxPerSecond, counts, output }: PaceOptions) {
    this.#stepMs = maxPerSecond === undefined ? 0 : 1000 / maxPerSecond
    this.#pass = (state) => output.state(state)
    this.#counts = counts
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

  /** Passes on what is held, because its step is over or nothing else is to come. */
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
