/** Says what was not recorded of a market, to a subscription of it. */
import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import { gapKeyOf, takenBack } from '#src/live/gaps.ts'

/**
 * Tells each gap that is not over at `startMs` once, again when it has ended, and as an empty one
 * when it is none after all. `list` returns the same list as long as it is true.
 */
export function createGapTeller(
  list: () => readonly Gap[],
  send: (gap: Gap) => void,
  startMs: number,
) {
  let seen: readonly Gap[] = []
  let sent = byKey(list().filter(({ toMs }) => toMs <= startMs))
  let unsent: Gap[] = []

  function look(): void {
    const gaps = list()
    if (gaps === seen) return
    seen = gaps
    for (const gap of takenBack(sent.values(), gaps)) send(gap)
    unsent = gaps.filter((gap) => !sent.has(gapKeyOf(gap)))
    sent = byKey(gaps.filter((gap) => sent.has(gapKeyOf(gap))))
  }

  /** Tells what was seen and begins before a moment. */
  function tell(untilMs: number): void {
    const later = unsent.findIndex(({ fromMs }) => fromMs >= untilMs)
    for (const gap of unsent.splice(0, later < 0 ? unsent.length : later)) {
      sent.set(gapKeyOf(gap), gap)
      send(gap)
    }
  }

  return {
    look,
    tell,
    tellAll(): void {
      look()
      tell(ENDLESS_MS)
    },
  }
}

const byKey = (gaps: readonly Gap[]): Map<string, Gap> =>
  new Map(gaps.map((gap) => [gapKeyOf(gap), gap]))
