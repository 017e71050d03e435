import { type Static, Type } from '@sinclair/typebox'

import { MARKET_NAME_PATTERN, marketNameText } from '#src/core/market-name.ts'
import { coins, outcomes, timeframes } from '#src/core/market.ts'
import { literals } from '#src/http/schema-reader.ts'
import { rowChannels } from '#src/live/rows.ts'
import { DEPTH_MAX } from '#src/wire/row-cut.ts'

/** Longest name of a subscription. */
const ID_LENGTH_MAX = 64

const id = Type.String({
  minLength: 1,
  maxLength: ID_LENGTH_MAX,
  description: 'Your name of the subscription, which is in every message of it.',
  examples: ['btc'],
})

/** What every operation may carry; which members it takes is in `operations`. */
export const Operation = Type.Object({
  op: literals(['auth', 'subscribe', 'unsubscribe', 'snapshot', 'heartbeat'], {
    description: 'What is asked for.',
    examples: ['subscribe'],
  }),
  id: Type.Optional(id),
  key: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Of `auth`: the API key.',
      examples: ['bf_live_…'],
    }),
  ),
  channel: Type.Optional(
    literals([...rowChannels, 'markets'], {
      description: 'Of `subscribe`: which rows. `markets` has none, only what becomes of markets.',
      examples: ['quotes'],
    }),
  ),
  coin: Type.Optional(literals(coins, { description: 'Coin.', examples: ['btc'] })),
  timeframe: Type.Optional(
    literals(timeframes, { description: 'Only markets of this length.', examples: ['5m'] }),
  ),
  conditionId: Type.Optional(
    Type.String({
      pattern: MARKET_NAME_PATTERN,
      description: `One market instead of every open one: ${marketNameText}.`,
      examples: ['btc-updown-5m-1776153600'],
    }),
  ),
  outcome: Type.Optional(
    literals(outcomes, { description: 'Only this outcome; both when absent.', examples: ['up'] }),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DEPTH_MAX,
      description: 'Levels a side of `snapshots`; all when absent.',
      examples: [10],
    }),
  ),
  from: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Continue after this cursor: of a row, or a `nextCursor` or `X-Resume-Cursor` of the route with the same outcome and depth, ascending and without a range. Only with `conditionId`.',
      examples: ['AZ…'],
    }),
  ),
  onSlow: Type.Optional(
    literals(['conflate', 'close'], {
      description:
        'What to do when you read too slowly: leave out states, which `skipped` then counts, or close the connection with 4008. Rows are whole books, so leaving some out never makes the next one wrong.',
      examples: ['conflate'],
    }),
  ),
  seconds: Type.Optional(
    Type.Integer({
      minimum: 5,
      maximum: 600,
      description: 'Of `heartbeat`: how often one is sent.',
      examples: [30],
    }),
  ),
})
export type Operation = Static<typeof Operation>
export type Channel = NonNullable<Operation['channel']>

/** The members that an operation takes and, marked, those that it must have. */
export const operations: Record<
  Operation['op'],
  { needs: readonly string[]; takes: readonly string[] }
> = {
  auth: { needs: ['key'], takes: [] },
  subscribe: {
    needs: ['id', 'channel', 'coin'],
    takes: ['timeframe', 'conditionId', 'outcome', 'depth', 'from', 'onSlow'],
  },
  unsubscribe: { needs: ['id'], takes: [] },
  snapshot: { needs: ['id'], takes: [] },
  heartbeat: { needs: ['seconds'], takes: [] },
}

/**
 * Codes with which a connection is closed by the server (RFC 6455, 7.4.2: 4000 to 4999 are ours).
 */
export const closeCodes = {
  drain: { code: 1001, text: 'The server stops. Connect again.' },
  unauthenticated: { code: 4001, text: 'No valid key came within ten seconds, or the key ended.' },
  protocol: { code: 4002, text: 'A message was no operation.' },
  slow: { code: 4008, text: 'You read too slowly.' },
  limit: { code: 4029, text: 'Your tier has no more connections.' },
} as const
