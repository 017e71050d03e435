/** Tools for agents: each is a route of the API with the parameters that a question needs. */

import { Type } from '@sinclair/typebox'

import { parameterError } from '#src/domain/errors.ts'
import { coins, MARKET_NAME_PATTERN, marketNameText } from '#src/domain/market.ts'
import type { DeclaredRoute } from '#src/http/api.ts'
import { exampleMarket } from '#src/http/fields.ts'
import { openApiParameters } from '#src/http/openapi-operation.ts'
import { literals, type parseQuery } from '#src/http/schema-reader.ts'
import { isRecord } from '#src/platform/record.ts'

/** Rows of an answer: what is read costs the agent, and there is an export for more. */
const ROWS = { default: 20, maximum: 100 }
const MIRROR =
  'The two outcomes mirror each other: a bid for up at p is an ask for down at 1 - p, one order shown in both books. Never add their sizes up.'

/** Gaps of an outcome in a compact answer. */
const GAPS_MAX = 20

type Row = Readonly<Record<string, unknown>>

type ToolSpec = {
  name: string
  title: string
  operationId: string
  description: string
  /** Of the query of the route, without those that an agent has no use for. */
  parameters: readonly string[]
  /** Sent where the agent says nothing else. */
  defaults?: Readonly<Record<string, string>>
  /** A row of the list, or the body where there is no list, with what matters alone. */
  compact: (row: Row) => Row
  /** What `full` adds. */
  more: string
}

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]]] : [])))
const omit = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))
const listIn = (value: unknown): Row[] => (Array.isArray(value) ? (value as Row[]) : [])
const rowIn = (value: unknown): Row | undefined => (isRecord(value) ? value : undefined)

const compactMarket = (row: Row): Row => {
  const covered = listIn(row.outcomes).map(({ coverage }) => rowIn(coverage)?.covered)
  const known = covered.filter((share) => typeof share === 'number')
  return {
    ...pick(row, ['conditionId', 'slug', 'timeframe', 'source', 'status', 'windowStart']),
    ...pick(row, ['strike', 'finalPrice', 'winner']),
    covered: known.length > 0 && known.length === covered.length ? Math.min(...known) : null,
  }
}

const compactPanelRow = (row: Row): Row => {
  const stateOf = (state: unknown) => {
    const known = rowIn(state)
    return known ? pick(known, ['ageMs', 'bid', 'bidSize', 'ask', 'askSize', 'mid']) : null
  }
  return {
    ...pick(row, ['slug', 'source', 'windowEnd', 'strike', 'finalPrice', 'winner', 'offset']),
    lastTrade: rowIn(row.lastTrade)?.price ?? null,
    spot: rowIn(row.spot)?.price ?? null,
    covered: row.covered,
    up: stateOf(row.up),
    down: stateOf(row.down),
  }
}

const compactCoverage = (body: Row): Row => ({
  ...pick(body, ['slug', 'status', 'requested', 'covered', 'silenceMs']),
  outcomes: listIn(body.outcomes).map(({ outcome, covered, gaps }) => {
    const all = listIn(gaps)
    const left = all.length - GAPS_MAX
    const shown = { outcome, covered, gaps: all.slice(0, GAPS_MAX) }
    return left > 0 ? { ...shown, gapsLeftOut: left } : shown
  }),
})

const specs: readonly ToolSpec[] = [
  {
    name: 'find_markets',
    title: 'Find markets',
    operationId: 'listMarkets',
    description:
      'Markets of a coin, newest first: window, status, strike, final price, winner, share recorded (`covered`). A market is one window (5m, 15m, 1h, 4h, 1d) in which the price of the coin ends up or down. Other tools take its slug or its conditionId as `market`. With `market` it answers that one alone.',
    parameters: ['timeframe', 'status', 'source', 'slug', 'from', 'to', 'limit', 'cursor'],
    compact: compactMarket,
    more: 'question, tokens, sources and times of the prices, and what is held of each outcome',
  },
  {
    name: 'book_as_of',
    title: 'Order book as of a moment',
    operationId: 'getSnapshotsAt',
    description: `The order books of a market that prevailed at a moment, never later ones, with their age. ${MIRROR}`,
    parameters: ['ts', 'outcome', 'depth', 'view', 'maxAgeMs'],
    defaults: { depth: '5' },
    compact: (row) => omit(row, ['id', 'assetId', 'conditionId', 'symbol', 'timeframe']),
    more: 'the ids of snapshot, token and market with each book',
  },
  {
    name: 'quotes',
    title: 'Quotes and bars',
    operationId: 'listQuotes',
    description: `Best bid and ask with sizes, mid, spread and imbalance of a market at each change, or at each interval. Ask for an interval and an outcome to see a whole window in few rows. ${MIRROR}`,
    parameters: ['outcome', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
    compact: (row) => omit(row, ['id', 'receivedAt']),
    more: 'the id of the snapshot with each row',
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
    compact: (body) => omit(body, ['conditionId', 'sources', 'levels']),
    more: 'each level that was used, and the snapshots that they are from',
  },
  {
    name: 'panel',
    title: 'Panel of past markets',
    operationId: 'getPanel',
    description:
      'A table for backtests: a row for each closed market and offset before the end of its window, with both top quotes, last trade, price of the coin and the winner. Nothing in a row was known later than its moment, but for `winner` and `finalPrice`. `offsets` is such as -240s,-60s,-5s, or a list; a number alone is of seconds.',
    parameters: ['timeframe', 'offsets', 'source', 'from', 'to', 'maxAgeMs', 'limit', 'cursor'],
    compact: compactPanelRow,
    more: 'ids, times of each state, spread, imbalance, depth of both sides, and where trade, price and winner come from',
  },
  {
    name: 'coverage',
    title: 'What is recorded',
    operationId: 'getMarketCoverage',
    description: `How much of a market is recorded, and its gaps with their reasons, at most ${GAPS_MAX} an outcome (\`gapsLeftOut\` counts others). No rows in a gap mean that nothing is known, not that the book stood still.`,
    parameters: [],
    compact: compactCoverage,
    more: 'all gaps, the intervals between them, and what is held of each outcome',
  },
  {
    name: 'spot',
    title: 'Price of the coin',
    operationId: 'listSpot',
    description:
      'Reference prices of a coin, which its markets are settled by: every one, or open, high, low and close of each interval.',
    parameters: ['source', 'window', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
    compact: (row) => omit(row, ['id', 'receivedAt', 'sequence', 'dropped']),
    more: 'id, time of receipt and number in the feed of each price',
  },
]

/** Arguments, as they are read once they are text. */
export type Input = Parameters<typeof parseQuery>[0]

export type Tool = Pick<ToolSpec, 'name' | 'title' | 'description' | 'compact'> & {
  input: Input
  /** Path and query of the request that answers it. */
  targetOf: (texts: Readonly<Record<string, string>>) => string
  /** Whether a market has to be named. */
  isOfMarket: boolean
}

/** Throws where a tool names what the API does not have. */
export const toolsOf = (routes: readonly DeclaredRoute[]): Tool[] =>
  specs.map((spec) => toTool(spec, routes))

function toTool({ operationId, ...spec }: ToolSpec, routes: readonly DeclaredRoute[]): Tool {
  const { name, title, description, parameters, defaults = {}, compact } = spec
  const route = routes.find((each) => each.detail.operationId === operationId)
  if (route === undefined) throw new Error(`No route is ${operationId}.`)
  const { path } = route
  const rows = parameters.includes('limit') ? { limit: String(ROWS.default) } : {}
  return {
    name,
    title,
    description,
    compact,
    input: inputOf(route, spec),
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
  return Type.Object({
    coin: coinInput,
    ...market,
    ...Object.fromEntries(chosen),
    full: literals(['true', 'false'], {
      default: 'false',
      description: `Whether every member is wanted: ${more}.`,
    }),
  })
}

/** As JSON Schema has it. */
export function listed(input: Input) {
  const known = openApiParameters(input, 'query')
  const properties = known.map(({ name, description, schema }): [string, object] => {
    if (name === 'full') return [name, { type: 'boolean', default: false, description }]
    const { format, ...rest } = schema
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

const MOMENT = 'Unix milliseconds or seconds, RFC 3339, or `now`.'

export const namesMarket = ({ market, conditionId }: Readonly<Record<string, string>>): boolean =>
  market !== undefined || conditionId !== undefined

/** Of a tool that lists markets, what does not go with the name of one. */
const filters = ['timeframe', 'status', 'source', 'slug', 'from', 'to', 'cursor']

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

const coinInput = literals(coins, { description: 'Coin, in any case.' })
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
        description: `A market: its slug, its conditionId, or the id of one of its assets, such as ${exampleMarket.conditionId}.${more}`,
      }),
    ),
    conditionId: Type.Optional(
      Type.String({ ...name, description: 'The same as `market`, in its place.' }),
    ),
  }
}

/** Whole markets and days are files: an agent passes on where they are. */
export const exportInput = Type.Object({
  coin: coinInput,
  ...marketInputs(' Without it a whole day.'),
  day: Type.Optional(
    Type.String({ description: 'Day in UTC, such as 2026-04-13; for a day alone.' }),
  ),
  timeframe: Type.Optional(
    Type.String({ description: 'Only markets of this length; for a day alone.' }),
  ),
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
