import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'

import { gapReasons } from '#src/domain/coverage.ts'
import {
  coins,
  MARKET_NAME_PATTERN,
  marketNameText,
  outcomes,
  timeframes,
} from '#src/domain/market.ts'
import { DEPTH_MAX } from '#src/domain/wire/row-cut.ts'
import {
  choice,
  conditionIdField,
  count,
  exampleMarket,
  nullable,
  positive,
  text,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { literals, moment } from '#src/http/schema-reader.ts'
import { rowChannels } from '#src/live/rows.ts'

/** Longest name of a subscription. */
const ID_LENGTH_MAX = 64
const SPEED_MAX = 1000
/** Below it is only 0: as fast as it is taken. */
export const SPEED_MIN = 0.1
export const speedText = `0, or a number from ${SPEED_MIN} to ${SPEED_MAX}`

const id = Type.String({
  minLength: 1,
  maxLength: ID_LENGTH_MAX,
  description: 'Your name of the subscription, which is in every message of it.',
  examples: ['btc'],
})
const coin = literals(coins, { description: 'Coin.', examples: ['btc'] })
const cursor = (description: string) =>
  Type.Optional(Type.String({ maxLength: 200, description, examples: ['AQGdi-iFoAAAAAAAv0T8'] }))
const momentOf = (description: string) => moment({ description, examples: [exampleMarket.tsMs] })
const speed = Type.Number({
  minimum: 0,
  maximum: SPEED_MAX,
  'x-expected': speedText,
  description:
    'How many times as fast as it was: 0.1 to 1000, or 0 for as fast as it is read and taken.',
  examples: [60],
})

const filters = {
  timeframe: Type.Optional(
    literals(timeframes, {
      description: 'Only markets of this length. Not of `spot`.',
      examples: ['5m'],
    }),
  ),
  conditionId: Type.Optional(
    Type.String({
      pattern: MARKET_NAME_PATTERN,
      description: `One market instead of every one of the coin: ${marketNameText}. Not of \`spot\`.`,
      examples: [exampleMarket.conditionId],
    }),
  ),
  outcome: Type.Optional(
    literals(outcomes, {
      description: 'Only this outcome; both when absent. Not of `spot` and `markets`.',
      examples: ['up'],
    }),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DEPTH_MAX,
      description: 'Levels of each side of `snapshots`; all when absent.',
      examples: [10],
    }),
  ),
}

const spotFilters = {
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,32}$',
      description: 'Only of `spot`: only prices of this source.',
      examples: ['chainlink'],
    }),
  ),
  window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: 'Only of `spot`: only averages of so many seconds.',
      examples: [60],
    }),
  ),
}

export const channels = [...rowChannels, 'markets', 'spot'] as const
export type Channel = (typeof channels)[number]

/** What each operation takes beside `op`. */
const operationMembers = {
  auth: {
    key: Type.String({
      maxLength: 200,
      description: 'The API key, if the header `Authorization` did not have it.',
      examples: ['bf_live_…'],
    }),
  },
  subscribe: {
    id,
    channel: literals(channels, {
      description:
        'Which rows. `markets` has none, only what becomes of markets; those of `spot` are of the coin.',
      examples: ['quotes'],
    }),
    coin,
    ...filters,
    ...spotFilters,
    from: cursor(
      'Continue after this cursor: of a row, or a `nextCursor` or `X-Resume-Cursor` of the route with the same filters, ascending and without a range. With `conditionId`, or of `spot`.',
    ),
    onSlow: literals(['conflate', 'close'], {
      default: 'conflate',
      description:
        'What to do when you read too slowly: leave out states, which `skipped` then counts, or keep all that wait and close the connection with 4008 when they are too many. Trades are never left out.',
      examples: ['conflate'],
    }),
  },
  unsubscribe: { id },
  snapshot: { id },
  heartbeat: {
    seconds: Type.Integer({
      minimum: 5,
      maximum: 600,
      description: 'A heartbeat is sent after this time without any other message.',
      examples: [30],
    }),
  },
  replay: {
    id,
    channel: literals(channels, {
      description: 'Which rows, as in `subscribe`.',
      examples: ['quotes'],
    }),
    coin,
    ...filters,
    ...spotFilters,
    with: Type.Optional(
      literals(['spot'], {
        description: 'Prices of the coin too, in the order of time. Needs `from` and `to`.',
        examples: ['spot'],
      }),
    ),
    from: Type.Optional(momentOf('First moment. Needed without `conditionId`.')),
    to: Type.Optional(
      momentOf('End, exclusive, but for what ends there. Needed without `conditionId`.'),
    ),
    cursor: cursor('Continue after the row with this cursor. With `conditionId`, or of `spot`.'),
    speed,
  },
  pause: { id },
  resume: { id },
  seek: { id, to: momentOf('The moment to go to.') },
  speed: { id, speed },
} satisfies Record<string, TProperties>

export type Op = keyof typeof operationMembers
export const ops = Object.keys(operationMembers) as Op[]

type Members = typeof operationMembers
export type Operations = { [O in Op]: { op: O } & Static<TObject<Members[O]>> }
export type Operation = Operations[Op]
const schemaOf = (op: Op): TObject =>
  Type.Object({ op: Type.Literal(op), ...(operationMembers[op] satisfies TProperties) })
export const operationSchemas = Object.fromEntries(ops.map((op) => [op, schemaOf(op)])) as Record<
  Op,
  TObject
>

const ofMarket = { id, conditionId: conditionIdField }
const rowPlace = {
  id,
  prevSeq: nullable(
    Type.Integer(),
    '`seq` of the row before it in this subscription and market; null at first.',
    41,
  ),
  skipped: Type.Optional(
    positive('States that were left out before it, because you read too slowly.', 3),
  ),
}
const rowOrigin = {
  seq: count(
    'The number of the row in the store: its `id`; a trade has one too, which its row does not show.',
    42,
  ),
  cursor: Type.Optional(
    text(
      'Where to continue from: in `from` here, or as `cursor` of the route with the same filters. Of several snapshots only the last has one.',
    ),
  ),
  epoch: text('Names the store: numbers and cursors of another one mean nothing here.', 'a81f'),
}

/** Schemas of the rows of channels, and of a market now and as of a moment of a replay. */
export type RowSchemas = Record<Exclude<Channel, 'markets'> | 'market' | 'marketAsOf', TSchema>

/** Each message of the server by its type. */
export function serverMessages(
  rows: RowSchemas,
): Record<string, { summary: string; payload: TSchema }> {
  const ofRow = rowPayloads(rows)
  const market = { id, data: rows.market }
  const marketNowOrThen = [market, { id, data: rows.marketAsOf }]
  const messages: Record<string, [summary: string, ...TProperties[]]> = {
    authenticated: ['The key is valid.', { tier: text('Tier of the account.', 'pro') }],
    subscribed: [
      'A subscription or replay begins.',
      { id, channel: choice(channels, 'Channel.', 'quotes'), coin },
    ],
    unsubscribed: [
      'A subscription or replay has ended: by `unsubscribe`, or because your tier does not include it any more, which an `error` before it says.',
      { id },
    ],
    snapshot: ['The last row of an outcome, at the beginning or on request.', ...ofRow],
    snapshot_empty: ['A snapshot was asked for, and no row is held yet.', { id }],
    row: ['A row that was written, exactly as the route of the channel has it.', ...ofRow],
    live: [
      'Everything since `from` was sent; from now on rows come as they are written.',
      ofMarket,
      { id, coin },
    ],
    gap: [
      'A gap that is new, has ended, or is none after all: what was not recorded.',
      { ...ofMarket, ...gap },
    ],
    market_open: ['The window of a market begins.', ...marketNowOrThen],
    market_update: ['More is known of a market since it opened.', ...marketNowOrThen],
    market_closed: ['The window of a market is over; rows may still come.', ...marketNowOrThen],
    market_resolved: ['The winner of a market is known; its rows end.', market],
    market_end: [
      'Of a replay: nothing more comes of this market, which may be cut by `to`.',
      ofMarket,
    ],
    replay_state: ['How a replay goes on, after an operation on it.', { id, ...replayState }],
    replay_end: ['A replay is at its end; `seek` goes back.', { id }],
    stale: [
      'The server has not heard from its database: nothing is known, and nothing is sent, of what was recorded since. Once for a connection, until `current`.',
      { since: time('The moment up to which everything is known.') },
    ],
    current: [
      'What is sent is current again, after `stale`. What was recorded in between comes as rows.',
      { time: time('Time of the server.') },
    ],
    heartbeat: [
      'Nothing else was to be sent.',
      {
        time: time('Time of the server.'),
        staleSince: Type.Optional(time('Only while it is stale: `since` of `stale`.')),
      },
    ],
    error: ['An operation was refused, or a market cannot be read.', fault],
  }
  const entries = Object.entries(messages).map(([type, [summary, ...variants]]) => {
    const payloads = variants.map((members) =>
      Type.Object({ type: Type.Literal(type), ...members }),
    )
    const [first = Type.Object({}), ...others] = payloads
    return [type, { summary, payload: others.length === 0 ? first : Type.Union(payloads) }]
  })
  return Object.fromEntries(entries)
}

const rowPayloads = (rows: RowSchemas): TProperties[] =>
  [...rowChannels, 'spot' as const].map((channel) => ({
    ...rowPlace,
    channel: Type.Literal(channel),
    ...(channel === 'spot' ? { coin } : { conditionId: conditionIdField }),
    ...rowOrigin,
    ...(channel === 'trades' ? { late } : {}),
    data: rows[channel],
  }))

const late = Type.Optional(
  Type.Boolean({
    description:
      'True for a trade that was received after a trade of a later time, which was sent before. `cursor` is then the place of the trade before it.',
  }),
)

const gap = {
  outcome: choice(outcomes, 'Outcome.', 'up'),
  reason: choice(gapReasons, 'Why: as of coverage.', 'recorder_down'),
  from: time('First moment that is missing.'),
  to: timeOrNull(
    'End, exclusive; null while it goes on, `from` where nothing is missing after all.',
    '2026-04-14T08:00:09.120Z',
  ),
}

const replayState = {
  state: choice(['playing', 'paused', 'ended'], 'What it does.', 'playing'),
  speed,
  time: timeOrNull('Where it is; null before its first row.', '2026-04-14T08:00:09.120Z'),
}

const fault = {
  id: Type.Optional(id),
  code: text('One of the codes of /errors.', 'invalid_parameter'),
  detail: text('What was wrong, and what to do.', '`op` must be one of …'),
  param: Type.Optional(text('The member that was wrong.', 'channel')),
  requiredTier: Type.Optional(text('The cheapest tier that has it.', 'starter')),
}

/**
 * Codes with which a connection is closed by the server (RFC 6455, 7.4.2: 4000 to 4999 are ours).
 */
export const closeCodes = {
  drain: { code: 1001, text: 'The server stops. Connect again.' },
  unauthenticated: { code: 4001, text: 'No valid key came within ten seconds, or the key ended.' },
  protocol: { code: 4002, text: 'Too many messages were no operation.' },
  slow: { code: 4008, text: 'You read too slowly.' },
  internal: { code: 1011, text: 'A fault of the server. Connect again.' },
  /** IANA's WebSocket registry: Try Again Later. */
  later: {
    code: 1013,
    text: 'The server is making its test data. Connect again in a few seconds.',
  },
  limit: { code: 4029, text: 'Your tier has no more connections.' },
  unconfirmed: {
    code: 1013,
    text: 'Keys cannot be checked: the server has not heard from its ledger. Connect again later.',
  },
  full: { code: 1013, text: 'The server has no more connections for now. Connect again later.' },
} as const
export type CloseReason = keyof typeof closeCodes

/** The document that describes all of it. */
export const StreamDocument = Type.Object(
  { asyncapi: text('Version of AsyncAPI.', '3.0.0') },
  { additionalProperties: true },
)
