/** The payments' conformance suite on what is bought without an offer written down before. */
import { describe, expect, test } from 'bun:test'

import { ANSWERS_MAX, REPEAT_MS } from '#src/domain/selling/credit.ts'
import { firstKeyIdOf, type Offer } from '#src/domain/selling/payment.ts'
import { defaultPacks, termsOf } from '#src/domain/selling/tier.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { accountIdOf, addressOf, by, deedsOf, NOW_MS, tierOf } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  anOffer,
  aProof,
  aSigned,
  idsOf,
  openOffer,
  paymentIdOf,
  PRICE,
  RESERVED_UNTIL_MS,
} from './payment-records.ts'

const pack = defaultPacks.find(({ tierId }) => tierId === 'pack-1000') ?? defaultPacks[0]
if (pack === undefined) throw new Error('There is a pack.')
const terms = pack

/** The offer of a pack to a wallet, in account 7 unless the wallet has one. */
const anUnquoted = (number: number, payer = addressOf(3)): Offer & { payer: string } => {
  const { requirements, ...draft } = anOffer(number, {
    accountId: accountIdOf(7),
    terms: termsOf(terms),
  })
  const amount = String(PRICE)
  const bought = { periodDays: 0, requests: 3, payer, createdMs: NOW_MS }
  return { ...draft, ...bought, requirements: { ...requirements, amount } }
}

const keyIdOf = (number: number): string => `key_usage${number}`

function claim(
  ...[ledger, number, offer = anUnquoted(number), identifier, rules = { isUnseen: true }]: [
    ledger: Ledger,
    number: number,
    offer?: ReturnType<typeof anUnquoted>,
    identifier?: string,
    rules?: { isUnseen: boolean; repeatsSinceMs?: number },
  ]
) {
  const signed = aSigned(number, offer, { payer: offer.payer })
  const ids = { id: paymentIdOf(number), keyId: keyIdOf(number) }
  const draft = { ...ids, ...rules, identifier, offer, signed }
  return ledger.payments.claimUnquoted(draft, { nowMs: NOW_MS })
}

async function settle(ledger: Ledger, number: number): Promise<void> {
  const id = paymentIdOf(number)
  const proof = aProof(number)
  await ledger.payments.move(id, { from: ['received'], to: 'screened' }, by())
  await ledger.payments.lease(id, NOW_MS + 1, by())
  const { txHash } = proof
  await ledger.payments.move(id, { from: ['settling'], to: 'settled', proof, txHash }, by())
}

/** Has a wallet buy a pack without a key. */
export async function buyPack(ledger: Ledger, number: number) {
  await claim(ledger, number)
  await settle(ledger, number)
  return ledger.payments.provision(paymentIdOf(number), idsOf(number), by())
}

/** Has a wallet pay for a single request. */
async function buySingle(ledger: Ledger, number: number): Promise<string> {
  await claim(ledger, number, { ...anUnquoted(number), requests: 1 })
  await settle(ledger, number)
  await ledger.payments.provision(paymentIdOf(number), idsOf(number), by())
  return paymentIdOf(number)
}

export function conformUnquoted(use: UsePayments): void {
  describe('claimUnquoted', () => conformClaim(use))
  describe('credits', () => conformCredits(use))
}

function conformClaim(use: UsePayments): void {
  test(
    'default: makes the account of the wallet, a key that opens nothing, offer and payment',
    use(async (ledger) => {
      const { kind, payment } = await claim(ledger, 1)
      expect([kind, payment.state, payment.accountId]).toEqual([
        'claimed',
        'received',
        accountIdOf(7),
      ])
      expect(ledger.findAccountByAddress(addressOf(3))?.id).toBe(accountIdOf(7))
      expect(ledger.listKeys(accountIdOf(7))).toMatchObject([
        { id: firstKeyIdOf(payment.id), hint: '', expiresMs: NOW_MS },
      ])
      expect(ledger.countValidKeys(accountIdOf(7), NOW_MS)).toBe(0)
      expect(ledger.payments.findOffer(payment.offerId)).toEqual(anUnquoted(1))
      expect(deedsOf(ledger).slice(-4)).toEqual([
        `account:${accountIdOf(7)} account.created ${accountIdOf(7)}`,
        `account:${accountIdOf(7)} key.created ${firstKeyIdOf(payment.id)}`,
        `account:${accountIdOf(7)} offer.opened ${payment.offerId}`,
        `account:${accountIdOf(7)} payment.received ${payment.id}`,
      ])
    }),
  )

  test(
    'behavior: the same nonce again is the same payment, and the wallet keeps its account',
    use(async (ledger) => {
      const first = await claim(ledger, 1)
      const before = ledger.listAudit(0, 1000)
      const other = { ...anUnquoted(2), accountId: accountIdOf(8) }
      const signed = aSigned(1, other, { payer: other.payer })
      const ids = { id: paymentIdOf(2), keyId: keyIdOf(2) }
      const draft = { ...ids, offer: other, signed, isUnseen: true }
      const again = await ledger.payments.claimUnquoted(draft, { nowMs: NOW_MS })
      expect(again).toEqual({ kind: 'existing', payment: first.payment })
      expect(ledger.listAudit(0, 1000)).toEqual(before)
      const next = await claim(ledger, 3, { ...anUnquoted(3), accountId: accountIdOf(8) })
      expect(next.payment.accountId).toBe(accountIdOf(7))
      expect(ledger.listKeys(accountIdOf(7))).toHaveLength(1)
    }),
  )

  test(
    'behavior: only an account that begins with a payment that was on no chain has a first key of it',
    use(async (ledger) => {
      const seen = await claim(ledger, 1, anUnquoted(1), undefined, { isUnseen: false })
      expect(ledger.listKeys(seen.payment.accountId)).toMatchObject([{ id: keyIdOf(1) }])
      const later = await claim(ledger, 2, anUnquoted(2))
      expect(later.payment.accountId).toBe(seen.payment.accountId)
      expect(ledger.listKeys(seen.payment.accountId)).toHaveLength(1)
    }),
  )

  test(
    'behavior: a payment of the same account for the same product takes the place of another',
    use(async (ledger) => {
      const first = await claim(ledger, 1)
      const rules = { isUnseen: true, repeatsSinceMs: NOW_MS }
      const repeated = { kind: 'repeated', payment: first.payment }
      expect((await claim(ledger, 2, anUnquoted(2), undefined, rules)) as object).toEqual(repeated)
      await settle(ledger, 1)
      await ledger.payments.provision(paymentIdOf(1), idsOf(1), by())
      // Made, and not after that moment.
      expect((await claim(ledger, 2, anUnquoted(2), undefined, rules)).kind).toBe('claimed')
      const hour = { ...rules, repeatsSinceMs: NOW_MS - 1 }
      expect((await claim(ledger, 3, anUnquoted(3), undefined, hour)).kind).toBe('repeated')
      const { terms: of, ...offer } = anUnquoted(4)
      const other = { ...offer, terms: { ...of, tierId: 'other' } }
      expect((await claim(ledger, 4, other, undefined, hour)).kind).toBe('claimed')
    }),
  )

  test(
    'behavior: a name of the payer is for one payment, unless that can never be made',
    use(async (ledger) => {
      const identifier = 'order_2026_11_23_1'
      const first = await claim(ledger, 1, anUnquoted(1), identifier)
      expect(first.payment.identifier).toBe(identifier)
      const taken = { kind: 'identifier_taken', payment: first.payment }
      expect((await claim(ledger, 2, anUnquoted(2), identifier)) as object).toEqual(taken)
      const other = { ...anUnquoted(3, addressOf(4)), accountId: accountIdOf(8) }
      expect((await claim(ledger, 3, other, identifier)).kind).toBe('claimed')
      await ledger.payments.move(
        paymentIdOf(1),
        { from: ['received'], to: 'void', reason: 'x' },
        by(),
      )
      expect((await claim(ledger, 2, anUnquoted(2), identifier)).kind).toBe('claimed')
    }),
  )

  test(
    'behavior: no payment of a quote finds its offer, at whatever amount',
    use(async (ledger) => {
      const quoted = await openOffer(ledger, 1, {
        payer: addressOf(1),
        reservedUntilMs: RESERVED_UNTIL_MS,
      })
      const offer = { ...anUnquoted(2, addressOf(1)), accountId: accountIdOf(1) }
      const { payment } = await claim(ledger, 2, offer)
      await ledger.payments.move(payment.id, { from: ['received'], to: 'void', reason: 'x' }, by())
      const signed = { ...aSigned(3, quoted), validBefore: BigInt(NOW_MS / 1000 + 60) }
      const at = { accountId: accountIdOf(1), nowMs: NOW_MS }
      expect(ledger.payments.findOfferFor(signed, at)?.id).toBe(quoted.id)
      const { network, asset } = signed
      const query = { accountId: accountIdOf(1), network, asset, amount: PRICE }
      expect(ledger.payments.listOffersOf(query).map(({ id }) => id)).toEqual([quoted.id])
    }),
  )
}

function conformCredits(use: UsePayments): void {
  test(
    'default: a pack gives its requests once, and no period',
    use(async (ledger) => {
      const credit = await buyPack(ledger, 1)
      expect(credit).toMatchObject({ id: paymentIdOf(1), requests: 3, used: 0 })
      expect(await buyPack(ledger, 1)).toEqual(credit)
      expect(ledger.payments.findCredit(paymentIdOf(1))).toEqual(credit as never)
      expect(ledger.payments.findSubscriptionOf(paymentIdOf(1))).toBeUndefined()
      expect(ledger.listSubscriptions(accountIdOf(7))).toEqual([])
      expect(ledger.isFree(accountIdOf(7))).toBe(false)
      expect(deedsOf(ledger).slice(-2)).toEqual([
        `operator credit.added ${paymentIdOf(1)}`,
        `operator payment.provisioned ${paymentIdOf(1)}`,
      ])
    }),
  )

  test(
    'behavior: no more are used than were bought, and one that is returned is there again',
    use(async (ledger) => {
      await buyPack(ledger, 1)
      const used = await Array.fromAsync({ length: 5 }, () =>
        ledger.payments.useCredit(paymentIdOf(1)),
      )
      expect(used).toEqual([true, true, true, false, false])
      expect(ledger.payments.listCredits(accountIdOf(7))).toEqual([])
      expect(ledger.payments.findPack(accountIdOf(7))).toMatchObject({ requests: 3, used: 3 })
      expect(ledger.payments.findPack(accountIdOf(8))).toBeUndefined()
      await ledger.payments.returnCredit(paymentIdOf(1))
      expect(ledger.payments.listCredits(accountIdOf(7))).toMatchObject([{ used: 2 }])
      expect(await ledger.payments.useCredit('pay_none')).toBe(false)
    }),
  )

  test(
    'default: the payment of a single request reads one address, until ten minutes after its delivery',
    use(async (ledger) => {
      const { payments } = ledger
      const id = await buySingle(ledger, 1)
      const begin = (address: string, nowMs: number) =>
        payments.beginPaidAnswer(id, { address, nowMs })
      expect(payments.findPaidAnswer(id)).toBeUndefined()
      expect(await begin('a', NOW_MS)).toBe(true)
      // It was not handed over: it is not spent, and reads no other address.
      expect(payments.findPaidAnswer(id)).toEqual({ id, address: 'a', answers: 1 })
      expect(payments.findCredit(id)).toMatchObject({ used: 0 })
      expect([await begin('b', NOW_MS), await begin('a', NOW_MS + 100 * REPEAT_MS)]).toEqual([
        false,
        true,
      ])
      await payments.deliverPaidAnswer(id, NOW_MS)
      expect(payments.findCredit(id)).toMatchObject({ used: 1 })
      // The first delivery counts.
      await payments.deliverPaidAnswer(id, NOW_MS + REPEAT_MS)
      const later = NOW_MS + REPEAT_MS
      expect([
        await begin('a', later - 1),
        await begin('b', later - 1),
        await begin('a', later),
      ]).toEqual([true, false, false])
      expect(payments.findPaidAnswer(id)).toEqual({
        id,
        address: 'a',
        answers: 3,
        deliveredMs: NOW_MS,
      })
      expect(payments.findCredit(id)).toMatchObject({ used: 1 })
    }),
  )

  test(
    'behavior: what a payment is meant for and did not deliver is found, by account, address and time',
    use(async (ledger) => {
      const { payments } = ledger
      const id = await buySingle(ledger, 1)
      const at = { accountId: accountIdOf(7), address: 'b', sinceMs: NOW_MS - 1 }
      await payments.aimPaidAnswer(id, 'a')
      await payments.aimPaidAnswer(id, 'b')
      const aimed = { id, address: 'b', answers: 0 }
      expect(payments.listUndelivered(at)).toEqual([aimed])
      for (const other of [
        { ...at, accountId: accountIdOf(1) },
        { ...at, address: 'a' },
        { ...at, sinceMs: NOW_MS },
      ]) {
        expect(payments.listUndelivered(other)).toEqual([])
      }
      // Until its first answer it reads another address, too.
      expect(await payments.beginPaidAnswer(id, { address: 'c', nowMs: NOW_MS })).toBe(true)
      await payments.aimPaidAnswer(id, 'b')
      expect(payments.findPaidAnswer(id)).toEqual({ id, address: 'c', answers: 1 })
      const begun = { ...at, address: 'c' }
      expect(payments.listUndelivered(begun)).toHaveLength(1)
      await payments.deliverPaidAnswer(id, NOW_MS)
      expect(payments.listUndelivered(begun)).toEqual([])
    }),
  )

  test(
    'behavior: purchases of a product are found, until their hour is over, and their delivery spends nothing',
    use(async (ledger) => {
      const { payments } = ledger
      const id = await buySingle(ledger, 1)
      const productId = payments.findCredit(id)?.terms.tierId ?? ''
      const of = { accountId: accountIdOf(7), productId, sinceMs: NOW_MS - 1 }
      expect(payments.listPurchases(of).map((payment) => payment.id)).toEqual([id])
      for (const other of [
        { ...of, accountId: accountIdOf(1) },
        { ...of, productId: 'none' },
        { ...of, sinceMs: NOW_MS + REPEAT_MS },
      ]) {
        expect(payments.listPurchases(other)).toEqual([])
      }
      await payments.deliverPurchase(id, { address: 'a', nowMs: NOW_MS })
      await payments.deliverPurchase(id, { address: 'b', nowMs: NOW_MS + 1 })
      const delivered = { id, address: 'a', answers: 1, deliveredMs: NOW_MS }
      expect(payments.findPaidAnswer(id)).toEqual(delivered)
      expect(payments.findCredit(id)).toMatchObject({ used: 0 })
    }),
  )

  test(
    'behavior: a payment is answered so often at most, and one that was used before never',
    use(async (ledger) => {
      const { payments } = ledger
      const often = await buySingle(ledger, 1)
      const used = await buySingle(ledger, 2)
      const at = { address: 'a', nowMs: NOW_MS }
      const begun = await Array.fromAsync({ length: ANSWERS_MAX + 1 }, () =>
        payments.beginPaidAnswer(often, at),
      )
      expect(begun).toEqual([...Array<boolean>(ANSWERS_MAX).fill(true), false])
      await payments.useCredit(used)
      expect(await payments.beginPaidAnswer(used, at)).toBe(false)
      expect(await payments.beginPaidAnswer('pay_none', at)).toBe(false)
      await payments.deliverPaidAnswer('pay_none', NOW_MS)
    }),
  )

  test(
    'default: packs of the catalogue are no tiers',
    use(async (ledger) => {
      expect(ledger.listPacks()).toEqual([])
      const before = ledger.listTiers()
      await ledger.putTier(terms, by())
      expect([ledger.listPacks(), ledger.listTiers()]).toEqual([[terms], before])
      expect(before).toContainEqual(tierOf('pro'))
    }),
  )
}
