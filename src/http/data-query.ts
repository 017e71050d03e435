/** Parameters that routes of data share, each read and documented the same way wherever it is. */
import { Type } from '@sinclair/typebox'

import { AppError } from '#src/core/errors.ts'
import { intervals } from '#src/core/interval.ts'
import { outcomes } from '#src/core/market.ts'
import { toUnixMs } from '#src/core/time.ts'

import { literals } from './literals.ts'

/** A moment in Unix milliseconds, or in seconds; `readMoment` tells which. No `examples`: the documentation page would fill them in, and find nothing in other markets. */
export const momentParameter = (what: string, example: number) =>
  Type.Integer({
    minimum: 0,
    description: `${what} Unix milliseconds; a value below 100000000000 is read as seconds. For example ${example}.`,
  })

/** 9999-12-31T23:59:59.999Z: later ones have no text of four digits for the year. */
export const MOMENT_MS_MAX = 253_402_300_799_999

/** `ts` of what was in force at a moment; it can be printed as a time. */
export const asOfParameter = Type.Integer({
  ...momentParameter(
    'The moment: what was in force then, at or before it and never after.',
    1776153610000,
  ),
  maximum: MOMENT_MS_MAX,
})

export const maxAgeParameter = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'Oldest state that is wanted, in milliseconds before `ts`; any when absent.',
  }),
)

/** `from` and `to` on what `field` names. */
export const rangeParameters = (field: string) => ({
  from: Type.Optional(momentParameter(`First moment, inclusive, of ${field}.`, 1776153610000)),
  to: Type.Optional(momentParameter(`End, exclusive, of ${field}.`, 1776153900)),
})

export const limitParameter = (rows: string, sizes: { default: number; maximum: number }) =>
  Type.Integer({
    minimum: 1,
    ...sizes,
    description: `${rows} on a page; may change during a walk.`,
    examples: [sizes.default],
  })

export const cursorParameter = Type.Optional(
  Type.String({
    minLength: 1,
    description:
      'Goes on behind a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated.',
  }),
)

export const outcomeParameter = Type.Optional(
  literals(outcomes, { description: 'Only this outcome; both when absent.' }),
)

export const orderParameter = literals(['asc', 'desc'], {
  default: 'asc',
  description: 'Direction of time, within and across pages.',
})

export const intervalParameter = (description: string) =>
  Type.Optional(literals(intervals, { description }))

/** A moment as it was sent, in Unix milliseconds. */
export const readMoment = toUnixMs

/** Throws `invalid_parameter` when the range is empty or turned around. */
export function readRange({ from, to }: { from?: number; to?: number }): {
  fromMs: number | undefined
  toMs: number | undefined
} {
  const fromMs = from === undefined ? undefined : readMoment(from)
  const toMs = to === undefined ? undefined : readMoment(to)
  if (fromMs !== undefined && toMs !== undefined && toMs <= fromMs) {
    throw new AppError(
      'invalid_parameter',
      `\`to\` is ${to}, which is not after \`from\`, ${from}. \`from\` is inclusive, \`to\` exclusive.`,
      { param: 'to' },
    )
  }
  return { fromMs, toMs }
}
