/** Tools for agents: each is a route of the API with the parameters that a question needs. */
import { MARKET_NAME_PATTERN, marketNameText } from '#src/core/market-name.ts'
import { coins } from '#src/core/market.ts'
import { exampleMarket } from '#src/http/fields.ts'
import { openApiParameters } from '#src/http/openapi-operation.ts'
import type { Route } from '#src/http/route.ts'
import { literals, type parseBody } from '#src/http/schema-reader.ts'
import { Type } from '#src/http/schema.ts'

/** Rows of an answer: what is read costs the agent, and there is an export for more. */
const ROWS = { default: 20, maximum: 100 }
const MIRROR =
  'The two outcomes mirror each other: a bid for up at p is an ask for down at 1 - p, one order shown in both books. Never add their sizes up.'

type ToolSpec = {
  name: string
  title: string
  operationId: string
  description: string
  /** Of the query of the route, without those that an agent has no use for. */
  parameters: readonly string[]
  /** Sent where the agent says nothing else. */
  defaults?: Readonly<Record<string, string>>
}

const specs: readonly ToolSpec[] = [
  {
    name: 'find_markets',
    title: 'Find markets',
    operationId: 'listMarkets',
    description:
      'Markets of a coin, newest first: window, status, strike, final price, winner, coverage. A market is one window (5m, 15m, 1h, 4h, 1d) in which the price of the coin ends up or down. Its conditionId is what other tools take.',
    parameters: ['timeframe', 'status', 'slug', 'from', 'to', 'limit', 'cursor'],
  },
  {
    name: 'book_as_of',
    title: 'Order book as of a moment',
    operationId: 'getSnapshotsAt',
    description: `The order books of a market that prevailed at a moment, never later ones, with their age. ${MIRROR}`,
    parameters: ['ts', 'outcome', 'depth', 'view', 'maxAgeMs'],
    defaults: { depth: '5' },
  },
  {
    name: 'quotes',
    title: 'Quotes and bars',
    operationId: 'listQuotes',
    description: `Best bid and ask with sizes, mid, spread and imbalance of a market at each change, or at each interval. Ask for an interval and an outcome to see a whole window in few rows. ${MIRROR}`,
    parameters: ['outcome', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
  },
  {
    name: 'fill_cost',
    title: 'Cost of an order',
    operationId: 'getFill',
    description:
      'What a market order at a moment would have cost, level by level: average price, shares, USDC, fee. Exact, from the full book.',
    parameters: [
      ...['ts', 'outcome', 'side', 'size', 'usdc', 'view'],
      ...['feeBps', 'feeRate', 'limitPrice', 'maxAgeMs'],
    ],
  },
  {
    name: 'panel',
    title: 'Panel of past markets',
    operationId: 'getPanel',
    description:
      'A table for backtests: a row for each closed market and offset before the end of its window, with both top quotes, last trade, price of the coin and the winner. Nothing in a row was known later than its moment.',
    parameters: ['timeframe', 'offsets', 'from', 'to', 'maxAgeMs', 'limit', 'cursor'],
  },
  {
    name: 'coverage',
    title: 'What is recorded',
    operationId: 'getMarketCoverage',
    description:
      'How much of a market is recorded, and each gap with its reason. No rows in a gap mean that nothing is known, not that the book stood still.',
    parameters: [],
  },
  {
    name: 'spot',
    title: 'Price of the coin',
    operationId: 'listSpot',
    description:
      'Reference prices of a coin, which its markets are settled by: every one, or open, high, low and close of each interval.',
    parameters: ['source', 'window', 'interval', 'from', 'to', 'order', 'limit', 'cursor'],
  },
]

/** Of arguments, as they are read. */
export type Input = Parameters<typeof parseBody>[0]

export type Tool = Pick<ToolSpec, 'name' | 'title' | 'description'> & {
  input: Input
  /** Path and query of the request that answers it. */
  targetOf: (args: Readonly<Record<string, unknown>>) => string
}

/** Throws where a tool names what the API does not have. */
export const toolsOf = (routes: readonly Route[]): Tool[] =>
  specs.map((spec) => toTool(spec, routes))

function toTool({ operationId, ...spec }: ToolSpec, routes: readonly Route[]): Tool {
  const { name, title, description, parameters, defaults = {} } = spec
  const route = routes.find((each) => each.operationId === operationId)
  if (route === undefined) throw new Error(`No route is ${operationId}.`)
  const { path } = route
  const rows = parameters.includes('limit') ? { limit: String(ROWS.default) } : {}
  return {
    ...{ name, title, description, input: inputOf(route, spec) },
    targetOf({ coin, market, ...query }) {
      const search = toSearch({ ...rows, ...defaults, ...query })
      const place = path
        .replace(':coin', encodeURIComponent(String(coin)))
        .replace(':conditionId', encodeURIComponent(String(market)))
      return `${place}?${search}`
    },
  }
}

/** Of the schemas with which the route reads its query. */
function inputOf(
  { path, query }: Route,
  { parameters, defaults = {} }: Pick<ToolSpec, 'parameters' | 'defaults'>,
): Input {
  const chosen = parameters.map((name) => {
    const property = query?.properties[name]
    if (property === undefined) throw new Error(`${path} has no parameter ${name}.`)
    const bounds = name === 'limit' ? ROWS : {}
    const preset = defaults[name] === undefined ? {} : { default: Number(defaults[name]) }
    return [name, { ...property, ...bounds, ...preset }] as const
  })
  const market = path.includes('/:conditionId') ? { market: marketInput } : {}
  return Type.Object({ coin: coinInput, ...market, ...Object.fromEntries(chosen) })
}

/** As JSON Schema has it. */
export function listed(input: Input) {
  const known = openApiParameters(input, 'query')
  const properties = known.map(({ name, description, schema }): [string, object] => {
    const { format, ...rest } = schema
    // Of the formats those that everybody knows.
    const shown = format === undefined || format === 'decimal' ? {} : { format }
    return [name, { ...rest, ...shown, description }]
  })
  return {
    type: 'object' as const,
    properties: Object.fromEntries(properties),
    required: known.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  }
}

const toSearch = (values: Readonly<Record<string, unknown>>): URLSearchParams =>
  new URLSearchParams(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])),
  )

const coinInput = literals(coins, { description: 'Coin.' })
/** As the route reads it, which would name it `conditionId`. */
const marketOf = (more = '') =>
  Type.String({
    ...{ pattern: MARKET_NAME_PATTERN, 'x-expected': marketNameText },
    description: `A market: its conditionId, its slug, or the id of one of its assets, such as ${exampleMarket.conditionId}.${more}`,
  })
const marketInput = marketOf()

/** Whole markets and days are files: an agent passes on where they are. */
export const exportInput = Type.Object({
  coin: coinInput,
  market: Type.Optional(marketOf(' Without it a whole day.')),
  day: Type.Optional(
    Type.String({ description: 'Day in UTC, such as 2026-04-13; for a day alone.' }),
  ),
  timeframe: Type.Optional(
    Type.String({ description: 'Only markets of this length; for a day alone.' }),
  ),
  format: literals(['parquet', 'csv', 'ndjson'], {
    ...{ description: 'Of the file.', default: 'parquet' },
  }),
})

export function exportTargetOf(args: Readonly<Record<string, unknown>>): string {
  const { coin, market, format = 'parquet', ...rest } = args
  const search = toSearch({ format, ...rest })
  const place = market === undefined ? '' : `/markets/${encodeURIComponent(String(market))}`
  return `/v1/${encodeURIComponent(String(coin))}${place}/export?${search}`
}
