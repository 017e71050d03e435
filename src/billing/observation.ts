import { LedgerRuleError } from '#src/ledger/payments.ts'
/** Looks for a payment on the chain, and takes what is found for what it is. */
import type { Payment, PaymentProof } from '#src/selling/payment.ts'

import { type Case, type Flow, move, provision } from './flow.ts'
import { afterLook, type Next } from './outcome.ts'
import { screenPayer } from './preparation.ts'

/** Moves a payment as far as the chain proves; unchanged where it proves nothing. */
export async function observe(flow: Flow, { payment, offer }: Case): Promise<Payment> {
  if (payment.state === 'settled') return provision(flow, payment.id)
  const verdict = await flow.chain.look(payment.signed, {
    fromBlock: offer.fromBlock,
    txHash: payment.txHash,
  })
  const next = afterLook(verdict)
  const doubt = next?.proof && doubtOf(flow, { payment, offer }, next.proof)
  if (doubt !== undefined) {
    return move(flow, payment, { to: 'review', txHash: next?.txHash, reason: doubt })
  }
  return next ? await take(flow, payment, next) : payment
}

/**
 * Why money that moved before we sent anything does not count by itself. Whoever reads a chain can present a payment
 * that he saw there, also one that was made to another server with the same address: so it must come from the
 * account's own wallet, and be newer than the offer.
 */
function doubtOf(
  { deps }: Flow,
  { payment, offer }: Case,
  { blockNumber }: PaymentProof,
): 'foreign_payer' | 'paid_before_offer' | undefined {
  if (payment.attempts > 0) return undefined
  const owner = deps.ledger.findAccountByAddress(payment.signed.payer)
  if (owner?.id !== payment.accountId) return 'foreign_payer'
  return blockNumber <= offer.fromBlock ? 'paid_before_offer' : undefined
}

/** Takes what was learned; money that is final gives its period at once. */
export async function take(flow: Flow, payment: Payment, next: Next): Promise<Payment> {
  const isMoney = next.to === 'settled' || next.to === 'pending'
  if (isMoney && payment.state === 'received') {
    // Sent by the payer himself before we knew who he is.
    const screened = await screenPayer(flow, payment)
    return screened.state === 'screened' ? await take(flow, screened, next) : screened
  }
  const moved = isMoney ? moveMoney(flow, payment, next) : move(flow, payment, next)
  return moved.state === 'settled' ? provision(flow, moved.id) : moved
}

/**
 * Two payments of one offer, or one transfer for two payments, are refused by the ledger: the second
 * is money too much, which the operator has to see.
 */
function moveMoney(flow: Flow, payment: Payment, next: Next): Payment {
  try {
    return move(flow, payment, next)
  } catch (error) {
    if (!(error instanceof LedgerRuleError)) throw error
    return move(flow, payment, { to: 'review', txHash: next.txHash, reason: 'paid_twice' })
  }
}
