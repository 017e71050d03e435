/** What the OpenAPI document says of `/v1/billing`. */
import { accessCodes } from '#src/http/access.ts'
import { bodyCodes, openApiBody } from '#src/http/body.ts'
import { idempotencyParameter, REPLAYED_HEADER } from '#src/http/idempotency.ts'
import {
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import {
  PAYMENT_BYTES_MAX,
  PAYMENT_REQUIRED_HEADER,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
} from '#src/http/x402.ts'

import {
  ActiveBody,
  ChainList,
  PaymentBody,
  PaymentPath,
  PendingBody,
  QuoteBody,
  QuoteWish,
  ReceiptList,
  ReceiptQuery,
  SettleBody,
  SubscriptionBody,
} from './model.ts'

const tags = ['billing']
const noStoreHeader = { 'Cache-Control': textHeader('`no-store`.') }
const retryAfter = textHeader('Seconds to wait before asking again.')
const paymentResponse = {
  [PAYMENT_RESPONSE_HEADER]: textHeader('Base64 of the SettleResponse of x402 v2.'),
}

export const chainsDetail = {
  tags,
  operationId: 'listChains',
  summary: 'Chains and tokens to pay with',
  description: 'What cannot be paid with just now is listed with the reason.',
  responses: {
    200: jsonContent('The chains.', ChainList, { 'Cache-Control': textHeader('`no-cache`.') }),
    ...problemResponses(['invalid_parameter', ...accessCodes('open'), 'internal']),
  },
}

export const quoteDetail = {
  tags,
  operationId: 'createQuote',
  summary: 'Get an offer for a tier',
  description:
    'Gives what a wallet signs to pay for a period of a tier; good for ten minutes. Nothing is owed by asking. The wallet of your account pays the plain price. Another wallet, named as `payer`, pays a little less: an amount that no other open offer has, because it alone says which offer is paid. An open offer of the same with three minutes left is answered again.',
  parameters: [idempotencyParameter],
  requestBody: openApiBody(QuoteWish),
  responses: {
    200: jsonContent('The offer.', QuoteBody, {
      ...noStoreHeader,
      [PAYMENT_REQUIRED_HEADER]: textHeader('Base64 of `paymentRequired`.'),
      [REPLAYED_HEADER]: textHeader('`true` on an answer that was given before; else absent.'),
    }),
    ...problemResponses([
      ...bodyCodes,
      'unknown_tier',
      'unknown_network',
      'unknown_token',
      'tier_not_for_sale',
      'offer_limit',
      'idempotency_mismatch',
      ...accessCodes('key'),
      'internal',
      'billing_unavailable',
      'storage_unavailable',
    ]),
  },
}

const signatureParameter = {
  name: PAYMENT_SIGNATURE_HEADER,
  in: 'header' as const,
  required: false,
  description: `Base64 of the payment payload of x402 v2 as JSON, at most ${PAYMENT_BYTES_MAX} bytes; instead of \`paymentPayload\`.`,
  schema: { type: 'string' as const, maxLength: PAYMENT_BYTES_MAX },
}

export const settleDetail = {
  tags,
  operationId: 'settlePayment',
  summary: 'Pay for an offer',
  description:
    'Takes a signed payment, has it settled on the chain, and gives what it pays for. The same payment may be sent as often as you like: it is never taken twice, and finds what became of it. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. Nobody is asked to pay anew while a signed payment may still arrive.',
  parameters: [signatureParameter],
  requestBody: openApiBody(SettleBody),
  responses: {
    200: jsonContent('Paid, and yours.', ActiveBody, { ...noStoreHeader, ...paymentResponse }),
    202: jsonContent('On its way. Do not pay again.', PendingBody, {
      ...noStoreHeader,
      'Retry-After': retryAfter,
      Location: textHeader('The same as `pollUrl`.'),
    }),
    ...problemResponses([
      ...bodyCodes,
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
      ...accessCodes('key'),
      'internal',
      'billing_unavailable',
      'screening_unavailable',
      'storage_unavailable',
    ]),
  },
}

export const paymentDetail = {
  tags,
  operationId: 'getPayment',
  summary: 'What became of a payment',
  description: 'One of your payments. While it is on its way, come back after `Retry-After`.',
  parameters: openApiParameters(PaymentPath, 'path'),
  responses: {
    200: jsonContent('The payment.', PaymentBody, {
      ...noStoreHeader,
      ...paymentResponse,
      'Retry-After': retryAfter,
    }),
    ...problemResponses([
      'invalid_parameter',
      'invalid_request',
      'unknown_payment',
      ...accessCodes('key'),
      'internal',
      'billing_unavailable',
      'storage_unavailable',
    ]),
  },
}

export const paymentsDetail = {
  tags,
  operationId: 'listPayments',
  summary: "Your account's payments",
  description: 'A receipt for each payment, newest first.',
  parameters: openApiParameters(ReceiptQuery),
  responses: {
    200: jsonContent('A page of receipts.', ReceiptList, noStoreHeader),
    ...problemResponses([
      'invalid_parameter',
      'cursor_invalid',
      'cursor_mismatch',
      ...accessCodes('key'),
      'internal',
      'billing_unavailable',
    ]),
  },
}

export const subscriptionDetail = {
  tags,
  operationId: 'getSubscription',
  summary: 'Your tier, and what you have paid ahead',
  description: 'The period that runs, and those that have yet to begin.',
  responses: {
    200: jsonContent('The subscription.', SubscriptionBody, noStoreHeader),
    ...problemResponses(['invalid_parameter', ...accessCodes('key'), 'internal']),
  },
}
