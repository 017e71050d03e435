/** Parameters of every route that answers with snapshots: how much of each is wanted. */
import { Type } from '@sinclair/typebox'

import { DEPTH_MAX, type RowCut, rowFields } from '#src/wire/row-cut.ts'

import { fieldsParameterOf, readFields } from './field-names.ts'
import { literals } from './literals.ts'

/** `own` is the book as recorded, `consolidated` that with the mirror of the other outcome's. */
export const views = ['own', 'consolidated'] as const
export type View = (typeof views)[number]

export const depthParameter = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: DEPTH_MAX,
    description: 'Levels of each side, from the best; all when absent.',
    examples: [5],
  }),
)

export const fieldsParameter = fieldsParameterOf(
  rowFields,
  'Only these fields of each snapshot, joined by commas, for example `timestamp,bids,asks`; all but `receivedAt` when absent.',
)

export const viewParameter = literals(views, {
  default: 'own',
  description:
    '`own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome\'s (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, in force at the same moment. The venue shows an order in both books, so sizes are never added up.',
})

type CutQuery = { depth?: number; fields?: string; view: View }

/** Reads `depth` and `fields`. Throws `invalid_parameter` for a name that is unknown or repeated. */
export function readCut({ depth, fields, view }: CutQuery): RowCut {
  const absent = view === 'own' ? onlyConsolidated : onlyOwn
  return { depth, fields: fields === undefined ? undefined : readFields(fields, rowFields, absent) }
}

const onlyConsolidated = { sources: 'only `view=consolidated` has' }
const onlyOwn = { receivedAt: 'only `view=own` has: a consolidated ladder is made of two states' }
