/** Offers and payments in the ledger's file. Every verb is one transaction with its audit rows. */
import type { Offer } from '#src/selling/offer.ts'

import type { PaymentStore } from '../payments.ts'
import type { Tables } from '../sqlite-ledger.ts'
import { createMoves } from './moves.ts'
import { createOfferTable } from './offer-table.ts'
import { createPaymentTable } from './payment-table.ts'
import { createProvision } from './provision.ts'
import { createScanTable, createTransferTable } from './transfer-table.ts'

export type PaymentParts = ReturnType<typeof createParts>

const createParts = (ledger: Tables) => ({
  ...ledger,
  offers: createOfferTable(ledger.db),
  payments: createPaymentTable(ledger.db),
})

/** Makes the payments of an open ledger. */
export function createPayments(ledger: Tables): PaymentStore {
  const parts = createParts(ledger)
  const { db, atomically, note, offers, payments } = parts
  const scans = createScanTable(db)
  const { write, ...moves } = createMoves(parts)
  return {
    openOffer: createOpenOffer(parts),
    findOffer: offers.find,
    findOfferFor: offers.findFor,
    isOfferTaken: offers.isTaken,
    listReservedOffers: offers.listReserved,
    releaseOffer: (id, by) =>
      atomically(() => {
        const isReleased = offers.release(id, by.nowMs)
        if (isReleased) note(by, 'offer.released', id)
        return isReleased
      }),
    listOffersOf: offers.listOf,

    findPayment: payments.find,
    findUndecidedPayment: payments.findUndecided,
    findPaymentByNonce: payments.findByNonce,
    listPayments: payments.list,
    listPaymentsIn: payments.listIn,
    listPaymentsLike: payments.listLike,
    countFailedPayments: payments.countFailed,

    ...moves,
    ...createProvision(parts, write),
    ...createReview(parts),

    scannedBlock: scans.find,
    setScannedBlock: (network, blockNumber) => atomically(() => scans.put(network, blockNumber)),
  }
}

const createOpenOffer =
  ({ atomically, note, accounts, offers }: PaymentParts): PaymentStore['openOffer'] =>
  (draft, rules, by) =>
    atomically(() => {
      const { nowMs } = by
      const { accountId, requirements } = draft
      accounts.get(accountId)
      const same = offers.findSame(draft, rules, nowMs)
      if (same !== undefined) return { kind: 'open', offer: same }
      const isUnique = draft.payer === undefined
      const { every, uniqueOnes } = offers.countReserved(accountId, nowMs)
      const isFull = every >= rules.offersMax || (isUnique && uniqueOnes >= rules.uniqueMax)
      if (isFull) return { kind: 'limit' }
      const amount = isUnique
        ? offers.uniqueAmount(draft.id, rules.atomic, { ...requirements, nowMs })
        : offers.ownAmount(draft, rules.atomic, nowMs)
      if (amount === undefined) return { kind: 'no_amount' }
      const terms = { ...requirements, amount: String(amount) }
      const offer: Offer = { ...draft, requirements: terms, createdMs: nowMs }
      offers.insert(offer, rules.reservedUntilMs)
      note(by, 'offer.opened', offer.id)
      return { kind: 'opened', offer: offers.get(offer.id) }
    })

function createReview({ db, atomically, note, payments }: PaymentParts) {
  const transfers = createTransferTable(db)

  /** Notes it where it belongs; false if nothing of that name waits for a decision. */
  function resolve(id: string, resolution: string): boolean {
    const payment = payments.find(id)
    const isWaiting = payment?.state === 'review' && payment.resolution === undefined
    if (isWaiting) payments.update({ ...payment, resolution })
    if (payment !== undefined) return isWaiting
    const transfer = transfers.find(id)
    if (transfer === undefined || transfer.resolution !== undefined) return false
    transfers.resolve({ id, resolution })
    return true
  }

  return {
    addUnmatchedTransfer: (transfer, by) =>
      atomically(() => {
        const { id, network } = transfer
        if (transfers.find(id) !== undefined || transfers.findByLog(network, transfer)) return false
        if (payments.findByProof(network, transfer) !== undefined) return false
        transfers.insert(transfer)
        note(by, 'transfer.unmatched', id)
        return true
      }),

    listUnmatchedTransfers: transfers.list,

    resolveReview: (id, resolution, by) =>
      atomically(() => {
        const isResolved = resolve(id, resolution)
        if (isResolved) note(by, 'review.resolved', id)
        return isResolved
      }),
  } satisfies Partial<PaymentStore>
}
