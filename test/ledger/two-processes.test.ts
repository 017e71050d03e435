/** A ledger that is open twice, as by two processes: what one of them does holds for both. */
import { describe, expect, test } from 'bun:test'

import { defaultTiers } from '#src/domain/selling/tier.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { AMOUNT_SLOTS } from '#src/ledger/payments/offers.ts'

import { openLedgerIn } from '../support/stores.ts'
import { onEachEngine } from './ledger-engines.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSignup,
  by,
  createKeyOne,
  NOW_MS,
} from './ledger-records.ts'
import {
  amountOf,
  anOffer,
  aSigned,
  buy,
  claimUpTo,
  ensureAccount,
  idsOf,
  openOffer,
  paymentIdOf,
  rulesOf,
} from './payment-records.ts'

const CALLS = 50

/** What others committed is read here at the next verb, or when a copy was pulled. */
const see = (ledger: Ledger): Promise<void> => ledger.atomically(() => {})

const openTwice = async (place: string, lagMs = 0): Promise<[Ledger, Ledger]> => [
  await openLedgerIn(place, { nowMs: NOW_MS, lagMs }),
  await openLedgerIn(place, { nowMs: NOW_MS, lagMs }),
]

onEachEngine((engine) => {
  const { newPlace } = engine

  async function withTwo(body: (one: Ledger, two: Ledger) => Promise<void>): Promise<void> {
    const [one, two] = await openTwice(newPlace())
    await body(one, two)
    expect([...one.verifyAudit()]).toEqual([])
    for (const ledger of [one, two]) ledger.dispose()
  }

  describe('revision', () => {
    test("behavior: without a lag the revision notices the other's change at once, and only then", async () => {
      const [one, two] = await openTwice(newPlace())
      const before = one.revision()
      expect(one.revision()).toBe(before)
      await createKeyOne(two)
      await see(one)
      const after = one.revision()
      expect(after).toBeGreaterThan(before)
      expect(one.revision()).toBe(after)
      for (const ledger of [one, two]) ledger.dispose()
    })

    test("behavior: within the lag the other's change does not show, our own does", async () => {
      const [one, two] = await openTwice(newPlace(), 1e9)
      const before = one.revision()
      await createKeyOne(two)
      expect(one.revision()).toBe(before)
      await one.createKey(aKey(2), by())
      expect(one.revision()).toBeGreaterThan(before)
      for (const ledger of [one, two]) ledger.dispose()
    })

    test("behavior: the other's change still shows when our transaction around its discovery rolls back", async () => {
      for (const doAsk of [true, false]) {
        const [one, two] = await openTwice(newPlace())
        const before = one.revision()
        await createKeyOne(two)
        const fail = () =>
          one.atomically(() => {
            if (doAsk) one.revision()
            throw new Error('broken')
          })
        await expect(fail()).rejects.toThrow('broken')
        expect(one.revision()).toBeGreaterThan(before)
        for (const ledger of [one, two]) ledger.dispose()
      }
    })
  })

  describe('two handles on one ledger', () => {
    test('behavior: the chain stays whole when they write in turns', async () => {
      const ledgers = await openTwice(newPlace())
      await createKeyOne(ledgers[0])
      for (let number = 2; number < 40; number++)
        await ledgers[number % 2]?.createKey(aKey(number), by())
      for (const ledger of ledgers) {
        await see(ledger)
        expect([...ledger.verifyAudit()]).toEqual([])
        expect(ledger.listKeys()).toHaveLength(39)
        expect(ledger.auditHead()?.seq).toBe(defaultTiers.length + 1 + 39)
      }
      for (const ledger of ledgers) ledger.dispose()
    })

    test('behavior: a nonce is used by one of them, an address is taken by one of them', async () => {
      const [one, two] = await openTwice(newPlace())
      expect((await one.signUp(aSignup(7), NOW_MS)).kind).toBe('made')
      expect((await two.signUp(aSignup(7), NOW_MS)).kind).toBe('nonce_used')
      await createKeyOne(one)
      const again = () => two.createAccount({ id: accountIdOf(2), address: addressOf(1) }, by())
      await expect(again()).rejects.toThrow('account acc_1')
      for (const ledger of [one, two]) ledger.dispose()
    })
  })

  describe('openOffer', () => {
    test('behavior: two processes give no amount twice', () =>
      withTwo(async (one, two) => {
        const amounts = await Array.fromAsync({ length: CALLS }, async (_, number) => {
          const ledger = number % 2 === 0 ? one : two
          return (await openOffer(ledger, number)).requirements.amount
        })
        expect(new Set(amounts).size).toBe(CALLS)
      }))

    test('error: two processes together give an account no more offers than it may have', () =>
      withTwo(async (one, two) => {
        await ensureAccount(one)
        const rules = rulesOf({ offersMax: 20 })
        const kinds = await Array.fromAsync({ length: 30 }, async (_, number) => {
          const ledger = number % 2 === 0 ? one : two
          return (await ledger.payments.openOffer(anOffer(number), rules, by())).kind
        })
        expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(20)
        expect(kinds.indexOf('limit')).toBe(20)
      }))

    test('behavior: when the cent is full, amounts go on below it, by a hundredth of the price at most', async () => {
      const place = newPlace()
      const ledger = await openLedgerIn(place, { nowMs: NOW_MS })
      const price = 3_000_000n
      const { id } = await openOffer(ledger, 0, { atomic: price })
      // All of the cent, as offers like the first one.
      const same = 'terms, period_days, symbol, method, network, asset, requirements, from_block'
      const times = 'created_ms, expires_ms, reserved_until_ms, payer, requests'
      await engine.run(
        place,
        `WITH RECURSIVE slot (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM slot WHERE n < ${AMOUNT_SLOTS})
         INSERT INTO offer (id, account_id, amount, seq, ${same}, ${times})
         SELECT 'full' || n, 'acc_full' || n, CAST(${price} - n AS TEXT), seq + n, ${same}, ${times}
         FROM offer, slot WHERE id = '${id}'`,
      )
      const amounts = await Array.fromAsync({ length: CALLS }, async (_, number) =>
        amountOf(await openOffer(ledger, number + 1, { atomic: price })),
      )
      expect(new Set(amounts).size).toBe(CALLS)
      const isWide = (amount: bigint) =>
        amount < price - BigInt(AMOUNT_SLOTS) && amount >= price - price / 100n
      expect(amounts.every(isWide)).toBe(true)
      ledger.dispose()
    })

    test('behavior: what one process releases another one can give at once', () =>
      withTwo(async (one, two) => {
        const offer = await openOffer(one, 1, { atomic: 2n })
        await expect(openOffer(one, 2, { atomic: 2n })).rejects.toThrow('no_amount')
        expect(await two.payments.releaseOffer(offer.id, by())).toBe(true)
        expect((await openOffer(one, 2, { atomic: 2n })).requirements.amount).toBe('1')
      }))
  })

  describe('claim', () => {
    test('behavior: two processes with one signed payment take it once', () =>
      withTwo(async (one, two) => {
        const offer = await openOffer(one, 1)
        const answers = await Array.fromAsync({ length: CALLS }, (_, number) => {
          const draft = { id: paymentIdOf(number), offer, signed: aSigned(1, offer) }
          return (number % 2 === 0 ? one : two).payments.claim(draft, by())
        })
        expect(answers.map(({ kind }) => kind)).toEqual([
          'claimed',
          ...Array<'existing'>(CALLS - 1).fill('existing'),
        ])
        expect(new Set(answers.map(({ payment }) => payment.id)).size).toBe(1)
        expect(two.payments.listPayments({ limit: 99 })).toHaveLength(1)
      }))

    test('behavior: two processes with two payments of one offer take one', () =>
      withTwo(async (one, two) => {
        const offer = await openOffer(one, 1)
        const kinds = await Array.fromAsync([one, two], async (ledger, number) => {
          const signed = aSigned(number, offer)
          const draft = { id: paymentIdOf(number), offer, signed }
          return (await ledger.payments.claim(draft, by())).kind
        })
        expect(kinds).toEqual(['claimed', 'offer_taken'])
      }))

    test('behavior: is committed when it returns', () =>
      withTwo(async (one, two) => {
        const payment = await claimUpTo(one, 1, { state: 'settling' })
        await see(two)
        expect(two.payments.findPayment(payment.id)).toEqual(payment)
      }))
  })

  describe('lease', () => {
    test('behavior: of two processes one has it', () =>
      withTwo(async (one, two) => {
        const { id } = await claimUpTo(one, 1, { state: 'screened' })
        const leases = await Array.fromAsync([one, two, one, two], ({ payments }) =>
          payments.lease(id, NOW_MS + 10, by()),
        )
        expect(leases.map((lease) => lease !== undefined)).toEqual([true, false, false, false])
        // The other one comes in when the first is gone.
        expect((await two.payments.lease(id, NOW_MS + 20, by(NOW_MS + 10)))?.attempts).toBe(2)
        expect(await one.payments.lease(id, NOW_MS + 30, by(NOW_MS + 10))).toBeUndefined()
      }))
  })

  describe('provision', () => {
    test(`behavior: ${CALLS} calls of two processes are one subscription`, () =>
      withTwo(async (one, two) => {
        const { id } = await claimUpTo(one, 1, { state: 'settled' })
        const made = await Array.fromAsync({ length: CALLS }, (_, number) =>
          (number % 2 === 0 ? two : one).payments.provision(id, idsOf(number), by()),
        )
        expect(new Set(made.map((subscription) => subscription.id)).size).toBe(1)
        expect(one.listSubscriptions(accountIdOf(1))).toHaveLength(1)
      }))

    test('behavior: the other process learns of it by the revision', () =>
      withTwo(async (one, two) => {
        const before = two.revision()
        await buy(one, 1)
        await see(two)
        expect(two.revision()).toBeGreaterThan(before)
      }))
  })
})
