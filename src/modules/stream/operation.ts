/** Reads what a client sends over the stream. */
import { parameterError } from '#src/core/errors.ts'
import { parseObject } from '#src/http/body.ts'
import { parseBody } from '#src/http/schema-reader.ts'

import {
  type Channel,
  type Op,
  type Operation,
  type Operations,
  operationSchemas,
  ops,
} from './model.ts'

/** Below it is only 0: as fast as it is taken. */
const SPEED_MIN = 0.1

/** Throws `invalid_request`, or `invalid_parameter` naming the member. */
export function readOperation(message: string): Operation {
  const body = parseObject(message)
  const op = ops.find((each) => each === body.op)
  if (op === undefined)
    throw parameterError(
      'op',
      `\`op\` must be one of ${ops.map((each) => `\`${each}\``).join(', ')}.`,
    )
  // The schema is that of the operation, so this is what it reads.
  const operation = parseBody(operationSchemas[op], body) as Operation
  rules[op]?.(operation as never)
  return operation
}

/** What a schema cannot say. */
const rules: { [O in Op]?: (operation: Operations[O]) => void } = {
  subscribe({ channel, depth, from, conditionId, source, window }) {
    assertDepth(channel, depth)
    if (from !== undefined && conditionId === undefined && channel !== 'spot')
      throw parameterError('from', '`from` needs `conditionId`.')
    if (channel === 'spot' && conditionId !== undefined)
      throw parameterError('conditionId', '`spot` is of the coin and has no `conditionId`.')
    if (channel !== 'spot' && (source ?? window) !== undefined)
      throw parameterError(source === undefined ? 'window' : 'source', 'That is of `spot` only.')
  },
  replay({ channel, depth, conditionId, from, to, cursor, speed }) {
    assertDepth(channel, depth)
    assertSpeed(speed)
    if (conditionId === undefined) {
      if (cursor !== undefined) throw parameterError('cursor', '`cursor` needs `conditionId`.')
      if (from === undefined) throw parameterError('from', 'Send `from`, or `conditionId`.')
      if (to === undefined) throw parameterError('to', 'Send `to`, or `conditionId`.')
    }
    if (cursor !== undefined && from !== undefined)
      throw parameterError('cursor', 'Send `cursor` or `from`, not both.')
    if (from !== undefined && to !== undefined && to <= from)
      throw parameterError('to', '`to` must be after `from`.')
  },
  speed: ({ speed }) => assertSpeed(speed),
}

function assertDepth(channel: Channel, depth: number | undefined): void {
  if (depth === undefined || channel === 'snapshots') return
  throw parameterError('depth', '`depth` is of `snapshots` only.')
}

function assertSpeed(speed: number): void {
  if (speed === 0 || speed >= SPEED_MIN) return
  throw parameterError('speed', `\`speed\` must be 0, or at least ${SPEED_MIN}.`)
}
