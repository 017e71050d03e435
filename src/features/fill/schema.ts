import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import { asOfParameter, maxAgeParameter, momentParameter, views } from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  decimal,
  decimalOrNull,
  EXAMPLE_RANGE_MS,
  exampleMarket,
  group,
  nullable,
  object,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { decimalText, integer, oneOf } from '#src/http/kinds.ts'
import { Sources } from '#src/http/snapshot-body.ts'

import { costSources } from './costs.ts'

const amount = (description: string, example?: string) =>
  Type.Optional(decimalText({ description, ...(example ? { examples: [example] } : {}) }))

const outcome = choice(outcomes, 'Traded outcome.', 'up')

/** Exceeds every latency to the venue and every delay of the venue. */
const WAIT_MS_MAX = 60_000

const latencyParameter = Type.Optional(
  integer({
    maximum: WAIT_MS_MAX,
    description: 'Latency of the order to the venue, in milliseconds; 0 by default.',
    examples: [40],
  }),
)

export const FillQuery = Type.Object({
  ts: asOfParameter,
  outcome,
  side: choice(['buy', 'sell'], 'Side of the order: a buy takes asks, a sell takes bids.', 'buy'),
  size: amount(
    'Shares, above 0 and at most 9000000000, at most six decimals. Send either this or `usdc`.',
    '250',
  ),
  usdc: amount(
    'USDC before fees, in the same bounds: the amount to spend on a buy, or to receive for a sell. Shares are rounded down to millionths.',
  ),
  view: oneOf(views, {
    default: 'consolidated',
    description:
      "`own`: the order book of the outcome. `consolidated`: that book merged with the mirror of the other outcome's book. The venue shows each order in both books, so sizes are never added up.",
  }),
  feeBps: amount(
    'Fee in basis points of the traded value, 0 to 10000, at most four decimals; replaces the fees of the market.',
  ),
  feeRate: amount(
    "Rate of the venue's schedule, 0 to 1, at most six decimals: each level costs shares × rate × price × (1 − price). Replaces the fees of the market. The venue's rate for takers in markets of coins was `0.07` in 2026.",
  ),
  fees: oneOf(['market', 'none'], {
    default: 'market',
    description: 'The fees that the market had at `ts`, or none.',
  }),
  latencyMs: latencyParameter,
  delay: Type.Optional(
    integer({
      maximum: WAIT_MS_MAX,
      description:
        'Delay of the venue in milliseconds, `0` for none; by default that of the market at `ts`.',
    }),
  ),
  limitPrice: amount('Worst price: above 0 and below 1, with at most six decimals.'),
  maxAgeMs: maxAgeParameter,
})
export type FillQuery = Static<typeof FillQuery>

const FeesBody = group('Fees used.', {
  source: choice(
    costSources,
    '`request`: from the request. `market`: stated by the venue for the market at that time. `none`: `fees=none`. `unknown`: the fees of the market are unknown, and none are charged.',
    'market',
  ),
  rate: decimalOrNull('Rate of the schedule; null without a schedule.', 0.07),
  exponent: decimalOrNull('Exponent of price × (1 − price) in the schedule.', 1),
  takerOnly: nullable(Type.Boolean(), 'True if only takers pay fees.', true),
  rebateRate: decimalOrNull('Share of taker fees that makers receive.', 0.2),
})

const FillLevel = object(
  'FillLevel',
  {
    price: decimal('USDC per share, exact.', 0.54),
    size: decimal(
      'Shares taken at this price, exact; the last level is often taken in part.',
      96.5,
    ),
    source: choice(
      ['own', 'mirror', 'both'],
      "Book that shows the level: the outcome's own, the mirror of the other's, or both with the same size.",
      'both',
    ),
    cost: decimal('Price times size in USDC, rounded to six decimals.', 52.11),
  },
  { description: 'A level that the order took.' },
)

export const FillBody = object('Fill', {
  conditionId: conditionIdField,
  outcome,
  side: choice(['buy', 'sell'], 'Side of the order.', 'buy'),
  view: choice(views, 'Ladder that was filled against.', 'consolidated'),
  ts: time('Requested moment, at which the order is sent.', '2026-04-14T08:00:10.900Z'),
  matchedAt: time(
    'Time at which the order meets the book: `ts` plus `latencyMs` plus `delayMs`.',
    '2026-04-14T08:00:10.900Z',
  ),
  delayMs: count('Delay of the venue that was used, in milliseconds.', 0),
  delaySource: choice(
    costSources,
    '`request`: from the request. `market`: stated by the venue for the market at that time. `venue`: the delay of all markets of coins since June 2026. `none`: no delay.',
    'none',
  ),
  fees: FeesBody,
  timestamp: time("Venue's timestamp of the newest state used.", '2026-04-14T08:00:10.672Z'),
  ageMs: count('Milliseconds from `timestamp` to `matchedAt`.', 228),
  sources: Sources,
  asked: group('Requested amount and its unit.', {
    size: Type.Optional(decimal('Shares requested.', 250)),
    usdc: Type.Optional(decimal('USDC requested.')),
  }),
  filled: decimal('Shares filled, exact.', 250),
  notional: decimal('Traded value in USDC before fees, rounded to six decimals.', 136.535),
  fee: decimal('Fee in USDC, rounded to six decimals.', 0.27307),
  total: decimal(
    'Total that a buy pays or a sell receives, in USDC, rounded to six decimals.',
    136.80807,
  ),
  averagePrice: decimalOrNull(
    'Average price: notional over shares, rounded to nine decimals; null if nothing was filled.',
    0.54614,
  ),
  bestPrice: decimalOrNull('Best price of the side; null if the side is empty.', 0.54),
  worstPrice: decimalOrNull('Price of the last level used; null if nothing was filled.', 0.55),
  slippage: decimalOrNull(
    'Difference by which the average price is worse than the best price, rounded to nine decimals; null if nothing was filled.',
    0.00614,
  ),
  levelsUsed: count('Number of `levels`.', 2),
  unfilled: decimal(
    'Unfilled rest of the requested amount, in its unit; 0 if the order was filled completely.',
    0,
  ),
  levels: Type.Array(FillLevel, {
    description: 'Levels used, best first.',
    examples: [
      [
        { price: 0.54, size: 96.5, source: 'both', cost: 52.11 },
        { price: 0.55, size: 153.5, source: 'own', cost: 84.425 },
      ],
    ],
  }),
})

const restingSide = choice(['buy', 'sell'], 'Side of the order.', 'buy')

export const RestingQuery = Type.Object({
  outcome,
  side: restingSide,
  price: decimalText({
    description:
      'Price of the order: above 0 and below 1, at most six decimals, a multiple of the price increment of the market.',
    examples: ['0.5'],
  }),
  size: decimalText({
    description: 'Shares, above 0 and at most 9000000000, at most six decimals.',
    examples: ['100'],
  }),
  from: momentParameter('Time at which the order is sent.', { examples: [exampleMarket.tsMs] }),
  until: momentParameter(
    'Time at which the order is cancelled, exclusive; at most a week after `from`.',
    {
      examples: [exampleMarket.tsMs + EXAMPLE_RANGE_MS],
    },
  ),
  latencyMs: latencyParameter,
})
export type RestingQuery = Static<typeof RestingQuery>

const boundBody = (description: string) =>
  group(description, {
    filled: decimal('Shares filled, exact.', 40),
    firstAt: timeOrNull('Time of the first fill; null if there is none.'),
    completeAt: timeOrNull(
      'Time of the trade that completes the fill; null if it is not complete.',
    ),
  })

/** Reasons why the bounds are uncertain. */
export const doubts = [
  'gap',
  'trades_unknown',
  'unclear_trades',
  'queue_unknown',
  'crossed',
] as const

export const RestingBody = object('RestingFill', {
  conditionId: conditionIdField,
  outcome,
  side: restingSide,
  price: decimal('Price of the order.', 0.5),
  size: decimal('Shares of the order.', 100),
  from: time('Time at which the order is sent.', '2026-04-14T08:00:10.000Z'),
  placedAt: time('Time at which the order arrives: `from` plus `latencyMs`.'),
  until: time('Time at which the order is cancelled.', '2026-04-14T08:01:10.000Z'),
  queueAhead: decimalOrNull(
    'Shares that the book shows at the price when the order arrives; null if the book is unknown.',
    60,
  ),
  lower: boundBody(
    'Lower bound: the order is behind everything that the book shows at the price when it arrives. Only trades at the price shorten that queue; a trade through the price ends it.',
  ),
  upper: boundBody('Upper bound: the order is first in the queue at its price.'),
  tradedThrough: decimal('Shares traded through the price, exact.', 0),
  tradedAt: decimal('Shares traded at the price, exact.', 100),
  fees: FeesBody,
  doubts: Type.Array(oneOf(doubts), {
    description:
      'What the data cannot show. `gap`: books of part of the range are not recorded, and trades may be missing too. `trades_unknown`: part of the range is before the first or after the last recorded trade of the market, so trades may be missing. `unclear_trades`: the source does not report the outcome, side or size of some trades; they count in `upper` only. `queue_unknown`: the book is unknown when the order arrives, so `lower` counts only trades through the price. `crossed`: the order would have been executed on arrival.',
    examples: [[]],
  }),
})
