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
import { expecting, momentMember, oneOf } from '#src/http/kinds.ts'
import { rowChannels } from '#src/live/rows.ts'

/** Longest id of a subscription. */
const ID_LENGTH_MAX = 64
const SPEED_MAX = 1000
/** Slower speeds are refused; 0 means as fast as the client reads. */
export const SPEED_MIN = 0.1
export const speedText = `0, or a number from ${SPEED_MIN} to ${SPEED_MAX}`

const id = Type.String({
  minLength: 1,
  maxLength: ID_LENGTH_MAX,
  description: 'Id of the subscription, chosen by you; repeated in each of its messages.',
  examples: ['btc'],
})
const coin = oneOf(coins, { description: 'Coin.', examples: ['btc'] })
const cursor = (description: string) =>
  Type.Optional(Type.String({ maxLength: 200, description, examples: ['AQGdi-iFoAAAAAAAv0T8'] }))
const momentOf = (description: string) =>
  momentMember({ description, examples: [exampleMarket.tsMs] })
const speed = expecting(
  speedText,
  Type.Number({
    minimum: 0,
    maximum: SPEED_MAX,
    description:
      'Speed relative to the recording: 0.1 to 1000, or 0 for as fast as the server reads and the client takes.',
    examples: [60],
  }),
)

const filters = {
  timeframe: Type.Optional(
    oneOf(timeframes, {
      description: 'Only markets of this timeframe. Not for `spot`.',
      examples: ['5m'],
    }),
  ),
  conditionId: Type.Optional(
    Type.String({
      pattern: MARKET_NAME_PATTERN,
      description: `One market instead of all open markets of the coin: ${marketNameText}. Not for \`spot\`.`,
      examples: [exampleMarket.conditionId],
    }),
  ),
  outcome: Type.Optional(
    oneOf(outcomes, {
      description: 'Only this outcome; by default both. Not for `spot` and `markets`.',
      examples: ['up'],
    }),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DEPTH_MAX,
      description: 'Levels of each side in `snapshots`; by default all.',
      examples: [10],
    }),
  ),
}

const spotFilters = {
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,32}$',
      description: 'For `spot`: only prices of this source.',
      examples: ['chainlink'],
    }),
  ),
  window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: 'For `spot`: only averages over this number of seconds.',
      examples: [60],
    }),
  ),
}

const encoding = Type.Optional(
  oneOf(['zlib-stream'], {
    description:
      'From here on, all messages of the connection are binary and continue one zlib stream: each has the bytes up to a sync flush (it ends in 00 00 FF FF), and inflates to a message and a newline. There is no way back.',
    examples: ['zlib-stream'],
  }),
)

export const channels = [...rowChannels, 'markets', 'spot'] as const
export type Channel = (typeof channels)[number]

/** Members of each operation besides `op`. */
const operationMembers = {
  auth: {
    key: Type.String({
      maxLength: 200,
      description: 'API key, if it was not sent in the header `Authorization`.',
      examples: ['bf_live_…'],
    }),
    encoding,
  },
  subscribe: {
    id,
    channel: oneOf(channels, {
      description:
        'Kind of rows. `markets` has no rows, only events of markets; `spot` has prices of the coin.',
      examples: ['quotes'],
    }),
    coin,
    ...filters,
    ...spotFilters,
    from: cursor(
      'Continue after this cursor: the cursor of a row, or `nextCursor` or `X-Resume-Cursor` of the route with the same filters, in ascending order and without a range. Needs `conditionId`, except for `spot`.',
    ),
    onSlow: oneOf(['conflate', 'close'], {
      default: 'conflate',
      description:
        'What to do when you read too slowly: leave out states, which `skipped` then counts, or keep all that wait and close the connection with 4008 when they are too many. Trades and changes are never left out.',
      examples: ['conflate'],
    }),
    encoding,
  },
  unsubscribe: { id },
  snapshot: { id },
  heartbeat: {
    seconds: Type.Integer({
      minimum: 5,
      maximum: 600,
      description: 'Longest time without a message, after which a heartbeat is sent.',
      examples: [30],
    }),
  },
  replay: {
    id,
    channel: oneOf(channels, {
      description: 'Kind of rows, as in `subscribe`.',
      examples: ['quotes'],
    }),
    coin,
    ...filters,
    ...spotFilters,
    with: Type.Optional(
      oneOf(['spot'], {
        description:
          'Also replays spot prices of the coin, ordered by time. Needs `from` and `to`.',
        examples: ['spot'],
      }),
    ),
    from: Type.Optional(momentOf('First moment. Required without `conditionId`.')),
    to: Type.Optional(
      momentOf(
        'End, exclusive, except for events of the end itself. Required without `conditionId`.',
      ),
    ),
    cursor: cursor(
      'Continue after the row with this cursor. Needs `conditionId`, except for `spot`.',
    ),
    speed,
    encoding,
  },
  pause: { id },
  resume: { id },
  seek: { id, to: momentOf('Moment to jump to.') },
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
    '`seq` of the previous row of the same subscription and market; null for the first row.',
    41,
  ),
  skipped: Type.Optional(
    positive('Snapshots skipped before this row, because the client reads too slowly.', 3),
  ),
}
const rowOrigin = {
  seq: count(
    'Number of the row in the store, such as its `id`. Trades have one too, although their rows do not show it.',
    42,
  ),
  cursor: Type.Optional(
    text(
      'Position to resume from, as `from` here or as `cursor` of the route with the same filters. If several snapshots are sent together, only the last has one.',
    ),
  ),
  epoch: text('Id of the store: `seq` and cursors are not valid in another store.', 'a81f'),
}

/** Schemas of the rows of each channel, of a market, and of a market as of a moment of a replay. */
export type RowSchemas = Record<Exclude<Channel, 'markets'> | 'market' | 'marketAsOf', TSchema>

/** Messages of the server, by type. */
export function serverMessages(
  rows: RowSchemas,
): Record<string, { summary: string; payload: TSchema }> {
  const ofRow = rowPayloads(rows)
  const market = { id, data: rows.market }
  const marketNowOrThen = [market, { id, data: rows.marketAsOf }]
  const messages: Record<string, [summary: string, ...TProperties[]]> = {
    authenticated: ['The key is valid.', { tier: text('Tier of the account.', 'pro') }],
    subscribed: [
      'A subscription or replay has begun.',
      { id, channel: choice(channels, 'Channel.', 'quotes'), coin },
    ],
    unsubscribed: [
      'A subscription or replay has ended, by `unsubscribe`, or because the tier no longer includes it; then an `error` comes first.',
      { id },
    ],
    snapshot: ['The last row of an outcome, at the start or on request.', ...ofRow],
    snapshot_empty: ['A snapshot was requested, but no row is recorded yet.', { id }],
    row: ['A new row, exactly as the route of the channel returns it.', ...ofRow],
    live: [
      'All rows since `from` were sent; new rows follow as they are recorded.',
      ofMarket,
      { id, coin },
    ],
    gap: ['A gap has begun or ended, or was withdrawn.', { ...ofMarket, ...gap }],
    market_open: ['The window of a market has begun.', ...marketNowOrThen],
    market_update: ['Facts of an open market have changed.', ...marketNowOrThen],
    market_closed: ['The window of a market has ended; more rows may follow.', ...marketNowOrThen],
    market_resolved: ['The winner of a market is known; no more rows follow.', market],
    market_end: [
      'In a replay: no more rows of this market follow, possibly because of `to`.',
      ofMarket,
    ],
    replay_state: ['State of a replay after an operation.', { id, ...replayState }],
    replay_end: ['The replay has ended; `seek` restarts it.', { id }],
    heartbeat: ['Sent if there is no other message.', { time: time('Clock of the server.') }],
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
      'True for a trade that arrived after a later trade had been sent. `cursor` is then that of the trade before it.',
  }),
)

const gap = {
  outcome: choice(outcomes, 'Outcome.', 'up'),
  reason: choice(gapReasons, 'Reason, as in the coverage of a market.', 'recorder_down'),
  from: time('Start of the gap.'),
  to: timeOrNull(
    'End, exclusive; null while the gap is open. Equal to `from` if the gap was withdrawn.',
    '2026-04-14T08:00:09.120Z',
  ),
}

const replayState = {
  state: choice(['playing', 'paused', 'ended'], 'State of the replay.', 'playing'),
  speed,
  time: timeOrNull(
    'Current moment of the replay; null before the first row.',
    '2026-04-14T08:00:09.120Z',
  ),
}

const fault = {
  id: Type.Optional(id),
  code: text('Error code, see /errors.', 'invalid_parameter'),
  detail: text('What was wrong, and what to do.', '`op` must be one of …'),
  param: Type.Optional(text('Member that was wrong.', 'channel')),
  requiredTier: Type.Optional(text('Lowest tier that includes it.', 'starter')),
}

/** WebSocket close codes of the server (RFC 6455, 7.4.2: codes 4000 to 4999 are private). */
export const closeCodes = {
  drain: { code: 1001, text: 'The server is stopping. Connect again.' },
  unauthenticated: {
    code: 4001,
    text: 'No valid key was sent within ten seconds, or the key has ended.',
  },
  protocol: { code: 4002, text: 'Too many messages were not valid operations.' },
  slow: { code: 4008, text: 'The client reads too slowly.' },
  internal: { code: 1011, text: 'Internal error of the server. Connect again.' },
  /** Try Again Later, in IANA's registry of close codes. */
  later: {
    code: 1013,
    text: 'The server is generating test data. Connect again in a few seconds.',
  },
  limit: { code: 4029, text: 'The limit of connections of your tier is reached.' },
  unconfirmed: {
    code: 1013,
    text: 'Keys cannot be checked, because the server has no connection to its ledger. Connect again later.',
  },
  full: { code: 1013, text: "The server's limit of connections is reached. Connect again later." },
} as const
export type CloseReason = keyof typeof closeCodes

const part = (description: string) => Type.Object({}, { additionalProperties: true, description })

/** The AsyncAPI document. */
export const StreamDocument = Type.Object({
  asyncapi: text('Version of AsyncAPI.', '3.0.0'),
  info: part('Title, version and description.'),
  defaultContentType: text('Media type of messages.', 'application/json'),
  servers: part('Where to connect.'),
  channels: part('The stream and its messages.'),
  operations: part('Messages that a client sends and receives.'),
  components: part('Messages and schemas.'),
})
