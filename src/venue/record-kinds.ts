import { recordFault } from '#src/domain/record-fault.ts'

import { fitsKind, type JsonObject, type Reading } from './json-fields.ts'
import { ownKinds } from './own-records.ts'
import type { MarketRecord, RecordKind } from './venue.ts'
import { venues } from './venues.ts'

/** Has the same form for all venues; `domain/wire/snapshot-json.ts` parses it from bytes. */
const snapshot = { name: 'a snapshot', required: [['bids'], ['asks']], forbidden: [] } as const
const described = [...ownKinds, ...Object.values(venues).flatMap(({ kinds }) => kinds)]
const kinds: readonly (typeof snapshot | RecordKind)[] = [snapshot, ...described]

/** Members that would make a snapshot an object of another kind as well. */
export const foreignToSnapshots: readonly string[] = described
  .filter(({ forbidden }) => !snapshot.required.some(([side]) => forbidden.includes(side)))
  .flatMap(({ required }) => required.flat())

/** Undefined for a snapshot. Throws a `record` fault for an object that is invalid or ambiguous. */
export function readMarketRecords(value: JsonObject, reading: Reading): MarketRecord[] | undefined {
  const [first, second] = kinds.filter((kind) => fitsKind(kind, value))
  if (first === undefined) throw recordFault(`is none of: ${kinds.map(describe).join('; ')}`)
  if (second !== undefined) {
    throw recordFault(`fits both ${describe(first)} and ${describe(second)}`)
  }
  return 'read' in first ? first.read(value, reading) : undefined
}

/** True if the columns of a table are the members of exactly one kind. */
export const fitsRecordKind = (columns: readonly string[]): boolean => {
  const row = Object.fromEntries(columns.map((name) => [name, '']))
  return described.filter((kind) => fitsKind(kind, row)).length === 1
}

const describe = ({ name, required }: Omit<RecordKind, 'read'>): string =>
  `${name} (${required.map((members) => members.join(' or ')).join(', ')})`
