import type { Snapshot } from '#src/domain/snapshot.ts'

/** The longest wait without a message of a later time. */
const QUIET_MS = 2000

/**
 * The time up to which a connection was heard, by the venue's clock. By the recorder's clock alone,
 * messages that the network or this process holds up would seem not to come.
 */
export class Watermark {
  #newestMs = 0
  #latestMs = 0

  /** The latest time of a message. */
  get newestMs(): number {
    return this.#newestMs
  }

  /** Takes the time of a message. */
  raise(timestampMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, timestampMs)
    this.#latestMs = timestampMs
  }

  /** Whether more of a state's millisecond had `waitMs` to come, by both clocks. */
  hasPassed(
    { timestampMs, receivedMs = 0 }: Pick<Snapshot, 'timestampMs' | 'receivedMs'>,
    waitMs: number,
    nowMs: number,
  ): boolean {
    // The venue's clock may be set back, and then stays earlier for long.
    const isSetBack = this.#latestMs <= timestampMs - waitMs
    const isHeard = isSetBack || this.#newestMs >= timestampMs + waitMs
    return nowMs - receivedMs >= (isHeard ? waitMs : QUIET_MS)
  }
}
