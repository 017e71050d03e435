import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import { asOfParameter, maxAgeParameter, views } from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  decimal,
  decimalOrNull,
  described,
  group,
  object,
  time,
} from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'
import { Sources } from '#src/http/snapshot-body.ts'

const decimalText = (description: string, example?: string) =>
  Type.Optional(
    Type.String({ format: 'decimal', description, ...(example ? { examples: [example] } : {}) }),
  )

const outcome = choice(outcomes, 'Outcome that is traded.', 'up')

export const FillQuery = Type.Object({
  ts: asOfParameter,
  outcome,
  side: choice(['buy', 'sell'], 'Side of the order: a buy takes asks, a sell takes bids.', 'buy'),
  size: decimalText(
    'Shares, above 0 and at most 9000000000, at most six decimals. Send either this or `usdc`.',
    '250',
  ),
  usdc: decimalText(
    'USDC before fees, in the same bounds: what is spent on a buy, or what a sell should bring. Shares are rounded down to the millionth.',
  ),
  view: literals(views, {
    default: 'consolidated',
    description:
      "The ladder: the outcome's `own` book, or that and the mirror of the other outcome's as one. The venue shows each order in both, so sizes are never added up.",
  }),
  feeBps: decimalText(
    'Fee in basis points of the traded value, 0 to 10000, at most four decimals. Without this and `feeRate` there is no fee.',
  ),
  feeRate: decimalText(
    "Rate of the venue's schedule, 0 to 1, at most six decimals: each level costs shares × rate × price × (1 − price). The venue's own for markets of coins was `0.07` for takers in 2026.",
  ),
  limitPrice: decimalText(
    'Levels at worse prices are left alone: above 0 and below 1, at most six decimals.',
  ),
  maxAgeMs: maxAgeParameter,
})
export type FillQuery = Static<typeof FillQuery>

const FillLevel = described('FillLevel', 'A level that was used.', {
  price: decimal('USDC per share, exact.', 0.54),
  size: decimal('Shares taken at this price, exact; of the last level often a part.', 96.5),
  source: choice(
    ['own', 'mirror', 'both'],
    "Which book shows the level: the outcome's own, the mirror of the other's, or both with the same size.",
    'both',
  ),
  cost: decimal('Price times size in USDC, rounded to six decimals.', 52.11),
})

export const FillBody = object('Fill', {
  conditionId: conditionIdField,
  outcome,
  side: choice(['buy', 'sell'], 'Side of the order.', 'buy'),
  view: choice(views, 'Ladder that was used.', 'consolidated'),
  ts: time('The moment asked for.', '2026-04-14T08:00:10.900Z'),
  timestamp: time("The venue's time of the newest state used.", '2026-04-14T08:00:10.672Z'),
  ageMs: count('Milliseconds from `timestamp` to `ts`.', 228),
  sources: Sources,
  asked: group('What was asked for, in its unit.', {
    size: Type.Optional(decimal('Shares asked for.', 250)),
    usdc: Type.Optional(decimal('USDC asked for.')),
  }),
  filled: decimal('Shares filled, exact.', 250),
  notional: decimal('Traded value in USDC before fees, rounded to six decimals.', 136.535),
  fee: decimal('Fee in USDC, rounded to six decimals.', 0.27307),
  total: decimal(
    'What a buy pays or a sell receives in all, in USDC: its exact value rounded to six decimals.',
    136.80807,
  ),
  averagePrice: decimalOrNull(
    'Notional over shares, rounded to nine decimals; null when nothing was filled.',
    0.54614,
  ),
  bestPrice: decimalOrNull('Best price of the side; null when it is empty.', 0.54),
  worstPrice: decimalOrNull('Price of the last level used; null when nothing was filled.', 0.55),
  slippage: decimalOrNull(
    'By how much the average is worse than the best price, rounded to nine decimals; null when nothing was filled.',
    0.00614,
  ),
  levelsUsed: count('Number of `levels`.', 2),
  unfilled: decimal(
    'What the book, or `limitPrice`, left of what was asked, in its unit; 0 when it was enough.',
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
