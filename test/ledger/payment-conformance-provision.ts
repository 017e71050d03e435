/** The payments' conformance suite on turning money into time. */
import { describe, expect, test } from 'bun:test'

import { standingAt } from '#src/domain/selling/subscription.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import {
  accountIdOf,
  aSubscription,
  auditOf,
  by,
  DAY_MS,
  deedsOf,
  NOW_MS,
  tierOf,
} from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import { buy, claimUpTo, idsOf, paymentIdOf } from './payment-records.ts'

const CALLS = 50

export function conformProvision(use: UsePayments): void {
  describe('provision', () => {
    conformOnce(use)
    conformAtomic(use)
    conformMoving(use)
  })
}

/** Each period as tier, first and last day, and its payment. */
const coursesOf = (ledger: Ledger) =>
  ledger
    .listSubscriptions(accountIdOf(1))
    .map(({ tierId, startMs, endMs = Infinity, paymentId }) =>
      [tierId, (startMs - NOW_MS) / DAY_MS, (endMs - NOW_MS) / DAY_MS, paymentId ?? '-'].join(' '),
    )

function conformOnce(use: UsePayments): void {
  test(
    'default: adds the period with the terms of the offer, and ends the payment',
    use(async (ledger) => {
      const before = ledger.revision()
      const subscription = await buy(ledger, 1)
      const { coins, routes, name, rank, requestsPerMinute } = tierOf('pro')
      expect(subscription).toEqual({
        id: idsOf(1).subscriptionId,
        accountId: accountIdOf(1),
        tierId: 'pro',
        terms: { tierId: 'pro', coins, routes, name, rank, requestsPerMinute },
        startMs: NOW_MS,
        endMs: NOW_MS + 30 * DAY_MS,
        paymentId: paymentIdOf(1),
        createdMs: NOW_MS,
      })
      expect(ledger.payments.findPayment(paymentIdOf(1))?.state).toBe('provisioned')
      expect(ledger.payments.findSubscriptionOf(paymentIdOf(1))).toEqual(subscription)
      expect(ledger.listSubscriptions(accountIdOf(1))).toEqual([subscription])
      expect(deedsOf(ledger).slice(-2)).toEqual([
        `operator subscription.added ${subscription.id}`,
        `operator payment.provisioned ${paymentIdOf(1)}`,
      ])
      expect(ledger.revision()).toBeGreaterThan(before)
    }),
  )

  test(
    `behavior: ${CALLS} calls are one subscription, whatever ids they come with`,
    use(async (ledger) => {
      const first = await buy(ledger, 1)
      const before = ledger.listAudit(0, 1000)
      for (let call = 0; call < CALLS; call++) {
        const again = await ledger.payments.provision(
          paymentIdOf(1),
          idsOf(call),
          by(NOW_MS + call),
        )
        expect(again).toEqual(first)
      }
      expect(ledger.listSubscriptions(accountIdOf(1))).toEqual([first])
      expect(ledger.listAudit(0, 1000)).toEqual(before)
    }),
  )

  test(
    'error: only what is settled is provisioned',
    use(async (ledger) => {
      const states = ['received', 'screened', 'settling', 'pending', 'unknown', 'rejected'] as const
      for (const [number, state] of [...states, 'void' as const, 'review' as const].entries()) {
        const payment = await claimUpTo(ledger, number, { state })
        const provision = ledger.payments.provision(payment.id, idsOf(number), by())
        await expect(provision).rejects.toThrow(state)
        expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
        expect(ledger.payments.findSubscriptionOf(payment.id)).toBeUndefined()
      }
      await expect(ledger.payments.provision('pay_none', idsOf(1), by())).rejects.toThrow(
        'pay_none',
      )
      expect(ledger.listSubscriptions(accountIdOf(1))).toEqual([])
    }),
  )
}

function conformAtomic(use: UsePayments): void {
  test(
    'error: what fails right after it leaves nothing of it',
    use(async (ledger) => {
      await buy(ledger, 1, { tierId: 'starter' })
      const payment = await claimUpTo(ledger, 2, { state: 'settled' })
      const read = () => [
        ledger.listSubscriptions(accountIdOf(1)),
        ledger.listAudit(0, 1000),
        ledger.payments.findPayment(payment.id),
        ledger.revision(),
      ]
      const before = read()
      const crash = ledger.atomically((transaction) => {
        transaction.payments.provision(payment.id, idsOf(2), by(NOW_MS + DAY_MS))
        expect(transaction.listSubscriptions(accountIdOf(1))).toHaveLength(3)
        throw new Error('crash')
      })
      await expect(crash).rejects.toThrow('crash')
      expect(read()).toEqual(before)
      expect(ledger.payments.findSubscriptionOf(payment.id)).toBeUndefined()
      await ledger.payments.provision(payment.id, idsOf(2), by(NOW_MS + DAY_MS))
      expect(ledger.listSubscriptions(accountIdOf(1))).toHaveLength(3)
    }),
  )

  test(
    'error: fails whole where one of its writes does, though the caller goes on',
    use(async (ledger) => {
      await buy(ledger, 1, { tierId: 'starter' })
      const payment = await claimUpTo(ledger, 2, { state: 'settled' })
      const before = [coursesOf(ledger), ledger.listAudit(0, 1000).length]
      // This id is taken.
      const ids = { ...idsOf(2), subscriptionId: idsOf(1).subscriptionId }
      const provision = ledger.payments.provision(payment.id, ids, by(NOW_MS + DAY_MS))
      await expect(provision).rejects.toThrow()
      expect([coursesOf(ledger), ledger.listAudit(0, 1000).length]).toEqual(before)
      expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
    }),
  )
}

function conformMoving(use: UsePayments): void {
  test(
    'default: a higher tier starts at once, and the rest of what ran follows with its terms',
    use(async (ledger) => {
      const starter = await buy(ledger, 1, { tierId: 'starter' })
      await buy(ledger, 2, { tierId: 'starter' })
      await buy(ledger, 3, { nowMs: NOW_MS + 10 * DAY_MS })
      expect(coursesOf(ledger)).toEqual([
        `starter 0 10 ${paymentIdOf(1)}`,
        `pro 10 40 ${paymentIdOf(3)}`,
        'starter 40 60 -',
        `starter 60 90 ${paymentIdOf(2)}`,
      ])
      const rest = ledger.listSubscriptions(accountIdOf(1))[2]
      expect(rest).toMatchObject({ id: idsOf(3).restId, terms: starter.terms })
      const deeds = deedsOf(ledger).slice(-5).toSorted()
      expect(deeds).toEqual([
        `operator payment.provisioned ${paymentIdOf(3)}`,
        `operator subscription.added ${idsOf(3).subscriptionId}`,
        `operator subscription.added ${idsOf(3).restId}`,
        `operator subscription.moved ${idsOf(1).subscriptionId}`,
        `operator subscription.moved ${idsOf(2).subscriptionId}`,
      ])
      const moved = auditOf(ledger).find(({ deed }) => deed.includes('subscription.moved'))
      expect(moved?.state).toMatchObject({ endMs: NOW_MS + 10 * DAY_MS })
    }),
  )

  test(
    'default: the same tier again, and a lower one, follow what was paid before',
    use(async (ledger) => {
      await buy(ledger, 1)
      await buy(ledger, 2, { tierId: 'starter', nowMs: NOW_MS + DAY_MS })
      await buy(ledger, 3, { nowMs: NOW_MS + DAY_MS })
      expect(coursesOf(ledger)).toEqual([
        `pro 0 30 ${paymentIdOf(1)}`,
        `pro 30 60 ${paymentIdOf(3)}`,
        `starter 60 90 ${paymentIdOf(2)}`,
      ])
    }),
  )

  test(
    'behavior: grants stay where they are, and the higher of the two holds',
    use(async (ledger) => {
      const offer = await claimUpTo(ledger, 1, { state: 'settled' })
      const grant = await ledger.addSubscription(
        aSubscription(1, { tierId: 'enterprise', endMs: NOW_MS + DAY_MS }),
        by(),
      )
      await ledger.payments.provision(offer.id, idsOf(1), by())
      const subscriptions = ledger.listSubscriptions(accountIdOf(1))
      expect(subscriptions).toHaveLength(2)
      expect(subscriptions).toContainEqual(grant)
      const { terms } = standingAt(subscriptions, ledger.listTiers(), NOW_MS)
      expect(terms.tierId).toBe('enterprise')
    }),
  )
}
