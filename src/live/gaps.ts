/** Gaps as streams send them. */

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Market } from '#src/domain/market.ts'
import { toIso } from '#src/domain/time.ts'

/** The members of a gap as streams send them, without braces. */
export function gapMembers({ conditionId }: Market, gap: Gap): string {
  const { outcome, reason, fromMs, toMs } = gap
  const to = toMs === ENDLESS_MS ? 'null' : `"${toIso(toMs)}"`
  const span = `"from":"${toIso(fromMs)}","to":${to}`
  return `"conditionId":"${conditionId}","outcome":"${outcome}","reason":"${reason}",${span}`
}

/** Identifies a gap, with its end. */
export const gapKey = ({ outcome, reason, fromMs, toMs }: Gap) =>
  `${outcome} ${reason} ${fromMs} ${toMs}`

/** Open gaps that were sent and are gone: each ends where it began. */
export function takenBack(sent: Iterable<Gap>, now: readonly Gap[]): Gap[] {
  return [...sent].flatMap((gap) =>
    gap.toMs !== ENDLESS_MS ||
    now.some(
      ({ outcome, reason, fromMs }) =>
        outcome === gap.outcome && reason === gap.reason && fromMs === gap.fromMs,
    )
      ? []
      : { ...gap, toMs: gap.fromMs },
  )
}
