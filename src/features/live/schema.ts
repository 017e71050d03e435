import { type Static, Type } from '@sinclair/typebox'

import type { TierRoute } from '#src/domain/selling/tier.ts'
import { depthParameter, outcomeParameter, timeframeParameter } from '#src/http/data-query.ts'
import { integer, oneOf } from '#src/http/kinds.ts'
import { type RowChannel, rowChannels } from '#src/live/rows.ts'

/** Proxies and clients often close a connection after a minute without data. */
const HEARTBEAT_SECONDS_MAX = 45

const shared = {
  channel: oneOf(rowChannels, {
    default: 'snapshots',
    description:
      'Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, `trades` one with `prices`, and `changes` one with `snapshots`.',
  }),
  outcome: outcomeParameter,
  depth: Type.Optional({
    ...depthParameter,
    description: `For \`snapshots\` only. ${depthParameter.description}`,
  }),
  heartbeat: integer({
    minimum: 5,
    maximum: HEARTBEAT_SECONDS_MAX,
    default: 15,
    description: 'Seconds without an event after which a comment line is sent.',
  }),
}

const cursor = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

export const MarketLiveQuery = Type.Object({
  ...shared,
  cursor: cursor(
    "Resume after this position: the `id` of an event, or `nextCursor` or `X-Resume-Cursor` of the channel's route with the same outcome and depth, in ascending order and without a range. By default the stream begins now. The header `Last-Event-ID` takes precedence.",
  ),
})
export const CoinLiveQuery = Type.Object({
  ...shared,
  timeframe: timeframeParameter('Only markets of this timeframe.'),
  cursor: cursor(
    'Resume after this position in each market: the `id` of an event of this route. All other parameters except `heartbeat` must be the same. By default the stream begins now. The header `Last-Event-ID` takes precedence.',
  ),
})
export type LiveQuery = Static<typeof MarketLiveQuery> & Partial<Static<typeof CoinLiveQuery>>

/** Routes that a tier must include for each channel. */
export const channelAccess = {
  snapshots: 'snapshots',
  changes: 'snapshots',
  quotes: 'quotes',
  prices: 'prices',
  trades: 'prices',
} as const satisfies Record<RowChannel, TierRoute>
