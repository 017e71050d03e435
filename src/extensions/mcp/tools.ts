/** Tools for agents: each is a route of the API with the parameters that a question needs. */

import { type TSchema, Type } from '@sinclair/typebox'

import { parameterError } from '#src/domain/errors.ts'
import { coins, type Market, MARKET_NAME_PATTERN, marketNameText } from '#src/domain/market.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import type { DeclaredRoute } from '#src/http/api.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import { exampleMarket, nullable } from '#src/http/fields.ts'
import { openApiParameters } from '#src/http/openapi-operation.ts'
import type { OpenApiSchema } from '#src/http/response-text.ts'
import { literals, type parseQuery, utcDay } from '#src/http/schema-reader.ts'
import { isRecord } from '#src/platform/record.ts'

/** Rows of an answer: what is read costs the agent, and there is an export for more. */
const ROWS = { default: 20, maximum: 100 }
const MIRROR =
  'The two outcomes mirror each other: a bid for up at p is an ask for down at 1 - p, one order shown in both books. Never add their sizes up.'

/** Gaps of an outcome in a compact answer. */
const GAPS_MAX = 20

type Row = Readonly<Record<string, unknown>>

/** A member that a compact answer has in place of others; its schema fits that of `full` as well. */
type Made = { schema: TSchema; from: (row: Row) => unknown }

type ToolSpec = {
  name: string
  title: string
  operationId: string
  description: string
  /** Of the query of the route, without those that an agent has no use for. */
  parameters: readonly string[]
  /** Sent where the agent says nothing else. */
  defaults?: Readonly<Record<string, string>>
  /** Members of a row of the list, or of the body where there is no list, that matter. */
  kept: readonly string[]
  /** Those that are made of members of the route. */
  made?: Readonly<Record<string, Made>>
  /** What `full` adds. */
  more: string
}

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]]] : [])))
const listIn = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : [])
const rowIn = (value: unknown): Row | undefined => (isRecord(value) ? value : undefined)

const share = nullable(Type.Number(), '')
const numberOrNull = nullable(Type.Number(), '')

/** The recorder may have listened to one outcome alone, of which the other is the mirror. */
const coveredOfBoth: Made = {
  schema: Type.Object(
    { up: share, down: share },
    { description: 'Share recorded of each outcome, 0 to 1; null where there was no time yet.' },
  ),
  from: ({ outcomes }) =>
    Object.fromEntries(
      listIn(outcomes).map(({ outcome, coverage }) => [outcome, rowIn(coverage)?.covered ?? null]),
    ),
}

const PANEL_STATE = ['ageMs', 'bid', 'bidSize', 'ask', 'askSize', 'mid'] as const
const panelState = (outcome: 'up' | 'down'): Made => ({
  schema: nullable(
    Type.Object(Object.fromEntries(PANEL_STATE.map((name) => [name, numberOrNull]))),
    'Top of the book then; null where none is recorded.',
  ),
  from: (row) => {
    const known = rowIn(row[outcome])
    return known ? pick(known, PANEL_STATE) : null
  },
})
const priceOf = (name: string, description: string): Made => ({
  schema: Type.Union([Type.Number(), Type.Null(), Type.Object({})], { description }),
  from: (row) => rowIn(row[name])?.price ?? null,
})

const outcomesOfCoverage: Made = {
  schema: Type.Array(
    Type.Object({
      outcome: Type.String(),
      covered: share,
      gaps: Type.Array(Type.Object({}), {
        description: 'from, to, durationMs and reason of each.',
      }),
      gapsLeftOut: Type.Optional(Type.Integer()),
    }),
  ),
  from: ({ outcomes }) =>
    listIn(outcomes).map(({ outcome, covered, gaps }) => {
      const all = listIn(gaps)
      const left = all.length - GAPS_MAX
      const shown = { outcome, covered, gaps: all.slice(0, GAPS_MAX) }
      return left > 0 ? { ...shown, gapsLeftOut: left } : shown
    }),
}

const specs: readonly ToolSpec[] = [
  {
    name: 'find_markets',
    title: 'Find markets',
    operationId: 'listMarkets',
    description:
      'Markets of a coin, newest first: window, status, strike, final price, winner, share recorded of each outcome (`covered`). A market is one window (5m, 15m, 1h, 4h, 1d) in which the price of the coin ends up or down. Other tools take its slug or its conditionId as `market`. With `market` it answers that one alone. `withBooks` leaves out markets without books.',
    parameters: [
      'timeframe',
      'status',
      'source',
      'withBooks',
      'slug',
      'from',
      'to',
      'limit',
      'cursor',
    ],
    kept: [
      'conditionId',
      'slug',
      'timeframe',
      'source',
      'status',
      'windowStart',
      'strike',
      'finalPrice',
      'winner',
    ],
    made: { covered: coveredOfBoth },
    more: 'question, tokens, sources and times of the prices, and what is held of each outcome',
  },
  {
    name: 'book_as_of',
    title: 'Order book as of a moment',
    operationId: 'getSnapshotsAt',
    description: `The order books of a market that prevailed at a moment, never later ones, with their age. ${MIRROR}`,
    parameters: ['ts', 'outcome', 'depth', 'view', 'maxAgeMs'],
    defaults: { depth: '5' },
    kept: ['outcome', 'timestamp', 'bids', 'asks', 'sources', 'ageMs'],
    more: 'the ids of snapshot, token and market with each book',
  },
  {
    name: 'quotes',
    title: 'Quotes and bars',
    operationId: 'listQuotes',
    description: `Best bid and ask with sizes, mid, spread and imbalance of a market at each change, or at each interval. Ask for an interval and an outcome to see a whole window in few rows. ${MIRROR}`,
    parameters: ['outcome', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
    kept: [
      'time',
      'ageMs',
      'outcome',
      'timestamp',
      'bid',
      'bidSize',
      'ask',
      'askSize',
      'mid',
      'spread',
      'imbalance',
    ],
    more: 'the id of the snapshot with each row',
  },
  {
    name: 'trades',
    title: 'Trades',
    operationId: 'listTrades',
    description:
      'Trades of a market in the order of time, as the venue announced them: outcome, price, shares, and the side of the taker.',
    parameters: ['outcome', 'from', 'to', 'order', 'limit', 'cursor'],
    kept: ['timestamp', 'outcome', 'price', 'size', 'side'],
    more: 'the hash of the transaction that settled each trade',
  },
  {
    name: 'fill_cost',
    title: 'Cost of an order',
    operationId: 'getFill',
    description:
      'What a market order at a moment would have cost: average price, shares, USDC, fee, slippage. Exact, from the full book.',
    parameters: [
      'ts',
      'outcome',
      'side',
      'size',
      'usdc',
      'view',
      'feeBps',
      'feeRate',
      'limitPrice',
      'maxAgeMs',
    ],
    kept: [
      'outcome',
      'side',
      'view',
      'ts',
      'timestamp',
      'ageMs',
      'asked',
      'filled',
      'notional',
      'fee',
      'total',
      'averagePrice',
      'bestPrice',
      'worstPrice',
      'slippage',
      'levelsUsed',
      'unfilled',
    ],
    more: 'each level that was used, and the snapshots that they are from',
  },
  {
    name: 'panel',
    title: 'Panel of past markets',
    operationId: 'getPanel',
    description:
      'A table for backtests: a row for each closed market and offset before the end of its window, with both top quotes, last trade, price of the coin and the winner. Nothing in a row was known later than its moment, but for `winner` and `finalPrice`. `offsets` is such as -240s,-60s,-5s, or a list; a number alone is of seconds.',
    parameters: ['timeframe', 'offsets', 'source', 'from', 'to', 'maxAgeMs', 'limit', 'cursor'],
    kept: ['slug', 'source', 'windowEnd', 'strike', 'finalPrice', 'winner', 'offset', 'covered'],
    made: {
      lastTrade: priceOf('lastTrade', 'Price of the last trade by then.'),
      spot: priceOf('spot', 'Price of the coin then, in USD.'),
      up: panelState('up'),
      down: panelState('down'),
    },
    more: 'ids, times of each state, spread, imbalance, depth of both sides, and where trade, price and winner come from',
  },
  {
    name: 'coverage',
    title: 'What is recorded',
    operationId: 'getMarketCoverage',
    description: `How much of a market is recorded, and its gaps with their reasons, at most ${GAPS_MAX} an outcome (\`gapsLeftOut\` counts others). No rows in a gap mean that nothing is known, not that the book stood still. Without a range it is of the window of the market.`,
    parameters: ['from', 'to'],
    kept: ['conditionId', 'status', 'requested', 'covered', 'silenceMs'],
    made: { outcomes: outcomesOfCoverage },
    more: 'all gaps, the intervals between them, and what is held of each outcome',
  },
  {
    name: 'spot',
    title: 'Price of the coin',
    operationId: 'listSpot',
    description:
      'Reference prices of a coin, which its markets are settled by: every one, or open, high, low and close of each interval.',
    parameters: ['source', 'window', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
    kept: [
      'source',
      'windowSeconds',
      'timestamp',
      'price',
      'start',
      'end',
      'open',
      'high',
      'low',
      'close',
      'ticks',
    ],
    more: 'id, time of receipt and number in the feed of each price',
  },
]

/** Arguments, as they are read once they are text. */
export type Input = Parameters<typeof parseQuery>[0]

export type Tool = Pick<ToolSpec, 'name' | 'title' | 'description'> & {
  input: Input
  /** JSON Schema of the answer, compact or full. */
  output: JsonSchema
  /** A row of the list, or the body where there is no list, with what matters alone. */
  compact: (row: Row) => Row
  /** Path and query of the request that answers it. */
  targetOf: (texts: Readonly<Record<string, string>>) => string
  /** Whether a market has to be named. */
  isOfMarket: boolean
}

/** Throws where a tool names what the API does not have. */
export const toolsOf = (routes: readonly DeclaredRoute[]): Tool[] =>
  specs.map((spec) => toTool(spec, routes))

function toTool({ operationId, ...spec }: ToolSpec, routes: readonly DeclaredRoute[]): Tool {
  const { name, title, description, parameters, defaults = {}, kept, made = {} } = spec
  const route = routes.find((each) => each.detail.operationId === operationId)
  if (route === undefined) throw new Error(`No route is ${operationId}.`)
  const { path } = route
  const rows = parameters.includes('limit') ? { limit: String(ROWS.default) } : {}
  return {
    name,
    title,
    description,
    compact: (row) => ({
      ...pick(row, kept),
      ...Object.fromEntries(Object.entries(made).map(([key, { from }]) => [key, from(row)])),
    }),
    input: inputOf(route, spec),
    output: outputOf(route, spec),
    isOfMarket: path.includes('/:conditionId'),
    targetOf(texts) {
      const { coin = '', full: _, conditionId, market = conditionId, ...query } = texts
      const place = path
        .replace(':coin', encodeURIComponent(coin))
        .replace(':conditionId', encodeURIComponent(market ?? ''))
      // Of a list the market is one more step.
      if (market !== undefined && !path.includes('/:conditionId')) {
        return `${place}/${encodeURIComponent(market)}`
      }
      return `${place}?${new URLSearchParams({ ...rows, ...defaults, ...query })}`
    },
  }
}

/** Of the schemas with which the route reads its query. */
function inputOf(
  { path, query }: DeclaredRoute,
  { name: tool, parameters, defaults = {}, more }: Omit<ToolSpec, 'operationId'>,
): Input {
  const chosen = parameters.map((name) => {
    const property = query?.properties[name]
    if (property === undefined) throw new Error(`${path} has no parameter ${name}.`)
    const bounds = name === 'limit' ? ROWS : {}
    const preset = defaults[name] === undefined ? {} : { default: Number(defaults[name]) }
    return [name, { ...property, ...bounds, ...preset }] as const
  })
  const market = path.includes('/:conditionId') || tool === 'find_markets' ? marketInputs('') : {}
  const day = parameters.includes('from') ? { day: dayInput } : {}
  return Type.Object({
    coin: 'market' in market ? coinOfMarketInput : coinInput,
    ...market,
    ...Object.fromEntries(chosen),
    ...day,
    full: literals(['true', 'false'], {
      default: 'false',
      description: `Whether every member is wanted: ${more}.`,
    }),
  })
}

type JsonSchema = { type: 'object'; [keyword: string]: unknown }

const problem = {
  description: 'With `isError`: why the tool failed, and what to do.',
  properties: { code: { type: 'string' }, detail: { type: 'string' } },
  required: ['code', 'detail'],
}
const toPay = {
  description: 'With `isError`: what to pay (PaymentRequired of x402).',
  required: ['x402Version', 'accepts'],
}

/** Clients compare failures with the schema of a tool, too. */
export const orFailure = (answer: object): JsonSchema => ({
  type: 'object',
  anyOf: [answer, problem, toPay],
})

/** The answer of a tool: a list keeps all but its rows as it is. */
function outputOf({ path, response }: DeclaredRoute, { kept, made = {} }: ToolParts): JsonSchema {
  const body = response[200]
  if (body === undefined) throw new Error(`${path} has no body.`)
  const { data, ...others } = body.properties as Record<string, TSchema>
  const isList = data !== undefined
  const row: TSchema = isList ? data.items : body
  const members: Record<string, TSchema> = {}
  for (const { properties } of row.anyOf ?? [row]) Object.assign(members, properties)
  const shown = Object.fromEntries(
    kept.map((name) => {
      const schema = members[name]
      if (schema === undefined) throw new Error(`${path} has no member ${name}.`)
      return [name, toJsonSchema(schema)]
    }),
  )
  for (const [name, { schema }] of Object.entries(made)) shown[name] = toJsonSchema(schema)
  const coverage = { type: 'string', description: 'How much of the time asked for is recorded.' }
  if (!isList)
    return orFailure({ properties: { ...shown, coverage }, required: Object.keys(shown) })
  const list = Object.entries(others).map(([name, schema]) => [name, toJsonSchema(schema)])
  const items = { type: 'object', properties: shown }
  const properties = { data: { type: 'array', items }, ...Object.fromEntries(list), coverage }
  return orFailure({ properties, required: ['data'] })
}

type ToolParts = Pick<ToolSpec, 'kept' | 'made'>

/** Keywords of our own, and those that JSON Schema of others may not know. */
const leftOut = new Set(['$id', 'examples', 'format', 'minimum', 'maximum', 'pattern'])

/** A schema in the keywords that all clients know: types, choices, descriptions. */
function toJsonSchema(schema: TSchema): object {
  const text = JSON.stringify(schema, (name, value) => {
    if (leftOut.has(name) || name.startsWith('x-')) return undefined
    const choices = isRecord(value) && Array.isArray(value.anyOf) ? value.anyOf : []
    const texts = choices.map((choice) => choice.const).filter((each) => typeof each === 'string')
    if (texts.length === 0 || texts.length < choices.length) return value
    return { type: 'string', enum: texts, description: value.description }
  })
  return JSON.parse(text)
}

/** As JSON Schema has it. */
export function listed(input: Input) {
  const known = openApiParameters(input, 'query')
  const properties = known.map(({ name, description, schema }): [string, object] => {
    if (name === 'full') return [name, { type: 'boolean', default: false, description }]
    const { format, ...rest } = withoutPattern(name, schema)
    // Of the formats those that everybody knows.
    const shown = format === undefined || format === 'decimal' ? {} : { format }
    if (!Array.isArray(rest.anyOf)) return [name, { ...rest, ...shown, description }]
    const anyOf = [{ type: 'integer' }, { type: 'string' }]
    return [name, { anyOf, description: `${description} ${MOMENT}` }]
  })
  return {
    type: 'object' as const,
    properties: Object.fromEntries(properties),
    required: known.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  }
}

const MOMENT = 'Unix milliseconds or seconds, RFC 3339, a day such as 2026-04-13, or `now`; UTC.'

/** A market may be named by an address as well. */
const withoutPattern = (name: string, { pattern, ...schema }: OpenApiSchema): OpenApiSchema =>
  name === 'market' || name === 'conditionId' ? schema : { ...schema, pattern }

export const namesMarket = ({ market, conditionId }: Readonly<Record<string, string>>): boolean =>
  market !== undefined || conditionId !== undefined

/** Of a tool that lists markets, what does not go with the name of one. */
const filters = [
  'timeframe',
  'status',
  'source',
  'withBooks',
  'slug',
  'from',
  'to',
  'day',
  'cursor',
]

/**
 * Throws where a market is named twice, is missing where the tool is of one, or comes with filters.
 * Either name will do, so neither is required by the schema.
 */
export function assertMarket(
  texts: Readonly<Record<string, string>>,
  { isRequired, input }: { isRequired: boolean; input: Input },
): void {
  const { conditionId, market = conditionId } = texts
  if (conditionId !== undefined && market !== conditionId) {
    const message = '`market` and `conditionId` name different markets. Send one of them.'
    throw parameterError('conditionId', message)
  }
  if (market === undefined && isRequired) {
    throw parameterError('market', `\`market\` is missing. Send ${marketNameText}.`)
  }
  const filter = filters.find((name) => name in texts)
  if (market === undefined || filter === undefined || !('status' in input.properties)) return
  throw parameterError(filter, `\`${filter}\` does not go with \`market\`. Send one of them.`)
}

/**
 * Arguments as the route takes them: with the coin of the market where none is named, and a day as
 * its range. Throws where the coin is not known, and for a day beside a range.
 */
export function completed(
  { day, ...texts }: Readonly<Record<string, string>>,
  { input, dayMs, findMarket }: Completion,
): Readonly<Record<string, string>> {
  const { conditionId, market = conditionId } = texts
  const coin = texts.coin ?? (market === undefined ? undefined : findMarket(market)?.coin)
  if (coin === undefined) throw coinError(market)
  const name = market === undefined ? {} : { market: withCoin(market, coin) }
  const { market: _, conditionId: __, ...others } = texts
  const all = { ...others, ...name, coin }
  if (day === undefined) return all
  if (!('from' in input.properties)) return { ...all, day }
  const range = ['from', 'to'].find((each) => each in texts)
  if (range !== undefined) {
    throw parameterError('day', `\`day\` does not go with \`${range}\`. Send one of them.`)
  }
  return { ...all, from: toIso(dayMs), to: toIso(dayMs + DAY_MS) }
}

type Completion = {
  input: Input
  /** First moment of `day`. */
  dayMs: number
  findMarket: (name: string) => Market | undefined
}

function coinError(market: string | undefined) {
  const known = `Send one of ${coins.join(', ')}`
  const message =
    market === undefined
      ? `\`coin\` is missing. ${known}.`
      : `\`coin\` is missing, and no market of this name is known. ${known}, or find_markets.`
  return parameterError('coin', message)
}

/** A slug may be sent without the coin that it begins with. */
const withCoin = (market: string, coin: string): string =>
  market.replace(/^updown-/, `${coin}-updown-`)

const coinInput = literals(coins, { description: 'Coin, in any case.' })
const coinOfMarketInput = Type.Optional(
  literals(coins, { description: 'Coin, in any case; not needed where a market is named.' }),
)
const dayInput = Type.Optional(
  utcDay({ description: 'A whole day in UTC, such as 2026-04-13, in place of `from` and `to`.' }),
)
/** As the route reads it, which names it `conditionId`. */
const marketInputs = (more: string) => {
  const name = {
    pattern: MARKET_NAME_PATTERN,
    'x-expected': marketNameText,
  }
  return {
    market: Type.Optional(
      Type.String({
        ...name,
        description: `A market: its slug, its conditionId, the id of one of its assets, or the address of its page at the venue, such as ${exampleMarket.conditionId}.${more}`,
      }),
    ),
    conditionId: Type.Optional(
      Type.String({ ...name, description: 'The same as `market`, in its place.' }),
    ),
  }
}

/** Whole markets and days are files: an agent passes on where they are. */
export const exportInput = Type.Object({
  coin: coinOfMarketInput,
  ...marketInputs(' Without it a whole day.'),
  day: Type.Optional(utcDay({ description: 'Day in UTC, such as 2026-04-13; for a day alone.' })),
  timeframe: timeframeParameter('Only markets of this length; for a day alone.'),
  format: literals(['parquet', 'csv', 'ndjson'], {
    description: 'Of the file.',
    default: 'parquet',
  }),
})

export function exportTargetOf(texts: Readonly<Record<string, string>>): string {
  const { coin = '', conditionId, market = conditionId, format = 'parquet', ...rest } = texts
  const search = new URLSearchParams({ format, ...rest })
  const place = market === undefined ? '' : `/markets/${encodeURIComponent(market)}`
  return `/v1/${encodeURIComponent(coin)}${place}/export?${search}`
}
