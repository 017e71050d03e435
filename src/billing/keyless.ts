/**
 * Sells without a key. The offer is in the x402 challenge itself (`sealed-offer.ts`), at the plain
 * price, and is stored with its payment: the purchase belongs to the account of the payer.
 */

import { createHash } from 'node:crypto'

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { blockedError } from '#src/domain/selling/caller.ts'
import { parsePayment, sealPayment } from '#src/domain/selling/payload.ts'
import type { Network, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import {
  isSignedAfter,
  OFFER_LIFE_MS,
  type Payment,
  VALID_BEFORE_MS_MAX,
} from '#src/domain/selling/payment.ts'
import { termsOf, type Tier } from '#src/domain/selling/tier.ts'
import { isFault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'

import { offerFault } from './admission.ts'
import type { createAvailability } from './availability.ts'
import type { Billing, BillingOptions, PaymentRequired, UnquotedOrigin } from './billing.ts'
import { clockAheadMs, readMoment } from './chain-clock.ts'
import { assertFewFailed, requireView, toAtomic, toRequirements } from './offers.ts'
import {
  allowanceError,
  conflictError,
  describe,
  rejectedError,
  SERVICE_NAME,
  unaskedError,
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

/** The maximum age of the block named in a challenge: its payment is in a later block anyway. */
const HEAD_AGE_MS_MAX = 10_000

const toBought = (product: Tier) => ({
  terms: termsOf(product),
  periodDays: product.requests === undefined ? (product.periodDays ?? 0) : 0,
  requests: product.requests,
})

const SECRET_LENGTH = 16

/** Shortens an id to 96 bits, because the offer is sent in a header. */
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
    // USDC comes first: clients take the first entry that they can sign, and many sign only USDC.
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

/** `isProved`: see `UnquotedSettlement`. */
type Admitted = PaymentWithOffer & { isProved: boolean }

/** Admits a payload; throws the errors of `Billing.settleUnquoted` that precede any submission. */
export async function admitUnquoted(
  options: BillingOptions,
  product: Tier,
  input: unknown,
  { accountId, onAdmitted, repeatsSinceMs }: UnquotedOrigin,
): Promise<Admitted> {
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
  const moment = await readMoment(clock, view)
  const fault = faults[0] ?? offerFault(signed, offer, moment)
  // The objection may be the payment itself, stored by another call or server meanwhile.
  const taken = await findTaken()
  if (taken) return again(taken)
  const isUnseen = !faults.includes('nonce_used')
  assertUnquoted(clockAheadMs(moment), isUnseen)
  if (!isUnseen) {
    await assertPaidSince(sealed.fromBlock)
    // The money has moved, so no earlier purchase can replace this payment.
    await onAdmitted?.(parsed.signed, true)
    return claim({ isUnseen })
  }
  // A wallet that has already paid may have too little left to pay again.
  if (fault === 'allowance_required' || fault === 'insufficient_balance') {
    const isForged = faults.includes('signature_invalid')
    if (!isForged && offerFault(signed, offer, moment) === undefined)
      await onAdmitted?.(parsed.signed, false)
  }
  // Only payments that can succeed are stored: signing others costs a caller nothing.
  if (fault === 'allowance_required') throw allowanceError({ signed }, offer)
  if (fault !== undefined) throw rejectedError(options, { reason: fault, signed, offer })
  assertFewFailed(options, offer)
  try {
    await onAdmitted?.(parsed.signed, false)
  } catch (error) {
    // The earlier purchase of the wallet may be this payment, stored by another server meanwhile.
    const same = isFault(error, 'paid_before') && (await findTaken())
    if (same) return assertSame(same)
    throw error
  }
  return claim({ isUnseen, repeatsSinceMs })

  /** Asks the ledger itself, which other servers change. */
  function findTaken(): Promise<Payment | undefined> {
    return ledger.atomically((transaction) => transaction.payments.findPaymentByNonce(signed))
  }

  async function claim(rules: {
    isUnseen: boolean
    repeatsSinceMs?: number | undefined
  }): Promise<Admitted> {
    const ids = { id: `pay_${createId()}`, keyId: `key_${createId()}` }
    const { kind, payment } = await payments.claimUnquoted(
      { ...ids, ...rules, identifier, offer, signed },
      { nowMs: clock() },
    )
    switch (kind) {
      case 'claimed':
        return { payment, offer: findOfferOf(options, payment), isProved: true }
      case 'existing':
        return assertSame(payment)
      case 'repeated': {
        const isProved = isSignedAfter(parsed.signed, payment.signed)
        return { payment, offer: findOfferOf(options, payment), isProved }
      }
      case 'identifier_taken':
        throw conflictError(
          'Another payment of this wallet with the same `payment-identifier` was made, or may still be made, so this one was not accepted and no money moved. Do not pay again: the wallet gets what the other payment buys.',
        )
    }
  }

  async function again(payment: Payment): Promise<Admitted> {
    const same = assertSame(payment)
    await onAdmitted?.(parsed.signed, true)
    return same
  }

  /**
   * Finds the payment that was admitted before. All signed data is public on the chain, so it
   * proves the payment but not its sender. To read the response of a single request again, the
   * caller must also send the sealed offer.
   */
  function assertSame(payment: Payment): Admitted {
    const offered = findOfferOf(options, payment)
    const takenSeal = offered.requirements.extra[SEAL]
    const isSame =
      offered.terms.tierId === product.tierId &&
      offered.requests === product.requests &&
      takenSeal !== undefined &&
      (product.requests !== 1 || takenSeal === seal) &&
      sealPayment(parsed, offered).payloadHash === payment.signed.payloadHash
    if (!isSame) {
      throw conflictError('This payment is for another product. Sign a new one for this product.')
    }
    // Unlike the signed data, the identifier is never on a chain.
    const isProved = identifier !== undefined && identifier === payment.identifier
    return { payment, offer: offered, isProved }
  }

  /**
   * Refuses a payment for a quote of its wallet, whose purchase belongs to the account that
   * requested it. Throws `payment_conflict`.
   */
  function assertUnquoted(aheadMs: number, isUnsent: boolean): void {
    const at = { accountId: '', nowMs: clock(), aheadMs }
    const quoted = payments.findOfferFor(parsed.signed, at)
    if (quoted === undefined || quoted.accountId === accountId) return
    const endMs = Number(parsed.signed.validBefore) * 1000 + aheadMs
    // Money that has moved also pays an expired quote.
    const lastMs = isUnsent ? clock() : endMs - VALID_BEFORE_MS_MAX
    if (quoted.expiresMs <= lastMs || quoted.createdMs > endMs) return
    if (payments.isOfferTaken(quoted.id)) return
    throw new AppError(
      'payment_conflict',
      'This payment matches an open quote of its wallet, so it was not accepted without a key. Send the same payment to POST /v1/billing/x402/settle with a key of the account that requested the quote.',
      { reason: 'quoted', retryAction: 'abandon' },
    )
  }

  /**
   * Accepts money that moved before the payload arrived here, if it moved after the offer was made.
   * Throws `payment_conflict`, `payment_rejected` and `billing_unavailable`.
   */
  async function assertPaidSince(fromBlock: number): Promise<void> {
    const isForged = faults.includes('signature_invalid')
    const verdict =
      isForged || product.requests === 1 ? undefined : await view.look(signed, { fromBlock })
    if (verdict?.kind === 'paid' && verdict.proof.blockNumber > fromBlock) return
    if (verdict?.kind === 'void')
      throw rejectedError(options, { reason: verdict.reason, signed, offer })
    if (verdict?.kind === 'unavailable' || verdict?.kind === 'open') throw unaskedError()
    throw conflictError(
      'This payment was made before it was sent here. Do not pay again: ask the operator, who can see the transfer.',
    )
  }

  /** Opens the sealed offer, if its price still applies. Throws `payment_invalid`. */
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
