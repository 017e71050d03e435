/** The derived gaps of a market as MarketHistory promises them, from plain lists of times. */
import { type Gap, type GapReason, silenceMs } from '#src/domain/coverage.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'

const quietMs = silenceMs('5m')

/** Takes accepted rows of one market of 5 minutes, batch by batch. */
export class GapModel {
  readonly #times: Record<Outcome, number[]> = { up: [], down: [] }
  #gaps: Gap[] = []

  add(rows: readonly Snapshot[], reason: GapReason): void {
    for (const { outcome, timestampMs } of rows) this.#times[outcome].push(timestampMs)
    const before = this.#gaps
    this.#gaps = outcomes.flatMap((outcome) =>
      this.#steps(outcome)
        .filter(({ fromMs, toMs }) => toMs - fromMs > quietMs)
        // A state is known at its own millisecond.
        .map(({ fromMs, toMs }) => ({ fromMs: fromMs + 1, toMs }))
        .map((span) => {
          const whole = before.find(
            (gap) => gap.outcome === outcome && gap.fromMs <= span.fromMs && gap.toMs >= span.toMs,
          )
          return { outcome, ...span, reason: whole?.reason ?? reason }
        }),
    )
  }

  /** Ascending by start, up before down. */
  get gaps(): Gap[] {
    return this.#gaps.toSorted(
      (a, b) => a.fromMs - b.fromMs || outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome),
    )
  }

  longestMs(outcome: Outcome): number | undefined {
    const lengths = this.#steps(outcome).map(({ fromMs, toMs }) => toMs - fromMs)
    return lengths.length === 0 ? undefined : Math.max(...lengths)
  }

  span(outcome: Outcome): { firstMs: number; lastMs: number } | undefined {
    const times = this.#times[outcome]
    if (times.length === 0) return undefined
    return { firstMs: Math.min(...times), lastMs: Math.max(...times) }
  }

  #steps(outcome: Outcome): { fromMs: number; toMs: number }[] {
    const times = [...new Set(this.#times[outcome])].sort((a, b) => a - b)
    return times.slice(1).map((toMs, at) => ({ fromMs: times[at] ?? 0, toMs }))
  }
}
