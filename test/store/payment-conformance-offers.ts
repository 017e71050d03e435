/** The payments' conformance suite on offers and their amounts. */
import { describe, expect, test } from 'bun:test'

import { AMOUNT_SLOTS } from '#src/core/offer.ts'
import { openStates } from '#src/core/payment.ts'

import { accountIdOf, auditOf, by, NOW_MS, tierOf } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  anOffer,
  ASSET,
  claimUpTo,
  network,
  offerIdOf,
  openOffer,
  PRICE,
  RESERVED_UNTIL_MS,
} from './payment-records.ts'

export function conformOffers(use: UsePayments): void {
  describe('openOffer', () => {
    conformOpening(use)
    conformAmounts(use)
    conformReuse(use)
  })
  describe('findOfferByAmount', () => {
    conformFinding(use)
  })
}

function conformOpening(use: UsePayments): void {
  test(
    'default: keeps the offer as it was made, and audits it',
    use((ledger) => {
      const offer = openOffer(ledger, 1)
      const draft = anOffer(1)
      const { coins, routes, name, rank, requestsPerMinute } = tierOf('pro')
      expect(offer).toEqual({
        ...draft,
        terms: { tierId: 'pro', coins, routes, name, rank, requestsPerMinute },
        requirements: { ...draft.requirements, amount: String(PRICE) },
        createdMs: NOW_MS,
      })
      expect(ledger.payments.findOffer(offerIdOf(1))).toEqual(offer)
      expect(ledger.payments.findOffer(offerIdOf(2))).toBeUndefined()
      expect(auditOf(ledger).at(-1)).toMatchObject({
        deed: `operator offer.opened ${offerIdOf(1)}`,
        state: { accountId: accountIdOf(1), amount: String(PRICE), network },
      })
    }),
  )

  test(
    'behavior: the catalogue may change, the offer does not',
    use((ledger) => {
      const offer = openOffer(ledger, 1)
      ledger.putTier({ ...tierOf('pro'), name: 'Changed', requestsPerMinute: 1 }, by())
      expect(ledger.payments.findOffer(offerIdOf(1))).toEqual(offer)
    }),
  )

  test(
    'behavior: leaves the revision alone, since it lets nobody do anything',
    use((ledger) => {
      openOffer(ledger, 1)
      const before = ledger.revision()
      openOffer(ledger, 2)
      expect(ledger.revision()).toBe(before)
    }),
  )

  test(
    'error: refuses an account that is not there',
    use((ledger) => {
      const open = () => openOffer(ledger, 1, { accountId: accountIdOf(7) })
      expect(open).toThrow(accountIdOf(7))
      expect(ledger.payments.findOffer(offerIdOf(1))).toBeUndefined()
    }),
  )
}

function conformAmounts(use: UsePayments): void {
  test(
    'default: takes the least off the price that makes the amount its own',
    use((ledger) => {
      const amounts = [1, 2, 3].map((number) => openOffer(ledger, number).requirements.amount)
      expect(amounts).toEqual(['49000000', '48999999', '48999998'])
      const tether = { ...anOffer(4).requirements, asset: `0x${'C2'.repeat(20)}` }
      const { requirements } = openOffer(ledger, 4, { requirements: tether })
      expect(requirements).toEqual({ ...tether, amount: '49000000' })
    }),
  )

  test(
    `default: of ${AMOUNT_SLOTS} amounts each is given once, then none`,
    use((ledger) => {
      ledger.atomically(() => {
        for (let slot = 0; slot < AMOUNT_SLOTS - 1; slot++) {
          openOffer(ledger, slot, { atomic: PRICE - BigInt(slot) })
        }
      })
      const last = openOffer(ledger, AMOUNT_SLOTS)
      expect(last.requirements.amount).toBe(String(PRICE - 9_999n))
      expect(() => openOffer(ledger, AMOUNT_SLOTS + 1)).toThrow('No amount is free.')
      expect(ledger.payments.findOffer(offerIdOf(AMOUNT_SLOTS + 1))).toBeUndefined()
      expect(openOffer(ledger, AMOUNT_SLOTS + 1, { atomic: PRICE + 1n }).requirements.amount).toBe(
        String(PRICE + 1n),
      )
    }),
  )
}

function conformReuse(use: UsePayments): void {
  test(
    'behavior: an amount is free again from the end of its reservation on, and the smallest cut first',
    use((ledger) => {
      for (const number of [1, 2, 3]) {
        openOffer(ledger, number, { reservedUntilMs: NOW_MS + (number === 2 ? 10 : 20) })
      }
      const amountAt = (number: number, nowMs: number) =>
        openOffer(ledger, number, { nowMs }).requirements.amount
      expect(amountAt(4, NOW_MS + 9)).toBe(String(PRICE - 3n))
      expect(amountAt(5, NOW_MS + 10)).toBe(String(PRICE - 1n))
      expect(amountAt(6, NOW_MS + 20)).toBe(String(PRICE))
    }),
  )

  test(
    'behavior: as long as a payment is open its amount is not given away, however late it is',
    use((ledger) => {
      for (const [number, state] of openStates.entries()) claimUpTo(ledger, number, { state })
      claimUpTo(ledger, 90, { state: 'void' })
      const late = openOffer(ledger, 91, { nowMs: RESERVED_UNTIL_MS })
      expect(late.requirements.amount).toBe(String(PRICE - BigInt(openStates.length)))
    }),
  )

  test(
    'behavior: what was rolled back keeps no amount',
    use((ledger) => {
      const failing = () =>
        ledger.atomically(() => {
          for (const number of [1, 2, 3]) openOffer(ledger, number)
          throw new Error('undone')
        })
      expect(failing).toThrow('undone')
      const amounts = [4, 5].map((number) => openOffer(ledger, number).requirements.amount)
      expect(amounts).toEqual([String(PRICE), String(PRICE - 1n)])
    }),
  )

  test(
    'behavior: prices that lie close share their amounts, across every power of ten',
    use((ledger) => {
      const amountOf = (number: number, atomic: bigint) =>
        openOffer(ledger, number, { atomic }).requirements.amount
      const amounts = [1, 2, 3, 4].map((number) => amountOf(number, 100_001n))
      expect(amounts).toEqual(['100001', '100000', '99999', '99998'])
      expect(amountOf(8, 99_999n)).toBe('99997')
    }),
  )

  test(
    'behavior: an amount is never nothing',
    use((ledger) => {
      expect(openOffer(ledger, 1, { atomic: 2n }).requirements.amount).toBe('2')
      expect(openOffer(ledger, 2, { atomic: 2n }).requirements.amount).toBe('1')
      expect(() => openOffer(ledger, 3, { atomic: 2n })).toThrow('No amount is free.')
    }),
  )
}

function conformFinding(use: UsePayments): void {
  test(
    'default: an amount names its offer until the end of its reservation, exclusive',
    use((ledger) => {
      const offers = [1, 2].map((number) => openOffer(ledger, number))
      const find = (amount: bigint, nowMs = NOW_MS, asset = ASSET) =>
        ledger.payments.findOfferByAmount({ network, asset, amount, nowMs })
      expect(find(PRICE)).toEqual(offers[0])
      expect(find(PRICE - 1n, RESERVED_UNTIL_MS - 1, ASSET.toLowerCase())).toEqual(offers[1])
      expect(find(PRICE - 1n, RESERVED_UNTIL_MS)).toBeUndefined()
      expect(find(PRICE - 2n)).toBeUndefined()
      expect(find(PRICE, NOW_MS, `0x${'c'.repeat(40)}`)).toBeUndefined()
    }),
  )

  test(
    'behavior: an amount that was given twice names the offer of its time',
    use((ledger) => {
      const middle = NOW_MS + 50
      const older = openOffer(ledger, 1, { reservedUntilMs: middle })
      const newer = openOffer(ledger, 2, { nowMs: middle })
      const at = (nowMs: number) =>
        ledger.payments.findOfferByAmount({ network, asset: ASSET, amount: PRICE, nowMs })
      expect(older.requirements.amount).toBe(newer.requirements.amount)
      expect([at(middle - 1), at(middle)]).toEqual([older, newer])
    }),
  )

  test(
    'default: lists the offers of an account of an amount, newest first, however old',
    use((ledger) => {
      const [first, , third] = [1, 2, 3].map((number) =>
        openOffer(ledger, number, {
          nowMs: NOW_MS + number * 1000,
          reservedUntilMs: NOW_MS + (number + 1) * 1000,
          atomic: number === 2 ? 5n : PRICE,
        }),
      )
      const asked = { accountId: accountIdOf(1), network, asset: ASSET, amount: PRICE }
      const { listOffersOf } = ledger.payments
      expect(listOffersOf(asked).map(({ id }) => id)).toEqual([third?.id ?? '', first?.id ?? ''])
      expect(listOffersOf({ ...asked, accountId: accountIdOf(2) })).toEqual([])
      expect(listOffersOf({ ...asked, amount: PRICE - 9n })).toEqual([])
      expect(listOffersOf({ ...asked, asset: `0x${'c'.repeat(40)}` })).toEqual([])
    }),
  )

  test(
    'default: counts the offers of an account whose amount is reserved',
    use((ledger) => {
      for (const number of [1, 2, 3]) {
        openOffer(ledger, number, { reservedUntilMs: NOW_MS + number })
      }
      const counts = [0, 1, 2, 3].map((ms) =>
        ledger.payments.countReservedOffers(accountIdOf(1), NOW_MS + ms),
      )
      expect(counts).toEqual([3, 2, 1, 0])
      expect(ledger.payments.countReservedOffers(accountIdOf(2), NOW_MS)).toBe(0)
    }),
  )
}
