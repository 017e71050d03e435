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
  choiceOrNull,
  count,
  countOrNull,
  decimal,
  decimalOrNull,
  groups,
  heldFields,
  listOf,
  marketFields,
  nullable,
  object,
  onePageOf,
  shareOrNull,
  slugField,
  spotField,
  text,
  textOrNull,
  timeOrNull,
  verifiedField,
} from '#src/http/fields.ts'
import { boolean, oneOf } from '#src/http/kinds.ts'

const CoverageSummary = object(
  'CoverageSummary',
  {
    covered: shareOrNull(
      "Share of the market's time in which the outcome is recorded, rounded down to six decimals; null before that time begins, and if the window is unknown. GET …/coverage lists the gaps.",
      0.982166,
    ),
    gaps: count('Number of gaps in that time.', 2),
    longestSilenceMs: nullable(
      Type.Integer(),
      'Longest time between two consecutive snapshots, in milliseconds; null with fewer than two.',
      2140,
    ),
    verified: verifiedField,
  },
  { description: 'Completeness and verification of the recording.' },
)

const MarketOutcome = object('MarketOutcome', {
  outcome: choice(outcomes, 'Outcome of the market.'),
  assetId: textOrNull(
    "Asset id of the outcome's token; null if unknown.",
    '104472376509976988766346716475120511145011517755906344501669377783651998139803',
  ),
  snapshots: count('Recorded snapshots of this outcome.', 2481),
  verifiedSnapshots: count("Snapshots that match the venue's hash.", 2480),
  firstSnapshot: timeOrNull(
    'Time of the first snapshot; null if there is none.',
    '2026-04-14T07:56:50.120Z',
  ),
  lastSnapshot: timeOrNull(
    'Time of the last snapshot; null if there is none.',
    '2026-04-14T08:05:03.887Z',
  ),
  coverage: CoverageSummary,
})

const FeeScheduleBody = object('FeeSchedule', {
  rate: decimal('Fee rate.', 0.07),
  exponent: decimal('Exponent of the price in the fee.', 1),
  takerOnly: Type.Boolean({ description: 'True if only takers pay the fee.', examples: [true] }),
  rebateRate: decimal('Share of the fee that makers receive.', 0.2),
})

export const MarketBody = object('Market', {
  ...marketFields,
  status: choice(
    marketStatuses,
    '`upcoming` before the window, `open` during it, `closed` after it, `resolved` once the winner is known.',
  ),
  slug: slugField,
  question: textOrNull('Question of the market.', 'Bitcoin Up or Down?'),
  windowStart: timeOrNull(
    'Start of the window, inclusive; null if unknown.',
    '2026-04-14T08:00:00.000Z',
  ),
  windowEnd: timeOrNull(
    'End of the window, exclusive; null if unknown.',
    '2026-04-14T08:05:00.000Z',
  ),
  tickSize: decimalOrNull(
    "Tick size in USDC per share, as last fetched from the venue's catalogue; near 0 and 1 the venue uses a smaller one. Null if unknown.",
    0.01,
  ),
  strike: decimalOrNull(
    'Price in USD that the final price is compared with, with all digits of its source; null if unknown.',
    74212.105,
  ),
  finalPrice: decimalOrNull(
    'Price of the coin in USD at the end of the window, with all digits of its source; null until known.',
    74190.66,
  ),
  winner: choiceOrNull(
    outcomes,
    'Winning outcome; null until known, and if `result` is `void`.',
    'down',
  ),
  winnerSource: choiceOrNull(
    winnerSources,
    'Source of the result: the venue, an imported data set, or the simulator; null if there is none.',
    'venue',
  ),
  result: choiceOrNull(
    results,
    'Result: the winning outcome, or `void` if the venue paid half a dollar for each share of both outcomes; null until known.',
    'down',
  ),
  settlementRule: choiceOrNull(
    settlementRules,
    "Definition of the final price, and of the strike at the start of the window: Chainlink's average of the last 60 or 30 seconds, its spot price, or the close of Binance's candle of an hour or a day. Null if unknown.",
    'twap60',
  ),
  strikeSource: choiceOrNull(
    priceSources,
    "Source of the strike: the venue's catalogue, the venue's page of open windows, an imported data set, the final price of the previous window (`chain`), the published average for the start of the window (`feed`), or the simulator. Null if unknown.",
    'catalogue',
  ),
  strikeTime: timeOrNull('Moment of the `strike`; null if unknown.', '2026-04-14T08:00:00.000Z'),
  finalPriceSource: choiceOrNull(
    priceSources,
    'Source of the final price, as in `strikeSource`; `chain` is the strike of the next window.',
    'catalogue',
  ),
  finalPriceTime: timeOrNull(
    'Moment of the `finalPrice`; null if unknown.',
    '2026-04-14T08:05:00.000Z',
  ),
  feeSchedule: nullable(
    FeeScheduleBody,
    "Fees as last fetched from the venue's catalogue or order book API; GET /v1/revisions lists changes. Null if the venue states none, or says that fees are not enabled.",
  ),
  takerDelayMs: countOrNull(
    'Delay of the venue for taker orders, in milliseconds, from its order book API or its catalogue. Null if neither states it; since June 2026 it is 250 for markets of coins.',
    250,
  ),
  orderAgeMs: countOrNull(
    "Time that an order must rest before it can be cancelled, in milliseconds, from the venue's order book API. Null if unknown.",
    0,
  ),
  spot: spotField(
    'Newest spot price of the coin while the market is open, as in GET /v1/{coin}/prices: simulated for a simulated market, recorded for a recorded one. Null before and after, if no price is recorded, and for a tier without `prices`.',
  ),
  outcomes: Type.Array(MarketOutcome, { description: 'Outcomes, `up` before `down`.' }),
  snapshots: count('Recorded snapshots of both outcomes.', 4962),
  ...heldFields,
  revision: count(
    'Increases with each change of the market or its history, including late backfills.',
    17,
  ),
})
export type MarketBody = Static<typeof MarketBody>

const notKnown = (members: readonly string[]) =>
  Object.fromEntries(members.map((name) => [name, Type.Null()]))

/**
 * A market as a replay shows it before the end: facts that were not known at the moment are null.
 */
export const MarketAsOfBody = object(
  'MarketAsOf',
  {
    ...MarketBody.properties,
    ...notKnown([
      'tickSize',
      'feeSchedule',
      'takerDelayMs',
      'orderAgeMs',
      'result',
      'winner',
      'winnerSource',
    ]),
    ...notKnown(['finalPrice', 'finalPriceSource', 'finalPriceTime']),
    ...notKnown(['snapshots', 'firstSnapshot', 'lastSnapshot', 'revision']),
    outcomes: groups('Outcomes, `up` before `down`.', {
      ...MarketOutcome.properties,
      ...notKnown(['snapshots', 'verifiedSnapshots', 'firstSnapshot', 'lastSnapshot']),
      coverage: Type.Object(notKnown(Object.keys(CoverageSummary.properties))),
    }),
  },
  {
    description:
      'A market as of a moment of a replay. Later facts are null, and so are facts that are only stored in their current state: the tick size and the amount of recordings.',
  },
)

export const MarketList = listOf(MarketBody, 'Markets by the start of their windows.')
export type MarketList = Static<typeof MarketList>

export const ListQuery = Type.Object({
  timeframe: timeframeParameter('Only windows of this timeframe.'),
  status: Type.Optional(
    choice(
      marketStatuses,
      'Only markets with this status at the time of the request; `closed` means without a known winner.',
    ),
  ),
  source: sourceParameter,
  ...rangeParameters("the window's start"),
  outcome: Type.Optional(choice(outcomes, 'Only markets with this winner.')),
  withBooks: Type.Optional(
    boolean({
      description:
        "`true` leaves out markets without snapshots, which are known from the venue's catalogue only.",
    }),
  ),
  slug: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only the market with this slug of the venue: a list of one, or of none if the coin has no such market. Cannot be combined with filters. For example btc-updown-5m-1776153600. Slugs of simulated markets begin with `sim-`.',
    }),
  ),
  order: oneOf(['asc', 'desc'], {
    default: 'desc',
    description: 'Order by window: `desc` for newest first, `asc` for oldest first.',
  }),
  limit: limitParameter('Markets', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type ListQuery = Static<typeof ListQuery>

const holdings = {
  markets: count('Number of known markets.', 8_640),
  openMarkets: count('Known markets whose window is open now.', 1),
  snapshots: count('Snapshots held.', 42_870_112),
  firstSnapshot: heldFields.firstSnapshot,
  lastSnapshot: timeOrNull(
    'Time of the last snapshot; null if there is none.',
    '2026-05-14T08:05:03.887Z',
  ),
}

const CoinBody = object('Coin', {
  symbol: choice(coins, 'Coin in lower case, as in paths.'),
  name: text('Display name of the coin.', 'Bitcoin'),
  sources: Type.Array(oneOf(['recorded', 'simulated']), {
    description: 'Source of the order books: the venue, the simulator, or both.',
    examples: [['recorded']],
  }),
  ...holdings,
  timeframes: Type.Array(
    Type.Object({ timeframe: choice(timeframes, 'Timeframe.'), ...holdings }),
    {
      description:
        'The same by timeframe, shortest first; timeframes without markets are left out.',
    },
  ),
})
export type CoinBody = Static<typeof CoinBody>

export const CoinList = onePageOf(CoinBody, 'All coins, including those without recordings.')
export type CoinList = Static<typeof CoinList>
