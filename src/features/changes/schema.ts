import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import {
  choice,
  decimal,
  listOf,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'

const { order: _, ...parameters } = historyQuery(
  { rows: 'Rows', range: '`timestamp`', limit: { default: 100, maximum: 1000 } },
  {},
).properties

export const ChangeQuery = Type.Object(parameters)
export type ChangeQuery = Static<typeof ChangeQuery>

const ChangedLevel = object('ChangedLevel', {
  price: decimal('USDC per share, exact decimal between 0 and 1.', 0.53),
  size: decimal('Shares at this price from now on, exact; 0 if the level is gone.', 12480.06),
})

const levels = (side: string) =>
  Type.Array(ChangedLevel, {
    description: `${side}, best first. A snapshot has all levels; a change has those that differ from the state \`prevId\`, with size 0 if a level is gone.`,
  })

export const ChangeRow = object(
  'Change',
  {
    id: text('Identifier of the state, as of its snapshot.', '1482736'),
    prevId: textOrNull(
      'Identifier of the state that this one changes, the one before it of its outcome; null if the row is a snapshot.',
      '1482734',
    ),
    outcome: choice(outcomes, 'Outcome whose book this is.', 'up'),
    timestamp: time(
      "The venue's time of the state, UTC, milliseconds.",
      '2026-04-14T08:00:10.672Z',
    ),
    receivedAt: timeOrNull(
      "When the recorder received the state, by the recorder's clock; null where that is not known.",
      '2026-04-14T08:00:10.731Z',
    ),
    verified: nullable(
      Type.Boolean(),
      "Whether the whole book reproduces the venue's hash; null where that could not be checked.",
      true,
    ),
    snapshot: Type.Boolean({
      description:
        'True if the row has the whole book: replace yours. Set for the first state of each outcome, after a gap, at a finer tick, and after a state that you were not sent.',
      examples: [false],
    }),
    bids: levels('Buy side'),
    asks: levels('Sell side'),
  },
  { description: 'A state of a book, as the levels that changed.' },
)

export const ChangeList = listOf(
  ChangeRow,
  'One row per state, by `timestamp`, then by `id`: those of `…/snapshots`.',
)
