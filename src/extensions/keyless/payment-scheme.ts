/**
 * The scheme `Payment` of HTTP authentication (draft-httpauth-payment-01; method `evm`, intent
 * `charge`), beside x402: its clients sign the same EIP-3009 transfer and send it in
 * `Authorization`. The id of its challenge is the seal of the offer.
 */

import type { PaymentRequired } from '#src/billing/billing.ts'
import { SEAL } from '#src/billing/sealed-offer.ts'
import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { findPaidChain } from '#src/domain/selling/payment-chain.ts'
import { toIso } from '#src/domain/time.ts'
import { measureJson, NESTING_MAX } from '#src/http/json.ts'
import { PAYMENT_BYTES_MAX, PAYMENT_SIGNATURE_HEADER, toPaymentHeader } from '#src/http/x402.ts'
import { isRecord } from '#src/platform/record.ts'

const SCHEME = 'Payment '
const AUTHORIZATION = 'authorization'

const toBase64Url = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

/** `WWW-Authenticate` for the first offer that a client of the scheme can sign. */
export function toPaymentChallenge(
  { accepts }: Pick<PaymentRequired, 'accepts'>,
  { origin, nowMs }: { origin: string; nowMs: number },
): string | undefined {
  for (const { network, asset, amount, payTo, maxTimeoutSeconds, extra } of accepts) {
    const chain = findPaidChain(network)
    const token = chain?.tokens.find(({ address }) => address === asset)
    const seal = extra[SEAL]
    if (chain === undefined || token?.method !== 'eip3009' || seal === undefined) continue
    const { chainId } = chain
    // Members in the order of their names, as RFC 8785 requires.
    const request = toBase64Url({
      amount,
      currency: asset,
      methodDetails: { chainId, credentialTypes: ['authorization'], decimals: token.decimals },
      recipient: payTo,
    })
    const expires = toIso(nowMs + maxTimeoutSeconds * 1000)
    return `${SCHEME}id="${seal}", realm="${new URL(origin).host}", method="evm", intent="charge", request="${request}", expires="${expires}"`
  }
  return undefined
}

/** Converts a payment of this scheme to one of x402. Throws `payment_invalid`. */
export function adoptCredential({ headers }: Request): void {
  const sent = headers.get(AUTHORIZATION)
  if (sent === null || !startsWithScheme(sent)) return
  const payment = toPayload(sent.slice(SCHEME.length).trim())
  headers.delete(AUTHORIZATION)
  headers.set(PAYMENT_SIGNATURE_HEADER, toPaymentHeader(payment))
}

const startsWithScheme = (sent: string): boolean =>
  sent.slice(0, SCHEME.length).toLowerCase() === SCHEME.toLowerCase()

function toPayload(credential: string): object {
  const { challenge, payload } = toMembers(fromBase64Url(credential))
  const { id, request, method, intent } = toMembers(challenge)
  if (method !== 'evm' || intent !== 'charge') throw credentialError()
  const { amount, currency, recipient, methodDetails } = toMembers(fromBase64Url(request))
  const { chainId } = toMembers(methodDetails)
  const { type, signature, ...authorization } = toMembers(payload)
  if (type !== 'authorization') throw credentialError()
  const network = `eip155:${String(chainId)}`
  const extra = { [SEAL]: id }
  return {
    x402Version: 2,
    accepted: { scheme: 'exact', network, asset: currency, amount, payTo: recipient, extra },
    payload: { signature, authorization },
  }
}

function fromBase64Url(text: unknown): unknown {
  if (typeof text !== 'string' || text.length > PAYMENT_BYTES_MAX) throw credentialError()
  try {
    const json = Buffer.from(text, 'base64url').toString()
    if (measureJson(json).depth <= NESTING_MAX) return JSON.parse(json)
  } catch {
    // The text is not JSON.
  }
  throw credentialError()
}

function toMembers(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return { ...value }
  throw credentialError()
}

const credentialError = () =>
  new AppError(
    'payment_invalid',
    'The credential in `Authorization: Payment` does not have method `evm`, intent `charge` and type `authorization`. Nothing was sent to the chain. Sign the challenge in `WWW-Authenticate`, or one of `paymentRequired.accepts`.',
    { param: 'Authorization', ...unsoundPayment },
  )
