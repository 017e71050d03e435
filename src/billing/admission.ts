/**
 * Takes a payload in: finds the payment that it already is, or the offer that it pays, and writes
 * it down. That is one transaction, so that of many calls with one payload exactly one claims. The
 * chain is asked first: payers may have submitted their payments, and what is spent is never judged
 * by a clock or answered with a demand. A forged one is not written down: it would use up a nonce.
 */
import { DAY_MS } from '#src/core/time.ts'
import type { Caller } from '#src/selling/caller.ts'
import type { ChainVerdict, ChainView, PaymentFault } from '#src/selling/chain-view.ts'
import type { Offer, Payment, PaymentProof, SignedPayment } from '#src/selling/payment.ts'

import { missingPart } from './availability.ts'
import type { BillingDeps } from './billing.ts'
import { assertFewFailed } from './offers.ts'
import { networkError, type ParsedPayment, parsePayment, sealPayment } from './payload.ts'
import {
  conflictError,
  expiredOfferError,
  rejectedError,
  unaskedError,
  unavailableError,
  unmatchedError,
  usedOfferError,
} from './payment-errors.ts'
import { askFaults, type Case, caseOf, clockFault, FRESH_MS_MIN } from './payment-machine.ts'

/** Throws what `Billing.settle` throws before anything is sent. */
export async function admit(deps: BillingDeps, caller: Caller, input: unknown): Promise<Case> {
  const parsed = parsePayment(input)
  const known = findAgain(deps, caller, parsed)
  if (known) return known
  const sold = deps.chains.find(({ chain }) => chain.network === parsed.signed.network)
  if (!sold) throw networkError()
  const { view } = sold
  const missing = missingPart(deps, sold)
  if (!view || missing !== undefined) throw unavailableError(missing ?? 'Nothing is sold here.')
  const unsealed = { ...parsed.signed, payload: '', payloadHash: '' }
  const faults = await askFaults(view, unsealed, parsed.body.signature)
  // A call with the same payload may have been faster.
  const taken = findAgain(deps, caller, parsed)
  if (taken) return taken
  const toFresh = faults.includes('nonce_used') ? toSpent : toUnspent
  const { offer, ...draft } = await toFresh(deps, caller, { view, parsed, faults })
  const { kind, payment } = deps.ledger.payments.claim(
    { id: `pay_${deps.mint()}`, offer, ...draft },
    { actor: `account:${caller.accountId}`, nowMs: deps.clock() },
  )
  if (kind === 'offer_taken') throw usedOfferError()
  return kind === 'existing' ? sameCase(deps, caller, { payment, parsed }) : { payment, offer }
}

/** Before all else: what was taken once is answered from what became of it. */
function findAgain(deps: BillingDeps, caller: Caller, parsed: ParsedPayment): Case | undefined {
  const payment = deps.ledger.payments.findPaymentByNonce(parsed.signed)
  return payment && sameCase(deps, caller, { payment, parsed })
}

function sameCase(
  deps: BillingDeps,
  { accountId }: Caller,
  { payment, parsed }: { payment: Payment; parsed: ParsedPayment },
): Case {
  if (payment.accountId !== accountId) {
    throw conflictError('This payment was submitted by another account.')
  }
  const it = caseOf(deps, payment)
  if (sealPayment(parsed, it.offer).payloadHash !== payment.signed.payloadHash) {
    throw conflictError('The nonce of this payment was used for another one. Sign a new nonce.')
  }
  return it
}

/** As far back as one look at the chain reaches with a block a second. */
const LOOK_BACK_MS = 2 * DAY_MS

type Asked = { view: ChainView; parsed: ParsedPayment; faults: readonly PaymentFault[] }
/** A payment that is not written down yet, with its offer. `proof`: where its money has moved. */
type Fresh = { signed: SignedPayment; offer: Offer; proof?: PaymentProof | undefined }

/** Somebody has used the nonce: perhaps to pay this very payment. */
async function toSpent(
  deps: BillingDeps,
  { accountId }: Caller,
  { view, parsed, faults }: Asked,
): Promise<Fresh> {
  if (faults.includes('signature_invalid')) {
    throw conflictError(
      'The signature is not one of this payment, whose nonce is spent already. Submit it exactly as it was signed, and sign no other.',
    )
  }
  const { network, amount, payer, payTo } = parsed.signed
  const asset = parsed.token.address
  const owner = deps.ledger.findAccountByAddress(payer)
  if (owner !== undefined && owner.id !== accountId) {
    throw conflictError(
      'This payment was made before it was submitted, by a wallet that is not yours.',
    )
  }
  // The amount alone names an offer to other wallets only as long as no other offer can have it.
  // What a wallet of nobody paid at the plain price is for the operator, with the offer it meant.
  const own = deps.ledger.payments.listOffersOf({ accountId, network, asset, amount })
  const named = owner
    ? own
    : [findOffer(deps, accountId, parsed) ?? own.find((offer) => offer.payer !== undefined)]
  const offers = named.filter(
    (offer): offer is Offer => offer?.requirements.payTo.toLowerCase() === payTo,
  )
  const [newest] = offers
  if (newest === undefined) throw unmatchedError({ isSpent: true })
  const sinceMs = deps.clock() - LOOK_BACK_MS
  const oldest = offers.findLast(({ createdMs }) => createdMs >= sinceMs) ?? newest
  const verdict = await lookAt(view, sealPayment(parsed, oldest), oldest)
  const proof = verdict.kind === 'paid' ? verdict.proof : undefined
  // Of offers of one amount it paid the newest that was there before it and is free.
  const older = offers.filter(({ fromBlock }) => proof && fromBlock < proof.blockNumber)
  const paid = older.find(({ id }) => !deps.ledger.payments.isOfferTaken(id)) ?? older[0]
  const offer = paid ?? newest
  return { signed: sealPayment(parsed, offer), offer, proof: paid && proof }
}

/** As far as the chain says nobody has made it, so it is judged by the offer and the clock. */
async function toUnspent(
  deps: BillingDeps,
  { accountId }: Caller,
  { view, parsed, faults }: Asked,
): Promise<Fresh> {
  const offer = findOffer(deps, accountId, parsed)
  if (offer === undefined) {
    // By a wallet that the offer is not for: nobody signs another while that one is being paid.
    const { network, amount } = parsed.signed
    const meant = { accountId, network, asset: parsed.token.address, amount }
    const [newest] = deps.ledger.payments.listOffersOf(meant)
    if (newest) assertFree(deps, newest)
    throw unmatchedError({ isSpent: false })
  }
  assertFree(deps, offer)
  const nowMs = deps.clock()
  const isEnded = nowMs >= offer.expiresMs
  const signed = sealPayment(parsed, offer)
  const forged = faults.find((fault) => fault === 'signature_invalid')
  const reason = forged ?? faultOf(signed, offer, nowMs)
  // Written down, though not sent by us now: so nobody is asked to pay while it may land. If its
  // payer has submitted it, it may be mined until the chain says that its time is over.
  const isUntimely = isEnded || reason !== undefined
  const isOurs = reason !== 'signature_invalid' && reason !== 'recipient_mismatch'
  const mayLand = isUntimely && isOurs && (await lookAt(view, signed, offer)).kind !== 'void'
  assertFree(deps, offer)
  if (!mayLand && isEnded) throw expiredOfferError()
  if (!mayLand && reason !== undefined) throw rejectedError(deps, { reason, signed, offer })
  assertFewFailed(deps, offer)
  return { signed, offer }
}

/** No other payment is asked for or taken while one may land, and none after it. */
function assertFree(deps: BillingDeps, offer: Offer): void {
  if (deps.ledger.payments.isOfferTaken(offer.id)) throw usedOfferError()
}

/** Throws `billing_unavailable` without an answer. */
async function lookAt(
  view: ChainView,
  signed: SignedPayment,
  { fromBlock }: Offer,
): Promise<ChainVerdict> {
  const verdict = await view.look(signed, { fromBlock })
  if (verdict.kind === 'unavailable') throw unaskedError()
  return verdict
}

/** The offer that payer and amount name, ended or not, if it is one of the account's own. */
function findOffer(
  { ledger, clock }: BillingDeps,
  accountId: string,
  { signed }: ParsedPayment,
): Offer | undefined {
  const offer = ledger.payments.findOfferFor(signed, { accountId, nowMs: clock() })
  return offer?.accountId === accountId ? offer : undefined
}

/** What the offer and the clock say against it; its amount and asset are those of the offer. */
function faultOf(signed: SignedPayment, offer: Offer, nowMs: number): string | undefined {
  if (signed.payTo !== offer.requirements.payTo.toLowerCase()) return 'recipient_mismatch'
  // As numbers these may be inexact, but then they are far beyond every limit.
  const endMs = Number(signed.validBefore) * 1000
  return endMs < nowMs + FRESH_MS_MIN ? 'expires_too_soon' : clockFault(signed, nowMs)
}
