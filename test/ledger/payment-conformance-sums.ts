/** The payments' conformance suite on sums and search, for the operator. */
import { describe, expect, test } from 'bun:test'

import { accountIdOf, addressOf, DAY_MS, NOW_MS } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  aProof,
  ASSET,
  buy,
  claimUpTo,
  network,
  openOffer,
  paymentIdOf,
} from './payment-records.ts'

export function conformSums(use: UsePayments): void {
  test(
    'sumPayments: counts payments and their money by step, state, reason and token',
    use(async (ledger) => {
      const since = { sinceMs: NOW_MS, stepMs: DAY_MS }
      expect(ledger.payments.sumPayments(since)).toEqual([])
      await buy(ledger, 1)
      await buy(ledger, 2, { nowMs: NOW_MS + DAY_MS })
      await buy(ledger, 3, { nowMs: NOW_MS + DAY_MS + 5 })
      const rejected = await claimUpTo(ledger, 4, { state: 'received' })
      const change = { from: ['received'], to: 'rejected', reason: 'expired' } as const
      await ledger.payments.move(rejected.id, change, { actor: 'system', nowMs: NOW_MS })
      const amountsOf = (...numbers: number[]) =>
        numbers.reduce(
          (sum, number) =>
            sum + Number(ledger.payments.findPayment(paymentIdOf(number))?.signed.amount),
          0,
        )
      const token = { network, asset: ASSET.toLowerCase() }
      const made = { ...token, state: 'provisioned', reason: undefined }
      const sums = ledger.payments.sumPayments(since)
      expect(sums).toEqual([
        { ...made, stepMs: NOW_MS, count: 1, amount: amountsOf(1) },
        {
          ...token,
          state: 'rejected',
          reason: 'expired',
          stepMs: NOW_MS,
          count: 1,
          amount: amountsOf(4),
        },
        { ...made, stepMs: NOW_MS + DAY_MS, count: 2, amount: amountsOf(2, 3) },
      ] as typeof sums)
      const later = ledger.payments.sumPayments({ ...since, sinceMs: NOW_MS + DAY_MS + 1 })
      expect(later.map(({ count }) => count)).toEqual([1])
      const all = ledger.payments.sumPayments({ sinceMs: 0, stepMs: Number.MAX_SAFE_INTEGER })
      expect(all.map(({ stepMs, count }) => [stepMs, count])).toEqual([
        [0, 3],
        [0, 1],
      ])
    }),
  )

  test(
    'countOffers: counts quotes from a moment on',
    use(async (ledger) => {
      await openOffer(ledger, 1, { nowMs: NOW_MS })
      await openOffer(ledger, 2, { nowMs: NOW_MS + 10 })
      expect([NOW_MS, NOW_MS + 10, NOW_MS + 11].map(ledger.payments.countOffers)).toEqual([2, 1, 0])
    }),
  )

  describe('searchPayments', () => {
    const find = (found: readonly { id: string }[]) => found.map(({ id }) => id)

    test(
      'default: finds by ids, payer, transaction and label of the account, newest first',
      use(async (ledger) => {
        await claimUpTo(ledger, 1, { state: 'settled' })
        await claimUpTo(ledger, 2, { state: 'pending' })
        const search = (text: string, limit = 10) =>
          find(ledger.payments.searchPayments({ search: text, limit }))
        const both = [paymentIdOf(2), paymentIdOf(1)]
        expect(search(paymentIdOf(2))).toEqual([paymentIdOf(2)])
        expect(search('QUOTE_1')).toEqual([paymentIdOf(1)])
        expect(search(aProof(1).txHash.toUpperCase())).toEqual([paymentIdOf(1)])
        for (const text of [accountIdOf(1), addressOf(1), addressOf(1).slice(0, 12)])
          expect(search(text)).toEqual(both)
        expect(search(accountIdOf(1), 1)).toEqual(both.slice(0, 1))
        for (const text of ['pro', 'Pro', 'PRO']) expect(search(text)).toEqual(both)
        for (const text of ['Pr', 'starter', '"']) expect(search(text)).toEqual([])
        expect(search('nothing like it')).toEqual([])
        expect(search('%')).toEqual([])
      }),
    )
  })
}
