import { Elysia } from 'elysia'

import type { Settlement } from '#src/billing/billing.ts'
import { AppError } from '#src/core/errors.ts'
import { type AccessPlugin, callerOf } from '#src/http/access.ts'
import { readBody } from '#src/http/body.ts'
import { type Idempotency, jsonAnswer } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { searchOf } from '#src/http/url.ts'
import {
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
  readPaymentHeader,
  toPaymentHeader,
} from '#src/http/x402.ts'

import {
  chainsDetail,
  paymentDetail,
  paymentsDetail,
  quoteDetail,
  settleDetail,
  subscriptionDetail,
} from './documentation.ts'
import { QuoteWish, ReceiptQuery, SettleBody } from './model.ts'
import type { BillingService } from './service.ts'
import {
  pollUrlOf,
  statusOf,
  toActive,
  toPaymentBody,
  toPending,
  toSettleResponse,
} from './settlement-body.ts'

type Deps = { guard: AccessPlugin; service: BillingService; idempotency: Idempotency }
type Parts = Omit<Deps, 'guard'>

const noStore = { 'Cache-Control': 'no-store' }
/** The reconciler looks as soon at what is on its way. */
/** Six a minute: within the allowance of the Free tier, which most buyers have. */
const POLL_SECONDS = 10

/** `/v1/billing`: from a tier to a period of it, paid by x402, and what was paid. */
export const billing = ({ guard, ...parts }: Deps) =>
  new Elysia({ name: 'billing' })
    .use(guard)
    // As in modules/keys: `readBody` reads the bodies, and Elysia adds to the details it is given.
    .get('/v1/billing/x402/chains', ({ request }) => chains(parts, request), {
      access: 'open',
      detail: { ...chainsDetail },
    })
    .post('/v1/billing/x402/quote', ({ request }) => quote(parts, request), {
      access: 'key',
      parse: 'none',
      detail: { ...quoteDetail },
    })
    .post('/v1/billing/x402/settle', ({ request }) => settle(parts, request), {
      access: 'key',
      parse: 'none',
      detail: { ...settleDetail },
    })
    .get(
      '/v1/billing/x402/payments/:id',
      ({ request, params }) => payment(parts, request, params.id),
      { access: 'key', detail: { ...paymentDetail } },
    )
    .get('/v1/billing/payments', ({ request }) => payments(parts, request), {
      access: 'key',
      detail: { ...paymentsDetail },
    })
    .get('/v1/billing/subscription', ({ request }) => subscription(parts, request), {
      access: 'key',
      detail: { ...subscriptionDetail },
    })

function chains({ service }: Parts, request: Request): Response {
  parseQuery(NoQuery, searchOf(request.url))
  return jsonResponse(service.chains(), { headers: { 'Cache-Control': 'no-cache' } })
}

async function quote({ service, idempotency }: Parts, request: Request): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const caller = callerOf(request)
  const wish = await readBody(QuoteWish, request)
  const call = {
    scope: `quote ${caller.accountId}`,
    // An offer holds no secret: the ledger has it in plain beside this answer.
    secret: caller.accountId,
    body: JSON.stringify(wish),
  }
  return idempotency.remember(request, call, async () => {
    const body = await service.quote(caller, wish)
    const header = toPaymentHeader(body.paymentRequired)
    return jsonAnswer(200, body, { ...noStore, [PAYMENT_REQUIRED_HEADER]: header })
  })
}

async function settle({ service }: Parts, request: Request): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const caller = callerOf(request)
  const { paymentPayload: inBody, quoteId } = await readBody(SettleBody, request)
  const inHeader = readPaymentHeader(request)
  if (inBody !== undefined && inHeader !== undefined) throw refuseTwo()
  const payload = inBody ?? inHeader
  if (payload !== undefined) return toAnswer(await service.settle(caller, payload))
  if (quoteId === undefined) throw refuseNothing()
  return service.demand(caller, quoteId)
}

function toAnswer(settlement: Settlement): Response {
  if (statusOf(settlement) === 'active') {
    return jsonResponse(toActive(settlement), { headers: settledHeaders(settlement) })
  }
  const headers = { ...pendingHeaders, Location: pollUrlOf(settlement.payment) }
  return jsonResponse(toPending(settlement), { status: 202, headers })
}

const pendingHeaders = { ...noStore, 'Retry-After': String(POLL_SECONDS) }

const settledHeaders = (settlement: Settlement) => ({
  ...noStore,
  [PAYMENT_RESPONSE_HEADER]: toPaymentHeader(toSettleResponse(settlement)),
})

const refuseTwo = () =>
  new AppError(
    'invalid_request',
    `Send the payment once: as \`paymentPayload\` in the body, or in the header \`${PAYMENT_SIGNATURE_HEADER}\`.`,
  )

const refuseNothing = () =>
  new AppError(
    'invalid_parameter',
    `There is neither a payment nor an offer. Send \`paymentPayload\` or the header \`${PAYMENT_SIGNATURE_HEADER}\`; or \`quoteId\` to be told what to sign.`,
    { param: 'paymentPayload' },
  )

async function payment({ service }: Parts, request: Request, id: string): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const settlement = await service.payment(callerOf(request), id)
  return jsonResponse(toPaymentBody(settlement), { headers: headersOf(settlement) })
}

function headersOf(settlement: Settlement): Record<string, string> {
  const status = statusOf(settlement)
  if (status === 'active') return settledHeaders(settlement)
  return status === 'pending' ? pendingHeaders : noStore
}

function payments({ service }: Parts, request: Request): Response {
  const query = parseQuery(ReceiptQuery, searchOf(request.url))
  return jsonResponse(service.payments(callerOf(request), query), { headers: noStore })
}

function subscription({ service }: Parts, request: Request): Response {
  parseQuery(NoQuery, searchOf(request.url))
  return jsonResponse(service.subscription(callerOf(request)), { headers: noStore })
}
