/** The parameter `fields`: which members of its rows an answer has. */
import { Type } from '@sinclair/typebox'

import { AppError } from '#src/core/errors.ts'

import { excerpt } from './excerpt.ts'

/** No `examples`: what is left out is missing from the answers that the documentation shows. */
export const fieldsParameterOf = (known: readonly string[], description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      description: `${description} Known are \`${known.join('`, `')}\`.`,
    }),
  )

/**
 * Reads names joined by commas. `absent` says of fields that this request cannot have why not. Throws
 * `invalid_parameter` for these and for a name that is unknown or repeated.
 */
export function readFields<Name extends string>(
  text: string,
  known: readonly Name[],
  absent: Partial<Record<Name, string>>,
): ReadonlySet<Name> {
  const found = new Set<Name>()
  for (const name of text.split(',')) {
    const field = known.find((each) => each === name)
    if (field === undefined) {
      const names = known.map((each) => `\`${each}\``).join(', ')
      throw fieldsError(`\`fields\` has "${excerpt(name)}", which is none of ${names}.`)
    }
    if (found.has(field))
      throw fieldsError(`\`fields\` has \`${field}\` twice. Send each name once.`)
    const reason = absent[field]
    if (reason !== undefined) throw fieldsError(`\`fields\` has \`${field}\`, which ${reason}.`)
    found.add(field)
  }
  return found
}

const fieldsError = (message: string) =>
  new AppError('invalid_parameter', message, { param: 'fields' })
