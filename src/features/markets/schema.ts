import { type Static, Type } from '@sinclair/typebox'

import {
  coins,
  marketStatuses,
  outcomes,
  priceSources,
  results,
  settlementRules,
  timeframes,
  winnerSources,
} from '#src/domain/market.ts'
import {
  cursorParameter,
  limitParameter,
  rangeParameters,
  sourceParameter,
  timeframeParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  count,
  decimal,
  decimalOrNull,
  described,
  groups,
  heldFields,
  listOf,
  marketFields,
  nullable,
  object,
  shareOrNull,
  slugField,
  spotField,
  text,
  textOrNull,
  timeOrNull,
  verifiedField,
} from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

const CoverageSummary = described('CoverageSummary', 'How complete and how sure it is.', {
  covered: shareOrNull(
    'Share of the time of the market in which the outcome is recorded, rounded down to six decimals; null while the market has had no time yet or its window is not known. GET …/coverage lists what is missing.',
    0.982166,
  ),
  gaps: count('Gaps in that time.', 2),
  longestSilenceMs: nullable(
    Type.Integer(),
    'Longest time between two consecutive snapshots, milliseconds; null of fewer than two.',
    2140,
  ),
  verified: verifiedField,
})

const MarketOutcome = object('MarketOutcome', {
  outcome: choice(outcomes, 'Outcome of the market.'),
  assetId: textOrNull(
    "Identifier of the outcome's token; null until one is known.",
    '104472376509976988766346716475120511145011517755906344501669377783651998139803',
  ),
  snapshots: count('Snapshots held of this outcome.', 2481),
  verifiedSnapshots: count("Those of them whose books reproduce the venue's own hash.", 2480),
  firstSnapshot: timeOrNull(
    'Time of its first snapshot; null when there is none.',
    '2026-04-14T07:56:50.120Z',
  ),
  lastSnapshot: timeOrNull(
    'Time of its last snapshot; null when there is none.',
    '2026-04-14T08:05:03.887Z',
  ),
  coverage: CoverageSummary,
})

const FeeScheduleBody = object('FeeSchedule', {
  rate: decimal('Rate of the fee.', 0.07),
  exponent: decimal('Exponent of the price in the fee.', 1),
  takerOnly: Type.Boolean({ description: 'Only takers pay it.', examples: [true] }),
  rebateRate: decimal('Share of the fee that makers get.', 0.2),
})

export const MarketBody = object('Market', {
  ...marketFields,
  status: choice(
    marketStatuses,
    '`upcoming` before the window, `open` in it, `closed` after it, `resolved` once the winner is known.',
  ),
  slug: slugField,
  question: textOrNull('The question that the market asks.', 'Bitcoin Up or Down?'),
  windowStart: timeOrNull(
    'Start of the window, inclusive; null where unknown.',
    '2026-04-14T08:00:00.000Z',
  ),
  windowEnd: timeOrNull(
    'End of the window, exclusive; null where unknown.',
    '2026-04-14T08:05:00.000Z',
  ),
  tickSize: decimalOrNull(
    "Smallest step of prices, USDC per share, as the venue's catalogue had it when it was fetched; the step is smaller near 0 and 1. Null where unknown.",
    0.01,
  ),
  strike: decimalOrNull(
    "The coin's price in USD that its price at the end is compared with, with every digit of its source; null where unknown.",
    74212.105,
  ),
  finalPrice: decimalOrNull(
    "The coin's price in USD at the end of the window, with every digit of its source; null until known.",
    74190.66,
  ),
  winner: nullable(
    literals(outcomes, {}),
    'Outcome that won; null until known, and of a market whose `result` is `void`.',
    'down',
  ),
  winnerSource: nullable(
    literals(winnerSources, {}),
    'Who names the result: the venue, an imported data set, or our simulator; null without one.',
    'venue',
  ),
  result: nullable(
    literals(results, {}),
    'What the market came to: the outcome that won, or `void` where the venue paid half a dollar for each share of both; null until known.',
    'down',
  ),
  settlementRule: nullable(
    literals(settlementRules, {}),
    "What the price at the end of the window is: Chainlink's average of the last 60 or 30 seconds, its price of the moment, or the close of Binance's candle of an hour or a day; the strike is the same at the start. Null where nobody said so.",
    'twap60',
  ),
  strikeSource: nullable(
    literals(priceSources, {}),
    "Where the strike comes from: the venue's catalogue, its page with the prices of open windows, an imported data set, the final price of the window before (`chain`), the average that a price feed published for the start of the window (`feed`), or our simulator. Null where unknown.",
    'catalogue',
  ),
  strikeTime: timeOrNull(
    'The moment that `strike` is the price of; null where unknown.',
    '2026-04-14T08:00:00.000Z',
  ),
  finalPriceSource: nullable(
    literals(priceSources, {}),
    'Where the final price comes from, named as in `strikeSource`; `chain` is the strike of the next window.',
    'catalogue',
  ),
  finalPriceTime: timeOrNull(
    'The moment that `finalPrice` is the price of; null where unknown.',
    '2026-04-14T08:05:00.000Z',
  ),
  feeSchedule: Type.Union([FeeScheduleBody, Type.Null()], {
    description:
      "Fees of the market's trades as the venue's catalogue stated them when it was asked last; changes are in GET /v1/revisions. Null where it states none, or says that fees are not enabled.",
  }),
  spot: spotField(
    'While the market is open, the newest price of the coin itself, as in GET /v1/{coin}/prices: of a simulated market a simulated one, of a recorded one never. Null before and after, where none is recorded, and for a tier without `prices`.',
  ),
  outcomes: Type.Array(MarketOutcome, { description: 'Up, then down.' }),
  snapshots: count('Snapshots held of both outcomes.', 4962),
  ...heldFields,
  revision: count(
    'Rises whenever anything of the market or its history changes, also by a late backfill.',
    17,
  ),
})
export type MarketBody = Static<typeof MarketBody>

const notKnown = (members: readonly string[]) =>
  Object.fromEntries(members.map((name) => [name, Type.Null()]))

/** A market as a replay has it before its end: what is not known as of the moment is null. */
export const MarketAsOfBody = described(
  'MarketAsOf',
  'A market as of a moment of a replay: what came later is null, and so is what is stored as of today alone, which is the tick size and all that says how much is held.',
  {
    ...MarketBody.properties,
    ...notKnown(['tickSize', 'feeSchedule', 'result', 'winner', 'winnerSource']),
    ...notKnown(['finalPrice', 'finalPriceSource', 'finalPriceTime']),
    ...notKnown(['snapshots', 'firstSnapshot', 'lastSnapshot', 'revision']),
    outcomes: groups('Up, then down.', {
      ...MarketOutcome.properties,
      ...notKnown(['snapshots', 'verifiedSnapshots', 'firstSnapshot', 'lastSnapshot']),
      coverage: Type.Object(notKnown(Object.keys(CoverageSummary.properties))),
    }),
  },
)

export const MarketList = listOf(MarketBody, 'Markets by the start of their windows.')
export type MarketList = Static<typeof MarketList>

export const ListQuery = Type.Object({
  timeframe: timeframeParameter('Only windows of this length.'),
  status: Type.Optional(
    choice(
      marketStatuses,
      'Only markets of this status at the moment of the request; `closed` are those without a known winner.',
    ),
  ),
  source: sourceParameter,
  ...rangeParameters("the window's start"),
  outcome: Type.Optional(choice(outcomes, 'Only markets that it won.')),
  withBooks: Type.Optional(
    Type.Boolean({
      description:
        'With `true`, only markets of which a snapshot is held: not those that only the catalogue of the venue names.',
    }),
  ),
  slug: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only the market that the venue calls so, if it is one of this coin: a list of one, or of none. Without any filter beside it. For example btc-updown-5m-1776153600. Slugs of simulated markets begin with `sim-`.',
    }),
  ),
  order: literals(['asc', 'desc'], {
    default: 'desc',
    description: 'Newest window first, or oldest.',
  }),
  limit: limitParameter('Markets', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type ListQuery = Static<typeof ListQuery>

const holdings = {
  markets: count('Markets that are known.', 8_640),
  openMarkets: count('Those of them whose window runs now.', 1),
  snapshots: count('Snapshots held.', 42_870_112),
  firstSnapshot: heldFields.firstSnapshot,
  lastSnapshot: timeOrNull(
    'Time of the last snapshot; null when there is none.',
    '2026-05-14T08:05:03.887Z',
  ),
}

const CoinBody = object('Coin', {
  symbol: choice(coins, 'Coin in lower case, as paths have it.'),
  name: text('What people call it.', 'Bitcoin'),
  sources: Type.Array(literals(['recorded', 'simulated'], {}), {
    description: 'Where its books come from: the venue, our simulator, or both.',
    examples: [['recorded']],
  }),
  ...holdings,
  timeframes: Type.Array(
    Type.Object({ timeframe: choice(timeframes, 'Length of the windows.'), ...holdings }),
    { description: 'The same by timeframe, shortest first; those without a market are left out.' },
  ),
})
export type CoinBody = Static<typeof CoinBody>

export const CoinList = listOf(
  CoinBody,
  'Every coin, also one of which nothing is held.',
  'Always null: the coins fit on one page.',
)
export type CoinList = Static<typeof CoinList>
