import type { JsonObject } from './json-fields.ts'
import { RecordFault } from './record-fault.ts'

/**
 * The kinds of objects that an import reads. What an object is follows from the members that it has and from nothing
 * else: not from the file, its place in it, or the object before. Members that no kind names are ignored.
 */

export type RecordKind = 'snapshot' | 'event' | 'market' | 'token' | 'trade'

type KindRule = {
  kind: RecordKind
  name: string
  /** Members that it has: of each of these lists at least one. */
  required: readonly (readonly string[])[]
  /** Members that it never has: they make it another kind, which may have all that is required here too. */
  forbidden: readonly string[]
}

const sides = ['bids', 'asks']
const marketMembers = ['clobTokenIds', 'outcomePrices', 'questionID']

const rules: readonly KindRule[] = [
  { kind: 'snapshot', name: 'a snapshot', required: [['bids'], ['asks']], forbidden: [] },
  { kind: 'event', name: "the venue's event", required: [['markets']], forbidden: [] },
  // One that has traded carries `lastTradePrice`.
  {
    kind: 'market',
    name: "the venue's market",
    required: [['conditionId'], marketMembers],
    forbidden: [],
  },
  {
    kind: 'token',
    name: 'a token',
    required: [['slug'], ['assetId'], ['outcome']],
    forbidden: [...sides, 'lastTradePrice'],
  },
  {
    kind: 'trade',
    name: 'a last trade price',
    required: [['conditionId'], ['timestamp'], ['lastTradePrice']],
    forbidden: [...sides, ...marketMembers],
  },
]

/** Members that make a second kind of what is a snapshot. */
export const foreignToSnapshots: readonly string[] = rules
  .filter(
    ({ kind, forbidden }) => kind !== 'snapshot' && !sides.some((side) => forbidden.includes(side)),
  )
  .flatMap(({ required }) => required.flat())

/** Returns the one kind that an object is of; throws `RecordFault` for none, and for two. */
export function kindOf(value: JsonObject): RecordKind {
  const has = (member: string): boolean => Object.hasOwn(value, member)
  const [first, second] = rules.filter(
    ({ required, forbidden }) =>
      required.every((members) => members.some(has)) && !forbidden.some(has),
  )
  if (first === undefined) throw new RecordFault(`is none of: ${rules.map(describe).join('; ')}`)
  if (second !== undefined) {
    throw new RecordFault(`fits both ${describe(first)} and ${describe(second)}`)
  }
  return first.kind
}

const describe = ({ name, required }: KindRule): string =>
  `${name} (${required.map((members) => members.join(' or ')).join(', ')})`
