import { type Static, Type } from '@sinclair/typebox'

import { MARKET_NAME_PATTERN, marketNameText, outcomes } from '#src/domain/market.ts'
import {
  asOfParameter,
  cutParameters,
  maxAgeParameter,
  outcomeParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  choiceOrNull,
  exampleMarket,
  groups,
  nullable,
  text,
  time,
} from '#src/http/fields.ts'
import { asMembers, expecting } from '#src/http/kinds.ts'
import { AgedSnapshotBody, SnapshotBody } from '#src/http/snapshot-body.ts'

const MOMENTS_MAX = 500

const ts = time('The requested moment, UTC.', '2026-04-14T08:00:11.000Z')
const outcome = choice(outcomes, 'Outcome of the book.', 'up')

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
      'The last snapshot of each outcome by `ts`, `up` before `down`. Outcomes without a recent enough snapshot are left out.',
  }),
})

const conditionId = expecting(
  marketNameText,
  Type.String({
    pattern: MARKET_NAME_PATTERN,
    description: `A market of the coin: ${marketNameText}.`,
    examples: [exampleMarket.conditionId],
  }),
)

const Moment = Type.Object(asMembers({ conditionId, outcome, ts: asOfParameter }), {
  additionalProperties: false,
})

export const BatchBody = Type.Object({
  requests: Type.Array(Moment, {
    minItems: 1,
    maxItems: MOMENTS_MAX,
    description: 'Moments of markets of the coin, in any order.',
    examples: [[{ conditionId: exampleMarket.conditionId, outcome: 'up', ts: exampleMarket.tsMs }]],
  }),
  ...asMembers({ maxAgeMs: maxAgeParameter, ...cutParameters }),
})
export type BatchBody = Static<typeof BatchBody>

export const BatchAnswer = Type.Object({
  data: groups('One result for each request, in the order of the requests.', {
    conditionId: text(
      'Condition id of the market; for an unknown market the requested name, in lower case.',
    ),
    outcome: choice(outcomes, 'Requested moment.'),
    ts,
    snapshot: nullable(SnapshotBody, 'Null if there is an error.'),
    ageMs: nullable(
      Type.Integer(),
      'Milliseconds from the `timestamp` of the snapshot to `ts`; for `stale`, the age of the snapshot that is too old.',
      328,
    ),
    error: choiceOrNull(
      ['unknown_market', 'no_snapshot', 'stale'],
      'Error code of the entry, as the single `GET` would return it with a 404; null if there is a snapshot. `unknown_market`: the coin has no such market. `no_snapshot`: nothing of the outcome was recorded by then. `stale`: the last snapshot is older than `maxAgeMs`.',
    ),
  }),
})
