/** What the routes that take payments have in common. */
import {
  PAYMENT_BYTES_MAX,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
} from '#src/http/x402.ts'

export const noStore = { 'Cache-Control': 'no-store' }
/** Six a minute: within the allowance of the Free tier, which most buyers have. */
export const POLL_SECONDS = 10
/** A payment may take longer than a connection may be silent otherwise: the chain has the time. */
export const SETTLE_SECONDS_MAX = 120

export const retryAfter = { 'Retry-After': 'Seconds to wait before asking again.' }
export const paymentResponse = {
  [PAYMENT_RESPONSE_HEADER]: 'Base64 of the SettleResponse of x402 v2.',
}
export const signatureParameter = {
  name: PAYMENT_SIGNATURE_HEADER,
  in: 'header' as const,
  required: false,
  description: `Base64 of the payment payload of x402 v2 as JSON, at most ${PAYMENT_BYTES_MAX} bytes.`,
  schema: { type: 'string', maxLength: PAYMENT_BYTES_MAX },
}
