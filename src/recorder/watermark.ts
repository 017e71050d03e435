import type { Snapshot } from '#src/domain/snapshot.ts'

/** Without a message of a later time, nothing is waited for longer. */
const QUIET_MS = 2000

/**
 * Up to when a connection was heard, by the venue's clock. By the recorder's clock alone, what is
 * on its way would seem not to come while the network or this process holds messages up.
 */
export class Watermark {
  #newestMs = 0
  #latestMs = 0

  /** Takes the time of a message. */
  raise(timestampMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, timestampMs)
    this.#latestMs = timestampMs
  }

  /** Whether what belongs to a state had so long to come, by both clocks. */
  hasPassed(
    { timestampMs, receivedMs = 0 }: Pick<Snapshot, 'timestampMs' | 'receivedMs'>,
    { waitMs, nowMs }: { waitMs: number; nowMs: number },
  ): boolean {
    // The venue's clock may be set back, and then is earlier for long.
    const isSetBack = this.#latestMs <= timestampMs - waitMs
    const isHeard = isSetBack || this.#newestMs >= timestampMs + waitMs
    return nowMs - receivedMs >= (isHeard ? waitMs : QUIET_MS)
  }
}
