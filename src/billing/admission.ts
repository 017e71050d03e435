/**
 * Admits a payload: finds the payment that it already is, or the offer that it pays, and stores it.
 * That is one transaction, so exactly one of many calls with the same payload claims it. The chain
 * is asked first: payers may have submitted their payments themselves, and a spent payment is never
 * judged by a clock or answered with a demand. A forged payload is not stored: it would use up a
 * nonce.
 */

import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainVerdict } from '#src/domain/selling/chain-view.ts'
import { parsePayment, sealPayment } from '#src/domain/selling/payload.ts'
import type { Offer, Payment, PaymentProof, SignedPayment } from '#src/domain/selling/payment.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { BillingOptions } from './billing.ts'
import { clockAheadMs, type Moment, readMoment } from './chain-clock.ts'
import { assertFewFailed, requireView } from './offers.ts'
import {
  conflictError,
  expiredOfferError,
  rejectedError,
  unaskedError,
  unknownOfferError,
  usedOfferError,
} from './payment-errors.ts'
import {
  askFaults,
  clockFault,
  findOfferOf,
  isFresh,
  type PaymentWithOffer,
} from './payment-machine.ts'

/** The longest period that one look at the chain covers, with a block per second. */
const LOOK_BACK_MS = 2 * DAY_MS

/** A payment that is not stored yet. `proof` is the transfer that moved its money. */
type Draft = { signed: SignedPayment; offer: Offer; proof?: PaymentProof | undefined }

/** Admits a payload; throws the errors of `Billing.settle` that precede any submission. */
export async function admit(
  options: BillingOptions,
  { accountId }: Caller,
  input: unknown,
): Promise<PaymentWithOffer> {
  const { ledger, clock } = options
  const parsed = parsePayment(input)
  const { network, amount, payer, payTo } = parsed.signed
  // Asked of the ledger itself: after it, what other servers have offered and stored is known, too.
  const known = await askAgain()
  if (known) return known
  const view = requireView(options, network)
  const unsealed = { ...parsed.signed, payload: '', payloadHash: '' }
  const faults = await askFaults(view, unsealed, parsed.body.signature)
  const moment = await readMoment(clock, view)
  let draft: Draft
  try {
    draft = faults.includes('nonce_used') ? await toSpent() : await toUnspent()
  } catch (refusal) {
    // The cause of the refusal may be the payment itself, stored by another call meanwhile.
    const same = await askAgain()
    if (same) return same
    throw refusal
  }
  const { offer, signed, proof } = draft
  const { kind, payment } = await ledger.payments.claim(
    { id: `pay_${options.createId()}`, offer, signed, proof },
    { actor: `account:${accountId}`, nowMs: clock() },
  )
  if (kind === 'offer_taken') throw usedOfferError()
  return kind === 'existing' ? assertSame(payment) : { payment, offer }

  /** Comes first: a payment that was admitted before is answered with its current state. */
  async function askAgain(): Promise<PaymentWithOffer | undefined> {
    const payment = await ledger.atomically(({ payments }) =>
      payments.findPaymentByNonce(parsed.signed),
    )
    return payment && assertSame(payment)
  }

  function assertSame(payment: Payment): PaymentWithOffer {
    if (payment.accountId !== accountId) {
      throw conflictError('This payment was submitted by another account.')
    }
    const offer = findOfferOf(options, payment)
    if (sealPayment(parsed, offer).payloadHash !== payment.signed.payloadHash) {
      throw conflictError(
        'The nonce of this payment was used for another payment. Sign one with a new nonce.',
      )
    }
    return { payment, offer }
  }

  /** Handles a used nonce, which may have paid this very payment. */
  async function toSpent(): Promise<Draft> {
    if (faults.includes('signature_invalid')) {
      throw conflictError(
        'The signature does not match this payment, whose nonce is already spent. Submit the payment exactly as it was signed, and sign no other.',
      )
    }
    const owner = ledger.findAccountByAddress(payer)
    if (owner !== undefined && owner.id !== accountId) {
      throw conflictError(
        'This payment is already on the chain, and its wallet belongs to another account.',
      )
    }
    // For other wallets the amount alone identifies an offer, while no other offer can have it. A
    // payment at the plain price from a wallet without an account goes to the operator, with the
    // offer that it was meant for.
    const own = ledger.payments.listOffersOf({
      accountId,
      network,
      asset: parsed.token.address,
      amount,
    })
    const named = owner ? own : [findOffer() ?? own.find((each) => each.payer !== undefined)]
    const offers = named.filter(
      (each): each is Offer => each?.requirements.payTo.toLowerCase() === payTo,
    )
    const [newest] = offers
    if (newest === undefined) {
      throw unknownOfferError(
        'The amount and recipient of this payment match none of your offers, and its nonce is spent: it may have been paid. Do not pay again: ask the operator.',
        'ask_operator',
      )
    }
    const sinceMs = clock() - LOOK_BACK_MS
    const oldest = offers.findLast(({ createdMs }) => createdMs >= sinceMs) ?? newest
    const verdict = await lookFrom(oldest)
    const found = verdict.kind === 'paid' ? verdict.proof : undefined
    // Among offers of the same amount, the transfer paid the newest one that is free and existed
    // before it.
    const older = offers.filter(({ fromBlock }) => found && fromBlock < found.blockNumber)
    const paid = older.find(({ id }) => !ledger.payments.isOfferTaken(id)) ?? older[0]
    const meant = paid ?? newest
    return { signed: sealPayment(parsed, meant), offer: meant, proof: paid && found }
  }

  /** Handles a payment that the chain has not seen: the offer and the clock decide. */
  async function toUnspent(): Promise<Draft> {
    const meant = findOffer()
    if (meant === undefined) {
      // The payer is not the wallet of the offer; nothing else may be signed while that offer is
      // being paid.
      const asset = parsed.token.address
      const [newest] = ledger.payments.listOffersOf({ accountId, network, asset, amount })
      if (newest) assertFree(newest)
      throw unknownOfferError(
        'None of your offers has this amount for this wallet. Request one with POST /v1/billing/x402/quote, with `payer` if the wallet is not that of your account, and pay its amount exactly.',
      )
    }
    assertFree(meant)
    const isEnded = clock() >= meant.expiresMs
    const sealed = sealPayment(parsed, meant)
    const forged = faults.find((fault) => fault === 'signature_invalid')
    const reason = forged ?? offerFault(sealed, meant, moment)
    // Stored although it is not sent now, so that no other payment is requested while it may land.
    // If its payer has submitted it, it may be mined until the chain shows that its time is over.
    const isUntimely = isEnded || reason !== undefined
    const isOurs = reason !== 'signature_invalid' && reason !== 'recipient_mismatch'
    let mayLand = false
    if (isUntimely && isOurs) {
      mayLand = (await lookFrom(meant)).kind !== 'void'
      assertFree(meant)
    }
    if (!mayLand && isEnded) throw expiredOfferError()
    if (!mayLand && reason !== undefined) {
      throw rejectedError(options, { reason, signed: sealed, offer: meant })
    }
    assertFewFailed(options, meant)
    return { signed: sealed, offer: meant }
  }

  /** Refuses to request or admit another payment while one may land, or after one has. */
  function assertFree({ id }: Offer): void {
    if (ledger.payments.isOfferTaken(id)) throw usedOfferError()
  }

  /** Looks at the chain; throws `billing_unavailable` without an answer. */
  async function lookFrom(from: Offer): Promise<ChainVerdict> {
    const { fromBlock } = from
    const verdict = await view.look(sealPayment(parsed, from), { fromBlock })
    if (verdict.kind === 'unavailable') throw unaskedError()
    return verdict
  }

  /** The offer identified by payer and amount, ended or not, if it belongs to the account. */
  function findOffer(): Offer | undefined {
    const at = { accountId, nowMs: clock(), aheadMs: clockAheadMs(moment) }
    const found = ledger.payments.findOfferFor(parsed.signed, at)
    return found?.accountId === accountId ? found : undefined
  }
}

/** The objection of the offer and the time; amount and asset are already known to match. */
export function offerFault(signed: SignedPayment, offer: Offer, moment: Moment) {
  if (signed.payTo !== offer.requirements.payTo.toLowerCase()) return 'recipient_mismatch'
  return isFresh(signed, moment) ? clockFault(signed, moment) : 'expires_too_soon'
}
