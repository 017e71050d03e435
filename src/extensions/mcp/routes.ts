/** Messages of agents, in one route that is not in the API document. */

import { Elysia, NotFoundError } from 'elysia'

import { createMarketFinder } from '#src/domain/market.ts'
import type { Api } from '#src/http/api.ts'
import { amendCall, callOf, type PeerSource, withEnding } from '#src/http/call.ts'
import { PAYMENT_SIGNATURE_HEADER, toPaymentHeader } from '#src/http/x402.ts'
import type { AppServices } from '#src/server/extension.ts'

import type { McpDeps } from './mcp-server.ts'

type Services = Pick<
  AppServices,
  'dataRoutes' | 'fetch' | 'charge' | 'origin' | 'clock' | 'history' | 'version'
>

export const MCP_PATH = '/mcp'

/** Headers of the message, not of the API call. */
const ofMessage = [
  'accept',
  'accept-encoding',
  'content-length',
  'content-type',
  'if-none-match',
  'transfer-encoding',
]

export function mcpRoutes(_: Api, services: Services) {
  const answer = createAnswer(services)
  const plugin = new Elysia({ name: 'mcp' }).post(
    MCP_PATH,
    ({ request }) => {
      // Elysia accepts the same path with a trailing slash.
      if (callOf(request).target.path !== MCP_PATH) throw new NotFoundError()
      return answer(request)
    },
    { parse: 'none' },
  )
  return { plugins: [plugin] }
}

/** Creates the function that answers messages of an agent. */
function createAnswer(services: Services) {
  const { dataRoutes, fetch, charge, origin, clock, history, version } = services
  /** API calls made by the messages of a request. */
  const asked = new WeakMap<Request, number>()
  const countAsked = (request: Request): number => asked.get(request) ?? 0
  /** Called when the response to a message has been sent: its API calls are delivered with it. */
  const waiting = new WeakMap<Request, ((isWhole: boolean) => void)[]>()
  const ask: McpDeps['ask'] = async (request, target, payment) => {
    asked.set(request, countAsked(request) + 1)
    const headers = new Headers(request.headers)
    for (const name of ofMessage) headers.delete(name)
    if (payment !== undefined) headers.set(PAYMENT_SIGNATURE_HEADER, toPaymentHeader(payment))
    const address: PeerSource = {
      requestIP: () => callOf(request).peers?.requestIP(request) ?? null,
      deliver: (onSent) => void waiting.set(request, [...(waiting.get(request) ?? []), onSent]),
    }
    const own = new Request(new URL(target, request.url).href, { headers })
    const response = await fetch(own, address)
    // The message itself is not charged: it reports the window that its tool was charged to.
    const { rate, enteredMs } = callOf(own)
    amendCall(request, { rate, enteredMs })
    return response
  }

  async function load() {
    const [{ createMcp }, { createMessages }] = await Promise.all([
      import('./mcp-server.ts'),
      import('./messages.ts'),
    ])
    const findMarket = createMarketFinder(history)
    const answer = createMcp({ routes: dataRoutes(), ask, origin, clock, findMarket, version })
    return createMessages({
      answerOne: answer,
      answerText: (request) => answer(request),
      charge,
      countAsked,
    })
  }
  let loaded: ReturnType<typeof load> | undefined
  return async (request: Request): Promise<Response> => {
    loaded ??= load()
    const response = await (await loaded)(request)
    const calls = waiting.get(request)
    if (calls === undefined) return response
    return withEnding(response, {
      onSent(isWhole) {
        for (const each of calls) each(isWhole)
      },
    })
  }
}
