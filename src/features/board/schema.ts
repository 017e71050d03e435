import { type Static, Type } from '@sinclair/typebox'

import { gapReasons } from '#src/domain/coverage.ts'
import { outcomes, settlementRules } from '#src/domain/market.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  decimal,
  decimalOrNull,
  group,
  marketFields,
  nullable,
  object,
  positive,
  slugField,
  spotField,
  text,
  textOrNull,
  time,
  timeOrNull,
  topFields,
} from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

export const BoardQuery = Type.Object({
  timeframe: timeframeParameter('Only windows of this length.'),
})
export type BoardQuery = Static<typeof BoardQuery>

/** What the recording of a window is doing. */
export const recordingStates = ['recorded', 'gap', 'none', 'damaged'] as const

const Average = Type.Object({
  price: decimal('In USD.', 64_120.25),
  from: time('Start of the time that it is the average of, inclusive.'),
  to: time('End of that time, exclusive.', '2026-04-14T08:04:40.000Z'),
  source: text(
    'Who publishes the average or its prices: a source that windows settle on.',
    'chainlink',
  ),
  isSettlement: Type.Boolean({
    description:
      'True in the last seconds of the window, which it settles on. The average that is published for the end of the window decides; one that is published before reaches back to `from`.',
  }),
})

const Needed = Type.Object({
  price: decimal('In USD, rounded up to the digits of the prices.', 64_131.2),
  from: time('Start of the seconds that are left, inclusive.', '2026-04-14T08:04:40.000Z'),
})

const Recording = group('What is recorded of the window.', {
  state: choice(
    recordingStates,
    '`recorded` up to now, in a `gap` now, `none`: no book has been recorded, or `damaged`: what is stored of the window, or of the prices of its coin, is not what was written. Other windows are as before.',
    'recorded',
  ),
  reason: nullable(literals(gapReasons, {}), 'Why there is a gap now; null without one.', null),
  since: timeOrNull('Start of the gap; null without one.', undefined),
  covered: nullable(
    Type.Number({ minimum: 0, maximum: 1 }),
    'Share of the window so far, of both outcomes, that is recorded, rounded down to thousandths; null while the window is not known, and where it is damaged.',
    0.998,
  ),
})

const series = (description: string) => Type.Array(decimalOrNull(description, 0.53))

const History = Type.Object(
  {
    from: time('Time of the first point: the start of the window.'),
    stepMs: positive('Milliseconds between two points.', 5000),
    mid: series('Mid as of the point; null where no book is known.'),
    spot: series('Price of the coin as of the point; null where none is known.'),
    average: series('`average` as of the point.'),
  },
  { description: 'How it came to this: 60 points for the whole window, up to now.' },
)

/** What changes of a window, and what says which one it is. */
const members = {
  ...marketFields,
  slug: slugField,
  windowStart: timeOrNull('Start of the window; null where unknown.', '2026-04-14T08:00:00.000Z'),
  windowEnd: timeOrNull('End of the window; null where unknown.', '2026-04-14T08:05:00.000Z'),
  settlementRule: nullable(
    literals(settlementRules, {}),
    'What the price at the end of the window is, as in GET /v1/{coin}/markets.',
    'twap60',
  ),
  strike: decimalOrNull(
    'Price of the coin that the end is compared with; null until known.',
    64_100.5,
  ),
  spot: spotField('The newest price of the coin; null where none is recorded.'),
  average: nullable(
    Average,
    'The average that the window settles on, so far: the newest that its source publishes, or without one that of the prices of the source, in the last seconds of the window since the settlement began, before that of as many seconds up to now. Null for a window that does not settle on an average, and where that source has no prices; those of other sources never take their place.',
  ),
  needed: nullable(
    Needed,
    'The average that the prices of the seconds that are left must have at least for Up to win, from those since the settlement began. Null before these last seconds, for a window that does not settle on an average, and where prices or the strike are missing.',
  ),
  bookOf: nullable(
    literals(outcomes, {}),
    'The outcome whose book the following members are made of, in terms of up. `down` where no book of up is recorded: it is mirrored (who sells down at 0.4 buys up at 0.6). Null without a book.',
    'up',
  ),
  timestamp: timeOrNull("The venue's time of the book, UTC.", '2026-04-14T08:00:10.672Z'),
  ...topFields,
  spread: decimalOrNull('Best ask minus best bid; null when a side is empty.', 0.01),
  bidDepth: decimalOrNull('Shares of bids at most 0.02 below `mid`; null without a mid.', 2140.5),
  askDepth: decimalOrNull('Shares of asks at most 0.02 above `mid`; null without a mid.', 1980),
  volume: decimalOrNull(
    'Shares traded so far, of either outcome, also before the window began; null where no trade with its size is recorded.',
    15_230,
  ),
  trades: nullable(
    Type.Integer({ minimum: 0 }),
    'Trades so far; null where the window is damaged.',
    412,
  ),
  recording: Recording,
}

export const BoardWindow = object('BoardWindow', {
  ...members,
  history: nullable(History, 'Null while the window is not known, and where it is damaged.'),
})

export const Board = Type.Object({
  data: Type.Array(BoardWindow, {
    description: 'Every open window of your coins, by coin, then by the end of the window.',
  }),
  nextCursor: textOrNull('Always null: the list is whole.', null),
})
export type Board = Static<typeof Board>
