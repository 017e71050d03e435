/** Gaps as streams send them. */

import { ENDLESS_MS, type Gap, REPLICA_BEHIND } from '#src/domain/coverage.ts'
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

/** Provisional gaps that were sent and no longer exist: each is ended where it began. */
export function retractedGaps(sent: Iterable<Gap>, now: readonly Gap[]): Gap[] {
  const mayPass = ({ toMs, reason }: Gap) => toMs === ENDLESS_MS || reason === REPLICA_BEHIND
  return [...sent].flatMap((gap) =>
    !mayPass(gap) ||
    now.some(
      ({ outcome, reason, fromMs }) =>
        outcome === gap.outcome && reason === gap.reason && fromMs === gap.fromMs,
    )
      ? []
      : { ...gap, toMs: gap.fromMs },
  )
}
