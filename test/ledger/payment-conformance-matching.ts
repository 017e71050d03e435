/**
 * The payments' conformance suite on which offer a payment is for, and on offers that are released.
 */
import { describe, expect, test } from 'bun:test'

import type { Offer } from '#src/domain/selling/payment.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { accountIdOf, addressOf, auditOf, by, NOW_MS } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  amountOf,
  aSigned,
  claimUpTo,
  offerIdOf,
  openOffer,
  paymentIdOf,
  RESERVED_UNTIL_MS,
} from './payment-records.ts'

export function conformMatching(use: UsePayments): void {
  describe('findOfferFor', () => {
    conformFindingByPayer(use)
    conformFindingByAmount(use)
  })
  describe('releaseOffer', () => {
    conformRelease(use)
  })
}

const WALLET = addressOf(1)
/** Ends when an offer of now does. */
const VALID_BEFORE = BigInt(NOW_MS / 1000 + 600)
const paidWith = (offer: Offer, changes: { payer?: string; validBefore?: bigint } = {}) => ({
  network: offer.requirements.network,
  asset: offer.requirements.asset,
  amount: amountOf(offer),
  payer: addressOf(8),
  validBefore: VALID_BEFORE,
  ...changes,
})

function conformFindingByPayer(use: UsePayments): void {
  const find = (ledger: Ledger, offer: Offer, changes: Parameters<typeof paidWith>[1] = {}) =>
    ledger.payments.findOfferFor(paidWith(offer, changes), {
      accountId: accountIdOf(1),
      nowMs: NOW_MS + 600_000,
    })?.id

  test(
    'default: the price from a wallet names the offer to it, from another wallet none',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1, { payer: WALLET })
      expect(find(ledger, offer, { payer: WALLET })).toBe(offer.id)
      expect(find(ledger, offer)).toBeUndefined()
      expect(find(ledger, { ...offer, requirements: { ...offer.requirements, amount: '1' } })).toBe(
        undefined,
      )
    }),
  )

  test(
    'behavior: of several of one amount the newest that is not paid, which existed at that moment',
    use(async (ledger) => {
      const at = (number: number, nowMs: number) =>
        openOffer(ledger, number, { payer: WALLET, nowMs, expiresMs: nowMs + 600_000 })
      const older = await at(1, NOW_MS)
      const newer = await at(2, NOW_MS + 300_000)
      expect(find(ledger, older, { payer: WALLET })).toBe(newer.id)
      const early = ledger.payments.findOfferFor(paidWith(older, { payer: WALLET }), {
        accountId: accountIdOf(1),
        nowMs: NOW_MS + 299_999,
      })
      expect(early?.id).toBe(older.id)
      await ledger.payments.claim(
        { id: paymentIdOf(2), offer: newer, signed: aSigned(2, newer) },
        by(),
      )
      expect(find(ledger, older, { payer: WALLET })).toBe(older.id)
    }),
  )

  test(
    'behavior: an offer of last month is not paid with what was signed today, if there is another',
    use(async (ledger) => {
      const payer = WALLET
      const month = NOW_MS - 30 * 86_400_000
      await openOffer(ledger, 1, { payer, nowMs: month, expiresMs: month + 600_000 })
      const today = await openOffer(ledger, 2, { payer })
      await ledger.payments.claim(
        { id: paymentIdOf(2), offer: today, signed: aSigned(2, today) },
        by(),
      )
      expect(find(ledger, today, { payer })).toBe(today.id)
    }),
  )

  test(
    'behavior: comes before a unique amount of somebody else that happens to be the same',
    use(async (ledger) => {
      await ledger.createAccount({ id: 'acc_other' }, by())
      const unique = await openOffer(ledger, 1, { accountId: 'acc_other' })
      const own = await openOffer(ledger, 2, { payer: WALLET, atomic: amountOf(unique) })
      expect(amountOf(own)).toBe(amountOf(unique))
      expect(find(ledger, unique, { payer: WALLET })).toBe(own.id)
      expect(find(ledger, unique)).toBe(unique.id)
    }),
  )
}

function conformFindingByAmount(use: UsePayments): void {
  const find = (ledger: Ledger, offer: Offer, at: { accountId: string; nowMs: number }) =>
    ledger.payments.findOfferFor(paidWith(offer), at)?.id

  test(
    'default: a unique amount names its offer for whoever pays, until the end of its reservation',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1)
      const other = { accountId: 'acc_other', nowMs: RESERVED_UNTIL_MS - 1 }
      expect(find(ledger, offer, other)).toBe(offer.id)
      expect(find(ledger, offer, { ...other, nowMs: RESERVED_UNTIL_MS })).toBeUndefined()
    }),
  )

  test(
    'behavior: after that it still names it for its account, if nobody else has the amount by then',
    use(async (ledger) => {
      await ledger.createAccount({ id: 'acc_other' }, by())
      const offer = await openOffer(ledger, 1, { atomic: 2n, reservedUntilMs: NOW_MS + 10 })
      const late = { accountId: accountIdOf(1), nowMs: NOW_MS + 86_400_000 }
      expect(find(ledger, offer, late)).toBe(offer.id)
      // Signed so long after that it cannot be for this one.
      const validBefore = VALID_BEFORE + 86_401n
      expect(ledger.payments.findOfferFor(paidWith(offer, { validBefore }), late)).toBeUndefined()
      const taken = await openOffer(ledger, 2, {
        atomic: 2n,
        accountId: 'acc_other',
        nowMs: NOW_MS + 10,
        reservedUntilMs: late.nowMs + 1,
      })
      expect(find(ledger, offer, late)).toBe(taken.id)
    }),
  )
}

function conformRelease(use: UsePayments): void {
  test(
    'default: frees the amount and ends the offer, once, with a row of the audit chain',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1, { atomic: 2n })
      const own = await openOffer(ledger, 2, { payer: WALLET })
      expect(ledger.payments.listReservedOffers(NOW_MS)).toEqual([
        { ...offer, reservedUntilMs: RESERVED_UNTIL_MS },
      ])
      expect(await ledger.payments.releaseOffer(offer.id, by(NOW_MS + 5))).toBe(true)
      expect(auditOf(ledger).at(-1)).toMatchObject({
        deed: `operator offer.released ${offer.id}`,
        state: { expiresMs: NOW_MS + 5, reservedUntilMs: NOW_MS + 5 },
      })
      expect(ledger.payments.listReservedOffers(NOW_MS + 5)).toEqual([])
      expect(amountOf(await openOffer(ledger, 3, { atomic: 2n, nowMs: NOW_MS + 5 }))).toBe(1n)
      for (const id of [offer.id, own.id, 'quote_none']) {
        expect(await ledger.payments.releaseOffer(id, by(NOW_MS + 5))).toBe(false)
      }
    }),
  )

  test(
    'error: not while a payment has it',
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state: 'pending' })
      expect(await ledger.payments.releaseOffer(offerIdOf(1), by())).toBe(false)
    }),
  )
}
