/** Messages of agents, in one route that the API document leaves out. */

import { Elysia } from 'elysia'

import { createMarketFinder } from '#src/domain/market.ts'
import type { Api } from '#src/http/api.ts'
import { MissingRoute } from '#src/http/problem.ts'
import { type PeerSource, visitOf } from '#src/http/visit.ts'
import { PAYMENT_SIGNATURE_HEADER, toPaymentHeader } from '#src/http/x402.ts'
import type { AppServices } from '#src/server/extension.ts'

import type { McpDeps } from './mcp-server.ts'

type Services = Pick<
  AppServices,
  'dataRoutes' | 'fetch' | 'charge' | 'origin' | 'clock' | 'history' | 'version'
>

export const MCP_PATH = '/mcp'

/** Of the message, not of the question. */
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
      // Elysia takes a slash at the end for the same path.
      if (visitOf(request).target?.path !== MCP_PATH) throw new MissingRoute()
      return answer(request)
    },
    { parse: 'none' },
  )
  return { plugins: [plugin] }
}

/** Returns what answers messages of an agent. */
function createAnswer(services: Services) {
  const { dataRoutes, fetch, charge, origin, clock, history, version } = services
  /** Requests of the API that the messages of a request have made. */
  const asked = new WeakMap<Request, number>()
  const countAsked = (request: Request): number => asked.get(request) ?? 0
  const ask: McpDeps['ask'] = async (request, target, payment) => {
    asked.set(request, countAsked(request) + 1)
    const headers = new Headers(request.headers)
    for (const name of ofMessage) headers.delete(name)
    if (payment !== undefined) headers.set(PAYMENT_SIGNATURE_HEADER, toPaymentHeader(payment))
    const visit = visitOf(request)
    const address: PeerSource = {
      requestIP: () => visit.peers?.requestIP(request) ?? null,
      // The answer of a tool is delivered with the message.
      deliver(onSent) {
        const { onSent: others } = visit
        visit.onSent = (isWhole) => {
          others?.(isWhole)
          onSent(isWhole)
        }
      },
    }
    const own = new Request(new URL(target, request.url).href, { headers })
    const response = await fetch(own, address)
    // The message takes from no window: it reports the one that its tool took from.
    const { rate, enteredMs } = visitOf(own)
    Object.assign(visit, { rate, enteredMs })
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
      charge: (request) => charge(request, visitOf(request)),
      countAsked,
    })
  }
  let loaded: ReturnType<typeof load> | undefined
  return async (request: Request): Promise<Response> => {
    loaded ??= load()
    return (await loaded)(request)
  }
}
