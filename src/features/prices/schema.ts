import { type Static, Type } from '@sinclair/typebox'

import { outcomes, timeframes } from '#src/domain/market.ts'
import { intervalParameter, timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  choiceOrNull,
  conditionIdField,
  count,
  decimal,
  decimalOrNull,
  exampleMarket,
  groupOrNull,
  listOf,
  nullable,
  object,
  onePageOf,
  positive,
  slugField,
  sourceField,
  spotField,
  text,
  time,
  timeOrNull,
  topFields,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'

export const PriceQuery = historyQuery(
  {
    rows: 'Rows',
    range: '`timestamp`; with `interval` of the states that bars are made of',
    limit: { default: 1000, maximum: 10_000 },
  },
  {
    interval: intervalParameter(
      'Returns bars of this length instead of every change; bars begin at multiples of it since 1970, UTC.',
    ),
  },
)
export type PriceQuery = Static<typeof PriceQuery>

export const NowQuery = Type.Object({
  timeframe: timeframeParameter('Only markets of this timeframe.'),
})

const outcome = choice(outcomes, 'Outcome of the price.', 'up')
const outcomeOrNull = (description: string) => choiceOrNull(outcomes, description, 'down')

const lastTradeMembers = (when: string) => ({
  lastTrade: decimalOrNull(
    `Last trade price ${when}, in terms of \`outcome\`: if the other outcome was traded, 1 minus its price; if \`lastTradeOutcome\` is null, the price as printed, of an unknown outcome. Null before the first trade.`,
    0.531,
  ),
  lastTradeTime: timeOrNull('Time of the last trade.', '2026-04-14T08:00:09.120Z'),
  lastTradeOutcome: outcomeOrNull(
    'Outcome that was traded; null if the source does not report it, and before the first trade.',
  ),
})

export const PriceRow = object(
  'Price',
  {
    id: text('Id of the snapshot.', '1482734'),
    outcome,
    timestamp: time("Venue's timestamp of the state, UTC.", '2026-04-14T08:00:10.672Z'),
    ...topFields,
    ...lastTradeMembers('at or before `timestamp`'),
  },
  { description: 'A state in which the mid or the last trade changed; without `interval`.' },
)

const mids = 'over the states with both sides; null if there are none'
const PriceBar = object(
  'Bar',
  {
    outcome,
    start: time('Start of the step, inclusive.', '2026-04-14T08:00:00.000Z'),
    end: time('End of the step, exclusive.', '2026-04-14T08:01:00.000Z'),
    open: decimalOrNull(`First mid, ${mids}.`, 0.505),
    high: decimalOrNull(`Highest mid, ${mids}.`, 0.545),
    low: decimalOrNull(`Lowest mid, ${mids}.`, 0.495),
    close: decimalOrNull(`Last mid, ${mids}.`, 0.535),
    ...lastTradeMembers('before the end of the bar, which may be older than the bar'),
    lastTradeUpdates: count(
      'Updates of the last trade price in the bar, of either outcome; repeats of a time and price count once. This is not a number of trades: two trades at one price in one millisecond are one update, and a source may omit trades that do not change the price. Bars of both outcomes have the same value.',
      12,
    ),
    states: positive('States of this outcome in the bar, including those with an empty side.', 118),
    covered: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'Share of the step that is recorded and in the range, rounded down to six decimals. Below 1, states may be missing from the bar.',
      examples: [0.998333],
    }),
  },
  { description: 'A bar; with `interval`.' },
)

export const PriceList = listOf(
  Type.Union([PriceRow, PriceBar]),
  'Changes by `timestamp`, then by `id`; bars by `start`, `up` before `down`. Reversed by `order=desc`.',
)

const OutcomePrice = (name: string) =>
  groupOrNull(`Last state of "${name}"; null if none is recorded.`, {
    ...topFields,
    timestamp: time(
      "Venue's timestamp of the last state, UTC. There is no age, so that an unchanged response is a 304.",
      '2026-04-14T08:00:10.672Z',
    ),
  })

const LastTrade = Type.Object({
  price: decimal('Price as printed by the venue, exact.', 0.531),
  outcome: outcomeOrNull('Outcome that was traded; null if the venue does not report it.'),
  timestamp: time("Venue's timestamp of the trade.", '2026-04-14T08:00:09.120Z'),
})

const OpenMarket = object('OpenMarket', {
  conditionId: conditionIdField,
  timeframe: choice(timeframes, 'Timeframe of the market.', exampleMarket.timeframe),
  source: sourceField,
  slug: slugField,
  windowStart: timeOrNull('Start of the window; null if unknown.', '2026-04-14T08:00:00.000Z'),
  windowEnd: timeOrNull('End of the window; null if unknown.', '2026-04-14T08:05:00.000Z'),
  up: OutcomePrice('up'),
  down: OutcomePrice('down'),
  lastTrade: nullable(LastTrade, 'Last trade of either outcome; null if none is recorded.'),
})

export const NowList = Type.Object({
  ...onePageOf(OpenMarket, 'Open markets, newest window first.').properties,
  spot: spotField(
    'Newest spot price of the coin; null if none is recorded. GET /v1/{coin}/spot has its history.',
  ),
})
export type NowList = Static<typeof NowList>
