/** Parses the operations of clients. */
import { parameterError } from '#src/domain/errors.ts'
import { parseObject } from '#src/http/body.ts'
import { readBy } from '#src/http/validation.ts'

import {
  type Op,
  type Operation,
  type Operations,
  operationSchemas,
  ops,
  SPEED_MIN,
  speedText,
} from './schema.ts'

/** Longest id that is sent back in an error. */
const ID_LENGTH_MAX = 64

/** Throws `invalid_request`, or `invalid_parameter` naming the member. */
export function readOperation(message: string): Operation {
  const body = parseObject(message, 'The message')
  const op = ops.find((each) => each === body.op)
  if (op === undefined)
    throw parameterError(
      'op',
      `\`op\` must be one of ${ops.map((each) => `\`${each}\``).join(', ')}.`,
    )
  // The schema belongs to the operation, so the result has its type.
  const operation = readBy(operationSchemas[op], body, 'body') as Operation
  rules[op]?.(operation as never)
  return operation
}

/** The id in an operation that failed to parse, if it is short enough. */
export function idOf(message: string): string | undefined {
  try {
    const { id } = parseObject(message)
    return typeof id === 'string' && id !== '' && id.length <= ID_LENGTH_MAX ? id : undefined
  } catch {
    return undefined
  }
}

/** Rules that a schema cannot express. */
const rules: { [O in Op]?: (operation: Operations[O]) => void } = {
  subscribe(operation) {
    const { channel, from, conditionId } = operation
    assertMembers(operation, channel === 'spot')
    if (from !== undefined && conditionId === undefined && channel !== 'spot')
      throw parameterError('from', '`from` needs `conditionId`.')
  },
  replay(operation) {
    const hasSpot = operation.channel === 'spot' || operation.with === 'spot'
    assertMembers(operation, hasSpot)
    assertSpeed(operation.speed)
    assertRange(operation, hasSpot)
  },
  speed: ({ speed }) => assertSpeed(speed),
}

/** Refuses members that the channel does not have. */
function assertMembers(operation: Operations['subscribe' | 'replay'], hasSpot: boolean): void {
  const { channel } = operation
  const isSpot = channel === 'spot'
  const hasNoRows = channel === 'markets'
  const ofSpot = 'is for `spot` only.'
  const ofMarkets = 'is for markets; `spot` is of the coin.'
  const ofRows = 'is for rows; `markets` has none.'
  const faults = {
    depth: channel !== 'snapshots' && 'is for `snapshots` only.',
    conditionId: isSpot && ofMarkets,
    timeframe: isSpot && ofMarkets,
    outcome: (isSpot && ofMarkets) || (hasNoRows && ofRows),
    // `from` as a moment is valid for each channel, as a cursor only for channels with rows.
    from: operation.op === 'subscribe' && hasNoRows && ofRows,
    cursor: hasNoRows && ofRows,
    with: isSpot && 'adds `spot` to another channel.',
    source: !hasSpot && ofSpot,
    window: !hasSpot && ofSpot,
  }
  for (const [name, fault] of Object.entries(faults))
    if (fault && name in operation) throw parameterError(name, `\`${name}\` ${fault}`)
}

function assertRange(
  { channel, conditionId, from, to, cursor }: Operations['replay'],
  hasSpot: boolean,
): void {
  const isNamed = conditionId !== undefined
  const isSpot = channel === 'spot'
  const needsRange = !isNamed || hasSpot
  const start = isSpot ? (from ?? cursor) : from
  const or = hasSpot ? '.' : ', or `conditionId`.'
  const faults = [
    [cursor !== undefined && !(isNamed || isSpot), 'cursor', '`cursor` needs `conditionId`.'],
    [cursor !== undefined && from !== undefined, 'cursor', 'Send `cursor` or `from`, not both.'],
    [needsRange && start === undefined, 'from', `Send \`from\`${or}`],
    [needsRange && to === undefined, 'to', `Send \`to\`${or}`],
    [(to ?? Number.POSITIVE_INFINITY) <= (from ?? -1), 'to', '`to` must be after `from`.'],
  ] as const
  for (const [isFault, param, text] of faults) if (isFault) throw parameterError(param, text)
}

function assertSpeed(speed: number): void {
  if (speed === 0 || speed >= SPEED_MIN) return
  throw parameterError('speed', `\`speed\` must be ${speedText}.`)
}
