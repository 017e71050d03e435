import type { Span } from '#src/core/coverage.ts'

/** Takes the times of one outcome's snapshots, ascending, and knows their silences. */
export class SilenceTally {
  /** Silences longer than the quiet that is usual: from behind a snapshot to the next, exclusive. */
  readonly gaps: Span[] = []
  /** Longest silence; negative while there are not two times. */
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

  /** Goes on behind a snapshot, with the longest silence before it. */
  resume(lastMs: number, longestMs: number | undefined): void {
    this.firstMs = lastMs
    this.lastMs = lastMs
    this.longestMs = longestMs ?? -1
  }

  add(timeMs: number): void {
    const fromMs = this.lastMs
    // How many states a millisecond has says nothing about silences.
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
