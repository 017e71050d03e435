import { type Static, Type } from '@sinclair/typebox'

import type { TierRoute } from '#src/domain/selling/tier.ts'
import { depthParameter, outcomeParameter, timeframeParameter } from '#src/http/data-query.ts'
import { literals } from '#src/http/schema-reader.ts'
import { type RowChannel, rowChannels } from '#src/live/rows.ts'

/** Connections are cut after a minute of idleness. */
const HEARTBEAT_SECONDS_MAX = 45

const shared = {
  channel: literals(rowChannels, {
    default: 'snapshots',
    description:
      'Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, and `trades` one with `prices`.',
  }),
  outcome: outcomeParameter,
  depth: Type.Optional({
    ...depthParameter,
    description: `Only for \`snapshots\`. ${depthParameter.description}`,
  }),
  heartbeat: Type.Integer({
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
    'Continue after this place instead of now: the `id` of an event, or `nextCursor` or `X-Resume-Cursor` of the route of the channel, ascending, without a range and with the same outcome and depth. The header `Last-Event-ID` takes precedence.',
  ),
})
export const CoinLiveQuery = Type.Object({
  ...shared,
  timeframe: timeframeParameter('Only markets of this length.'),
  cursor: cursor(
    'Continue after this place in each market instead of now: the `id` of an event of this route. All other parameters but `heartbeat` must be repeated. The header `Last-Event-ID` takes precedence.',
  ),
})
export type LiveQuery = Static<typeof MarketLiveQuery> & Partial<Static<typeof CoinLiveQuery>>

/** The route of tiers that includes a channel. */
export const channelAccess = {
  snapshots: 'snapshots',
  quotes: 'quotes',
  prices: 'prices',
  trades: 'prices',
} as const satisfies Record<RowChannel, TierRoute>
