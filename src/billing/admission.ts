/**
 * Takes a payload in: finds the payment that it already is, or the offer that it pays, and writes
 * it down. That is one transaction, so that of many calls with one payload exactly one claims. The
 * chain is asked first: payers may have submitted their payments, and what is spent is never judged
 * by a clock or answered with a demand. A forged one is not written down: it would use up a nonce.
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

/** As far back as one look at the chain reaches with a block a second. */
const LOOK_BACK_MS = 2 * DAY_MS

/** A payment that is not written down yet. `proof`: where its money has moved. */
type Draft = { signed: SignedPayment; offer: Offer; proof?: PaymentProof | undefined }

/** Throws what `Billing.settle` throws before anything is sent. */
export async function admit(
  options: BillingOptions,
  { accountId }: Caller,
  input: unknown,
): Promise<PaymentWithOffer> {
  const { ledger, clock } = options
  const parsed = parsePayment(input)
  const { network, amount, payer, payTo } = parsed.signed
  const known = findAgain()
  if (known) return known
  const view = requireView(options, network)
  const unsealed = { ...parsed.signed, payload: '', payloadHash: '' }
  const faults = await askFaults(view, unsealed, parsed.body.signature)
  const moment = await readMoment(clock, view)
  // A call with the same payload may have been faster.
  const taken = findAgain()
  if (taken) return taken
  let draft: Draft
  try {
    draft = faults.includes('nonce_used') ? await toSpent() : await toUnspent()
  } catch (refusal) {
    // What it is refused for may be itself: another server has taken it since.
    const same = findAgain()
    if (same) return same
    throw refusal
  }
  const { offer, signed, proof } = draft
  const { kind, payment } = ledger.payments.claim(
    { id: `pay_${options.createId()}`, offer, signed, proof },
    { actor: `account:${accountId}`, nowMs: clock() },
  )
  if (kind === 'offer_taken') throw usedOfferError()
  return kind === 'existing' ? assertSame(payment) : { payment, offer }

  /** Before all else: what was taken once is answered from what became of it. */
  function findAgain(): PaymentWithOffer | undefined {
    const payment = ledger.payments.findPaymentByNonce(parsed.signed)
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

  /** The nonce was used: perhaps to pay this very payment. */
  async function toSpent(): Promise<Draft> {
    if (faults.includes('signature_invalid')) {
      throw conflictError(
        'The signature does not match this payment, whose nonce is already spent. Submit the payment exactly as it was signed, and sign no other.',
      )
    }
    const owner = ledger.findAccountByAddress(payer)
    if (owner !== undefined && owner.id !== accountId) {
      throw conflictError(
        'This payment was made before it was submitted, by a wallet that is not yours.',
      )
    }
    // The amount alone names an offer to other wallets only as long as no other offer can have it.
    // What a wallet without an account paid at the plain price is for the operator, with the offer
    // that it meant.
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
    // Among offers of one amount, it paid the newest that was there before it and is free.
    const older = offers.filter(({ fromBlock }) => found && fromBlock < found.blockNumber)
    const paid = older.find(({ id }) => !ledger.payments.isOfferTaken(id)) ?? older[0]
    const meant = paid ?? newest
    return { signed: sealPayment(parsed, meant), offer: meant, proof: paid && found }
  }

  /** As far as the chain says it was not made, so it is judged by the offer and the clock. */
  async function toUnspent(): Promise<Draft> {
    const meant = findOffer()
    if (meant === undefined) {
      // By a wallet that the offer is not for: no other is to be signed while that one is paid.
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
    // Written down, though not sent by us now, so that no other payment is asked for while it may
    // land. If its payer has submitted it, it may be mined until the chain says that its time is
    // over.
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

  /** No other payment is asked for or taken while one may land, and none after it. */
  function assertFree({ id }: Offer): void {
    if (ledger.payments.isOfferTaken(id)) throw usedOfferError()
  }

  /** Throws `billing_unavailable` without an answer. */
  async function lookFrom(from: Offer): Promise<ChainVerdict> {
    const { fromBlock } = from
    const verdict = await view.look(sealPayment(parsed, from), { fromBlock })
    if (verdict.kind === 'unavailable') throw unaskedError()
    return verdict
  }

  /** The offer that payer and amount name, ended or not, if it is one of the account's own. */
  function findOffer(): Offer | undefined {
    const at = { accountId, nowMs: clock(), aheadMs: clockAheadMs(moment) }
    const found = ledger.payments.findOfferFor(parsed.signed, at)
    return found?.accountId === accountId ? found : undefined
  }
}

/** What the offer and the time say against it; its amount and asset are those of the offer. */
export function offerFault(signed: SignedPayment, offer: Offer, moment: Moment) {
  if (signed.payTo !== offer.requirements.payTo.toLowerCase()) return 'recipient_mismatch'
  return isFresh(signed, moment) ? clockFault(signed, moment) : 'expires_too_soon'
}
