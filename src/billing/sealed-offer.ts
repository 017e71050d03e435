/**
 * The challenge for a caller without a key. The offer is not stored: its terms are sealed in
 * `extra` of the x402 challenge and returned with the payment. Extensions of x402 let payers
 * identify their payments and directories list the products.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import type { Offer } from '#src/domain/selling/payment.ts'
import { isRecord } from '#src/platform/record.ts'

/** The member of `extra` with the seal. */
export const SEAL = 'offer'

export type SealedOffer = {
  /** The id of the tier or pack. */
  productId: string
  network: string
  symbol: string
  /** Atomic units in decimal digits. */
  amount: string
  /** The newest block at the time of the offer. */
  fromBlock: number
  /** Makes every offer unique. */
  secret: string
}

/** True for an offer without a quote, sealed in the challenge itself. */
export const isUnquoted = ({ requirements }: Pick<Offer, 'requirements'>): boolean =>
  requirements.extra[SEAL] !== undefined

const SEAL_BYTES = 16
const form = /^(?<block>[0-9a-z]{1,11})\.(?<secret>[A-Za-z0-9_-]{1,64})\.(?<mac>[A-Za-z0-9_-]{22})$/

function computeMac(key: Uint8Array, offer: SealedOffer): Uint8Array {
  const { productId, network, symbol, amount, fromBlock, secret } = offer
  const json = JSON.stringify([productId, network, symbol, amount, fromBlock, secret])
  return createHmac('sha256', key).update('offer').update(json).digest().subarray(0, SEAL_BYTES)
}

/**
 * Seals an offer. The rest of the challenge is sealed too but not repeated, because headers are
 * short.
 */
export function sealOffer(key: Uint8Array, offer: SealedOffer): string {
  const mac = Buffer.from(computeMac(key, offer)).toString('base64url')
  return `${offer.fromBlock.toString(36)}.${offer.secret}.${mac}`
}

/** Opens a seal; undefined if this server has not sealed it for these terms. */
export function openOffer(
  key: Uint8Array,
  seal: unknown,
  terms: Omit<SealedOffer, 'fromBlock' | 'secret'>,
): SealedOffer | undefined {
  const { block, secret, mac } = (typeof seal === 'string' && form.exec(seal)?.groups) || {}
  if (block === undefined || secret === undefined || mac === undefined) return undefined
  const offer = { ...terms, fromBlock: Number.parseInt(block, 36), secret }
  const isOurs = timingSafeEqual(Buffer.from(mac, 'base64url'), computeMac(key, offer))
  return isOurs ? offer : undefined
}

const $schema = 'https://json-schema.org/draft/2020-12/schema'
const PAYMENT_IDENTIFIER = 'payment-identifier'
const identifierPattern = /^[A-Za-z0-9_-]{16,128}$/

const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema,
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
    },
    required: ['required'],
  },
}

/** The description of a request for directories; no request of ours needs a body. */
function toDiscovery(method: 'GET' | 'POST') {
  const info = { type: 'http', method }
  const body = method === 'GET' ? {} : { bodyType: 'json', body: {} }
  const names = Object.keys({ ...info, ...body })
  const properties = {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: [method] },
    ...(method === 'GET'
      ? {}
      : { bodyType: { type: 'string', enum: ['json'] }, body: { type: 'object' } }),
  }
  const input = { type: 'object', properties, required: names, additionalProperties: false }
  return {
    info: { input: { ...info, ...body }, output: { type: 'json' } },
    schema: { $schema, type: 'object', properties: { input }, required: ['input'] },
  }
}

export const toExtensions = (method: 'GET' | 'POST') => ({
  [PAYMENT_IDENTIFIER]: paymentIdentifier,
  bazaar: toDiscovery(method),
})

/** The payer's own identifier of a payment. Throws `payment_invalid`. */
export function findIdentifier(payload: unknown): string | undefined {
  const extensions = isRecord(payload) ? payload.extensions : undefined
  const extension = isRecord(extensions) ? extensions[PAYMENT_IDENTIFIER] : undefined
  const info = isRecord(extension) ? extension.info : undefined
  const id = isRecord(info) ? info.id : undefined
  if (id === undefined) return undefined
  if (typeof id === 'string' && identifierPattern.test(id)) return id
  throw new AppError(
    'payment_invalid',
    'The id of `payment-identifier` must be 16 to 128 letters, digits, hyphens and underscores.',
    { param: 'PAYMENT-SIGNATURE', ...unsoundPayment },
  )
}
