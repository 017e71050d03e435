/**
 * Parses an x402 v2 payload of scheme `exact`. Only network and token are read from `accepted`,
 * which is not signed. Errors never repeat the input: it may be a signature.
 */

import { createHash } from 'node:crypto'

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { isRecord } from '#src/platform/record.ts'

import { findPaidChain, type PaymentChain, type PaymentToken } from './payment-chain.ts'
import type { Offer, SignedPayment } from './payment.ts'

const PAYLOAD_BYTES_MAX = 16 * 1024
const SIGNATURE_BYTES_MAX = 4096

type ParsedPayment = {
  signed: Omit<SignedPayment, 'payload' | 'payloadHash'>
  token: PaymentToken
  /** The signed members with the signature, in canonical form. */
  body: Readonly<{ signature: string }>
}

/** The error for a payload that cannot be parsed: the same payload will never be accepted. */
const payloadError = (message: string): AppError =>
  new AppError('payment_invalid', message, { param: 'paymentPayload', ...unsoundPayment })

/** A text in canonical form; `is` describes the form in error messages. */
type Form = { form: RegExp; is: string; max?: bigint }
/**
 * All members that an object may have. Others are refused, because they could change the meaning of
 * the signature.
 */
type Shape = { readonly [key: string]: Form | Shape }
type Read<S> = { [K in keyof S]: S[K] extends Form ? string : Read<S[K]> }

const address: Form = { form: /^0x[0-9a-fA-F]{40}$/, is: '0x and 40 hex digits' }
const bytes32: Form = { form: /^0x[0-9a-fA-F]{64}$/, is: '0x and 64 hex digits' }
const uint256: Form = {
  form: /^(0|[1-9][0-9]{0,77})$/,
  is: 'an integer from 0 to 2^256 - 1 as a string of decimal digits without leading zeros',
  max: 2n ** 256n - 1n,
}
/** 65 bytes for a plain account; contract wallets have forms of their own. */
const signature: Form = {
  form: new RegExp(`^0x([0-9a-fA-F]{2}){1,${SIGNATURE_BYTES_MAX}}$`),
  is: `0x and the hex digits of 1 to ${SIGNATURE_BYTES_MAX} bytes`,
}

// A repeated payment is recognised by the hash of its stored payload, which has this order of
// members.
const eip3009 = {
  signature,
  authorization: {
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
  },
}
const permit2 = {
  signature,
  permit2Authorization: {
    from: address,
    permitted: { token: address, amount: uint256 },
    spender: address,
    nonce: uint256,
    deadline: uint256,
    witness: { to: address, validAfter: uint256 },
  },
}

const network: Form = { form: /^eip155:\d{1,12}$/, is: 'a network of GET /v1/billing/x402/chains' }
const ROOT = 'paymentPayload'

type Members = Readonly<Record<string, unknown>>

/** Parses a payment on any known chain, even one that is not sold on. Throws `payment_invalid`. */
export function parsePayment(input: unknown): ParsedPayment {
  // Bodies and headers are already JSON, so printing them again cannot fail.
  const text = JSON.stringify(input) as string | undefined
  if (text === undefined || Buffer.byteLength(text) > PAYLOAD_BYTES_MAX) {
    throw payloadError(`${ROOT} must be JSON of at most ${PAYLOAD_BYTES_MAX} bytes.`)
  }
  const payment = toMembers(input, ROOT)
  if (payment.x402Version !== 2) {
    throw payloadError(`${ROOT}.x402Version must be 2: this server supports only x402 v2.`)
  }
  const accepted = toMembers(own(payment, 'accepted'), `${ROOT}.accepted`)
  const readAccepted = (key: string, form: Form) =>
    readText(own(accepted, key), `${ROOT}.accepted.${key}`, form)
  readAccepted('scheme', { form: /^exact$/, is: '"exact"' })
  const chain = findPaidChain(readAccepted('network', network))
  if (!chain) throw networkError()
  const asset = readAccepted('asset', address)
  const token = chain.tokens.find((each) => each.address.toLowerCase() === asset)
  if (!token) {
    throw payloadError(
      `${ROOT}.accepted.asset must be a token of ${chain.name} that payments are accepted in.`,
    )
  }
  const payload = toMembers(own(payment, 'payload'), `${ROOT}.payload`)
  const { symbol, method } = token
  const isPermit2 = method === 'permit2'
  if (Object.hasOwn(payload, 'permit2Authorization') !== isPermit2) {
    throw payloadError(
      isPermit2
        ? `${ROOT}.payload must have permit2Authorization: ${symbol} is paid through Permit2.`
        : `${ROOT}.payload must have authorization and no permit2Authorization: ${symbol} is paid by EIP-3009.`,
    )
  }
  const { body, nonceContract, authorized } = isPermit2
    ? readPermit2(payload, asset, chain)
    : readEip3009(payload, asset)
  const { from, to, value, validAfter, validBefore, nonce } = authorized
  const signed = {
    network: chain.network,
    method,
    asset,
    payer: from,
    payTo: to,
    nonce,
    nonceContract,
    amount: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
  }
  return { signed, token, body }
}

export const networkError = () => payloadError(`${ROOT}.accepted.network must be ${network.is}.`)

/** Writes a payment for its offer: the bytes that are stored and sent, identical for every call. */
export function sealPayment({ signed, body }: ParsedPayment, offer: Offer): SignedPayment {
  const payload = JSON.stringify({ x402Version: 2, accepted: offer.requirements, payload: body })
  const payloadHash = createHash('sha256').update(payload).digest('hex')
  return { ...signed, payload, payloadHash }
}

export function signatureOf({ payload }: SignedPayment): string {
  const { payload: body } = JSON.parse(payload) as { payload: { signature: string } }
  return body.signature
}

function readEip3009(payload: Members, asset: string) {
  const body = readShape(payload, `${ROOT}.payload`, eip3009)
  return { body, authorized: body.authorization, nonceContract: asset }
}

function readPermit2(payload: Members, asset: string, chain: PaymentChain) {
  const body = readShape(payload, `${ROOT}.payload`, permit2)
  const { from, permitted, spender, nonce, deadline, witness } = body.permit2Authorization
  const path = `${ROOT}.payload.permit2Authorization`
  // Another spender or token would be another payment.
  if (permitted.token !== asset) {
    throw payloadError(`${path}.permitted.token must be ${ROOT}.accepted.asset.`)
  }
  if (spender !== chain.permit2Proxy.toLowerCase()) {
    throw payloadError(`${path}.spender must be ${chain.permit2Proxy}, the proxy of x402.`)
  }
  const { to, validAfter } = witness
  const authorized = { from, to, value: permitted.amount, validAfter, validBefore: deadline, nonce }
  return { body, authorized, nonceContract: chain.permit2.toLowerCase() }
}

/** Reads exactly the members of a shape, in its order. */
function readShape<S extends Shape>(value: unknown, path: string, shape: S): Read<S> {
  const members = toMembers(value, path)
  const known = Object.keys(shape)
  if (!Object.keys(members).every((key) => known.includes(key))) {
    throw payloadError(`${path} may only have the members ${known.join(', ')}.`)
  }
  const read = Object.entries(shape).map(([key, of]) => {
    const member = own(members, key)
    const at = `${path}.${key}`
    return [key, isForm(of) ? readText(member, at, of) : readShape(member, at, of)] as const
  })
  // Every member was read as the shape defines it.
  return Object.fromEntries(read) as Read<S>
}

const isForm = (of: Form | Shape): of is Form => of.form instanceof RegExp

/** Hex becomes lower case; a number has only one form. */
function readText(value: unknown, path: string, { form, is, max }: Form): string {
  const isRight = typeof value === 'string' && form.test(value)
  if (!isRight || (max !== undefined && BigInt(value) > max)) {
    throw payloadError(`${path} must be ${is}.`)
  }
  return value.toLowerCase()
}

function toMembers(value: unknown, path: string): Members {
  if (isRecord(value)) return value
  throw payloadError(`${path} must be an object.`)
}

const own = (members: Members, key: string): unknown =>
  Object.hasOwn(members, key) ? members[key] : undefined
