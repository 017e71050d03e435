/** Tools for agents: each is a route of the API, reduced to useful parameters. */

import { type TObject, type TSchema, Type } from '@sinclair/typebox'

import { parameterError } from '#src/domain/errors.ts'
import { coins, type Market, MARKET_NAME_PATTERN, marketNameText } from '#src/domain/market.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import type { DeclaredRoute } from '#src/http/api.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import { exampleMarket, nullable } from '#src/http/fields.ts'
import { expecting, oneOf, utcDay } from '#src/http/kinds.ts'
import { openApiParameters } from '#src/http/openapi.ts'
import type { OpenApiSchema } from '#src/http/response-text.ts'
import { isRecord } from '#src/platform/record.ts'

/** Rows of a response: reading costs the agent, and exports offer more. */
const ROWS = { default: 20, maximum: 100 }
const MIRROR =
  'The two outcomes mirror each other: a bid for up at p is an ask for down at 1 - p, one order shown in both books. Never add their sizes up.'

/** Gaps of an outcome in a compact response. */
const GAPS_MAX = 20

type Row = Readonly<Record<string, unknown>>

/** A member that replaces others in a compact response; its schema also fits that of `full`. */
type Made = { schema: TSchema; from: (row: Row) => unknown }

type ToolSpec = {
  name: string
  title: string
  operationId: string
  description: string
  /** Query parameters of the route, without those that an agent does not need. */
  parameters: readonly string[]
  /** Parameters sent by default. */
  defaults?: Readonly<Record<string, string>>
  /** The important members of a row of the list, or of the body without a list. */
  kept: readonly string[]
  /** Members computed from members of the route. */
  made?: Readonly<Record<string, Made>>
  /** The description of the members that `full` adds. */
  more: string
}

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]]] : [])))
const listIn = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : [])
const rowIn = (value: unknown): Row | undefined => (isRecord(value) ? value : undefined)

const share = nullable(Type.Number(), '')
const numberOrNull = nullable(Type.Number(), '')

/** The recorder may have listened to one outcome only, which the other mirrors. */
const coveredOfBoth: Made = {
  schema: Type.Object(
    { up: share, down: share },
    { description: 'Recorded share of each outcome, 0 to 1; null before the market begins.' },
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
    'Top of the book at that moment; null if none is recorded.',
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
      'Markets of a coin, newest first: window, status, strike, final price, winner, and recorded share of each outcome (`covered`). A market is one window (5m, 15m, 1h, 4h, 1d) in which the price of the coin ends up or down. Other tools take its slug or its conditionId as `market`. With `market`, returns that market only. `withBooks` leaves out markets without books.',
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
    more: 'question, tokens, sources and times of the prices, and counts of recorded snapshots',
  },
  {
    name: 'book_as_of',
    title: 'Order book as of a moment',
    operationId: 'getSnapshotsAt',
    description: `The order books of a market as of a moment, with their age; later books are never used. ${MIRROR}`,
    parameters: ['ts', 'outcome', 'depth', 'view', 'maxAgeMs'],
    defaults: { depth: '5' },
    kept: ['outcome', 'timestamp', 'bids', 'asks', 'sources', 'ageMs'],
    more: 'the ids of snapshot, token and market with each book',
  },
  {
    name: 'quotes',
    title: 'Quotes and bars',
    operationId: 'listQuotes',
    description: `Best bid and ask with sizes, mid, spread and imbalance of a market at each change, or at each interval. To see a whole window in few rows, send an interval and an outcome. ${MIRROR}`,
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
      'Trades of a market by time, as the venue announced them: outcome, price, shares, and the side of the taker.',
    parameters: ['outcome', 'from', 'to', 'order', 'limit', 'cursor'],
    kept: ['timestamp', 'outcome', 'price', 'size', 'side'],
    more: 'the hash of the transaction that settled each trade',
  },
  {
    name: 'fill_cost',
    title: 'Cost of an order',
    operationId: 'getFill',
    description:
      'Cost of a market order at a past moment: average price, shares, USDC, fee, slippage. Exact, from the full book.',
    parameters: [
      'ts',
      'outcome',
      'side',
      'size',
      'usdc',
      'view',
      'feeBps',
      'feeRate',
      'fees',
      'latencyMs',
      'delay',
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
    more: 'each level that was used, and the ids of the snapshots',
  },
  {
    name: 'panel',
    title: 'Panel of past markets',
    operationId: 'getPanel',
    description:
      'A table for backtests: one row for each expired market and offset before the end of its window, with both top quotes, last trade, price of the coin, and the winner. No value was known later than the moment of its row, except `winner` and `finalPrice`. `offsets` is a list such as -240s,-60s,-5s; plain numbers are seconds.',
    parameters: ['timeframe', 'offsets', 'source', 'from', 'to', 'maxAgeMs', 'limit', 'cursor'],
    kept: ['slug', 'source', 'windowEnd', 'strike', 'finalPrice', 'winner', 'offset', 'covered'],
    made: {
      lastTrade: priceOf('lastTrade', 'Price of the last trade by that moment.'),
      spot: priceOf('spot', 'Price of the coin at that moment, in USD.'),
      up: panelState('up'),
      down: panelState('down'),
    },
    more: 'ids, times of each state, spread, imbalance, depth of both sides, and sources of trade, price and winner',
  },
  {
    name: 'coverage',
    title: 'What is recorded',
    operationId: 'getMarketCoverage',
    description: `Recorded share of a market, and its gaps with their reasons, at most ${GAPS_MAX} for each outcome (\`gapsLeftOut\` counts the others). In a gap the book is unknown; it did not necessarily stand still. By default for the window of the market.`,
    parameters: ['from', 'to'],
    kept: ['conditionId', 'status', 'requested', 'covered', 'silenceMs'],
    made: { outcomes: outcomesOfCoverage },
    more: 'all gaps, the intervals between them, and counts of snapshots for each outcome',
  },
  {
    name: 'spot',
    title: 'Price of the coin',
    operationId: 'listSpot',
    description:
      'Reference prices of a coin, on which its markets settle: every price, or open, high, low and close for each interval.',
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
    more: 'id, time of receipt and sequence number of each price',
  },
]

/** Arguments after their conversion to text. */
export type Input = TObject

export type Tool = Pick<ToolSpec, 'name' | 'title' | 'description'> & {
  input: Input
  /** JSON Schema of the response, compact or full. */
  output: JsonSchema
  /** Reduces a row of the list, or the body without a list, to its important members. */
  compact: (row: Row) => Row
  /** Path and query of the API call. */
  targetOf: (texts: Readonly<Record<string, string>>) => string
  /** True if a market must be named. */
  isOfMarket: boolean
}

/** Creates the tools; throws if one names something that the API does not have. */
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
      // A list of the market is one more level of the path.
      if (market !== undefined && !path.includes('/:conditionId')) {
        return `${place}/${encodeURIComponent(market)}`
      }
      return `${place}?${new URLSearchParams({ ...rows, ...defaults, ...query })}`
    },
  }
}

/** The input schema, from the schemas of the route's query. */
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
    full: oneOf(['true', 'false'], {
      default: 'false',
      description: `True to add ${more}.`,
    }),
  })
}

type JsonSchema = { type: 'object'; [keyword: string]: unknown }

const problem = {
  description: 'Only with `isError`: why the tool failed, and what to do.',
  properties: { code: { type: 'string' }, detail: { type: 'string' } },
  required: ['code', 'detail'],
}
const toPay = {
  description: 'Only with `isError`: the payment challenge (PaymentRequired of x402).',
  required: ['x402Version', 'accepts'],
}

/** Clients validate failures with the schema of a tool too. */
export const orFailure = (answer: object): JsonSchema => ({
  type: 'object',
  anyOf: [answer, problem, toPay],
})

/** The output schema of a tool, in which the rows of a list are shortened. */
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
  const coverage = { type: 'string', description: 'Recorded share of the requested time.' }
  if (!isList)
    return orFailure({ properties: { ...shown, coverage }, required: Object.keys(shown) })
  const list = Object.entries(others).map(([name, schema]) => [name, toJsonSchema(schema)])
  const items = { type: 'object', properties: shown }
  const properties = { data: { type: 'array', items }, ...Object.fromEntries(list), coverage }
  return orFailure({ properties, required: ['data'] })
}

type ToolParts = Pick<ToolSpec, 'kept' | 'made'>

/** Our own keywords, and those that other JSON Schema readers may not know. */
const leftOut = new Set(['$id', 'examples', 'format', 'minimum', 'maximum', 'pattern'])

/** Reduces a schema to keywords that all clients know: types, choices, descriptions. */
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

/** The input as JSON Schema. */
export function listed(input: Input) {
  const known = openApiParameters(input)
  const properties = known.map(({ name, description, schema }): [string, object] => {
    if (name === 'full') return [name, { type: 'boolean', default: false, description }]
    const { format, ...rest } = withoutPattern(name, schema)
    // Only widely known formats are shown.
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

/** Removes the pattern, because a market may also be named by an address. */
const withoutPattern = (name: string, { pattern, ...schema }: OpenApiSchema): OpenApiSchema =>
  name === 'market' || name === 'conditionId' ? schema : { ...schema, pattern }

export const namesMarket = ({ market, conditionId }: Readonly<Record<string, string>>): boolean =>
  market !== undefined || conditionId !== undefined

/** Filters of a tool that lists markets, which cannot be combined with the name of one. */
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
 * Throws if a market is named twice, is missing although the tool needs it, or is combined with
 * filters. The schema requires neither name, because either suffices.
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
 * Arguments as the route expects them: with the coin of the market by default, and a day as a
 * range. Throws if the coin is unknown, and for a day combined with a range.
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
  /** The first moment of `day`. */
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

/** Adds the coin to a slug that was sent without it. */
const withCoin = (market: string, coin: string): string =>
  market.replace(/^updown-/, `${coin}-updown-`)

const coinInput = oneOf(coins, { description: 'Coin, in any case.' })
const coinOfMarketInput = Type.Optional(
  oneOf(coins, { description: 'Coin, in any case; not needed with a market.' }),
)
const dayInput = Type.Optional(
  utcDay({ description: 'A whole day in UTC, such as 2026-04-13, in place of `from` and `to`.' }),
)
/** The input that names a market, which the route calls `conditionId`. */
const marketInputs = (more: string) => {
  const name = {
    pattern: MARKET_NAME_PATTERN,
  }
  return {
    market: Type.Optional(
      expecting(
        marketNameText,
        Type.String({
          ...name,
          description: `A market: its slug, its conditionId, one of its asset ids, or the URL of its page at the venue, such as ${exampleMarket.conditionId}.${more}`,
        }),
      ),
    ),
    conditionId: Type.Optional(
      expecting(
        marketNameText,
        Type.String({ ...name, description: 'Same as `market`; send one of them.' }),
      ),
    ),
  }
}

/** Whole markets and days are files: the tool returns their URL. */
export const exportInput = Type.Object({
  coin: coinOfMarketInput,
  ...marketInputs('By default a whole day.'),
  day: Type.Optional(
    utcDay({ description: 'UTC day, such as 2026-04-13; only for exports of a day.' }),
  ),
  timeframe: timeframeParameter('Only markets of this timeframe; only for exports of a day.'),
  format: oneOf(['parquet', 'csv', 'ndjson'], {
    description: 'Format of the file.',
    default: 'parquet',
  }),
})

export function exportTargetOf(texts: Readonly<Record<string, string>>): string {
  const { coin = '', conditionId, market = conditionId, format = 'parquet', ...rest } = texts
  const search = new URLSearchParams({ format, ...rest })
  const place = market === undefined ? '' : `/markets/${encodeURIComponent(market)}`
  return `/v1/${encodeURIComponent(coin)}${place}/export?${search}`
}
