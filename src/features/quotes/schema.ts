import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import { fieldsParameterOf, intervalParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  decimalOrNull,
  listOf,
  text,
  time,
  timeOrNull,
  topFields,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'

const members = {
  time: time('Moment of the step; only with `interval`.', '2026-04-14T08:00:11.000Z'),
  ageMs: count('Milliseconds from `timestamp` to `time`; only with `interval`.', 328),
  id: text('Id of the snapshot.', '1482734'),
  outcome: choice(outcomes, 'Outcome of the book.', 'up'),
  timestamp: time(
    "Venue's timestamp of the state, UTC, in milliseconds.",
    '2026-04-14T08:00:10.672Z',
  ),
  bid: topFields.bid,
  bidSize: decimalOrNull('Shares at the best bid, exact; null if the side is empty.', 12480.06),
  ask: topFields.ask,
  askSize: decimalOrNull('Shares at the best ask, exact; null if the side is empty.', 96.5),
  mid: topFields.mid,
  spread: decimalOrNull(
    'Ask minus bid, exact; negative if the book is crossed, null if a side is empty.',
    0.01,
  ),
  imbalance: decimalOrNull(
    '(bidSize − askSize) / (bidSize + askSize), from -1 to 1, rounded half away from zero to six decimals; null if a side is empty.',
    0.984654,
  ),
  receivedAt: timeOrNull(
    "Time at which the recorder received the state, by the recorder's clock; null if unknown. Only if requested by `fields`.",
    '2026-04-14T08:00:10.731Z',
  ),
}

export const quoteFields = Object.keys(members)

export const QuoteQuery = historyQuery(
  {
    rows: 'Rows',
    range: '`timestamp`, or of `time` with `interval`',
    limit: { default: 1000, maximum: 10_000 },
  },
  {
    interval: intervalParameter(
      'Returns the prevailing state at each step of this length instead of every change; steps are multiples of it since 1970, UTC. A step after the expiry has no row, so with `1h` most markets of five minutes have none.',
    ),
    fields: fieldsParameterOf(
      quoteFields,
      'Only these fields of each quote, separated by commas, for example `timestamp,bid,ask,receivedAt`; by default all except `receivedAt`. The number of rows does not change.',
    ),
  },
)
export type QuoteQuery = Static<typeof QuoteQuery>

/** Optional, because a response lacks the members that `fields` leaves out. */
export const QuoteRow = Type.Partial(Type.Object(members), {
  $id: 'Quote',
  description:
    'Without `fields`, all members except `receivedAt`; `time` and `ageMs` only with `interval`. With `fields`, only the requested members.',
})

export const QuoteList = listOf(
  QuoteRow,
  'Quotes by `timestamp`, then by `id`; with `interval` by `time`, `up` before `down`. Reversed by `order=desc`.',
)
export type QuoteRow = Static<typeof QuoteRow>
