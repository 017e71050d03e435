/** The message of a gap. */
import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Market } from '#src/domain/market.ts'
import { toIso } from '#src/domain/time.ts'

/** `name` is the subscription's as JSON. */
export function gapText(name: string, { conditionId }: Market, gap: Gap): string {
  const { outcome, reason, fromMs, toMs } = gap
  const to = toMs === ENDLESS_MS ? 'null' : `"${toIso(toMs)}"`
  const span = `"from":"${toIso(fromMs)}","to":${to}`
  return `{"type":"gap","id":${name},"conditionId":"${conditionId}","outcome":"${outcome}","reason":"${reason}",${span}}`
}
