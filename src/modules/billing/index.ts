import type { Settlement } from '#src/billing/billing.ts'
import { AppError } from '#src/core/errors.ts'
import { type Idempotency, jsonAnswer } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { route } from '#src/http/route.ts'
import {
  PAYMENT_BYTES_MAX,
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
  readPaymentHeader,
  toPaymentHeader,
} from '#src/http/x402.ts'

import {
  ActiveBody,
  ChainList,
  PaymentBody,
  paymentId,
  PendingBody,
  QuoteBody,
  QuoteOrder,
  ReceiptList,
  ReceiptQuery,
  SettleBody,
  SubscriptionBody,
} from './model.ts'
import type { BillingService } from './service.ts'
import {
  pollUrlOf,
  statusOf,
  toActive,
  toPaymentBody,
  toPending,
  toSettleResponse,
} from './settlement-body.ts'

type Deps = { service: BillingService; idempotency: Idempotency }

const noStore = { 'Cache-Control': 'no-store' }
/** Six a minute: within the allowance of the Free tier, which most buyers have. */
const POLL_SECONDS = 10
/** A payment may take longer than a connection may be silent otherwise: the chain has the time. */
const SETTLE_SECONDS_MAX = 120

const retryAfter = { 'Retry-After': 'Seconds to wait before asking again.' }
const paymentResponse = {
  [PAYMENT_RESPONSE_HEADER]: 'Base64 of the SettleResponse of x402 v2.',
}
const signatureParameter = {
  name: PAYMENT_SIGNATURE_HEADER,
  in: 'header' as const,
  required: false,
  description: `Base64 of the payment payload of x402 v2 as JSON, at most ${PAYMENT_BYTES_MAX} bytes; instead of \`paymentPayload\`.`,
  schema: { type: 'string', maxLength: PAYMENT_BYTES_MAX },
}

const shared = { tag: 'billing', allowance: 'billing', caching: 'no-store' } as const

/** `/v1/billing`: from a tier to a period of it, paid by x402, and what was paid. */
export const billingRoutes = (deps: Deps) => [
  ...offerRoutes(deps),
  settleRoute(deps),
  ...accountRoutes(deps),
]

const offerRoutes = ({ service, idempotency }: Deps) => [
  route({
    ...shared,
    method: 'GET',
    path: '/v1/billing/x402/chains',
    access: 'open',
    operationId: 'listChains',
    summary: 'Chains and tokens to pay with',
    description: 'What cannot be paid with just now is listed with the reason.',
    ok: { description: 'The chains.', schema: ChainList },
    caching: 'no-cache',
    answer: () => service.chains(),
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/v1/billing/x402/quote',
    access: 'key',
    operationId: 'createQuote',
    summary: 'Get an offer for a tier',
    description:
      'Gives what a wallet signs to pay for a period of a tier; good for ten minutes. Nothing is owed by asking. The wallet of your account pays the plain price. Another wallet, named as `payer`, pays a little less: an amount that no other open offer has, because it alone says which offer is paid. An open offer of the same with three minutes left is answered again.',
    body: QuoteOrder,
    isReplayable: true,
    ok: {
      description: 'The offer.',
      schema: QuoteBody,
      headers: { [PAYMENT_REQUIRED_HEADER]: 'Base64 of `paymentRequired`.' },
    },
    fails: [
      'unknown_tier',
      'unknown_network',
      'unknown_token',
      'tier_not_for_sale',
      'offer_limit',
      'billing_unavailable',
      'storage_unavailable',
    ],
    answer({ request, caller, body: order }) {
      const call = {
        scope: `quote ${caller.accountId}`,
        // An offer holds no secret: the ledger has it in plain beside this answer.
        secret: caller.accountId,
        body: JSON.stringify(order),
      }
      return idempotency.answer(request, call, async () => {
        const body = await service.quote(caller, order)
        const header = toPaymentHeader(body.paymentRequired)
        return () => jsonAnswer(200, body, { ...noStore, [PAYMENT_REQUIRED_HEADER]: header })
      })
    },
  }),
]

const settleRoute = ({ service }: Deps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/billing/x402/settle',
    access: 'key',
    keepOpenSeconds: SETTLE_SECONDS_MAX,
    operationId: 'settlePayment',
    summary: 'Pay for an offer',
    description:
      'Takes a signed payment, has it settled on the chain, and gives what it pays for. The same payment may be sent as often as you like: it is never taken twice, and finds what became of it. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. Nobody is asked to pay again while a signed payment may still arrive.',
    requestHeaders: [signatureParameter],
    body: SettleBody,
    ok: [
      { description: 'Paid, and yours.', schema: ActiveBody, headers: paymentResponse },
      {
        status: 202,
        description: 'On its way. Do not pay again.',
        schema: PendingBody,
        headers: { ...retryAfter, Location: 'The same as `pollUrl`.' },
      },
    ],
    fails: [
      'payment_invalid',
      'payment_required',
      'payment_rejected',
      'unknown_offer',
      'offer_used',
      'payment_conflict',
      'payment_limit',
      'payment_in_review',
      'offer_expired',
      'allowance_required',
      'billing_unavailable',
      'screening_unavailable',
      'storage_unavailable',
    ],
    async answer({ request, caller, body: { paymentPayload: inBody, quoteId } }) {
      const inHeader = readPaymentHeader(request)
      if (inBody !== undefined && inHeader !== undefined) throw twoPaymentsError()
      const payload = inBody ?? inHeader
      if (payload !== undefined) return toAnswer(await service.settle(caller, payload))
      if (quoteId === undefined) throw noPaymentError()
      return service.demand(caller, quoteId)
    },
  })

/** What an account has paid, and for what. */
const accountRoutes = ({ service }: Deps) => [
  route({
    ...shared,
    method: 'GET',
    path: '/v1/billing/x402/payments/:id',
    access: 'key',
    operationId: 'getPayment',
    summary: 'What became of a payment',
    description: 'One of your payments. While it is on its way, come back after `Retry-After`.',
    id: paymentId,
    ok: {
      description: 'The payment.',
      schema: PaymentBody,
      headers: { ...paymentResponse, ...retryAfter },
    },
    fails: ['unknown_payment', 'billing_unavailable', 'storage_unavailable'],
    async answer({ caller, id }) {
      const settlement = await service.payment(caller, id)
      return jsonResponse(toPaymentBody(settlement), { headers: headersOf(settlement) })
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/v1/billing/payments',
    access: 'key',
    operationId: 'listPayments',
    summary: "Your account's payments",
    description: 'A receipt for each payment, newest first.',
    query: ReceiptQuery,
    ok: { description: 'A page of receipts.', schema: ReceiptList },
    fails: ['billing_unavailable'],
    answer: ({ caller, query }) => service.payments(caller, query),
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/v1/billing/subscription',
    access: 'key',
    operationId: 'getSubscription',
    summary: 'Your tier, and what you have paid ahead',
    description: 'The period that runs, and those that have yet to begin.',
    ok: { description: 'The subscription.', schema: SubscriptionBody },
    answer: ({ caller }) => service.subscription(caller),
  }),
]

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

const twoPaymentsError = () =>
  new AppError(
    'invalid_request',
    `Send the payment once: as \`paymentPayload\` in the body, or in the header \`${PAYMENT_SIGNATURE_HEADER}\`.`,
  )

const noPaymentError = () =>
  new AppError(
    'invalid_parameter',
    `There is neither a payment nor an offer. Send \`paymentPayload\` or the header \`${PAYMENT_SIGNATURE_HEADER}\`; or \`quoteId\` to learn what to sign.`,
    { param: 'paymentPayload' },
  )

function headersOf(settlement: Settlement): Record<string, string> {
  const status = statusOf(settlement)
  if (status === 'active') return settledHeaders(settlement)
  return status === 'pending' ? pendingHeaders : noStore
}
