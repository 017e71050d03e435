/**
 * Takes a payload in: finds the payment that it already is, or the offer that it pays, and writes
 * it down. That is one transaction, so that of many calls with one payload exactly one claims. The
 * chain is asked first: payers may have submitted their payments, and what is spent is never judged
 * by a clock or answered with a demand. A forged one is not written down: it would use up a nonce.
 */

import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainVerdict, ChainView, PaymentFault } from '#src/domain/selling/chain-view.ts'
import type { Offer, Payment, PaymentProof, SignedPayment } from '#src/domain/selling/payment.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { BillingDeps } from './billing.ts'
import { aheadOf, type Moment, readMoment } from './chain-clock.ts'
import { assertFewFailed, missingPart } from './offers.ts'
import { networkError, type ParsedPayment, parsePayment, sealPayment } from './payload.ts'
import {
  conflictError,
  expiredOfferError,
  rejectedError,
  unaskedError,
  unavailableError,
  unknownOfferError,
  usedOfferError,
} from './payment-errors.ts'
import { askFaults, type Case, caseOf, clockFault, isFresh } from './payment-machine.ts'

/** A payload that was submitted, and what the chain has against it. */
type Submitted = { deps: BillingDeps; accountId: string; parsed: ParsedPayment }
type Asked = Submitted & { view: ChainView; faults: readonly PaymentFault[]; moment: Moment }
/** A payment that is not written down yet, with its offer. `proof`: where its money has moved. */
type Fresh = { signed: SignedPayment; offer: Offer; proof?: PaymentProof | undefined }

/** Throws what `Billing.settle` throws before anything is sent. */
export async function admit(deps: BillingDeps, caller: Caller, input: unknown): Promise<Case> {
  const { accountId } = caller
  const submitted = { deps, accountId, parsed: parsePayment(input) }
  const { signed, body } = submitted.parsed
  const known = findAgain(submitted)
  if (known) return known
  const sold = deps.chains.find(({ chain }) => chain.network === signed.network)
  if (!sold) throw networkError()
  const { view } = sold
  const missing = missingPart(deps, sold)
  if (!view || missing !== undefined) throw unavailableError(missing ?? 'Nothing is sold here.')
  const unsealed = { ...signed, payload: '', payloadHash: '' }
  const faults = await askFaults(view, unsealed, body.signature)
  const asked = { ...submitted, view, faults, moment: await readMoment(deps.clock, view) }
  // A call with the same payload may have been faster.
  const taken = findAgain(submitted)
  if (taken) return taken
  const isSpent = asked.faults.includes('nonce_used')
  const { offer, ...draft } = isSpent ? await toSpent(asked) : await toUnspent(asked)
  const { kind, payment } = deps.ledger.payments.claim(
    { id: `pay_${deps.createId()}`, offer, ...draft },
    { actor: `account:${accountId}`, nowMs: deps.clock() },
  )
  if (kind === 'offer_taken') throw usedOfferError()
  return kind === 'existing' ? sameCase(submitted, payment) : { payment, offer }
}

/** Before all else: what was taken once is answered from what became of it. */
function findAgain(submitted: Submitted): Case | undefined {
  const { deps, parsed } = submitted
  const payment = deps.ledger.payments.findPaymentByNonce(parsed.signed)
  return payment && sameCase(submitted, payment)
}

function sameCase({ deps, accountId, parsed }: Submitted, payment: Payment): Case {
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

/** Somebody has used the nonce: perhaps to pay this very payment. */
async function toSpent(asked: Asked): Promise<Fresh> {
  const { deps, accountId, parsed, faults } = asked
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
  const named = owner ? own : [findOffer(asked) ?? own.find((offer) => offer.payer !== undefined)]
  const offers = named.filter(
    (offer): offer is Offer => offer?.requirements.payTo.toLowerCase() === payTo,
  )
  const [newest] = offers
  if (newest === undefined) {
    throw unknownOfferError(
      'The amount and recipient of this payment match none of your offers, and its nonce is spent: it may have been paid. Do not pay again: ask the operator.',
      'ask_operator',
    )
  }
  const sinceMs = deps.clock() - LOOK_BACK_MS
  const oldest = offers.findLast(({ createdMs }) => createdMs >= sinceMs) ?? newest
  const verdict = await lookAt(asked, oldest)
  const proof = verdict.kind === 'paid' ? verdict.proof : undefined
  // Of offers of one amount it paid the newest that was there before it and is free.
  const older = offers.filter(({ fromBlock }) => proof && fromBlock < proof.blockNumber)
  const paid = older.find(({ id }) => !deps.ledger.payments.isOfferTaken(id)) ?? older[0]
  const offer = paid ?? newest
  return { signed: sealPayment(parsed, offer), offer, proof: paid && proof }
}

/** As far as the chain says nobody has made it, so it is judged by the offer and the clock. */
async function toUnspent(asked: Asked): Promise<Fresh> {
  const { deps, accountId, parsed, faults, moment } = asked
  const offer = findOffer(asked)
  if (offer === undefined) {
    // By a wallet that the offer is not for: nobody signs another while that one is being paid.
    const { network, amount } = parsed.signed
    const meant = { accountId, network, asset: parsed.token.address, amount }
    const [newest] = deps.ledger.payments.listOffersOf(meant)
    if (newest) assertFree(deps, newest)
    throw unknownOfferError(
      'The amount, from this wallet, matches none of your offers. Ask for one: POST /v1/billing/x402/quote, with `payer` if the wallet is not that of your account; its amount must be paid exactly.',
    )
  }
  assertFree(deps, offer)
  const isEnded = deps.clock() >= offer.expiresMs
  const signed = sealPayment(parsed, offer)
  const forged = faults.find((fault) => fault === 'signature_invalid')
  const reason = forged ?? faultOf(signed, offer, moment)
  // Written down, though not sent by us now: so nobody is asked to pay while it may land. If its
  // payer has submitted it, it may be mined until the chain says that its time is over.
  const isUntimely = isEnded || reason !== undefined
  const isOurs = reason !== 'signature_invalid' && reason !== 'recipient_mismatch'
  const mayLand = isUntimely && isOurs && (await lookAt(asked, offer)).kind !== 'void'
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
async function lookAt({ view, parsed }: Asked, offer: Offer): Promise<ChainVerdict> {
  const verdict = await view.look(sealPayment(parsed, offer), { fromBlock: offer.fromBlock })
  if (verdict.kind === 'unavailable') throw unaskedError()
  return verdict
}

/** The offer that payer and amount name, ended or not, if it is one of the account's own. */
function findOffer({ deps, accountId, parsed, moment }: Asked): Offer | undefined {
  const at = { accountId, nowMs: deps.clock(), aheadMs: aheadOf(moment) }
  const offer = deps.ledger.payments.findOfferFor(parsed.signed, at)
  return offer?.accountId === accountId ? offer : undefined
}

/** What the offer and the time say against it; its amount and asset are those of the offer. */
export function faultOf(signed: SignedPayment, offer: Offer, moment: Moment): string | undefined {
  if (signed.payTo !== offer.requirements.payTo.toLowerCase()) return 'recipient_mismatch'
  return isFresh(signed, moment) ? clockFault(signed, moment) : 'expires_too_soon'
}
