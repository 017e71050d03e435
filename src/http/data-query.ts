/** Parameters that routes share, each read and documented the same way everywhere. */

import { Type } from '@sinclair/typebox'

import { AppError, parameterError } from '#src/domain/errors.ts'
import {
  type Coin,
  coins,
  type FindMarket,
  isCoin,
  isMarketName,
  type Market,
  marketNameText,
  outcomes,
  sourceChoices,
  timeframes,
} from '#src/domain/market.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { intervals } from '#src/domain/series.ts'
import { DEPTH_MAX, type RowCut, rowFields } from '#src/domain/wire/row-cut.ts'

import { exampleMarket, text } from './fields.ts'
import { integer, moment, oneOf } from './kinds.ts'

export const pathParameters = {
  link: text('A link, as `link` of a file has it.', 'bf_link_AWneI-BrZXlf'),
  coin: text(`Coin in any case: ${coins.join(', ')}.`, exampleMarket.coin),
  conditionId: text(`A market of the coin: ${marketNameText}.`, exampleMarket.conditionId),
}

/** Throws `unknown_coin`. */
export function readCoin(sent: string): Coin {
  const coin = sent.toLowerCase()
  if (isCoin(coin)) return coin
  const message = `There is no coin "${excerpt(sent)}". Coins are ${coins.join(', ')}.`
  throw new AppError('unknown_coin', message, { param: 'coin' })
}

/** Throws `invalid_parameter`, or `unknown_market` also for a market of another coin. */
export function readMarket(coin: Coin, name: string, find: FindMarket): Market {
  if (!isMarketName(name)) {
    throw parameterError(
      'conditionId',
      `\`conditionId\` is "${excerpt(name)}", but must be ${marketNameText}.`,
    )
  }
  const market = find(name)
  if (market?.coin === coin) return market
  // A condition id is shown whole, in its one form.
  const shown = /^0x/i.test(name) ? name.toLowerCase() : excerpt(name)
  const message = `There is no ${coin} market ${shown}. GET /v1/${coin}/markets lists the markets.`
  throw new AppError('unknown_market', message, { param: 'conditionId' })
}

/** Without `examples`, which the documentation page would fill in, to the exclusion of the rest. */
export const momentParameter = (what: string, options: Parameters<typeof moment>[0] = {}) =>
  moment({
    ...options,
    description: `${what} Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC).`,
  })

/** `ts` of the state that prevailed at a moment; it can be printed as a time. */
export const asOfParameter = momentParameter(
  'The moment: the state prevailing then, at or before it and never after.',
  { examples: [exampleMarket.tsMs] },
)

export const maxAgeParameter = Type.Optional(
  integer({
    minimum: 0,
    description: 'Oldest state that is wanted, in milliseconds before `ts`; any when absent.',
  }),
)

export const rangeParameters = (field: string) => ({
  from: Type.Optional(momentParameter(`First moment, inclusive, of ${field}.`)),
  to: Type.Optional(momentParameter(`End, exclusive, of ${field}.`)),
})

export const limitParameter = (rows: string, sizes: { default: number; maximum: number }) =>
  integer({
    minimum: 1,
    ...sizes,
    description: `${rows} on a page; may change during a walk.`,
    examples: [sizes.default],
  })

export const cursorParameter = Type.Optional(
  Type.String({
    minLength: 1,
    description:
      'Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated.',
  }),
)

export const outcomeParameter = Type.Optional(
  oneOf(outcomes, { description: 'Only this outcome; both when absent.' }),
)

export const orderParameter = oneOf(['asc', 'desc'], {
  default: 'asc',
  description: 'Direction of time, within and across pages.',
})

export const intervalParameter = (description: string) =>
  Type.Optional(oneOf(intervals, { description }))

export const timeframeParameter = (description: string) =>
  Type.Optional(oneOf(timeframes, { description }))

/** The source of the markets in a list, or in what is made of them. */
export const sourceParameter = Type.Optional(
  oneOf(sourceChoices, {
    description:
      'Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then.',
  }),
)

export const depthParameter = Type.Optional(
  integer({
    minimum: 1,
    maximum: DEPTH_MAX,
    description: 'Levels of each side, from the best; all when absent.',
    examples: [5],
  }),
)

export const views = ['own', 'consolidated'] as const
type View = (typeof views)[number]

const viewParameter = oneOf(views, {
  default: 'own',
  description:
    '`own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome\'s (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, prevailing at the same moment. Each state of either book makes a row: of its own outcome, or of `outcome` where you send that. The venue shows an order in both books, so sizes are never added up.',
})

/** No `examples`: what is left out is missing from the answers that the documentation shows. */
export const fieldsParameterOf = (known: readonly string[], description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      description: `${description} Known are \`${known.join('`, `')}\`.`,
    }),
  )

const fieldsParameter = fieldsParameterOf(
  rowFields,
  'Only these fields of each snapshot, joined by commas, for example `timestamp,bids,asks`; all but `receivedAt` when absent.',
)

export const cutParameters = { depth: depthParameter, fields: fieldsParameter, view: viewParameter }

/** Throws `invalid_parameter` for a field that is unknown, repeated or not there in this view. */
export function readCut(query: { depth?: number; fields?: string; view: View }): RowCut {
  const { depth, fields, view } = query
  return {
    depth,
    fields: fields === undefined ? undefined : readFields(fields, rowFields, absentIn[view]),
  }
}

const absentIn = {
  own: { sources: 'only `view=consolidated` has' },
  consolidated: { receivedAt: 'only `view=own` has: a consolidated ladder is made of two states' },
}

/**
 * Reads names joined by commas; `absent` says why this request cannot have some. Throws
 * `invalid_parameter` for these and for a name that is unknown or repeated.
 */
export function readFields<Name extends string>(
  names: string,
  known: readonly Name[],
  absent: Partial<Record<Name, string>>,
): ReadonlySet<Name> {
  const found = new Set<Name>()
  for (const name of names.split(',')) {
    const fieldsError = (why: string) => parameterError('fields', `\`fields\` has ${why}`)
    const field = known.find((each) => each === name)
    if (field === undefined) {
      const list = known.map((each) => `\`${each}\``).join(', ')
      throw fieldsError(`"${excerpt(name)}", which is none of ${list}.`)
    }
    if (found.has(field)) throw fieldsError(`\`${field}\` twice. Send each name once.`)
    const reason = absent[field]
    if (reason !== undefined) throw fieldsError(`\`${field}\`, which ${reason}.`)
    found.add(field)
  }
  return found
}
