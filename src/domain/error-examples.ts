import { type ErrorCode, type ErrorExtras, unsoundPayment } from './errors.ts'
import { coins } from './market.ts'

type ErrorExamples = Partial<Record<ErrorCode, string | ({ detail: string } & ErrorExtras)>>

const exampleFailure = (errorReason: string) =>
  ({ success: false, errorReason, transaction: '', network: 'eip155:137' }) as const

/** The payment requirements that every payment example uses. */
export const exampleOffer = {
  scheme: 'exact',
  network: 'eip155:137',
  asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  amount: '48999863',
  payTo: '0x1111111111111111111111111111111111111111',
  maxTimeoutSeconds: 600,
  extra: { name: 'USD Coin', version: '2', paymentFlow: 'upfront' },
}

const examplePaymentRequired = {
  x402Version: 2,
  error: 'Payment required',
  resource: {
    url: 'https://api.example.com/v1/billing/x402/settle',
    description: 'Pro for 30 days',
    mimeType: 'application/json',
    serviceName: 'Bookfeed',
  },
  accepts: [exampleOffer],
}

/** The example shown in the documentation; a code that is not listed is shown with its title. */
export const errorExamples: ErrorExamples = {
  payment_invalid: {
    detail: 'The payment is not one of x402 v2: `payload.authorization.nonce` is missing.',
    param: 'paymentPayload',
    ...unsoundPayment,
  },
  payment_required: {
    detail:
      'Sign one of `paymentRequired.accepts`, and send it to this address as `paymentPayload`.',
    paymentRequired: examplePaymentRequired,
    paymentResponse: exampleFailure('payment_required'),
    reason: 'payment_required',
    retryAction: 'sign_anew',
  },
  payment_rejected: {
    detail: 'The payment expired before it was made. No money moved, and none can move any more.',
    reason: 'expired',
    retryAction: 'sign_anew',
    paymentRequired: examplePaymentRequired,
    paymentResponse: exampleFailure('invalid_exact_evm_payload_authorization_valid_before'),
  },
  unknown_file: {
    detail: 'The file does not exist. GET /v1/btc/files lists the files.',
    param: 'id',
  },
  link_invalid: {
    detail:
      'The link expired at 2026-04-14T09:00:00.000Z. GET /v1/btc/files?links=1h creates new links.',
    param: 'link',
  },
  file_replaced: {
    detail: 'Revision 2 of the day replaced this file. `replacedBy` is a link to it.',
    param: 'id',
    replacedBy:
      'https://api.example.com/v1/btc/links/bf_link_AWneI-BrZXlf/btc-5m-2026-04-14-quotes-decimal-r2.parquet',
  },
  range_not_satisfiable: {
    detail: 'The file has 407,548 bytes, and the range begins after its end.',
    param: 'Range',
  },
  unknown_tier: {
    detail: 'There is no tier "gold". GET /v1/billing/tiers lists the tiers.',
    param: 'tierId',
  },
  unknown_network: {
    detail:
      'There is no chain "eip155:1" here. GET /v1/billing/x402/chains lists what is accepted.',
    param: 'network',
  },
  unknown_token: {
    detail: 'Polygon has no token "DAI" here. GET /v1/billing/x402/chains lists what is accepted.',
    param: 'token',
  },
  unknown_offer: {
    detail: 'You have no such offer. POST /v1/billing/x402/quote makes one.',
    param: 'quoteId',
  },
  unknown_payment: {
    detail: 'You have no such payment. GET /v1/billing/payments lists your payments.',
    param: 'id',
  },
  tier_not_for_sale: {
    detail: 'The Enterprise tier is not sold here. Ask the operator of this server.',
    param: 'tierId',
  },
  offer_limit: {
    detail: 'An account may have 20 unpaid offers of the last half hour. Pay one of them, or wait.',
    retryAction: 'wait_and_retry',
  },
  payment_limit: {
    detail: '5 payments for this offer have failed. This one was not sent.',
    retryAction: 'sign_anew',
  },
  offer_used: {
    detail: 'Another payment for this offer is on its way. Do not pay again.',
    retryAction: 'abandon',
  },
  payment_conflict: {
    detail: 'This payment belongs to another offer or account.',
    retryAction: 'abandon',
  },
  payment_in_review: {
    detail: 'The operator is reviewing this payment. Do not pay again.',
    retryAction: 'ask_operator',
  },
  offer_expired: {
    detail: 'The offer has expired, and nothing was paid. Request a new one, and sign that.',
    retryAction: 'sign_anew',
  },
  allowance_required: {
    detail: 'Approve Permit2 to move the token, then send the same payment again.',
    retryAction: 'approve_then_retry',
  },
  billing_unavailable: {
    detail:
      'USDC cannot be paid with at the moment: the chain cannot be read. Nothing was charged. Try again in a few minutes.',
    retryAction: 'wait_and_retry',
  },
  invalid_parameter: {
    detail: '`limit` is "5000", but must be an integer from 1 to 1000 in plain decimal digits.',
    param: 'limit',
  },
  cursor_invalid: {
    detail:
      'The cursor was not issued by this server. Send `nextCursor` or `X-Resume-Cursor` unchanged.',
    param: 'cursor',
  },
  cursor_mismatch: {
    detail: 'The cursor belongs to another market or other filters. Only `limit` may change.',
    param: 'cursor',
  },
  invalid_request: 'The path has a malformed percent-encoding.',
  unknown_coin: {
    detail: `There is no coin "nocoin". Coins are ${coins.join(', ')}.`,
    param: 'coin',
  },
  unknown_market: {
    detail: 'There is no btc market of this conditionId. GET /v1/btc/markets lists the markets.',
    param: 'conditionId',
  },
  damaged:
    'Market 0x0b56… is damaged on the disk of this server, and not served. All other markets are served as before.',
  no_snapshot: {
    detail:
      'No snapshot of this market is recorded by 2026-04-14T07:00:00.000Z. The first is from 2026-04-14T07:56:50.120Z.',
    param: 'ts',
  },
  stale: {
    detail:
      'The last snapshot of this market by 2026-04-14T08:00:20.000Z is 9328 ms old, and `maxAgeMs` is 5000.',
    param: 'maxAgeMs',
  },
  unauthenticated: 'This needs a valid API key: send `Authorization: Bearer bf_live_…`.',
  tier_coin: {
    detail: 'The Starter tier includes btc, eth, not sol. These do: Pro, Enterprise.',
    requiredTier: 'pro',
  },
  tier_route: {
    detail: 'The Free tier does not include snapshots. These do: Starter, Pro, Enterprise.',
    requiredTier: 'starter',
  },
  challenge_invalid: {
    detail:
      'The message is for "elsewhere.example", but this server is api.example.com. Sign the message of POST /v1/keys/challenge exactly as it is.',
    param: 'message',
  },
  signature_invalid: {
    detail: 'The signature does not match this message and the account that it names.',
    param: 'signature',
  },
  challenge_used:
    'This message has already been used to sign in. Request a new one, and sign that.',
  challenge_expired: 'The message has expired. Request a new one, and sign that.',
  key_limit: 'The account has 10 valid keys, and may have no more. Revoke one.',
  unknown_key: {
    detail: 'You have no valid key key_1. GET /v1/keys lists your keys.',
    param: 'id',
  },
  unsupported_media_type:
    'Send the body as JSON, with the header `Content-Type: application/json`.',
  idempotency_mismatch: {
    detail: 'This `Idempotency-Key` was used for another request. Choose a new one.',
    param: 'Idempotency-Key',
  },
  signup_closed: 'Addresses cannot be screened, because this server has no list.',
  screening_unavailable: {
    detail: 'The address could not be screened. Try again.',
    retryAfterSeconds: 60,
  },
  rate_limited: {
    detail: 'The allowance of 60 requests a minute is used up. Wait 23 s.',
    retryAfterSeconds: 23,
  },
  too_many_streams: {
    detail:
      '4 streams of this account are running, which is what the Pro tier includes. Wait for one to end.',
    retryAfterSeconds: 5,
  },
  sanctioned: 'The address of this account is on a sanctions list.',
  internal: 'The server failed. Report the requestId; a retry may help.',
  storage_unavailable: {
    detail: 'No room is left on the disk. Free some space and try again.',
    retryAfterSeconds: 30,
  },
  unavailable: { detail: 'Not ready: accepting.', retryAfterSeconds: 5 },
}
