import { type Static, Type } from '@sinclair/typebox'

import { outcomes, timeframes } from '#src/domain/market.ts'
import { intervalParameter, timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  decimal,
  decimalOrNull,
  described,
  exampleMarket,
  listOf,
  nullable,
  object,
  positive,
  slugField,
  sourceField,
  spotField,
  text,
  textOrNull,
  time,
  timeOrNull,
  topFields,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'
import { literals } from '#src/http/schema-reader.ts'

export const PriceQuery = historyQuery(
  {
    rows: 'Rows',
    range: '`timestamp`; with `interval` of the states that bars are made of',
    limit: { default: 1000, maximum: 10_000 },
  },
  {
    interval: intervalParameter(
      'Bars of this length instead of every change; they begin at multiples of it since 1970, UTC.',
    ),
  },
)
export type PriceQuery = Static<typeof PriceQuery>

export const NowQuery = Type.Object({
  timeframe: timeframeParameter('Only markets of this length.'),
})

const outcome = choice(outcomes, 'Outcome that this is the price of.', 'up')
const outcomeOrNull = (description: string) => nullable(literals(outcomes, {}), description, 'down')

const lastTradeMembers = (when: string) => ({
  lastTrade: decimalOrNull(
    `Price of the last trade ${when}, in terms of \`outcome\`: if the other outcome was traded, 1 minus its price; if \`lastTradeOutcome\` is null, the price as printed, which may be of either. Null before the first.`,
    0.531,
  ),
  lastTradeTime: timeOrNull('Time of that trade.', '2026-04-14T08:00:09.120Z'),
  lastTradeOutcome: outcomeOrNull(
    'Outcome that was traded; null where the source does not say, and before the first trade.',
  ),
})

export const PriceRow = described(
  'Price',
  'A state at which the mid or the last trade changed; without `interval`.',
  {
    id: text('Identifier of the snapshot.', '1482734'),
    outcome,
    timestamp: time("The venue's time of the state, UTC.", '2026-04-14T08:00:10.672Z'),
    ...topFields,
    ...lastTradeMembers('at or before `timestamp`'),
  },
)

const mids = 'over the states with both sides; null when there is none'
const PriceBar = described('Bar', 'What happened in a step; with `interval`.', {
  outcome,
  start: time('Start of the step, inclusive.', '2026-04-14T08:00:00.000Z'),
  end: time('End of the step, exclusive.', '2026-04-14T08:01:00.000Z'),
  open: decimalOrNull(`First mid, ${mids}.`, 0.505),
  high: decimalOrNull(`Highest mid, ${mids}.`, 0.545),
  low: decimalOrNull(`Lowest mid, ${mids}.`, 0.495),
  close: decimalOrNull(`Last mid, ${mids}.`, 0.535),
  ...lastTradeMembers('before the end of the bar, which may be older than the bar'),
  lastTradeUpdates: count(
    "Updates of the last trade price in the bar, of either outcome: each time and price once. Not a count of trades: two trades at one price in one millisecond are one update, and a source may omit trades that do not change the price. Both outcomes' bars of a step have the same.",
    12,
  ),
  states: positive('States of this outcome in the bar, with one side or none too.', 118),
  covered: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'Share of the step that lies in the range and is recorded, rounded down to six decimals: below 1 the bar may lack states.',
    examples: [0.998333],
  }),
})

export const PriceList = listOf(
  Type.Union([PriceRow, PriceBar]),
  'Changes by `timestamp`, then by `id`; bars by `start`, then up before down. Reversed by `order=desc`.',
)

const OutcomePrice = (name: string) =>
  nullable(
    Type.Object({
      ...topFields,
      timestamp: time(
        "The venue's time of the last state, UTC. Its age is left out, so that what did not change is a 304.",
        '2026-04-14T08:00:10.672Z',
      ),
    }),
    `Last state of "${name}"; null when none is recorded.`,
  )

const LastTrade = Type.Object({
  price: decimal('As the venue printed it, exact.', 0.531),
  outcome: outcomeOrNull('Outcome that was traded; null where the venue does not say.'),
  timestamp: time("The venue's time of the trade.", '2026-04-14T08:00:09.120Z'),
})

const OpenMarket = object('OpenMarket', {
  conditionId: conditionIdField,
  timeframe: choice(timeframes, "Length of the market's window.", exampleMarket.timeframe),
  source: sourceField,
  slug: slugField,
  windowStart: timeOrNull('Start of the window; null where unknown.', '2026-04-14T08:00:00.000Z'),
  windowEnd: timeOrNull('End of the window; null where unknown.', '2026-04-14T08:05:00.000Z'),
  up: OutcomePrice('up'),
  down: OutcomePrice('down'),
  lastTrade: nullable(LastTrade, 'Last trade of either outcome; null when none is held.'),
})

export const NowList = Type.Object({
  data: Type.Array(OpenMarket, { description: 'Every open market, newest window first.' }),
  nextCursor: textOrNull('Always null: the list is whole.', null),
  spot: spotField(
    'The newest price of the coin itself; null where none is recorded. GET /v1/{coin}/spot has all.',
  ),
})
export type NowList = Static<typeof NowList>
