/** The MCP server, loaded with the first MCP message. */
import {
  createMcpHandler,
  fromJsonSchema,
  type jsonSchemaValidator,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'

import type { FindMarket } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import type { DeclaredRoute } from '#src/http/api.ts'
import { BODY_BYTES_MAX } from '#src/http/body.ts'
import { callOf } from '#src/http/call.ts'
import { openApiParameters } from '#src/http/openapi.ts'
import { problemResponse } from '#src/http/problem.ts'
import { readBy } from '#src/http/validation.ts'
import { fromPaymentHeader, PAYMENT_RESPONSE_HEADER } from '#src/http/x402.ts'

import accessText from '../../../docs/access.md' with { type: 'text' }
import dataText from '../../../docs/data.md' with { type: 'text' }
import errorsText from '../../../docs/errors.md' with { type: 'text' }
import liveText from '../../../docs/live.md' with { type: 'text' }
import llmsText from '../../../docs/llms.txt' with { type: 'text' }
import paymentsText from '../../../docs/payments.md' with { type: 'text' }
import { type Arguments, createArgumentReader } from './arguments.ts'
import { acceptedBy, EVENTS, JSON_TYPE } from './messages.ts'
import {
  assertMarket,
  completed,
  exportInput,
  exportTargetOf,
  type Input,
  listed,
  namesMarket,
  orFailure,
  type Tool,
  toolsOf,
} from './tools.ts'

/**
 * Calls the API as the caller of `request`: with its key, limits and metering, and with the x402
 * payment sent with the call of a tool.
 */
export type Ask = (request: Request, target: string, payment: unknown) => Promise<Response>

/** The place of x402 payments in MCP, by its transport specification for MCP. */
const PAYMENT = 'x402/payment'
const PAYMENT_RESPONSE = 'x402/payment-response'

export type McpDeps = {
  routes: readonly DeclaredRoute[]
  ask: Ask
  /** The origin of this service, as reachable by its users. */
  origin: () => string
  clock: Clock
  /** Finds a market by any of its names, to know its coin. */
  findMarket: FindMarket
  version: string
}

const instructions =
  'Order books of prediction markets, recorded and exact. Begin with find_markets. Times are Unix milliseconds, RFC 3339, a day, or `now`, in UTC; numbers may be sent as text, lists as comma-separated text. Results have the most important members; `full` adds the others. Prices are USDC per share, between 0 and 1. Tools need a key (`Authorization: Bearer bf_live_…` with each request of the client), or `Bearer sample` for a documented sample; if the operator sells without a key, a tool returns the payment challenge (x402).'

const documents = {
  overview: ['Summary of the service', llmsText],
  data: ['Meaning of the data', dataText],
  access: ['Keys, tiers and limits', accessText],
  live: ['Live streams and replay', liveText],
  payments: ['Buying with USDC or USDT', paymentsText],
  errors: ['Errors by code', errorsText],
} as const

const readOnly = { readOnlyHint: true, openWorldHint: false }

/** Our own reader reports which argument is wrong and why; the SDK would do so in plain text. */
const anything: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
}

const linkSchema = fromJsonSchema<Record<string, unknown>>(
  orFailure({
    properties: {
      url: { type: 'string', description: 'URL of the file; it needs the key of the user.' },
      curl: {
        type: 'string',
        description: 'Command that downloads the file with the key in $KEY.',
      },
    },
    required: ['url', 'curl'],
  }),
  anything,
)

/** Answers MCP without sessions, in its stateless revision and in earlier ones. */
export function createMcp({ routes, ask, origin, clock, findMarket, version }: McpDeps) {
  const prepare = <T extends { input: Input }>(tool: T) => ({
    ...tool,
    read: createArgumentReader(openApiParameters(tool.input)),
    inputSchema: fromJsonSchema<Record<string, unknown>>(listed(tool.input), anything),
  })
  const tools = toolsOf(routes).map(prepare)
  const exports = prepare({ input: exportInput })

  function serve(request: Request): McpServer {
    const server = new McpServer({ name: 'bookfeed', version }, { instructions })
    for (const tool of tools) {
      const { name, title, description, inputSchema, targetOf, isOfMarket, compact } = tool
      const outputSchema = fromJsonSchema<Record<string, unknown>>(tool.output, anything)
      const config = { title, description, inputSchema, outputSchema, annotations: readOnly }
      const answer: Answer = async ({ texts, payment }) => {
        const response = await ask(request, targetOf(texts), payment)
        const isList = !isOfMarket && namesMarket(texts)
        return answerOf(response, { isList, compact: texts.full === 'true' ? undefined : compact })
      }
      const checks = { ...tool, clock, findMarket }
      server.registerTool(name, config, checked(request, checks, answer))
    }
    server.registerTool(
      'export_link',
      {
        title: 'Link to an export',
        description:
          'Returns the URL of a whole market, or of a day of a coin, as one file (Parquet, CSV or NDJSON). The tool does not download the file: give the link to a user who needs more rows than fit in a result.',
        inputSchema: exports.inputSchema,
        outputSchema: linkSchema,
        annotations: readOnly,
      },
      checked(request, { ...exports, isOfMarket: false, clock, findMarket }, async ({ texts }) => {
        const url = origin() + exportTargetOf(texts)
        const curl = `curl --fail --location --output export -H "Authorization: Bearer $KEY" '${url}'`
        return toResult({ url, curl })
      }),
    )
    for (const [name, [title, text]] of Object.entries(documents)) {
      const uri = `bookfeed://docs/${name}`
      server.registerResource(name, uri, { title, mimeType: 'text/markdown' }, () => ({
        contents: [{ uri, mimeType: 'text/markdown', text }],
      }))
    }
    return server
  }

  const handler = createMcpHandler(
    ({ authInfo, era }) => {
      const { extra = {} } = authInfo ?? {}
      const { request } = extra
      if (!(request instanceof Request)) throw new Error('MCP is only served over HTTP.')
      extra.era = era
      return serve(request)
    },
    { maxRequestBodySize: BODY_BYTES_MAX, maxSubscriptions: 1 },
  )
  // Tools see a copy of the request, which is not the one that the server received.
  return async (request: Request, parsedBody?: unknown): Promise<Response> => {
    const extra: Record<string, unknown> = { request }
    const authInfo = { token: '', clientId: '', scopes: [], extra }
    const accepted = acceptedBy(request)
    const response = await handler.fetch(takingBoth(request, accepted, parsedBody), {
      authInfo,
      parsedBody,
    })
    if (extra.era !== 'legacy') return response
    // In old revisions the SDK responds before the tool does: the remaining rate limit is known
    // afterwards.
    const text = await response.text()
    const event = accepted.events ? undefined : /^data: (.*)$/m.exec(text)?.[1]
    if (event === undefined) return new Response(text, response)
    const headers = new Headers(response.headers)
    headers.set('content-type', JSON_TYPE)
    return new Response(event, { status: response.status, headers })
  }
}

/** The SDK refuses a client that does not name both forms. */
function takingBoth(
  request: Request,
  { json, events }: { json: boolean; events: boolean },
  parsedBody: unknown,
): Request {
  if (!json || request.method !== 'POST') return request
  if (events && request.headers.get('accept')?.includes(JSON_TYPE)) return request
  const headers = new Headers(request.headers)
  headers.set('accept', `${JSON_TYPE}, ${EVENTS}`)
  const { url, method, signal } = request
  return parsedBody === undefined
    ? new Request(request, { headers })
    : new Request(url, { method, headers, signal })
}

type Answer = (given: Given) => Promise<ReturnType<typeof toResult>>
type Given = { texts: Readonly<Record<string, string>>; payment: unknown }

type Checks = {
  input: Input
  read: ReturnType<typeof createArgumentReader>
  isOfMarket: boolean
  clock: Clock
  findMarket: FindMarket
}

/** Reports wrong arguments like a route would. */
const checked =
  (request: Request, { input, read, isOfMarket, clock, findMarket }: Checks, answer: Answer) =>
  async (args: Arguments, { mcpReq }: Pick<ServerContext, 'mcpReq'>) => {
    let texts: Readonly<Record<string, string>>
    try {
      const sent = read(args, clock())
      const { day } = readBy(input, sent, 'query')
      assertMarket(sent, { isRequired: isOfMarket, input })
      texts = completed(sent, { input, dayMs: Number(day), findMarket })
    } catch (error) {
      return answerOf(problemResponse(error, callOf(request).requestId))
    }
    return answer({ texts, payment: mcpReq._meta?.[PAYMENT] })
  }

type Shape = {
  /** True if a single market is shown as a list of one. */
  isList?: boolean
  /** Reduces a row to its important members; undefined keeps all. */
  compact?: Tool['compact'] | undefined
}

/** Converts the response of a route, including failures, whose `detail` contains the next step. */
async function answerOf(response: Response, { isList = false, compact }: Shape = {}) {
  const body = (await response.json()) as object
  // The payment challenge is the whole answer, as clients of x402 expect it.
  if (response.status === 402 && 'paymentRequired' in body) {
    return toResult(body.paymentRequired as object, true)
  }
  const coverage = response.headers.get('x-coverage')
  const content = toContent(body, isList && response.ok)
  const shown = response.ok && compact ? shorten(content, compact) : content
  const result = toResult(coverage === null ? shown : { ...shown, coverage }, !response.ok)
  const receipt = response.headers.get(PAYMENT_RESPONSE_HEADER)
  return receipt === null
    ? result
    : { ...result, _meta: { [PAYMENT_RESPONSE]: fromPaymentHeader(receipt) } }
}

function toContent(body: object, isList: boolean): object {
  if (isList) return { data: [body], nextCursor: null }
  return Array.isArray(body) ? { data: body } : body
}

/** Shortens the rows of a list and keeps its other members. */
function shorten(body: object, compact: Tool['compact']): object {
  if (!('data' in body) || !Array.isArray(body.data)) return compact({ ...body })
  return { ...body, data: body.data.map((row: object) => compact({ ...row })) }
}

function toResult(content: object, isError = false) {
  const text = JSON.stringify(content)
  const structuredContent = content as Record<string, unknown>
  return { content: [{ type: 'text' as const, text }], structuredContent, isError }
}
