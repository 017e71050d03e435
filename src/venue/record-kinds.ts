import { RecordFault } from '#src/core/record-fault.ts'

import type { JsonObject, Reading } from './json-fields.ts'
import { ownKinds } from './own-records.ts'
import type { MarketRecord, RecordKind } from './venue.ts'
import { venues } from './venues.ts'

/**
 * Recordings of every venue hold them in one form, which `wire/snapshot-json.ts` reads from bytes.
 */
const snapshot = { name: 'a snapshot', required: [['bids'], ['asks']], forbidden: [] } as const
const described = [...ownKinds, ...Object.values(venues).flatMap(({ kinds }) => kinds)]
const kinds: readonly (typeof snapshot | RecordKind)[] = [snapshot, ...described]

/** Members that make a second kind of what is a snapshot. */
export const foreignToSnapshots: readonly string[] = described
  .filter(({ forbidden }) => !snapshot.required.some(([side]) => forbidden.includes(side)))
  .flatMap(({ required }) => required.flat())

/**
 * Reads an object that describes markets, by the one kind that it is of. Returns undefined for a
 * snapshot; throws `RecordFault` for what is of no kind, for what is of two, and for what is not
 * sound.
 */
export function readMarketRecords(value: JsonObject, reading: Reading): MarketRecord[] | undefined {
  const has = (member: string): boolean => Object.hasOwn(value, member)
  const [first, second] = kinds.filter(
    ({ required, forbidden }) =>
      required.every((members) => members.some(has)) && !forbidden.some(has),
  )
  if (first === undefined) throw new RecordFault(`is none of: ${kinds.map(describe).join('; ')}`)
  if (second !== undefined) {
    throw new RecordFault(`fits both ${describe(first)} and ${describe(second)}`)
  }
  return 'read' in first ? first.read(value, reading) : undefined
}

const describe = ({ name, required }: Omit<RecordKind, 'read'>): string =>
  `${name} (${required.map((members) => members.join(' or ')).join(', ')})`
