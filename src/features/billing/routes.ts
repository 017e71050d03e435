import { Elysia } from 'elysia'

import type { Billing, Quote, Settlement } from '#src/billing/billing.ts'
import {
  type CreatedPosition,
  createdPosition,
  type CursorCodec,
  type CursorList,
} from '#src/domain/cursor.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Api } from '#src/http/api.ts'
import { continueTrace } from '#src/http/common-headers.ts'
import { type Idempotency, jsonAnswer } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { visitOf } from '#src/http/visit.ts'
import {
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
  readPaymentHeader,
  toChallengeHeader,
  toPaymentHeader,
} from '#src/http/x402.ts'

import {
  toActive,
  toChainBody,
  toPaymentBody,
  toPending,
  toPeriod,
  toPollUrl,
  toQuoteBody,
  toReceipt,
  toSettleResponse,
  toStatus,
  toTierBody,
} from './bodies.ts'
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
  TierList,
} from './schema.ts'
import {
  noStore,
  paymentResponse,
  POLL_SECONDS,
  retryAfter,
  SETTLE_SECONDS_MAX,
  signatureParameter,
} from './shared.ts'

const settleHeader = {
  ...signatureParameter,
  description: `${signatureParameter.description.slice(0, -1)}; instead of \`paymentPayload\`.`,
}

const shared = { allowance: 'billing', caching: 'no-store' } as const

const paymentList: CursorList<{ accountId: string }, CreatedPosition> = {
  name: 'payments',
  filters: ({ accountId }) => [accountId],
  position: createdPosition,
}

export const billingRoutes = (
  api: Api,
  {
    billing,
    listTiers,
    cursors,
    clock,
    idempotency,
    randomBytes,
  }: {
    billing: Billing
    listTiers: () => readonly Tier[]
    cursors: CursorCodec
    clock: Clock
    idempotency: Idempotency
    randomBytes: (length: number) => Uint8Array
  },
) =>
  new Elysia({ name: 'billing', tags: ['billing'] })
    .use(api)
    .get(
      '/v1/billing/tiers',
      () => {
        const sales = billing.sales()
        return listTiers().map((tier) => toTierBody(tier, sales))
      },
      {
        openTo: 'open',
        ...shared,
        caching: 'no-cache',
        response: { 200: TierList },
        answers: { description: 'The catalogue.' },
        detail: {
          operationId: 'listTiers',
          summary: 'The catalogue of tiers',
          description:
            'The live catalogue. What was bought stays as it was when it was bought. While purchases are paused, because payments cannot be settled, `pausedSince` of the tiers for sale says since when; a quote is then refused with `billing_unavailable`, and nothing is charged.',
        },
      },
    )
    .get('/v1/billing/x402/chains', () => billing.chains().map(toChainBody), {
      openTo: 'open',
      ...shared,
      caching: 'no-cache',
      response: { 200: ChainList },
      answers: { description: 'The chains.' },
      detail: {
        operationId: 'listChains',
        summary: 'Chains and tokens to pay with',
        description: 'Tokens that cannot be paid with right now are listed with the reason.',
      },
    })
    .post(
      '/v1/billing/x402/quote',
      ({ request, caller, body: order }) => {
        const call = {
          scope: `quote ${caller.accountId}`,
          // An offer holds no secret: the ledger has it in plain beside this answer.
          secret: caller.accountId,
          body: JSON.stringify(order),
        }
        return idempotency.remember(request, call, async () => {
          const body = toQuoteBody(await billing.quote(caller, order))
          // What a payment is paying already is not asked for in the words of x402.
          if (body.paymentInFlight) return jsonAnswer(200, body, noStore)
          const header = toChallengeHeader(body.paymentRequired)
          return jsonAnswer(200, body, { ...noStore, [PAYMENT_REQUIRED_HEADER]: header })
        })
      },
      {
        access: 'key',
        ...shared,
        body: QuoteOrder,
        isReplayable: true,
        fails: [
          'unknown_tier',
          'unknown_network',
          'unknown_token',
          'tier_not_for_sale',
          'offer_limit',
          'billing_unavailable',
          'storage_unavailable',
        ],
        response: { 200: QuoteBody },
        answers: {
          description: 'The offer.',
          headers: { [PAYMENT_REQUIRED_HEADER]: 'Base64 of `paymentRequired`.' },
        },
        detail: {
          operationId: 'createQuote',
          summary: 'Get an offer for a tier',
          description:
            'Gives what a wallet signs to pay for a period of a tier; good for ten minutes. Nothing is owed by asking. The wallet of your account pays the plain price. Another wallet, named as `payer`, pays a little less: an amount that no other open offer has, because it alone says which offer is paid. An open offer for the same tier, token and payer that is valid for at least three more minutes is returned again. While a payment of your account for the same tier and token may still arrive, and for an hour after it was made, the answer is the quote of that payment with `paymentInFlight`, unless `anotherPeriod` asks for one more period.',
        },
      },
    )
    .post(
      '/v1/billing/x402/settle',
      async ({ request, caller, body: { paymentPayload: inBody, quoteId } }) => {
        const inHeader = readPaymentHeader(request)
        if (inBody !== undefined && inHeader !== undefined) {
          throw new AppError(
            'invalid_request',
            `Send the payment once: as \`paymentPayload\` in the body, or in the header \`${PAYMENT_SIGNATURE_HEADER}\`.`,
          )
        }
        const payload = inBody ?? inHeader
        const origin = {
          trace: continueTrace(request, randomBytes),
          requestId: visitOf(request).requestId,
        }
        if (payload !== undefined) return toAnswer(await billing.settle(caller, payload, origin))
        if (quoteId !== undefined) {
          const challenge = await billing.challenge(caller, quoteId, origin)
          if (challenge.kind === 'same') return toAnswer(challenge.settlement)
          throw demandError(challenge.quote)
        }
        throw parameterError(
          'paymentPayload',
          `There is neither a payment nor an offer. Send \`paymentPayload\` or the header \`${PAYMENT_SIGNATURE_HEADER}\`; or \`quoteId\` to learn what to sign.`,
        )
      },
      {
        access: 'key',
        ...shared,
        keepOpenSeconds: SETTLE_SECONDS_MAX,
        requestHeaders: [settleHeader],
        body: SettleBody,
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
        response: { 200: ActiveBody, 202: PendingBody },
        answers: [
          { description: 'Paid, and yours.', headers: paymentResponse },
          {
            status: 202,
            description: 'On its way. Do not pay again.',
            headers: { ...retryAfter, Location: 'The same as `pollUrl`.' },
          },
        ],
        detail: {
          operationId: 'settlePayment',
          summary: 'Pay for an offer',
          description:
            'Takes a signed payment, has it settled on the chain, and gives what it pays for. The same payment may be sent as often as you like: it is never taken twice, and finds what became of it. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. While a payment of your account for the same tier and token may still arrive, and for an hour after it was made, the answer without a payment is that of the payment (200 or 202), as if it were sent again; only a quote with `anotherPeriod` is for a second one.',
        },
      },
    )
    .get(
      '/v1/billing/x402/payments/:id',
      async ({ caller, params: { id } }) => {
        const settlement = await billing.payment(caller, id)
        return jsonResponse(toPaymentBody(settlement), { headers: toHeaders(settlement) })
      },
      {
        access: 'key',
        ...shared,
        id: paymentId,
        fails: ['unknown_payment', 'billing_unavailable', 'storage_unavailable'],
        response: { 200: PaymentBody },
        answers: { description: 'The payment.', headers: { ...paymentResponse, ...retryAfter } },
        detail: {
          operationId: 'getPayment',
          summary: 'What became of a payment',
          description:
            'One of your payments. While it is on its way, come back after `Retry-After`.',
        },
      },
    )
    .get(
      '/v1/billing/payments',
      ({ caller, query: { limit, cursor } }) => {
        const { accountId } = caller
        const { after, end } = cursors.walk(paymentList, { accountId }, cursor)
        const found = billing.payments(caller, { limit: limit + 1, after })
        const page = found.slice(0, limit)
        const { nextCursor } = end({ last: page.at(-1)?.payment, hasMore: found.length > limit })
        return { data: page.map(toReceipt), nextCursor }
      },
      {
        access: 'key',
        ...shared,
        query: ReceiptQuery,
        fails: ['billing_unavailable'],
        response: { 200: ReceiptList },
        answers: { description: 'A page of receipts.' },
        detail: {
          operationId: 'listPayments',
          summary: "Your account's payments",
          description: 'A receipt for each payment, newest first.',
        },
      },
    )
    .get(
      '/v1/billing/subscription',
      ({ caller }) => {
        const { terms, subscription } = caller.standing
        const nowMs = clock()
        const upcoming = billing.subscriptions(caller).filter(({ startMs }) => startMs > nowMs)
        return {
          tier: { id: terms.tierId, name: terms.name },
          current: subscription ? toPeriod(subscription) : null,
          upcoming: upcoming.map(toPeriod),
          free: subscription === undefined,
        }
      },
      {
        access: 'key',
        ...shared,
        response: { 200: SubscriptionBody },
        answers: { description: 'The subscription.' },
        detail: {
          operationId: 'getSubscription',
          summary: 'Your tier, and what you have paid ahead',
          description: 'The period that runs, and those that have yet to begin.',
        },
      },
    )

function toAnswer(settlement: Settlement): Response {
  const headers = toHeaders(settlement)
  if (toStatus(settlement) === 'active') return jsonResponse(toActive(settlement), { headers })
  const location = { Location: toPollUrl(settlement.payment), 'Retry-After': String(POLL_SECONDS) }
  return jsonResponse(toPending(settlement), { status: 202, headers: { ...headers, ...location } })
}

function toHeaders(settlement: Settlement): Record<string, string> {
  const status = toStatus(settlement)
  if (status === 'pending') return { ...noStore, 'Retry-After': String(POLL_SECONDS) }
  if (status !== 'active') return noStore
  return { ...noStore, [PAYMENT_RESPONSE_HEADER]: toPaymentHeader(toSettleResponse(settlement)) }
}

function demandError({ offer, paymentRequired }: Quote): AppError {
  const { network } = offer.requirements
  const errorReason = 'payment_required'
  return new AppError(
    'payment_required',
    'Sign one of `paymentRequired.accepts`, and send it to this address as `paymentPayload` or in the header `PAYMENT-SIGNATURE`.',
    {
      paymentRequired: { ...paymentRequired, error: 'PAYMENT-SIGNATURE header is required' },
      paymentResponse: { success: false, errorReason, transaction: '', network },
      reason: 'payment_required',
      retryAction: 'sign_anew',
    },
  )
}
