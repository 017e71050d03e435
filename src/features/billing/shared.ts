/** Headers and limits shared by the routes that take payments. */
import {
  PAYMENT_BYTES_MAX,
  PAYMENT_RESPONSE_HEADER,
  PAYMENT_SIGNATURE_HEADER,
} from '#src/http/x402.ts'

export const noStore = { 'Cache-Control': 'no-store' }
/** Six requests a minute, within the Free tier's limit, which most buyers have. */
export const POLL_SECONDS = 10
/** Settlement waits for the chain, so it may exceed the usual timeout of a silent connection. */
export const SETTLE_SECONDS_MAX = 120

export const retryAfter = { 'Retry-After': 'Seconds to wait before the next request.' }
export const paymentResponse = {
  [PAYMENT_RESPONSE_HEADER]: 'The SettleResponse of x402 v2 as JSON in Base64.',
}
export const signatureParameter = {
  name: PAYMENT_SIGNATURE_HEADER,
  in: 'header' as const,
  required: false,
  description: `Payment payload of x402 v2 as JSON in Base64, at most ${PAYMENT_BYTES_MAX} bytes.`,
  schema: { type: 'string', maxLength: PAYMENT_BYTES_MAX },
}
