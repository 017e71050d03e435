/** The ledger's conformance suite on tiers and subscriptions. */
import { describe, expect, test } from 'bun:test'

import { coins } from '#src/domain/market.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'

import type { UseLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  aSubscription,
  auditOf,
  by,
  createKeyOne,
  deedsOf,
  NOW_MS,
  tierOf,
} from './ledger-records.ts'

export function conformTiers(use: UseLedger): void {
  describe('listTiers', () => {
    test(
      'default: a new ledger has the default tiers, put by the system at the time of its making',
      use((ledger) => {
        expect(ledger.listTiers()).toEqual([...defaultTiers])
        expect(ledger.listAudit(0, 100)).toMatchObject(
          defaultTiers.map(({ tierId }, index) => ({
            seq: index + 1,
            timeMs: NOW_MS,
            actor: 'system',
            action: 'tier.put',
            subject: tierId,
          })),
        )
      }),
    )
  })
  describe('putTier', () => {
    conformPutTier(use)
  })
  describe('addSubscription', () => {
    conformSubscriptions(use)
  })
}

function conformPutTier(use: UseLedger): void {
  test(
    'default: adds an entry in the place of its rank, with every field or with none that may be absent',
    use(async (ledger) => {
      const whole = { ...tierOf('pro'), tierId: 'whole', rank: 0, contact: 'Ask.', periodDays: 7 }
      const bare = {
        tierId: 'bare',
        name: 'Bare',
        rank: 9,
        coins: [],
        routes: [],
        requestsPerMinute: 1,
        isForSale: false,
      }
      await ledger.putTier(whole, by())
      await ledger.putTier(bare, by())
      expect(ledger.listTiers()).toEqual([whole, ...defaultTiers, bare])
      expect(deedsOf(ledger)).toEqual(['operator tier.put whole', 'operator tier.put bare'])
    }),
  )

  test(
    'behavior: replaces an entry wholly: what the new one lacks is gone',
    use(async (ledger) => {
      const { amountMillionths, periodDays, ...rest } = tierOf('pro')
      await ledger.putTier({ ...tierOf('pro'), contact: 'Ask.' }, by())
      expect(ledger.listTiers()[2]?.contact).toBe('Ask.')
      const changed = { ...rest, rank: 0, name: 'Professional', isForSale: false }
      await ledger.putTier(changed, by(NOW_MS + 5))
      expect(amountMillionths).toBe(49_000_000)
      expect(periodDays).toBe(30)
      expect(ledger.listTiers()[0]).toEqual(changed)
      expect(ledger.listTiers()).toHaveLength(defaultTiers.length)
      expect(auditOf(ledger).slice(1)).toEqual([
        {
          deed: 'operator tier.put pro',
          timeMs: NOW_MS + 5,
          state: {
            id: 'pro',
            rank: 0,
            name: 'Professional',
            coins: coins.join(','),
            routes: 'markets,prices,snapshots,quotes',
            requestsPerMinute: 300,
            isForSale: 0,
          },
        },
      ])
    }),
  )

  test(
    'behavior: coins and routes come in the order of the domain, each once',
    use(async (ledger) => {
      const coins = ['xrp', 'btc', 'xrp'] as const
      await ledger.putTier({ ...tierOf('pro'), coins, routes: ['quotes', 'markets'] }, by())
      const [, , pro] = ledger.listTiers()
      expect(pro).toMatchObject({ coins: ['btc', 'xrp'], routes: ['markets', 'quotes'] })
      const [put] = auditOf(ledger)
      expect(put?.state).toMatchObject({ coins: 'btc,xrp', routes: 'markets,quotes' })
    }),
  )

  test(
    'error: refuses the rank of another tier and changes nothing',
    use(async (ledger) => {
      const revision = ledger.revision()
      await expect(ledger.putTier({ ...tierOf('pro'), rank: 2 }, by())).rejects.toThrow('starter')
      expect(ledger.listTiers()).toEqual([...defaultTiers])
      expect([ledger.revision(), deedsOf(ledger)]).toEqual([revision, []])
    }),
  )
}

function conformSubscriptions(use: UseLedger): void {
  test(
    'default: lists those of one account by start, with every field or with none that may be absent',
    use(async (ledger) => {
      for (const number of [1, 2])
        await ledger.createAccount({ id: accountIdOf(number) }, by(NOW_MS, 'system'))
      const { tierId, name, rank, coins, routes, requestsPerMinute } = tierOf('starter')
      const terms = { tierId, name, rank, coins, routes, requestsPerMinute }
      const bought = aSubscription(1, {
        tierId,
        terms,
        startMs: NOW_MS + 10,
        endMs: NOW_MS + 20,
        paymentId: 'pay_1',
      })
      const granted = aSubscription(2, { startMs: NOW_MS - 10 })
      const others = aSubscription(3, { accountId: accountIdOf(2) })
      const added = await Array.fromAsync([bought, granted, others], (each) =>
        ledger.addSubscription(each, by()),
      )
      expect(added).toEqual(
        [bought, granted, others].map((each) => ({ ...each, createdMs: NOW_MS })),
      )
      expect(ledger.listSubscriptions(accountIdOf(1))).toEqual(added.slice(0, 2).reverse())
      expect(ledger.listSubscriptions('acc_9')).toEqual([])
      expect(deedsOf(ledger).slice(2)).toEqual(
        [1, 2, 3].map((number) => `operator subscription.added sub_${number}`),
      )
    }),
  )

  test(
    'behavior: terms that were bought stay when the catalogue changes, and hold no price',
    use(async (ledger) => {
      await createKeyOne(ledger)
      await ledger.addSubscription(aSubscription(1, { terms: tierOf('pro') }), by())
      await ledger.putTier({ ...tierOf('pro'), requestsPerMinute: 1 }, by())
      const [bought] = ledger.listSubscriptions(accountIdOf(1))
      expect(bought?.terms).toMatchObject({ tierId: 'pro', requestsPerMinute: 300 })
      expect(bought?.terms).not.toContainKey('amountMillionths')
    }),
  )

  test(
    'error: one payment pays for one subscription',
    use(async (ledger) => {
      await createKeyOne(ledger)
      const paid = { paymentId: 'pay_1' }
      await ledger.addSubscription(aSubscription(1, paid), by())
      const before = deedsOf(ledger)
      await expect(ledger.addSubscription(aSubscription(2, paid), by())).rejects.toThrow()
      expect(ledger.listSubscriptions(accountIdOf(1))).toHaveLength(1)
      expect(deedsOf(ledger)).toEqual(before)
    }),
  )

  test(
    'error: refuses an account that is not there',
    use(async (ledger) => {
      await expect(ledger.addSubscription(aSubscription(1), by())).rejects.toThrow(
        'no account acc_1',
      )
      expect(ledger.listSubscriptions(accountIdOf(1))).toEqual([])
    }),
  )
}
