/**
 * Creates the billing from the ledger, the nodes of chains and a facilitator, or one that sells
 * nothing.
 */

import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { homeChain, type PaymentChain } from '#src/domain/selling/payment-chain.ts'
import type { Offer, Payment } from '#src/domain/selling/payment.ts'

import { admit } from './admission.ts'
import { closedSales, createAvailability, toChainStatus } from './availability.ts'
import type { Billing, BillingOptions, Origin, Settlement } from './billing.ts'
import { admitUnquoted, createDemand } from './keyless.ts'
import { createQuotes, findOwnOffer, findSame, toUnpaidQuote } from './offers.ts'
import {
  allowanceError,
  rejectedError,
  reviewError,
  unavailableError,
  usedOfferError,
} from './payment-errors.ts'
import {
  advance,
  askPayment,
  findContext,
  findOfferOf,
  type PaymentWithOffer,
  waitForFinality,
} from './payment-machine.ts'
import { createReconciler } from './reconciler.ts'

/** Creates a billing without timers: the caller runs `refresh`, `reconcile` and `watch`. */
export function createBilling(options: BillingOptions): Billing {
  const { ledger } = options
  const availability = createAvailability(options)
  const { poll, work, reconcile, watch } = createReconciler(options)
  const listeners: (() => void)[] = []
  const describe = (payment: Payment) =>
    toSettlement(options, payment, findOfferOf(options, payment))
  /** Advances a payment as far as possible. Throws if it neither succeeded nor is in flight. */
  async function settle({ payment, offer }: PaymentWithOffer, origin?: Origin) {
    if (payment.state === 'provisioned') return toSettlement(options, payment, offer)
    const { id, accountId, signed } = payment
    const context = findContext(options, signed.network, `account:${accountId}`)
    if (!context) throw unavailableError('No node of the chain is configured any more.')
    const traced = { ...context, ...origin }
    const settled = await work(id, async () => {
      const advanced = await advance(traced, await askPayment(context, id), offer)
      return waitForFinality(traced, advanced, offer)
    })
    await assertAlive(options, settled, offer)
    return toSettlement(options, settled, offer)
  }
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  async function findOwn({ accountId }: Pick<Caller, 'accountId'>, id: string): Promise<Payment> {
    const payment =
      ledger.payments.findPayment(id) ??
      // Another server may have stored it a moment ago.
      (await ledger.atomically(({ payments }) => payments.findPayment(id)))
    if (payment?.accountId === accountId) return payment
    throw new AppError(
      'unknown_payment',
      'You have no such payment. GET /v1/billing/payments lists your payments.',
      { param: 'id' },
    )
  }
  /** Returns the updated payment; undefined once it is proved void. */
  async function followSame({ id, accountId }: Payment, origin?: Origin) {
    try {
      const payment = await findOwn({ accountId }, id)
      await settle({ payment, offer: findOfferOf(options, payment) }, origin)
    } catch (error) {
      // The state already explains the refusal; only an approval needs the error, to name the call.
      if (!(error instanceof AppError) || error.code === 'allowance_required') throw error
    }
    const settlement = describe(await findOwn({ accountId }, id))
    const { state, reason } = settlement.payment
    if (state === 'review') throw reviewError(reason)
    return state === 'void' ? undefined : settlement
  }
  return {
    isOpen: true,
    chains: availability.chains,
    sales: availability.sales,
    warnings: availability.warnings,
    refresh: availability.refresh,
    quote: createQuotes(options, availability, poll),
    async challenge(caller, offerId, origin) {
      const offer = await findOwnOffer(options, caller, offerId)
      const same = findSame(options, offer)
      const settlement = same && (await followSame(same, origin))
      if (settlement) return { kind: 'same', settlement }
      return { kind: 'unpaid', quote: toUnpaidQuote(options, offer) }
    },
    async payment(caller, id) {
      await poll(await findOwn(caller, id))
      return describe(await findOwn(caller, id))
    },
    payments: ({ accountId }, page) =>
      ledger.payments.listPayments({ accountId, ...page }).map(describe),
    subscriptions: ({ accountId }) => ledger.listSubscriptions(accountId),
    settle: async (caller, payload, origin) =>
      settle(await admit(options, caller, payload), origin).finally(notify),
    demand: createDemand(options, availability),
    async settleUnquoted(product, payload, origin = {}) {
      const { isProved, ...admitted } = await admitUnquoted(options, product, payload, origin)
      const { trace, requestId } = origin
      const settled = await settle(admitted, { trace, requestId }).finally(notify)
      return { ...settled, isProved }
    },
    resume: async (payment, origin) => followSame(payment, origin).finally(notify),
    onSubmitted: (listener) => void listeners.push(listener),
    reconcile,
    watch,
  }
}

/** Throws if a payment neither succeeded nor is in flight, with what the payer should do next. */
async function assertAlive(options: BillingOptions, payment: Payment, offer: Offer): Promise<void> {
  const { state, signed, reason } = payment
  if (state === 'received' || state === 'screened') {
    throw unavailableError(
      'The payment is not known to be sent yet. Submit the same payment again, and sign no other.',
    )
  }
  if (state === 'review') throw reviewError(reason)
  if (state !== 'rejected' && state !== 'void') return
  // No second payment is requested while another one may pay the offer.
  const isTaken = await options.ledger.atomically(({ payments }) => payments.isOfferTaken(offer.id))
  if (reason === 'offer_used' || isTaken) throw usedOfferError()
  if (reason === 'allowance_required' && state === 'rejected') throw allowanceError(payment, offer)
  throw rejectedError(options, { reason: reason ?? 'rejected', signed, offer })
}

function toSettlement({ ledger }: BillingOptions, payment: Payment, offer: Offer): Settlement {
  const subscription = ledger.payments.findSubscriptionOf(payment.id)
  // A payment bought either a period or requests.
  const credit = subscription ? undefined : ledger.payments.findCredit(payment.id)
  return { payment, offer, subscription, credit }
}

export function closedBilling(
  reason: string,
  chains: readonly PaymentChain[] = [homeChain],
): Billing {
  const refuse = (): never => {
    throw new AppError('billing_unavailable', reason, { retryAction: 'ask_operator' })
  }
  const statuses = chains.map((chain) => toChainStatus(chain, () => reason))
  return {
    isOpen: false,
    chains: () => statuses,
    sales: () => closedSales(statuses, `Nothing is sold: ${reason}`),
    warnings: () => [],
    quote: async () => refuse(),
    challenge: async () => refuse(),
    settle: async () => refuse(),
    demand: async () => refuse(),
    settleUnquoted: async () => refuse(),
    resume: async () => refuse(),
    payment: async () => refuse(),
    // Refused instead of an empty list, because earlier payments may exist.
    payments: refuse,
    subscriptions: () => [],
    onSubmitted: () => undefined,
    reconcile: async () => 0,
    watch: async () => undefined,
    refresh: async () => undefined,
  }
}
