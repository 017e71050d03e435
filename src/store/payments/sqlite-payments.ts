/** Offers and payments in the ledger's file. Every verb is one transaction with its audit rows. */
import type { Offer } from '#src/core/offer.ts'
import type { PaymentStore } from '#src/store/payments.ts'

import { createMoves } from './moves.ts'
import { createOfferTable, type OfferTable } from './offer-table.ts'
import type { LedgerParts } from './parts.ts'
import { createPaymentTable, type PaymentTable } from './payment-table.ts'
import { createProvision } from './provision.ts'
import { createScanTable, createTransferTable } from './transfer-table.ts'

type Tables = LedgerParts & { offers: OfferTable; payments: PaymentTable }

/** Makes the payments of an open ledger. */
export function createPayments(parts: LedgerParts): PaymentStore {
  const { db, atomically } = parts
  const offers = createOfferTable(db)
  const payments = createPaymentTable(db)
  const scans = createScanTable(db)
  const tables = { ...parts, offers, payments }
  const { write, ...moves } = createMoves(tables)
  return {
    openOffer: createOpenOffer(tables),
    findOffer: offers.find,
    findOfferByAmount: offers.findByAmount,
    listOffersOf: offers.listOf,
    countReservedOffers: offers.countReserved,

    findPayment: payments.find,
    listPaymentsOfOffer: payments.listOfOffer,
    findOpenPayment: payments.findOpen,
    findPaymentByNonce: payments.findByNonce,
    listPayments: payments.list,
    listPaymentsIn: payments.listIn,

    ...moves,
    ...createProvision({ ...tables, write }),
    ...createReview(tables),

    scannedBlock: scans.find,
    setScannedBlock: (network, blockNumber) => atomically(() => scans.put(network, blockNumber)),
  }
}

const createOpenOffer =
  ({ atomically, note, accounts, offers }: Tables): PaymentStore['openOffer'] =>
  (draft, price, by) =>
    atomically(() => {
      accounts.get(draft.accountId)
      const { network, asset } = draft.requirements
      const free = offers.freeAmount({ network, asset, nowMs: by.nowMs }, price.atomic)
      if (free === undefined) return undefined
      const requirements = { ...draft.requirements, amount: String(free) }
      const offer: Offer = { ...draft, requirements, createdMs: by.nowMs }
      offers.insert(offer, price.reservedUntilMs)
      note(by, 'offer.opened', offer.id)
      return offers.get(offer.id)
    })

function createReview({ db, atomically, note, payments }: Tables) {
  const transfers = createTransferTable(db)

  /** Notes it where it belongs; false if nothing of that name waits for a decision. */
  function resolve(id: string, resolution: string): boolean {
    const payment = payments.find(id)
    const isWaiting = payment?.state === 'review' && payment.resolution === undefined
    if (isWaiting) payments.update({ ...payment, resolution })
    if (payment !== undefined) return isWaiting
    const transfer = transfers.find(id)
    if (transfer === undefined || transfer.resolution !== undefined) return false
    transfers.resolve(id, resolution)
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
