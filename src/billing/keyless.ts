/**
 * Selling without a key. The offer is in the x402 challenge itself (`sealed-offer.ts`), is at the
 * plain price, and is written down with its payment: the payer's account has what it buys.
 */

import { createHash } from 'node:crypto'

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { blockedError } from '#src/domain/selling/caller.ts'
import { parsePayment, sealPayment } from '#src/domain/selling/payload.ts'
import type { Network, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import { OFFER_LIFE_MS, type Payment } from '#src/domain/selling/payment.ts'
import { termsOf, type Tier } from '#src/domain/selling/tier.ts'
import { isFault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'

import { offerFault } from './admission.ts'
import type { createAvailability } from './availability.ts'
import type { Billing, BillingOptions, PaymentRequired, UnquotedOrigin } from './billing.ts'
import { readMoment } from './chain-clock.ts'
import { assertFewFailed, requireView, toAtomic, toRequirements } from './offers.ts'
import {
  allowanceError,
  conflictError,
  describe,
  rejectedError,
  SERVICE_NAME,
  unavailableError,
} from './payment-errors.ts'
import { askFaults, findOfferOf, type PaymentWithOffer } from './payment-machine.ts'
import {
  findIdentifier,
  openOffer,
  SEAL,
  type SealedOffer,
  sealOffer,
  toExtensions,
} from './sealed-offer.ts'

/** A challenge may name a block so old: a payment is in a later one all the same. */
const HEAD_AGE_MS_MAX = 10_000

const toBought = (product: Tier) => ({
  terms: termsOf(product),
  periodDays: product.requests === undefined ? (product.periodDays ?? 0) : 0,
  requests: product.requests,
})

const SECRET_LENGTH = 16

/** 96 bits of an id: an offer is in a header. */
const shortOf = (id: string): string =>
  createHash('sha256').update(id).digest('base64url').slice(0, SECRET_LENGTH)

const sealRequirements = (
  options: BillingOptions,
  network: Network,
  token: PaymentToken,
  sealed: SealedOffer,
) => ({
  ...toRequirements(options, network, token, {
    [SEAL]: sealOffer(options.ledger.challengeKey, sealed),
  }),
  amount: sealed.amount,
})

export function createDemand(
  options: BillingOptions,
  { findReason }: ReturnType<typeof createAvailability>,
): Billing['demand'] {
  return async (product): Promise<PaymentRequired> => {
    const perChain = options.chains.map(async (sold) => {
      const tokens = sold.chain.tokens.filter((token) => findReason(sold, token) === undefined)
      const head = tokens.length > 0 ? await sold.view?.head(HEAD_AGE_MS_MAX) : undefined
      if (head === undefined) return []
      const { network } = sold.chain
      return tokens.map((token) => ({
        symbol: token.symbol,
        requirements: sealRequirements(options, network, token, {
          productId: product.tierId,
          network,
          symbol: token.symbol,
          amount: String(toAtomic(product.amountMillionths ?? 0, token)),
          fromBlock: head.latestNumber,
          secret: shortOf(options.createId()),
        }),
      }))
    })
    // Clients take the first that they can sign, and many sign for USDC alone.
    const all = (await Promise.all(perChain)).flat()
    const isUsdc = ({ symbol }: (typeof all)[number]) => symbol === 'USDC'
    const accepts = [...all.filter(isUsdc), ...all.filter((offer) => !isUsdc(offer))].map(
      ({ requirements }) => requirements,
    )
    if (accepts.length === 0) {
      throw unavailableError(
        'No token can be paid with at the moment. Nothing was charged. Try again in a few minutes.',
        'wait_and_retry',
      )
    }
    return {
      x402Version: 2,
      resource: {
        url: options.origin(),
        description: describe(toBought(product)),
        mimeType: 'application/json',
        serviceName: SERVICE_NAME,
      },
      accepts,
      extensions: toExtensions(product.requests === 1 ? 'GET' : 'POST'),
    }
  }
}

/** Throws what `Billing.settleUnquoted` throws before anything is sent. */
export async function admitUnquoted(
  options: BillingOptions,
  product: Tier,
  input: unknown,
  onAdmitted: UnquotedOrigin['onAdmitted'],
): Promise<PaymentWithOffer> {
  const { ledger, clock, createId } = options
  const { payments } = ledger
  const parsed = parsePayment(input)
  const { payer } = parsed.signed
  const identifier = findIdentifier(input)
  const seal = findSeal(input)
  const known = payments.findPaymentByNonce(parsed.signed)
  if (known) return again(known)
  const sealed = openSeal()
  const view = requireView(options, parsed.signed.network)
  const offer = draftOffer(sealed)
  const signed = sealPayment(parsed, offer)
  const faults = await askFaults(view, signed, parsed.body.signature)
  const fault = faults[0] ?? offerFault(signed, offer, await readMoment(clock, view))
  // What is said against it may be itself: another call, or another server, has taken it since.
  const taken = payments.findPaymentByNonce(signed)
  if (taken) return again(taken)
  // A payload copied from the chain proves no payer: only what comes here first is the payer's.
  if (faults.includes('nonce_used')) {
    throw conflictError(
      'This payment was made before it was sent here. Do not pay again: ask the operator, who can see the transfer.',
    )
  }
  // A wallet that has paid already may have nothing left to pay with.
  if (fault === 'allowance_required' || fault === 'insufficient_balance') {
    const isForged = faults.includes('signature_invalid')
    if (!isForged) await onAdmitted?.(payer, false)
  }
  // Written down only if it can be made: signing what cannot be costs a caller nothing.
  if (fault === 'allowance_required') throw allowanceError({ signed }, offer)
  if (fault !== undefined) throw rejectedError(options, { reason: fault, signed, offer })
  assertFewFailed(options, offer)
  try {
    await onAdmitted?.(payer, false)
  } catch (error) {
    // What the wallet has paid before may be this payment, which another server took meanwhile.
    const same = isFault(error, 'paid_before') && payments.findPaymentByNonce(signed)
    if (same) return assertSame(same)
    throw error
  }
  const { kind, payment } = payments.claimUnquoted(
    { id: `pay_${createId()}`, keyId: `key_${createId()}`, identifier, offer, signed },
    { nowMs: clock() },
  )
  if (kind === 'identifier_taken') {
    throw conflictError(
      'Another payment of this wallet with the same `payment-identifier` was made, or may still be made, so this one was not accepted and no money moved. Do not pay again: the wallet gets what the other payment buys.',
    )
  }
  return assertSame(payment)

  async function again(payment: Payment): Promise<PaymentWithOffer> {
    const same = assertSame(payment)
    await onAdmitted?.(payer, true)
    return same
  }

  /**
   * The payment that was taken before. All that is signed can be read on the chain, so that alone
   * proves nothing: the caller has to know its sealed offer too.
   */
  function assertSame(payment: Payment): PaymentWithOffer {
    const taken = findOfferOf(options, payment)
    const takenSeal = taken.requirements.extra[SEAL]
    const isSame =
      taken.terms.tierId === product.tierId &&
      taken.requests === product.requests &&
      takenSeal !== undefined &&
      takenSeal === seal &&
      sealPayment(parsed, taken).payloadHash === payment.signed.payloadHash
    if (isSame) return { payment, offer: taken }
    throw conflictError('This payment is for another product. Sign a new one for this product.')
  }

  /** What the challenge said, at a price that still holds. Throws `payment_invalid`. */
  function openSeal(): SealedOffer {
    const found = openOffer(ledger.challengeKey, seal, {
      productId: product.tierId,
      network: parsed.signed.network,
      symbol: parsed.token.symbol,
      amount: String(toAtomic(product.amountMillionths ?? 0, parsed.token)),
    })
    if (found?.amount === String(parsed.signed.amount)) return found
    throw new AppError(
      'payment_invalid',
      'The payment matches none of the offers of this URL. Nothing was sent. Repeat the request without a payment, and sign one of `accepts` unchanged.',
      { param: 'PAYMENT-SIGNATURE', ...unsoundPayment },
    )
  }

  function draftOffer(found: SealedOffer) {
    const account = ledger.findAccountByAddress(payer)
    if (account?.blockedMs !== undefined) throw blockedError()
    const { token } = parsed
    const nowMs = clock()
    return {
      id: `quote_${createId()}`,
      accountId: account?.id ?? `acc_${createId()}`,
      payer,
      ...toBought(product),
      symbol: token.symbol,
      method: token.method,
      requirements: sealRequirements(options, parsed.signed.network, token, found),
      fromBlock: found.fromBlock,
      createdMs: nowMs,
      expiresMs: nowMs + OFFER_LIFE_MS,
    }
  }
}

function findSeal(input: unknown): unknown {
  const accepted = isRecord(input) ? input.accepted : undefined
  const extra = isRecord(accepted) ? accepted.extra : undefined
  return isRecord(extra) ? extra[SEAL] : undefined
}
