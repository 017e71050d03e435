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
  time: time('The step; only with `interval`.', '2026-04-14T08:00:11.000Z'),
  ageMs: count('Milliseconds from `timestamp` to `time`; only with `interval`.', 328),
  id: text('Identifier of the snapshot that this is the top of.', '1482734'),
  outcome: choice(outcomes, 'Outcome whose book this is.', 'up'),
  timestamp: time("The venue's time of the state, UTC, milliseconds.", '2026-04-14T08:00:10.672Z'),
  bid: topFields.bid,
  bidSize: decimalOrNull('Shares at the best bid, exact; null when the side is empty.', 12480.06),
  ask: topFields.ask,
  askSize: decimalOrNull('Shares at the best ask, exact; null when the side is empty.', 96.5),
  mid: topFields.mid,
  spread: decimalOrNull(
    'Ask minus bid, exact; negative when the book is crossed, null when a side is empty.',
    0.01,
  ),
  imbalance: decimalOrNull(
    '(bidSize − askSize) / (bidSize + askSize), from -1 to 1, rounded half away from zero to six decimals; null when a side is empty.',
    0.984654,
  ),
  receivedAt: timeOrNull(
    "Only where `fields` names it: when the recorder received the state, by the recorder's clock; null where that is not known.",
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
      'The state prevailing at each step of this length instead of every change; steps are multiples of it since 1970, UTC. A step after the expiry has no row, so of `1h` and a market of five minutes most have none.',
    ),
    fields: fieldsParameterOf(
      quoteFields,
      'Only these fields of each quote, joined by commas, for example `timestamp,bid,ask,receivedAt`; all but `receivedAt` when absent. The rows are the same ones.',
    ),
  },
)
export type QuoteQuery = Static<typeof QuoteQuery>

/** A client that sends `fields` must not read that what it left out is there. */
export const QuoteRow = Type.Partial(Type.Object(members), {
  $id: 'Quote',
  description:
    'Without `fields` every member is there, but not `receivedAt`, and `time` and `ageMs` only with `interval`; with `fields` those that it names.',
})

export const QuoteList = listOf(
  QuoteRow,
  'Quotes by `timestamp`, then by `id`; with `interval` by `time`, then up before down. Reversed by `order=desc`.',
)
export type QuoteRow = Static<typeof QuoteRow>
