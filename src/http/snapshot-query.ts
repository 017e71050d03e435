/** Parameters of every route that answers with snapshots: how much of each is wanted. */
import { Type } from '@sinclair/typebox'

import { AppError } from '#src/core/errors.ts'
import { DEPTH_MAX, type RowCut, type RowField, rowFields } from '#src/core/row-cut.ts'

import { excerpt } from './excerpt.ts'
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

/** No `examples`: what is left out is missing from the answers that the documentation shows. */
export const fieldsParameter = Type.Optional(
  Type.String({
    minLength: 1,
    description: `Only these fields of each snapshot, joined by commas, for example \`timestamp,bids,asks\`; all when absent. Known are \`${rowFields.join('`, `')}\`.`,
  }),
)

export const viewParameter = literals(views, {
  default: 'own',
  description:
    '`own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome\'s (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, in force at the same moment. The venue shows an order in both books, so sizes are never added up.',
})

type CutQuery = { depth?: number; fields?: string; view: View }

/** Reads `depth` and `fields`. Throws `invalid_parameter` for a name that is unknown or repeated. */
export function readCut({ depth, fields, view }: CutQuery): RowCut {
  return { depth, fields: fields === undefined ? undefined : readFields(fields, view) }
}

function readFields(text: string, view: View): ReadonlySet<RowField> {
  const found = new Set<RowField>()
  for (const name of text.split(',')) {
    const field = rowFields.find((known) => known === name)
    if (field === undefined) {
      const known = rowFields.map((each) => `\`${each}\``).join(', ')
      throw refuse(`\`fields\` has "${excerpt(name)}", which is none of ${known}.`)
    }
    if (found.has(field)) throw refuse(`\`fields\` has \`${field}\` twice. Send each name once.`)
    if (field === 'sources' && view !== 'consolidated') {
      throw refuse('`fields` has `sources`, which only `view=consolidated` has.')
    }
    found.add(field)
  }
  return found
}

const refuse = (message: string) => new AppError('invalid_parameter', message, { param: 'fields' })
