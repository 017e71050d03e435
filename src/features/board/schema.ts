import { type Static, Type } from '@sinclair/typebox'

import { gapReasons } from '#src/domain/coverage.ts'
import { outcomes, settlementRules } from '#src/domain/market.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  choiceOrNull,
  countOrNull,
  decimal,
  decimalOrNull,
  group,
  marketFields,
  nullable,
  object,
  onePageOf,
  positive,
  slugField,
  spotField,
  text,
  time,
  timeOrNull,
  topFields,
} from '#src/http/fields.ts'

export const BoardQuery = Type.Object({
  timeframe: timeframeParameter('Only windows of this timeframe.'),
})
export type BoardQuery = Static<typeof BoardQuery>

/** Recording status of a window. */
export const recordingStates = ['recorded', 'gap', 'none', 'damaged'] as const

const Average = Type.Object({
  price: decimal('In USD.', 64_120.25),
  from: time('Start of the averaged time, inclusive.'),
  to: time('End of the averaged time, exclusive.', '2026-04-14T08:04:40.000Z'),
  source: text('Source that publishes the average or the prices.', 'chainlink'),
  isSettlement: Type.Boolean({
    description:
      'True in the last seconds of the window, whose average decides the settlement. An average that the source publishes at the end of the window is final; one published earlier covers the time since `from`.',
  }),
})

const Needed = Type.Object({
  price: decimal('USD, rounded up to the precision of the prices.', 64_131.2),
  from: time('Start of the remaining seconds, inclusive.', '2026-04-14T08:04:40.000Z'),
})

const Recording = group('Recording of the window.', {
  state: choice(
    recordingStates,
    '`recorded`: no gap now. `gap`: a gap now. `none`: no book was recorded. `damaged`: stored data of the window, or of the prices of its coin, failed its checksum; other windows are not affected.',
    'recorded',
  ),
  reason: choiceOrNull(gapReasons, 'Reason of the current gap; null if there is none.', null),
  since: timeOrNull('Start of the current gap; null if there is none.'),
  covered: nullable(
    Type.Number({ minimum: 0, maximum: 1 }),
    'Share of the window so far in which both outcomes are recorded, rounded down to thousandths; null if the window is unknown or damaged.',
    0.998,
  ),
})

const series = (description: string) => Type.Array(decimalOrNull(description, 0.53))

const History = Type.Object(
  {
    from: time('Time of the first point: the start of the window.'),
    stepMs: positive('Milliseconds between points.', 5000),
    mid: series('Mid price at the point; null if no book is known.'),
    spot: series('Spot price at the point; null if none is known.'),
    average: series('Settlement average at the point.'),
  },
  { description: 'Up to 60 points from the start of the window to now.' },
)

/** Members of a row that change, and those that identify the window. */
const members = {
  ...marketFields,
  slug: slugField,
  windowStart: timeOrNull('Start of the window; null if unknown.', '2026-04-14T08:00:00.000Z'),
  windowEnd: timeOrNull('End of the window; null if unknown.', '2026-04-14T08:05:00.000Z'),
  settlementRule: choiceOrNull(
    settlementRules,
    'Settlement rule, as in GET /v1/{coin}/markets.',
    'twap60',
  ),
  strike: decimalOrNull(
    'Price that the final price is compared with; null until it is known.',
    64_100.5,
  ),
  spot: spotField('Newest spot price of the coin; null if none is recorded.'),
  average: nullable(
    Average,
    'Settlement average so far: the newest average that the source publishes or, if the source publishes none, the average of its prices. In the last seconds of the window, the average begins with the settlement time; before that, it covers the same number of seconds up to now. Null if the window does not settle on an average, or if its source has no prices. Prices of other sources are never used.',
  ),
  needed: nullable(
    Needed,
    'Lowest average of the remaining seconds with which Up wins, given the prices since the settlement time began. Null before the settlement time, if the window does not settle on an average, and if prices or the strike are missing.',
  ),
  bookOf: choiceOrNull(
    outcomes,
    'Outcome whose book gives the following members, in terms of up. If no book of up is recorded, the book of `down` is mirrored: an offer to sell down at 0.4 is a bid for up at 0.6. Null without a book.',
    'up',
  ),
  timestamp: timeOrNull("Venue's timestamp of the book, UTC.", '2026-04-14T08:00:10.672Z'),
  ...topFields,
  spread: decimalOrNull('Best ask minus best bid; null if a side is empty.', 0.01),
  bidDepth: decimalOrNull('Bid size within 0.02 of `mid`, in shares; null without a mid.', 2140.5),
  askDepth: decimalOrNull('Ask size within 0.02 of `mid`, in shares; null without a mid.', 1980),
  volume: decimalOrNull(
    'Shares traded so far, of both outcomes, including trades before the window; null if no trade with a size is recorded.',
    15_230,
  ),
  trades: countOrNull('Number of trades so far; null if the window is damaged.', 412),
  recording: Recording,
}

export const BoardWindow = object('BoardWindow', {
  ...members,
  history: nullable(History, 'Null if the window is unknown or damaged.'),
})

export const Board = onePageOf(BoardWindow, 'Open windows of your coins, by coin, then by end.')
export type Board = Static<typeof Board>
