import { type Static, Type } from '@sinclair/typebox'

import { MARKET_NAME_PATTERN, marketNameText, outcomes } from '#src/domain/market.ts'
import {
  asOfParameter,
  cutParameters,
  maxAgeParameter,
  outcomeParameter,
} from '#src/http/data-query.ts'
import { choice, exampleMarket, groups, nullable, text, time } from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'
import { AgedSnapshotBody, SnapshotBody } from '#src/http/snapshot-body.ts'

const MOMENTS_MAX = 500

const ts = time('The moment asked for, UTC.', '2026-04-14T08:00:11.000Z')
const outcome = choice(outcomes, 'Outcome whose book is wanted.', 'up')

export const AsOfQuery = Type.Object({
  ts: asOfParameter,
  outcome: outcomeParameter,
  maxAgeMs: maxAgeParameter,
  ...cutParameters,
})
export type AsOfQuery = Static<typeof AsOfQuery>

export const AsOfBody = Type.Object({
  ts,
  data: Type.Array(AgedSnapshotBody, {
    description:
      'The prevailing snapshot of each outcome, up, then down; one that has none, or none recent enough, is left out.',
  }),
})

const conditionId = Type.String({
  pattern: MARKET_NAME_PATTERN,
  'x-expected': marketNameText,
  description: `A market of the coin: ${marketNameText}.`,
  examples: [exampleMarket.conditionId],
})

const Moment = Type.Object(
  { conditionId, outcome, ts: asOfParameter },
  { additionalProperties: false },
)

export const BatchBody = Type.Object({
  requests: Type.Array(Moment, {
    minItems: 1,
    maxItems: MOMENTS_MAX,
    description: 'Moments of markets of the coin, in any order; each is answered by itself.',
    examples: [[{ conditionId: exampleMarket.conditionId, outcome: 'up', ts: exampleMarket.tsMs }]],
  }),
  maxAgeMs: maxAgeParameter,
  ...cutParameters,
})
export type BatchBody = Static<typeof BatchBody>

export const BatchAnswer = Type.Object({
  data: groups('One answer for each request, in their order.', {
    conditionId: text('Of the market; where there is none what was sent, in lower case.'),
    outcome: choice(outcomes, 'Of the request.'),
    ts,
    snapshot: nullable(SnapshotBody, 'Null where there is an error.'),
    ageMs: nullable(
      Type.Integer(),
      'Milliseconds from the `timestamp` of the snapshot to `ts`; with `stale` that of the state which is too old.',
      328,
    ),
    error: nullable(
      literals(['unknown_market', 'no_snapshot', 'stale'], {}),
      'The code of the 404 that the `GET` of the entry answers; null where it answers a snapshot. `unknown_market`: there is no such market of the coin. `no_snapshot`: nothing of the outcome was recorded by then. `stale`: the prevailing one is older than `maxAgeMs`.',
    ),
  }),
})
