/**
 * Reads what a wallet signed, strictly, from an x402 v2 payload of scheme `exact`. Only what is
 * signed counts: of `accepted`, which is not, the network and the token are taken, and both must be
 * in the registry. What is handed to the facilitator is written anew from what was read here.
 */
import { createHash } from 'node:crypto'

import type { Offer } from '#src/selling/offer.ts'
import { findChain, type PaymentChain, type PaymentToken } from '#src/selling/payment-chain.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import {
  hasMember,
  type Members,
  readAddress,
  readBytes32,
  readMembers,
  readSignature,
  readText,
  readUint256,
  refuseOthers,
  refusePayload,
  toMembers,
} from './payload-fields.ts'

export const PAYLOAD_BYTES_MAX = 16 * 1024

export type ParsedPayment = {
  signed: Omit<SignedPayment, 'payload' | 'payloadHash'>
  token: PaymentToken
  /** The signed members with the signature, in one canonical form. */
  body: Readonly<Record<string, unknown>>
}

type Place = { chain: PaymentChain; token: PaymentToken; payload: Members }

/** Throws `payment_invalid`; never repeats what was sent. */
export function parsePayment(input: unknown): ParsedPayment {
  assertSize(input)
  const payment = toMembers(input, 'paymentPayload')
  if (payment.values.x402Version !== 2) {
    throw refusePayload('paymentPayload.x402Version must be 2: this server speaks x402 v2 alone.')
  }
  const accepted = readMembers(payment, 'accepted')
  readText(accepted, 'scheme', { form: /^exact$/, is: '"exact"' })
  const chain = findChain(
    readText(accepted, 'network', { form: /^eip155:\d{1,12}$/, is: networks }),
  )
  if (!chain) throw refusePayload(`paymentPayload.accepted.network must be ${networks}.`)
  const token = findToken(chain, readAddress(accepted, 'asset'))
  const payload = readMembers(payment, 'payload')
  const isPermit2 = hasMember(payload, 'permit2Authorization')
  if (isPermit2 !== (token.method === 'permit2')) throw refuseMethod(token)
  const place = { chain, token, payload }
  return isPermit2 ? readPermit2(place) : readEip3009(place)
}

/** Writes the payment for its offer: the bytes that are kept and handed over, the same at every call. */
export function sealPayment({ signed, body }: ParsedPayment, offer: Offer): SignedPayment {
  const payload = JSON.stringify({ x402Version: 2, accepted: offer.requirements, payload: body })
  const payloadHash = createHash('sha256').update(payload).digest('hex')
  return { ...signed, payload, payloadHash }
}

/** The signature in a payload of our own writing. */
export function signatureOf({ payload }: SignedPayment): string {
  const { payload: body } = JSON.parse(payload) as { payload: { signature: string } }
  return body.signature
}

const networks = 'a network of GET /v1/billing/x402/chains'

/** Bodies and headers are JSON already, so that printing them again cannot fail. */
function assertSize(input: unknown): void {
  const text = JSON.stringify(input) as string | undefined
  if (text !== undefined && Buffer.byteLength(text) <= PAYLOAD_BYTES_MAX) return
  throw refusePayload(`paymentPayload must be JSON of at most ${PAYLOAD_BYTES_MAX} bytes.`)
}

function findToken(chain: PaymentChain, asset: string): PaymentToken {
  const token = chain.tokens.find(({ address }) => address.toLowerCase() === asset)
  if (token) return token
  throw refusePayload(
    `paymentPayload.accepted.asset must be a token of ${chain.name} that is sold for.`,
  )
}

const refuseMethod = ({ symbol, method }: PaymentToken) =>
  refusePayload(
    method === 'permit2'
      ? `paymentPayload.payload must have permit2Authorization: ${symbol} is paid through Permit2.`
      : `paymentPayload.payload must have authorization and no permit2Authorization: ${symbol} is paid by EIP-3009.`,
  )

function readEip3009({ chain, token, payload }: Place): ParsedPayment {
  refuseOthers(payload, ['signature', 'authorization'])
  const it = readMembers(payload, 'authorization')
  refuseOthers(it, ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'])
  const signed = {
    network: chain.network,
    method: token.method,
    asset: token.address.toLowerCase(),
    payer: readAddress(it, 'from'),
    payTo: readAddress(it, 'to'),
    amount: readUint256(it, 'value'),
    validAfter: readUint256(it, 'validAfter'),
    validBefore: readUint256(it, 'validBefore'),
    nonce: readBytes32(it, 'nonce'),
    nonceContract: token.address.toLowerCase(),
  }
  const authorization = {
    from: signed.payer,
    to: signed.payTo,
    value: String(signed.amount),
    validAfter: String(signed.validAfter),
    validBefore: String(signed.validBefore),
    nonce: signed.nonce,
  }
  const signature = readSignature(payload, 'signature')
  return { signed, token, body: { signature, authorization } }
}

function readPermit2({ chain, token, payload }: Place): ParsedPayment {
  refuseOthers(payload, ['signature', 'permit2Authorization'])
  const it = readMembers(payload, 'permit2Authorization')
  refuseOthers(it, ['from', 'permitted', 'spender', 'nonce', 'deadline', 'witness'])
  const permitted = readMembers(it, 'permitted')
  refuseOthers(permitted, ['token', 'amount'])
  const witness = readMembers(it, 'witness')
  refuseOthers(witness, ['to', 'validAfter'])
  assertPermitOf(it, permitted, { chain, token })
  const signed = {
    network: chain.network,
    method: token.method,
    asset: token.address.toLowerCase(),
    payer: readAddress(it, 'from'),
    payTo: readAddress(witness, 'to'),
    amount: readUint256(permitted, 'amount'),
    validAfter: readUint256(witness, 'validAfter'),
    validBefore: readUint256(it, 'deadline'),
    nonce: String(readUint256(it, 'nonce')),
    nonceContract: chain.permit2.toLowerCase(),
  }
  const permit2Authorization = {
    from: signed.payer,
    permitted: { token: signed.asset, amount: String(signed.amount) },
    spender: chain.permit2Proxy.toLowerCase(),
    nonce: signed.nonce,
    deadline: String(signed.validBefore),
    witness: { to: signed.payTo, validAfter: String(signed.validAfter) },
  }
  const signature = readSignature(payload, 'signature')
  return { signed, token, body: { signature, permit2Authorization } }
}

/** Who may spend, and what: another spender or token would be another payment altogether. */
function assertPermitOf(
  permit: Members,
  permitted: Members,
  { chain, token }: Pick<Place, 'chain' | 'token'>,
): void {
  if (readAddress(permitted, 'token') !== token.address.toLowerCase()) {
    throw refusePayload(`${permitted.name}.token must be paymentPayload.accepted.asset.`)
  }
  if (readAddress(permit, 'spender') !== chain.permit2Proxy.toLowerCase()) {
    throw refusePayload(`${permit.name}.spender must be ${chain.permit2Proxy}, the proxy of x402.`)
  }
}
