import type { Actor, Deed } from '#src/ledger/ledger.ts'
import { assert } from '#src/lib/assert.ts'
/** What each step of a payment needs, and the two changes that every step may make. */
import type { ChainView } from '#src/selling/chain-view.ts'
import type { Facilitator } from '#src/selling/facilitator.ts'
import type { Offer } from '#src/selling/offer.ts'
import type { Payment } from '#src/selling/payment.ts'

import type { BillingDeps } from './billing.ts'
import type { Next } from './outcome.ts'

/** `actor`: the account that hands a payment in, or `system` for the reconciler. */
export type Flow = {
  deps: BillingDeps
  chain: ChainView
  /** Undefined where none is configured any more: payments are then only looked for. */
  facilitator: Facilitator | undefined
  actor: Actor
}

/** A payment at work, with its offer. */
export type Case = { payment: Payment; offer: Offer }

/** The first steps of a payment need this long; the token is strict to the second. */
export const FRESH_MS_MIN = 30_000

export const deedOf = ({ deps, actor }: Flow): Deed => ({ actor, nowMs: deps.clock() })

/** True if there is time left to send a payment. */
export const isFresh = ({ deps }: Flow, { signed }: Payment): boolean =>
  Number(signed.validBefore) * 1000 >= deps.clock() + FRESH_MS_MIN

/** The payment as the ledger has it now. */
export function reread({ deps }: Flow, id: string): Payment {
  const payment = deps.ledger.payments.findPayment(id)
  assert(payment !== undefined, 'Payments are never deleted.')
  return payment
}

/** Moves a payment on; if somebody else was quicker, his state stands. */
export function move(flow: Flow, payment: Payment, next: Next): Payment {
  if (payment.state === next.to && (next.txHash ?? payment.txHash) === payment.txHash)
    return payment
  const moved = flow.deps.ledger.payments.move(
    payment.id,
    { ...next, from: [payment.state] },
    deedOf(flow),
  )
  if (!moved) return reread(flow, payment.id)
  const reason = next.reason === undefined ? '' : ` (${next.reason})`
  flow.deps.log(`billing: ${payment.id} ${payment.state} -> ${next.to}${reason}`)
  return moved
}

/** Gives what was paid for; the same at every call. */
export function provision(flow: Flow, id: string): Payment {
  const { ledger, mint } = flow.deps
  const ids = { subscriptionId: `sub_${mint()}`, restId: `sub_${mint()}` }
  ledger.payments.provision(id, ids, deedOf(flow))
  return reread(flow, id)
}
