/**
 * The payments' conformance suite on money that nobody expected, and what the operator says of it.
 */
import { describe, expect, test } from 'bun:test'

import { auditOf, by, deedsOf, NOW_MS } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import { aProof, aTransfer, claimUpTo, network } from './payment-records.ts'

export function conformReview(use: UsePayments): void {
  describe('addUnmatchedTransfer', () => {
    conformTransfers(use)
  })
  describe('resolveReview', () => {
    conformResolving(use)
  })
  describe('setScannedBlock', () => {
    conformScanning(use)
  })
}

function conformTransfers(use: UsePayments): void {
  test(
    'behavior: one that a payment explains after all needs nobody any more',
    use(async (ledger) => {
      const payment = await claimUpTo(ledger, 7, { state: 'pending' })
      const proof = aProof(7)
      await ledger.payments.addUnmatchedTransfer(aTransfer(7, proof), by())
      expect(ledger.payments.listUnmatchedTransfers(false)).toHaveLength(1)
      await ledger.payments.move(payment.id, { from: ['pending'], to: 'settled', proof }, by())
      expect(ledger.payments.listUnmatchedTransfers(false)).toEqual([])
    }),
  )

  test(
    'default: keeps it to the last digit, once, and audits it',
    use(async (ledger) => {
      const transfers = [1, 2].map((number) => aTransfer(number))
      for (const transfer of transfers) {
        expect(await ledger.payments.addUnmatchedTransfer(transfer, by())).toBe(true)
      }
      expect(await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())).toBe(false)
      const sameLog = aTransfer(1, { id: 'transfer_other' })
      expect(await ledger.payments.addUnmatchedTransfer(sameLog, by())).toBe(false)
      expect(ledger.payments.listUnmatchedTransfers(false)).toEqual(transfers)
      expect(ledger.payments.listUnmatchedTransfers(true)).toEqual([])
      expect(auditOf(ledger).map(({ deed, state }) => [deed, state.amount])).toEqual([
        ['operator transfer.unmatched transfer_1', '9007199254740993'],
        ['operator transfer.unmatched transfer_2', '9007199254740993'],
      ])
    }),
  )

  test(
    'behavior: what a payment of ours explains is not unmatched',
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state: 'settled' })
      const add = (changes: { logIndex?: number }) =>
        ledger.payments.addUnmatchedTransfer(aTransfer(1, { ...aProof(1), ...changes }), by())
      expect(await add({})).toBe(false)
      expect(await add({ logIndex: 77 })).toBe(true)
    }),
  )
}

function conformResolving(use: UsePayments): void {
  test(
    'default: payments are counted by state, of those in review the undecided ones',
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state: 'pending' })
      const first = await claimUpTo(ledger, 2, { state: 'review' })
      await claimUpTo(ledger, 3, { state: 'review' })
      expect(ledger.payments.countPayments()).toEqual({ pending: 1, review: 2 })
      await ledger.payments.resolveReview(first.id, 'refunded', by())
      expect(ledger.payments.countPayments()).toEqual({ pending: 1, review: 1 })
    }),
  )

  test(
    'default: notes what became of a transfer, once',
    use(async (ledger) => {
      await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())
      expect(await ledger.payments.resolveReview('transfer_1', 'sent back', by())).toBe(true)
      expect(await ledger.payments.resolveReview('transfer_1', 'kept', by())).toBe(false)
      expect(ledger.payments.listUnmatchedTransfers(false)).toEqual([])
      expect(ledger.payments.listUnmatchedTransfers(true)).toEqual([
        aTransfer(1, { resolution: 'sent back' }),
      ])
      expect(deedsOf(ledger).at(-1)).toBe('operator review.resolved transfer_1')
    }),
  )

  test(
    'default: notes what became of a payment in review, which stays there',
    use(async (ledger) => {
      const payment = await claimUpTo(ledger, 1, { state: 'review' })
      expect(await ledger.payments.resolveReview(payment.id, 'sent back', by(NOW_MS + 1))).toBe(
        true,
      )
      expect(await ledger.payments.resolveReview(payment.id, 'kept', by())).toBe(false)
      const resolved = { ...payment, resolution: 'sent back' }
      expect(ledger.payments.findPayment(payment.id)).toEqual(resolved)
      expect(auditOf(ledger).at(-1)).toMatchObject({
        deed: `operator review.resolved ${payment.id}`,
        state: { resolution: 'sent back' },
      })
    }),
  )

  test(
    'error: resolves nothing else, and audits nothing',
    use(async (ledger) => {
      const payment = await claimUpTo(ledger, 1, { state: 'unknown' })
      const before = deedsOf(ledger)
      for (const id of [payment.id, 'pay_none', 'transfer_none']) {
        expect(await ledger.payments.resolveReview(id, 'kept', by())).toBe(false)
      }
      expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
      expect(deedsOf(ledger)).toEqual(before)
    }),
  )
}

function conformScanning(use: UsePayments): void {
  test(
    'default: remembers the last block of each chain',
    use(async (ledger) => {
      expect(ledger.payments.scannedBlock(network)).toBeUndefined()
      await ledger.payments.setScannedBlock(network, 5)
      await ledger.payments.setScannedBlock('eip155:1', 7)
      await ledger.payments.setScannedBlock(network, 6)
      expect(ledger.payments.scannedBlock(network)).toBe(6)
      expect(ledger.payments.scannedBlock('eip155:1')).toBe(7)
    }),
  )
}
