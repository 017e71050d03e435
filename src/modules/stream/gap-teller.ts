/** Says what was not recorded of a market, to a subscription of it. */
import { ENDLESS_MS, type Gap } from '#src/core/coverage.ts'

const keyOf = ({ outcome, reason, fromMs, toMs }: Gap) => `${outcome} ${reason} ${fromMs} ${toMs}`

/**
 * Tells each gap that is not over at `startMs` once, and again when it has ended. `list` returns
 * the same list as long as it is true.
 */
export function createGapTeller(
  list: () => readonly Gap[],
  send: (gap: Gap) => void,
  startMs: number,
) {
  let seen: readonly Gap[] = []
  let sent = new Set(
    list()
      .filter(({ toMs }) => toMs <= startMs)
      .map(keyOf),
  )
  let unsent: Gap[] = []

  function look(): void {
    const gaps = list()
    if (gaps === seen) return
    seen = gaps
    unsent = gaps.filter((gap) => !sent.has(keyOf(gap)))
    sent = sent.intersection(new Set(gaps.map(keyOf)))
  }

  /** Tells what was seen and begins before a moment. */
  function tell(untilMs: number): void {
    const later = unsent.findIndex(({ fromMs }) => fromMs >= untilMs)
    for (const gap of unsent.splice(0, later < 0 ? unsent.length : later)) {
      sent.add(keyOf(gap))
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
