/** Fields of bodies, each kind documented the same way wherever it is. */
import {
  type ObjectOptions,
  type SchemaOptions,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox'

import { coins, type Market, timeframes } from '#src/domain/market.ts'

import { oneOf } from './kinds.ts'

/** The market of examples; `swagger.ts` shows one that the server holds in its place. */
export const exampleMarket = {
  coin: 'btc',
  timeframe: '5m',
  conditionId: '0x13422fd58f5afa5cd9792fd5c7036bc04377d5996e0597f253df2725bd044ddb',
  /** A moment that something is known of. */
  tsMs: 1_776_153_610_000,
  /** UTC day of its window. */
  day: '2026-04-13',
}
export type ExampleMarket = typeof exampleMarket
/** From the moment of an example to the end of its range. */
export const EXAMPLE_RANGE_MS = 60_000

/** A day that is final; `swagger.ts` shows one of the server in its place. */
export const exampleDay = {
  day: '2026-04-12',
  citation: 'bookfeed:btc/5m/2026-04-12@r1',
  file: 'btc-5m-2026-04-12-quotes-decimal-r1.parquet',
}
export type ExampleDay = typeof exampleDay

/** An object that the document names, because clients want it as a type. */
export const object = <T extends TProperties>($id: string, members: T, options?: ObjectOptions) =>
  Type.Object(members, { $id, ...options })

/** An object within another one. */
export const group = <T extends TProperties>(description: string, members: T) =>
  Type.Object(members, { description })

export const groupOrNull = <T extends TProperties>(description: string, members: T) =>
  nullable(Type.Object(members), description)

/** A list of such objects. */
export const groups = <T extends TProperties>(description: string, members: T) =>
  Type.Array(Type.Object(members), { description })

export const nullable = <T extends TSchema>(schema: T, description: string, example?: unknown) =>
  Type.Union([schema, Type.Null()], optionsOf(description, example))

export const text = (description: string, example?: string) =>
  Type.String(optionsOf(description, example))

export const textOrNull = (description: string, example?: string | null) =>
  nullable(Type.String(), description, example)

export const decimal = (description: string, example?: number) =>
  Type.Number(optionsOf(description, example))

export const decimalOrNull = (description: string, example: number) =>
  nullable(Type.Number(), description, example)

/** One of `texts`. */
export const choice = <const T extends string>(
  texts: readonly T[],
  description: string,
  example?: string | string[],
) => oneOf(texts, optionsOf(description, example))

export const choiceOrNull = <const T extends string>(
  texts: readonly T[],
  description: string,
  example?: string | null,
) => nullable(oneOf(texts), description, example)

export const count = (description: string, example?: number) =>
  Type.Integer({ minimum: 0, ...optionsOf(description, example) })

export const countOrNull = (description: string, example?: number) =>
  nullable(Type.Integer({ minimum: 0 }), description, example)

export const time = (description: string, example = '2026-04-14T08:00:00.000Z') =>
  Type.String({ format: 'date-time', ...optionsOf(description, example) })

export const timeOrNull = (description: string, example?: string) =>
  nullable(Type.String({ format: 'date-time' }), description, example)

/** At least one. */
export const positive = (description: string, example: number) =>
  Type.Integer({ minimum: 1, ...optionsOf(description, example) })

/** Rounded down, so that all is said of all only. */
export const shareOrNull = (description: string, example: number) =>
  nullable(Type.Number({ minimum: 0, maximum: 1 }), description, example)

/** A page of a list. */
export const listOf = <T extends TSchema>(row: T, order: string) =>
  Type.Object({
    data: Type.Array(row, { description: order }),
    nextCursor: textOrNull(
      'Cursor of the next page; null exactly when no further row exists right now.',
      'AQGdi-iFoAAAAAAAv0T8W1koSP2N71dNt63XBhlmg-sNOOZLqw',
    ),
  })

/** A list that has only one page. */
export const onePageOf = <T extends TSchema>(row: T, order: string) =>
  Type.Object({
    data: Type.Array(row, { description: order }),
    nextCursor: textOrNull('Always null: the list has one page.', null),
  })

export const conditionIdField = text(
  'Market identifier: `0x` and lower-case hex digits.',
  exampleMarket.conditionId,
)

export const sourceField = choice(
  ['recorded', 'simulated'],
  'Where the books come from: the venue, or our simulator.',
)

/** Members that identify a market. */
export const marketFields = {
  conditionId: conditionIdField,
  symbol: choice(coins, 'Coin in lower case.'),
  timeframe: choice(timeframes, "Length of the market's window."),
  source: sourceField,
}
/** The values of `marketFields`. */
export const marketValues = ({ conditionId, coin, timeframe, source }: MarketIdentity) => ({
  conditionId,
  symbol: coin,
  timeframe,
  source,
})
type MarketIdentity = Pick<Market, 'conditionId' | 'coin' | 'timeframe' | 'source'>

export const slugField = textOrNull("The venue's name of the market.", 'btc-updown-5m-1776153600')

/** A price of the coin itself. */
export const spotField = (description: string) =>
  groupOrNull(description, {
    price: decimal('In USD, with every digit of its source.', 64_126.5),
    source: text('Who publishes it.', 'chainlink'),
    windowSeconds: count('Seconds that it is an average of; 0 for the price of the moment.', 60),
    timestamp: time("The source's time, UTC.", '2026-11-22T10:00:01.000Z'),
  })

/** When what is held begins and ends. */
export const heldFields = {
  firstSnapshot: timeOrNull(
    'Time of the first snapshot; null when there is none.',
    '2026-04-14T07:56:50.120Z',
  ),
  lastSnapshot: timeOrNull(
    'Time of the last snapshot; null when there is none.',
    '2026-04-14T08:05:03.887Z',
  ),
}

export const verifiedField = shareOrNull(
  "Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots.",
  0.999596,
)

/** The best of a book. */
export const topFields = {
  bid: decimalOrNull('Best bid in USDC per share, exact; null when the side is empty.', 0.53),
  ask: decimalOrNull('Best ask in USDC per share, exact; null when the side is empty.', 0.54),
  mid: decimalOrNull(
    'Half of bid plus ask, exact: up to seven decimals; null when a side is empty.',
    0.535,
  ),
}

function optionsOf(description: string, example: unknown): SchemaOptions {
  return example === undefined ? { description } : { description, examples: [example] }
}
