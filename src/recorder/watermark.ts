import type { Snapshot } from '#src/domain/snapshot.ts'

/** The longest wait for a message of a later time. */
const QUIET_MS = 2000

/**
 * The newest time received over a connection, by the venue's clock. By the recorder's clock alone,
 * messages delayed by the network or by this process would seem missing.
 */
export class Watermark {
  #newestMs = 0
  #latestMs = 0

  /** The newest time of a message. */
  get newestMs(): number {
    return this.#newestMs
  }

  /** Raises the watermark to the time of a message. */
  raise(timestampMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, timestampMs)
    this.#latestMs = timestampMs
  }

  /** True if the rest of a state's millisecond had `waitMs` to arrive, by both clocks. */
  hasPassed(
    { timestampMs, receivedMs = 0 }: Pick<Snapshot, 'timestampMs' | 'receivedMs'>,
    waitMs: number,
    nowMs: number,
  ): boolean {
    // The venue's clock may be set back and then stay behind for long.
    const isSetBack = this.#latestMs <= timestampMs - waitMs
    const isHeard = isSetBack || this.#newestMs >= timestampMs + waitMs
    return nowMs - receivedMs >= (isHeard ? waitMs : QUIET_MS)
  }
}
