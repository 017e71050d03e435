import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframes } from '#src/core/market.ts'
import { revisionCauses } from '#src/core/revision.ts'
import { cursorParameter, limitParameter, momentParameter } from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  listOf,
  object,
  positive,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'

export const RevisionQuery = Type.Object({
  since: Type.Optional(
    momentParameter('First moment, inclusive, at which a change was made by our clock.'),
  ),
  coin: Type.Optional(choice(coins, 'Only this coin; all of your tier when absent.')),
  limit: limitParameter('Changes', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type RevisionQuery = Static<typeof RevisionQuery>

export const RevisionRow = object(
  'Revision',
  {
    id: text('Digits that rise with every change.', '4711'),
    time: time('When it was made, by our clock, UTC.', '2026-04-15T09:12:03.120Z'),
    why: choice(
      revisionCauses,
      '`late_rows`: the recorder added snapshots before the last one, or after the market was closed. `imported`: an import did. `late_trades`: trades came after the market was closed. `fact_changed`: a fact became known, or was corrected. `gap_noted`, `gap_closed`: a time without snapshots was noted, or it is shorter or gone. `deleted`: the market is no longer held.',
    ),
    symbol: choice(coins, 'Coin in lower case.'),
    conditionId: conditionIdField,
    timeframe: choice(timeframes, "Length of the market's window."),
    windowStart: time(
      'Start of its window; its first snapshot where that is not known.',
      '2026-04-14T08:00:00.000Z',
    ),
    revision: positive('`revision` of the market after the change.', 12),
    added: count('Snapshots or trades that were added, with new ids.', 3),
    changed: count(
      'Snapshots that kept their id and their book, of which something else is better known, such as the time of receipt.',
      0,
    ),
    removed: count('Snapshots that are gone: a better one says the same.', 0),
    from: timeOrNull('First time that is concerned, inclusive.', '2026-04-14T08:01:10.004Z'),
    to: timeOrNull('Last time that is concerned, exclusive.', '2026-04-14T08:01:12.871Z'),
    facts: Type.Array(
      Type.Object({
        fact: text('Name of the fact, as of a market.', 'winner'),
        before: textOrNull('What was known before; null where nothing was.', null),
        after: textOrNull('What is known since.', 'up'),
      }),
      { description: 'Facts that changed; empty of other changes.' },
    ),
  },
  { description: 'A change of a market after it could be served.' },
)
export type RevisionRow = Static<typeof RevisionRow>

const Listed = listOf(RevisionRow, 'Changes in the order in which they were made.')
export const RevisionList = Type.Object({
  ...Listed.properties,
  completeSince: time(
    'Every change since then is in the list; what changed before is not known.',
    '2026-04-01T00:00:00.000Z',
  ),
})
