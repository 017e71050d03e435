/** Reads which market an object is of from the slug and the condition id in it. */
import { parseConditionId } from '#src/domain/market.ts'

import { type JsonObject, readConditionId, readText } from '../json-fields.ts'
import type { KnownFacts, LeftOut } from '../venue.ts'
import { readSlug } from './slug.ts'

/** `nearMs` as in `readSlug`. Throws a `record` fault. */
export function readNamed(value: JsonObject, nearMs: number | undefined): KnownFacts | LeftOut {
  const slug = readText(value.slug, 'slug')
  const reading = readSlug(slug, nearMs)
  if (reading.kind === 'left_out') return withConditionId(reading, value)
  const { coin, timeframe, window } = reading
  const conditionId = readConditionId(value.conditionId)
  const times = { windowStartMs: window?.startMs, windowEndMs: window?.endMs }
  return { conditionId, coin, timeframe, slug, ...times }
}

export function withConditionId(leftOut: LeftOut, { conditionId }: JsonObject): LeftOut {
  const id = typeof conditionId === 'string' ? parseConditionId(conditionId) : undefined
  return { ...leftOut, conditionId: id }
}
