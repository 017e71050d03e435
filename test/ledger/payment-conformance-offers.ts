/** The payments' conformance suite on offers and their amounts. */
import { describe, expect, test } from 'bun:test'

import type { Ledger } from '#src/ledger/ledger.ts'
import type { OfferDraft } from '#src/ledger/payments.ts'
import { AMOUNT_SLOTS } from '#src/ledger/payments/offers.ts'

import { accountIdOf, addressOf, auditOf, by, NOW_MS, tierOf } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  amountOf,
  anOffer,
  aSigned,
  buy,
  claimUpTo,
  ensureAccount,
  network,
  offerIdOf,
  offerOf,
  openOffer,
  paymentIdOf,
  PRICE,
  rulesOf,
} from './payment-records.ts'

const SOME = 300

export function conformOffers(use: UsePayments): void {
  describe('openOffer', () => {
    conformOpening(use)
    conformPlainPrices(use)
    conformUniqueAmounts(use)
    conformReuse(use)
    conformLimits(use)
  })
}

function conformOpening(use: UsePayments): void {
  test(
    'default: keeps the offer as it was made, and audits it',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1)
      const draft = anOffer(1)
      const { coins, routes, name, rank, requestsPerMinute } = tierOf('pro')
      expect(offer).toEqual({
        ...draft,
        terms: { tierId: 'pro', coins, routes, name, rank, requestsPerMinute },
        requirements: { ...draft.requirements, amount: offer.requirements.amount },
        createdMs: NOW_MS,
      })
      expect(ledger.payments.findOffer(offerIdOf(1))).toEqual(offer)
      expect(ledger.payments.findOffer(offerIdOf(2))).toBeUndefined()
      expect(auditOf(ledger).at(-1)).toMatchObject({
        deed: `operator offer.opened ${offerIdOf(1)}`,
        state: { accountId: accountIdOf(1), amount: offer.requirements.amount, network },
      })
    }),
  )

  test(
    'behavior: the catalogue may change, the offer does not',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1)
      await ledger.putTier({ ...tierOf('pro'), name: 'Changed', requestsPerMinute: 1 }, by())
      expect(ledger.payments.findOffer(offerIdOf(1))).toEqual(offer)
    }),
  )

  test(
    'behavior: leaves the revision alone, since it lets nobody do anything',
    use(async (ledger) => {
      await openOffer(ledger, 1)
      const before = ledger.revision()
      await openOffer(ledger, 2)
      expect(ledger.revision()).toBe(before)
    }),
  )

  test(
    'error: refuses an account that is not there',
    use(async (ledger) => {
      const open = openOffer(ledger, 1, { accountId: accountIdOf(7) })
      await expect(open).rejects.toThrow(accountIdOf(7))
      expect(ledger.payments.findOffer(offerIdOf(1))).toBeUndefined()
    }),
  )
}

const WALLET = addressOf(1)

function conformPlainPrices(use: UsePayments): void {
  test(
    'default: for the wallet of an account it is the price, however many accounts ask',
    use(async (ledger) => {
      const offers = await Array.fromAsync([1, 2, 3], async (number) => {
        const accountId = `acc_wallet${number}`
        await ledger.createAccount({ id: accountId, address: addressOf(20 + number) }, by())
        return openOffer(ledger, number, { accountId, payer: addressOf(20 + number) })
      })
      expect(offers.map(amountOf)).toEqual([PRICE, PRICE, PRICE])
      expect(offers[0]?.payer).toBe(addressOf(21))
    }),
  )

  test(
    'behavior: two tiers of one price are told apart for one wallet, two tokens need not be',
    use(async (ledger) => {
      const own = { payer: WALLET }
      await openOffer(ledger, 1, own)
      const starter = await openOffer(ledger, 2, { ...own, terms: tierOf('starter') })
      const again = await openOffer(ledger, 3, own)
      const tether = { ...anOffer(4).requirements, asset: `0x${'C2'.repeat(20)}` }
      const other = await openOffer(ledger, 4, {
        ...own,
        terms: tierOf('starter'),
        requirements: tether,
      })
      expect([starter, again, other].map(amountOf)).toEqual([PRICE - 1n, PRICE, PRICE])
    }),
  )
}

function conformUniqueAmounts(use: UsePayments): void {
  test(
    `default: ${SOME} amounts are each their own, and less than a cent below the price`,
    use(async (ledger) => {
      await ensureAccount(ledger)
      const amounts = await ledger.atomically(({ payments }) =>
        Array.from({ length: SOME }, (_, number) =>
          amountOf(offerOf(payments.openOffer(anOffer(number), rulesOf(), by()))),
        ),
      )
      expect(new Set(amounts).size).toBe(SOME)
      for (const amount of amounts) {
        expect(amount).toBeLessThan(PRICE)
        expect(amount).toBeGreaterThanOrEqual(PRICE - BigInt(AMOUNT_SLOTS))
      }
    }),
  )

  test(
    'behavior: an amount is never nothing, nor the price itself',
    use(async (ledger) => {
      expect(amountOf(await openOffer(ledger, 1, { atomic: 2n }))).toBe(1n)
      await expect(openOffer(ledger, 2, { atomic: 2n })).rejects.toThrow('no_amount')
      await expect(openOffer(ledger, 3, { atomic: 1n })).rejects.toThrow('no_amount')
    }),
  )

  test(
    'behavior: an amount is free again from the end of its reservation on, unless a payment is open',
    use(async (ledger) => {
      const two = (number: number, changes: object = {}) =>
        openOffer(ledger, number, { atomic: 2n, ...changes })
      await two(1, { reservedUntilMs: NOW_MS + 10 })
      await expect(two(2, { nowMs: NOW_MS + 9 })).rejects.toThrow('no_amount')
      const offer = await two(3, { nowMs: NOW_MS + 10, reservedUntilMs: NOW_MS + 20 })
      await ledger.payments.claim({ id: paymentIdOf(3), offer, signed: aSigned(3, offer) }, by())
      await expect(two(4, { nowMs: NOW_MS + 20 })).rejects.toThrow('no_amount')
      await ledger.payments.move(paymentIdOf(3), { from: ['received'], to: 'void' }, by())
      expect(amountOf(await two(5, { nowMs: NOW_MS + 20 }))).toBe(1n)
    }),
  )

  test(
    'behavior: what was rolled back keeps no amount',
    use(async (ledger) => {
      await ensureAccount(ledger)
      const failing = ledger.atomically(({ payments }) => {
        offerOf(payments.openOffer(anOffer(1), rulesOf({ atomic: 2n }), by()))
        throw new Error('undone')
      })
      await expect(failing).rejects.toThrow('undone')
      expect(amountOf(await openOffer(ledger, 2, { atomic: 2n }))).toBe(1n)
    }),
  )
}

function conformReuse(use: UsePayments): void {
  const usableUntilMs = NOW_MS + 180_000
  const ask = (
    ledger: Ledger,
    number: number,
    { afterMs = 0, ...changes }: Partial<OfferDraft> & { afterMs?: number } = {},
  ) =>
    ledger.payments.openOffer(
      anOffer(number, { payer: WALLET, ...changes }),
      rulesOf({ usableUntilMs: usableUntilMs + afterMs }),
      by(NOW_MS + afterMs),
    )

  test(
    'default: the open offer of the same is given again, as long as it can be used',
    use(async (ledger) => {
      await ensureAccount(ledger)
      const first = await ask(ledger, 1)
      expect(first.kind).toBe('opened')
      expect(await ask(ledger, 2)).toEqual({ ...first, kind: 'open' } as typeof first)
      expect((await ask(ledger, 3, { afterMs: 420_000 })).kind).toBe('open')
      expect((await ask(ledger, 4, { afterMs: 420_001 })).kind).toBe('opened')
    }),
  )

  test(
    'behavior: not for another tier, length, recipient or payer, nor at a price that has fallen',
    use(async (ledger) => {
      await ensureAccount(ledger)
      await ask(ledger, 1)
      const { requirements } = anOffer(1)
      const others: Partial<OfferDraft>[] = [
        { terms: tierOf('starter') },
        { periodDays: 31 },
        { requirements: { ...requirements, payTo: addressOf(3) } },
        { payer: undefined },
      ]
      for (const [number, other] of others.entries()) {
        expect((await ask(ledger, 10 + number, other)).kind).toBe('opened')
      }
      const cheaper = rulesOf({ usableUntilMs, atomic: PRICE - 1_000_000n })
      const fallen = await ledger.payments.openOffer(anOffer(20, { payer: WALLET }), cheaper, by())
      expect(fallen.kind).toBe('opened')
    }),
  )

  test(
    'behavior: not once a payment of it was submitted',
    use(async (ledger) => {
      const { id } = await claimUpTo(ledger, 1, { state: 'rejected', offer: { payer: WALLET } })
      expect((await ask(ledger, 2)).kind).toBe('opened')
      expect(ledger.payments.isOfferTaken(offerIdOf(1))).toBe(false)
      await ledger.payments.move(id, { from: ['rejected'], to: 'screened' }, by())
      expect(ledger.payments.isOfferTaken(offerIdOf(1))).toBe(true)
    }),
  )
}

function conformLimits(use: UsePayments): void {
  const kindOf = async (ledger: Ledger, number: number, changes: Partial<OfferDraft> = {}) => {
    await ensureAccount(ledger)
    const rules = rulesOf({ offersMax: 4, uniqueMax: 2 })
    return (await ledger.payments.openOffer(anOffer(number, changes), rules, by())).kind
  }

  test(
    'error: an account has no more unpaid offers than the rules allow, of unique ones fewer',
    use(async (ledger) => {
      const unique = await Array.fromAsync([1, 2, 3], (number) => kindOf(ledger, number))
      expect(unique).toEqual(['opened', 'opened', 'limit'])
      const own = await Array.fromAsync([4, 5, 6], (number) =>
        kindOf(ledger, number, { payer: WALLET }),
      )
      expect(own).toEqual(['opened', 'opened', 'limit'])
      expect(ledger.payments.findOffer(offerIdOf(6))).toBeUndefined()
    }),
  )

  test(
    'behavior: what was paid does not count, what is on its way does',
    use(async (ledger) => {
      await buy(ledger, 1)
      await claimUpTo(ledger, 2, { state: 'pending' })
      const kinds = await Array.fromAsync([3, 4], (number) => kindOf(ledger, number))
      expect(kinds).toEqual(['opened', 'limit'])
    }),
  )
}
