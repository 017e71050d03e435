/** Reads what a client sends over the stream. */
import { AppError } from '#src/core/errors.ts'
import { readJson } from '#src/http/body.ts'

import { Operation, operations } from './model.ts'

/** Throws `invalid_request`, or `invalid_parameter` naming the member. */
export function readOperation(text: string): Operation {
  const operation = readJson(Operation, text)
  const { needs, takes } = operations[operation.op]
  const given = Object.keys(operation).filter((name) => name !== 'op')
  const missing = needs.find((name) => !given.includes(name))
  const strange = given.find((name) => !needs.includes(name) && !takes.includes(name))
  const param = missing ?? strange
  if (param !== undefined) {
    const what = missing === undefined ? 'does not take' : 'needs'
    throw new AppError('invalid_parameter', `\`${operation.op}\` ${what} \`${param}\`.`, { param })
  }
  if (operation.from !== undefined && operation.conditionId === undefined)
    throw new AppError('invalid_parameter', '`from` needs `conditionId`.', { param: 'from' })
  return operation
}
