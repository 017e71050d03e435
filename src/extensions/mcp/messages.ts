/**
 * Messages of agents over HTTP: a single one, or several in a batch. A batch is answered message by
 * message, so that its cost and the size of its response are bounded, and each message is charged
 * to the window of its caller.
 */
import { AppError } from '#src/domain/errors.ts'
import { BODY_BYTES_MAX } from '#src/http/body.ts'
import { createCache } from '#src/platform/cache.ts'
import { isRecord } from '#src/platform/record.ts'

/** Messages per batch. */
export const BATCH_MAX = 10
/** Bytes of a batch's response after which further messages are refused. */
export const BATCH_BYTES_MAX = 1_000_000
/** Cached responses to `tools/list`, by revision of the protocol and form. */
const LISTS_MAX = 32
/** JSON-RPC's code of an invalid request, and the first code reserved for servers. */
const codes = { invalidRequest: -32_600, refused: -32_000 } as const

type Message = Readonly<Record<string, unknown>>
type Answered = { status: number; type: string; text: string }
/** A response to `tools/list`, split around the id of the message. */
type List = { headers: Headers; before: string; after: string }

type Deps = {
  /** Answers one message. */
  answerOne: (request: Request, message: unknown) => Promise<Response>
  /** Answers a text that is not JSON, with the matching status. */
  answerText: (request: Request) => Promise<Response>
  /** Charges the window of the caller. Throws `rate_limited`. */
  charge: (request: Request) => void
  /** The number of API calls made for a request so far. */
  countAsked: (request: Request) => number
}

export function createMessages({ answerOne, answerText, charge, countAsked }: Deps) {
  const lists = createCache<string, List>(LISTS_MAX)

  /** The tools are the same for every caller: listed once for each form of the question. */
  async function list(request: Request, message: Message): Promise<Response> {
    const key = listKeyOf(request, message)
    const known = key === undefined ? undefined : lists.get(key)
    if (known !== undefined) {
      const text = known.before + JSON.stringify(message.id) + known.after
      return new Response(text, { headers: known.headers })
    }
    const response = await answerOne(request, message)
    if (key === undefined || response.status !== 200) return response
    // A unique id shows its position in the response.
    const mark = crypto.randomUUID()
    const marked = await answerOne(request, { ...message, id: mark })
    const [before, after, ...more] = (await marked.text()).split(`"${mark}"`)
    if (before !== undefined && after !== undefined && more.length === 0)
      lists.set(key, { headers: marked.headers, before, after }, { size: 1 })
    return response
  }

  async function answer(request: Request, message: unknown): Promise<Response> {
    if (!isRecord(message)) return answerOne(request, message)
    if (message.method === 'tools/list') return list(request, message)
    return answerOne(request, message)
  }

  /**
   * Answers a message of a batch, charged through the API call that it makes, otherwise by itself.
   */
  async function answerCharged(request: Request, message: unknown): Promise<Answered> {
    const asked = countAsked(request)
    const isCall = isRecord(message) && message.method === 'tools/call'
    if (!isCall) charge(request)
    const response = await answer(request, message)
    const text = await response.text()
    if (isCall && countAsked(request) === asked) charge(request)
    const type = response.headers.get('content-type') ?? ''
    return { status: response.status, type, text }
  }

  async function answerBatch(request: Request, messages: readonly unknown[]): Promise<Response> {
    const answers: Answered[] = []
    let bytes = 0
    for (const message of messages) {
      const answered =
        bytes > BATCH_BYTES_MAX
          ? refused(
              message,
              'The response to the batch has reached its maximum size. Send this message by itself.',
            )
          : await answerCharged(request, message).catch((error: unknown) => {
              if (error instanceof AppError) return refused(message, error.message)
              throw error
            })
      bytes += answered.text.length
      answers.push(answered)
    }
    const filled = answers.filter(({ text }) => text !== '')
    if (filled.length === 0) return new Response(null, { status: 202 })
    return filled.some(({ type }) => type.startsWith(EVENTS))
      ? withLength(filled.map(toEvents).join(''), EVENTS)
      : withLength(`[${filled.map(({ text }) => text).join(',')}]`, JSON_TYPE)
  }

  return async (request: Request): Promise<Response> => {
    const body = await request.arrayBuffer()
    const again = () => answerText(new Request(request, { method: 'POST', body }))
    if (body.byteLength > BODY_BYTES_MAX) return again()
    let message: unknown
    try {
      message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    } catch {
      return again()
    }
    if (!Array.isArray(message)) {
      // A subscription has no end, and so no response to count.
      const isEndless = isRecord(message) && message.method === 'subscriptions/listen'
      const response = await answer(request, message)
      return isEndless ? response : counted(response)
    }
    if (message.length > 0 && message.length <= BATCH_MAX) return answerBatch(request, message)
    const text = `A batch holds 1 to ${BATCH_MAX} messages.`
    const error = { jsonrpc: '2.0', id: null, error: { code: codes.invalidRequest, message: text } }
    return withLength(JSON.stringify(error), JSON_TYPE, 400)
  }
}

export const JSON_TYPE = 'application/json'
export const EVENTS = 'text/event-stream'

/** The forms of a response that a client accepts, by name or by a wildcard. */
export function acceptedBy({ headers }: Request): { json: boolean; events: boolean } {
  const accept = headers.get('accept') ?? '*/*'
  const types = accept
    .toLowerCase()
    .split(',')
    .map((type) => type.split(';')[0]?.trim())
  const json = types.some(
    (type) => type === JSON_TYPE || type === 'application/*' || type === '*/*',
  )
  return { json, events: types.includes(EVENTS) }
}

function withLength(text: string, type: string, status = 200): Response {
  const headers = { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(text)) }
  return new Response(text, { status, headers })
}

/**
 * The same response, complete and of known length, which bounds the bytes that wait for readers.
 */
async function counted(response: Response): Promise<Response> {
  if (response.body === null) return response
  const bytes = await response.arrayBuffer()
  const headers = new Headers(response.headers)
  headers.set('Content-Length', String(bytes.byteLength))
  return new Response(bytes, { status: response.status, headers })
}

const toEvents = ({ type, text }: Answered): string =>
  type.startsWith(EVENTS) ? text : `event: message\ndata: ${text}\n\n`

/** A notification gets no response, even if it fails. */
function refused(message: unknown, text: string): Answered {
  const id = isRecord(message) ? message.id : null
  const error = { jsonrpc: '2.0', id, error: { code: codes.refused, message: text } }
  return { status: 200, type: JSON_TYPE, text: id === undefined ? '' : JSON.stringify(error) }
}

/** Members of `_meta` on which the response does not depend. */
const VERSION = 'io.modelcontextprotocol/protocolVersion'
const metaMembers = new Set([
  VERSION,
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
])

/** The cache key of a response to `tools/list`; undefined if the response may differ. */
function listKeyOf(request: Request, message: Message): string | undefined {
  const { headers } = request
  const { jsonrpc, id, method: _, params = {}, ...others } = message
  const isUsual = typeof id === 'number' || typeof id === 'string'
  if (jsonrpc !== '2.0' || !isUsual || Object.keys(others).length > 0) return undefined
  if (!isRecord(params)) return undefined
  const { _meta: meta, ...more } = params
  if (Object.keys(more).length > 0) return undefined
  const isRequest = meta === undefined || (isRecord(meta) && isUsualMeta(meta))
  if (!isRequest) return undefined
  const { json, events } = acceptedBy(request)
  return JSON.stringify([
    isRecord(meta) ? meta[VERSION] : null,
    headers.get('mcp-protocol-version'),
    headers.get('mcp-method'),
    isJsonType(headers.get('content-type')),
    json,
    events,
  ])
}

const isJsonType = (type: string | null): boolean =>
  type !== null && /^application\/json\s*(;|$)/i.test(type)

function isUsualMeta(meta: Message): boolean {
  const client = meta['io.modelcontextprotocol/clientInfo']
  const isNamed =
    isRecord(client) && typeof client.name === 'string' && typeof client.version === 'string'
  return (
    Object.keys(meta).every((name) => metaMembers.has(name)) &&
    Object.keys(meta).length === metaMembers.size &&
    isNamed &&
    isRecord(meta['io.modelcontextprotocol/clientCapabilities'])
  )
}
