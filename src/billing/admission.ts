/**
 * Takes a payload in: finds the payment that it already is, or the offer that its amount names, and
 * writes it down. That is one transaction, so that of many calls with one payload exactly one claims. Its
 * signature is checked before: otherwise anybody could use up the nonce of a payment that he only saw.
 */
import type { Caller } from '#src/core/caller.ts'
import { type Offer, VALID_BEFORE_MS_MAX } from '#src/core/offer.ts'
import type { Payment, SignedPayment } from '#src/core/payment.ts'
import { assert } from '#src/lib/assert.ts'

import { missingPart } from './availability.ts'
import type { BillingDeps } from './billing.ts'
import { type Case, FRESH_MS_MIN } from './flow.ts'
import { refuseUnknownOffer } from './offers.ts'
import { type ParsedPayment, parsePayment, sealPayment, signatureOf } from './payload.ts'
import {
  refuseConflict,
  refuseExpiredOffer,
  refusePayment,
  refuseUnavailable,
  refuseUsedOffer,
} from './refusals.ts'
import { toPaymentRequired } from './requirements.ts'

/** Throws what `Billing.settle` throws before anything is asked of anybody. */
export async function admit(deps: BillingDeps, caller: Caller, input: unknown): Promise<Case> {
  const parsed = parsePayment(input)
  const known = findAgain(deps, caller, parsed)
  if (known) return known
  const fresh = toFresh(deps, caller, parsed)
  await assertSigned(deps, fresh)
  return claim(deps, caller, { parsed, fresh })
}

/** Before all else: what was taken once is answered from what became of it. */
function findAgain(deps: BillingDeps, caller: Caller, parsed: ParsedPayment): Case | undefined {
  const payment = deps.ledger.payments.findPaymentByNonce(parsed.signed)
  return payment && sameCase(deps, caller, { payment, parsed })
}

function sameCase(
  { ledger }: BillingDeps,
  { accountId }: Caller,
  { payment, parsed }: { payment: Payment; parsed: ParsedPayment },
): Case {
  if (payment.accountId !== accountId) {
    throw refuseConflict('This payment was handed in by another account.')
  }
  const offer = ledger.payments.findOffer(payment.offerId)
  assert(offer !== undefined, 'Offers are never deleted.')
  if (sealPayment(parsed, offer).payloadHash !== payment.signed.payloadHash) {
    throw refuseConflict('The nonce of this payment was used for another one. Sign a new nonce.')
  }
  return { payment, offer }
}

/** A payment that is not written down yet, with its offer. */
type Fresh = { signed: SignedPayment; offer: Offer }

function toFresh(deps: BillingDeps, caller: Caller, parsed: ParsedPayment): Fresh {
  const missing = missingPart(deps)
  if (missing !== undefined) throw refuseUnavailable(missing)
  const nowMs = deps.clock()
  const offer = findOffer(deps, caller, { parsed, nowMs })
  const signed = sealPayment(parsed, offer)
  const fault = faultOf(signed, offer, nowMs)
  if (fault !== undefined) throw refusePayment(fault, toPaymentRequired(deps, offer))
  return { signed, offer }
}

/** All else is asked later, of a payment that has its place; so is this where the chain is silent now. */
async function assertSigned(deps: BillingDeps, { signed, offer }: Fresh): Promise<void> {
  const preflight = await deps.chain?.preflight(signed, signatureOf(signed))
  if (preflight?.kind !== 'fault' || preflight.fault !== 'signature_invalid') return
  throw refusePayment(preflight.fault, toPaymentRequired(deps, offer))
}

function claim(
  deps: BillingDeps,
  caller: Caller,
  { parsed, fresh: { signed, offer } }: { parsed: ParsedPayment; fresh: Fresh },
): Case {
  const { ledger, clock, mint } = deps
  const { kind, payment } = ledger.payments.claim(
    { id: `pay_${mint()}`, offer, signed },
    { actor: `account:${caller.accountId}`, nowMs: clock() },
  )
  if (kind === 'offer_taken') throw refuseUsedOffer()
  return kind === 'existing' ? sameCase(deps, caller, { payment, parsed }) : { payment, offer }
}

function findOffer(
  { ledger }: BillingDeps,
  { accountId }: Caller,
  { parsed, nowMs }: { parsed: ParsedPayment; nowMs: number },
): Offer {
  const { network, amount } = parsed.signed
  const asset = parsed.token.address
  const offer = ledger.payments.findOfferByAmount({ network, asset, amount, nowMs })
  if (!offer) throw refuseUnknownOffer()
  if (offer.accountId !== accountId) {
    throw refuseConflict('The amount of this payment is that of an offer to another account.')
  }
  if (nowMs >= offer.expiresMs) throw refuseExpiredOffer()
  return offer
}

/** What the offer and the clock say against it. The amount named the offer, and the asset its token. */
function faultOf(signed: SignedPayment, offer: Offer, nowMs: number): string | undefined {
  if (signed.payTo !== offer.requirements.payTo.toLowerCase()) return 'recipient_mismatch'
  // As numbers these may be inexact, but then they are far beyond every limit.
  const endMs = Number(signed.validBefore) * 1000
  if (endMs < nowMs + FRESH_MS_MIN) return 'expires_too_soon'
  if (endMs > nowMs + VALID_BEFORE_MS_MAX) return 'expires_too_late'
  if (Number(signed.validAfter) * 1000 > nowMs) return 'not_yet_valid'
  return
}
