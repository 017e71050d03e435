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
import { callOf } from '#src/http/call.ts'
import { type Idempotency, jsonAnswer } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { continueTrace } from '#src/http/promises.ts'
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
          summary: 'List tiers',
          description:
            'The current catalogue. Later changes do not affect what was bought. While purchases are paused because payments cannot be settled, the tiers for sale have `pausedSince`, and a quote is refused with `billing_unavailable`; nothing is charged.',
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
        summary: 'List chains and tokens for payments',
        description: 'Tokens that are currently unavailable are listed with the reason.',
      },
    })
    .post(
      '/v1/billing/x402/quote',
      ({ request, caller, body: order }) => {
        const call = {
          scope: `quote ${caller.accountId}`,
          // An offer holds no secret: the ledger stores its fields in plain text.
          secret: caller.accountId,
          body: JSON.stringify(order),
        }
        return idempotency.remember(request, call, async () => {
          const body = toQuoteBody(await billing.quote(caller, order))
          // A payment in flight already pays for the offer, so no x402 challenge is sent.
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
          headers: { [PAYMENT_REQUIRED_HEADER]: '`paymentRequired` in Base64.' },
        },
        detail: {
          operationId: 'createQuote',
          summary: 'Create a quote for a tier',
          description:
            'Returns what a wallet has to sign to pay for a period of a tier. A quote is valid for ten minutes and obliges to nothing. The wallet of your account pays the full price. Any other wallet, named as `payer`, pays slightly less: an amount that no other open quote has, so that it identifies the quote. If an open quote for the same tier, token and payer is valid for at least three more minutes, that quote is returned. If a payment of your account for the same tier and token is pending, or was made within the last hour, the quote of that payment is returned with `paymentInFlight`; to buy one more period, send `anotherPeriod`.',
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
            `Send the payment only once: as \`paymentPayload\` in the body, or in the header \`${PAYMENT_SIGNATURE_HEADER}\`.`,
          )
        }
        const payload = inBody ?? inHeader
        const origin = {
          trace: continueTrace(request, randomBytes),
          requestId: callOf(request).requestId,
        }
        if (payload !== undefined) return toAnswer(await billing.settle(caller, payload, origin))
        if (quoteId !== undefined) {
          const challenge = await billing.challenge(caller, quoteId, origin)
          if (challenge.kind === 'same') return toAnswer(challenge.settlement)
          throw demandError(challenge.quote)
        }
        throw parameterError(
          'paymentPayload',
          `The request has neither a payment nor a quote. Send \`paymentPayload\` or the header \`${PAYMENT_SIGNATURE_HEADER}\` to pay, or \`quoteId\` to get the challenge.`,
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
          { description: 'Paid and provisioned.', headers: paymentResponse },
          {
            status: 202,
            description: 'Pending. Do not pay again.',
            headers: { ...retryAfter, Location: 'Same value as `pollUrl`.' },
          },
        ],
        detail: {
          operationId: 'settlePayment',
          summary: 'Pay for a quote',
          description:
            'Settles a signed payment on the chain and provisions what it buys. The request is idempotent: a payment that is sent again is never charged twice, and returns its current state. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. If a payment of your account for the same tier and token is pending, or was made within the last hour, a request without a payment returns that payment (200 or 202) instead; only a quote with `anotherPeriod` starts a second payment.',
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
          summary: 'Get a payment',
          description:
            'Returns a payment of your account. While it is pending, ask again after `Retry-After`.',
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
        answers: { description: 'A page of payments.' },
        detail: {
          operationId: 'listPayments',
          summary: 'List payments',
          description: 'Payments of your account, newest first.',
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
          summary: 'Get your subscription',
          description: 'The current period and the periods that begin after it.',
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
    'Sign one entry of `paymentRequired.accepts` and send the payment to this path, as `paymentPayload` or in the header `PAYMENT-SIGNATURE`.',
    {
      paymentRequired: { ...paymentRequired, error: 'PAYMENT-SIGNATURE header is required' },
      paymentResponse: { success: false, errorReason, transaction: '', network },
      reason: 'payment_required',
      retryAction: 'sign_anew',
    },
  )
}
