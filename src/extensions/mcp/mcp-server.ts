/** The MCP server: loaded with the first question that comes by it. */
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
import { openApiParameters } from '#src/http/openapi-operation.ts'
import { problemResponse } from '#src/http/problem.ts'
import { parseQuery } from '#src/http/schema-reader.ts'
import { visitOf } from '#src/http/visit.ts'
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
 * Asks the API as the caller of `request` would: with its key, limits and metering, and with the
 * payment of x402 that came with the call of a tool.
 */
export type Ask = (request: Request, target: string, payment: unknown) => Promise<Response>

/** Where x402 has payments in MCP: its transport specification for MCP. */
const PAYMENT = 'x402/payment'
const PAYMENT_RESPONSE = 'x402/payment-response'

export type McpDeps = {
  routes: readonly DeclaredRoute[]
  ask: Ask
  /** Of this service, as its users reach it. */
  origin: () => string
  clock: Clock
  /** Finds a market by any of its names, to know its coin. */
  findMarket: FindMarket
  version: string
}

const instructions =
  'Order books of prediction markets, recorded and exact. Begin with find_markets. Times are Unix milliseconds, RFC 3339, a day, or `now`, in UTC; numbers may be sent as text, lists as comma-separated text. Answers have what matters; `full` adds the rest. Prices are USDC a share between 0 and 1. Tools need a key (`Authorization: Bearer bf_live_…` with each request of the client), or `Bearer sample` for a documented sample; where the operator sells without a key, a tool answers what to pay (x402).'

const documents = {
  overview: ['The service in one page', llmsText],
  data: ['What the data means', dataText],
  access: ['Keys, tiers and limits', accessText],
  live: ['Live streams and replay', liveText],
  payments: ['Buying with USDC or USDT', paymentsText],
  errors: ['Errors by code', errorsText],
} as const

const readOnly = { readOnlyHint: true, openWorldHint: false }

/** Our own reader says what is wrong with which argument: the SDK would say it in plain text. */
const anything: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
}

const linkSchema = fromJsonSchema<Record<string, unknown>>(
  orFailure({
    properties: {
      url: { type: 'string', description: 'Where the file is; it needs the key of the user.' },
      curl: { type: 'string', description: 'A command that downloads it with the key in $KEY.' },
    },
    required: ['url', 'curl'],
  }),
  anything,
)

/** Answers MCP, in its stateless revision and in those before it, without sessions. */
export function createMcp({ routes, ask, origin, clock, findMarket, version }: McpDeps) {
  const prepare = <T extends { input: Input }>(tool: T) => ({
    ...tool,
    read: createArgumentReader(openApiParameters(tool.input, 'query')),
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
          'Where to download a whole market, or a day of a coin, as one file (Parquet, CSV or NDJSON). Nothing is downloaded: give the link to the user who needs more rows than fit in an answer.',
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
      if (!(request instanceof Request)) throw new Error('MCP is served over HTTP alone.')
      extra.era = era
      return serve(request)
    },
    { maxRequestBodySize: BODY_BYTES_MAX, maxSubscriptions: 1 },
  )
  // Tools see a copy of the request, which is not the one that came through the front door.
  return async (request: Request, parsedBody?: unknown): Promise<Response> => {
    const extra: Record<string, unknown> = { request }
    const authInfo = { token: '', clientId: '', scopes: [], extra }
    const accepted = acceptedBy(request)
    const response = await handler.fetch(takingBoth(request, accepted, parsedBody), {
      authInfo,
      parsedBody,
    })
    if (extra.era !== 'legacy') return response
    // Of old revisions the SDK answers before the tool has: what is left is known after it.
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

/** Answers what is wrong with the arguments, if anything is, as a route would. */
const checked =
  (request: Request, { input, read, isOfMarket, clock, findMarket }: Checks, answer: Answer) =>
  async (args: Arguments, { mcpReq }: Pick<ServerContext, 'mcpReq'>) => {
    let texts: Readonly<Record<string, string>>
    try {
      const sent = read(args, clock())
      const { day } = parseQuery(input, new URLSearchParams(sent).toString())
      assertMarket(sent, { isRequired: isOfMarket, input })
      texts = completed(sent, { input, dayMs: Number(day), findMarket })
    } catch (error) {
      return answerOf(problemResponse(error, visitOf(request).requestId ?? ''))
    }
    return answer({ texts, payment: mcpReq._meta?.[PAYMENT] })
  }

type Shape = {
  /** Whether a single market is shown as a list of one. */
  isList?: boolean
  /** What matters of a row; undefined for all of it. */
  compact?: Tool['compact'] | undefined
}

/** What a route says, its failures too: their `detail` says what to do. */
async function answerOf(response: Response, { isList = false, compact }: Shape = {}) {
  const body = (await response.json()) as object
  // What is to be paid is all of the answer, as clients of x402 expect it.
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

/** A list keeps all but its rows as it is. */
function shorten(body: object, compact: Tool['compact']): object {
  if (!('data' in body) || !Array.isArray(body.data)) return compact({ ...body })
  return { ...body, data: body.data.map((row: object) => compact({ ...row })) }
}

function toResult(content: object, isError = false) {
  const text = JSON.stringify(content)
  const structuredContent = content as Record<string, unknown>
  return { content: [{ type: 'text' as const, text }], structuredContent, isError }
}
