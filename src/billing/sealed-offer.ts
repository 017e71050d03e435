/**
 * An offer to a caller without a key. It is not written down: what it says is in `extra` of the
 * x402 challenge, sealed, and comes back with the payment.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Offer } from '#src/domain/selling/payment.ts'

/** The member of `extra` that holds the seal. */
export const SEAL = 'offer'

export type SealedOffer = {
  /** Id of the tier or pack. */
  productId: string
  network: string
  symbol: string
  /** Atomic units, decimal digits. */
  amount: string
  /** The newest block when it was made. */
  fromBlock: number
  /** No two offers are the same. */
  secret: string
}

/** True of an offer that was made without a quote: in the challenge itself. */
export const isUnquoted = ({ requirements }: Pick<Offer, 'requirements'>): boolean =>
  requirements.extra[SEAL] !== undefined

const SEAL_BYTES = 16
const form = /^(?<body>[A-Za-z0-9_-]{1,400})\.(?<mac>[A-Za-z0-9_-]{22})$/

const computeMac = (key: Uint8Array, body: string): Uint8Array =>
  createHmac('sha256', key).update('offer').update(body).digest().subarray(0, SEAL_BYTES)

export function sealOffer(key: Uint8Array, offer: SealedOffer): string {
  const { productId, network, symbol, amount, fromBlock, secret } = offer
  const json = JSON.stringify([productId, network, symbol, amount, fromBlock, secret])
  const body = Buffer.from(json).toString('base64url')
  return `${body}.${Buffer.from(computeMac(key, body)).toString('base64url')}`
}

/** Undefined for anything that this server has not sealed. */
export function openOffer(key: Uint8Array, seal: unknown): SealedOffer | undefined {
  const { body = '', mac = '' } = (typeof seal === 'string' && form.exec(seal)?.groups) || {}
  if (body === '' || !timingSafeEqual(Buffer.from(mac, 'base64url'), computeMac(key, body))) return
  const parts: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
  // It was sealed here, so it has what `sealOffer` writes.
  const [productId, network, symbol, amount, fromBlock, secret] = parts as [
    string,
    string,
    string,
    string,
    number,
    string,
  ]
  return { productId, network, symbol, amount, fromBlock, secret }
}
