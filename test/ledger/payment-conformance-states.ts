/** The payments' conformance suite on how payments come to be, and on their states. */

import { describe, expect, test } from 'bun:test'

import { paymentStates } from '#src/domain/selling/payment.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { accountIdOf, addressOf, auditOf, by, deedsOf, NOW_MS } from './ledger-records.ts'
import type { UsePayments } from './payment-conformance.ts'
import {
  anOffer,
  aProof,
  aSigned,
  ASSET,
  buy,
  claim,
  claimUpTo,
  network,
  offerIdOf,
  openOffer,
  paymentIdOf,
  PRICE,
  SIGNATURE,
} from './payment-records.ts'

export function conformStates(use: UsePayments): void {
  describe('claim', () => {
    conformClaim(use)
    conformBeside(use)
    conformNonces(use)
  })
  describe('findSamePurchase', () => {
    conformSamePurchase(use)
  })
  describe('listPayments', () => {
    conformLists(use)
  })
  describe('move', () => {
    conformMove(use)
    conformMoveErrors(use)
  })
  describe('lease', () => {
    conformLease(use)
  })
  describe('listPaidIn', () => {
    conformPaidIn(use)
  })
}

const auditLength = (ledger: Ledger): number => ledger.listAudit(0, 1_000_000).length

function conformClaim(use: UsePayments): void {
  test(
    'default: keeps what was signed to the last digit, in state received',
    use(async (ledger) => {
      const payment = await claim(ledger, 1)
      const offer = ledger.payments.findOffer(payment.offerId)
      expect(offer).toBeDefined()
      expect(payment).toEqual({
        id: paymentIdOf(1),
        offerId: anOffer(1).id,
        accountId: accountIdOf(1),
        state: 'received',
        signed: offer === undefined ? payment.signed : aSigned(1, offer),
        attempts: 0,
        createdMs: NOW_MS,
        updatedMs: NOW_MS,
      })
      expect(payment.signed.validBefore).toBe(2n ** 256n - 1n)
      expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
      expect(ledger.payments.findPaymentByNonce(payment.signed)).toEqual(payment)
    }),
  )

  test(
    'behavior: the audit holds who, what and hashes, and no signature in any state',
    use(async (ledger) => {
      const { id, signed } = await claimUpTo(ledger, 1, { state: 'settled' })
      await ledger.payments.provision(id, { subscriptionId: 'sub_1', restId: 'sub_2' }, by())
      const states = auditOf(ledger).filter(({ deed }) => deed.endsWith(` ${id}`))
      expect(states).toHaveLength(5)
      for (const { state } of states) {
        expect(state).toMatchObject({
          payer: signed.payer,
          amount: String(signed.amount),
          payloadHash: signed.payloadHash,
          offerId: anOffer(1).id,
        })
      }
      const all = JSON.stringify(ledger.listAudit(0, 1000))
      expect(all).not.toContain(SIGNATURE.slice(2, 20))
      expect(all).not.toContain('"payload"')
    }),
  )

  test(
    'default: another payment of the offer is told, until the first is rejected or void',
    use(async (ledger) => {
      for (const [number, state] of paymentStates.entries()) {
        if (state === 'provisioned') continue
        const first = await claimUpTo(ledger, number, { state })
        const offer = ledger.payments.findOffer(first.offerId)
        if (offer === undefined) throw new Error('no offer')
        const signed = aSigned(number + 100, offer)
        const before = auditLength(ledger)
        const answer = await ledger.payments.claim({ id: `pay_b${number}`, offer, signed }, by())
        if (state === 'rejected' || state === 'void') {
          expect([state, answer.kind, answer.payment.id]).toEqual([
            state,
            'claimed',
            `pay_b${number}`,
          ])
          continue
        }
        expect([state, answer]).toEqual([state, { kind: 'offer_taken', payment: first }])
        expect(auditLength(ledger)).toBe(before)
      }
    }),
  )

  test(
    'error: refuses a payment of another amount than its offer’s',
    use(async (ledger) => {
      const offer = await openOffer(ledger, 1)
      const signed = aSigned(1, offer, { amount: PRICE - 1n })
      const refused = ledger.payments.claim({ id: paymentIdOf(1), offer, signed }, by())
      await expect(refused).rejects.toThrow('amount')
      expect(ledger.payments.findPayment(paymentIdOf(1))).toBeUndefined()
    }),
  )
}

function conformBeside(use: UsePayments): void {
  test(
    'behavior: one that has moved its money already is kept beside it, in review',
    use(async (ledger) => {
      const first = await claimUpTo(ledger, 1, { state: 'pending' })
      const offer = ledger.payments.findOffer(first.offerId)
      if (offer === undefined) throw new Error('no offer')
      const draft = { id: 'pay_2', offer, signed: aSigned(2, offer), proof: aProof(2) }
      const { kind, payment } = await ledger.payments.claim(draft, by())
      expect(kind).toBe('claimed')
      expect(payment).toMatchObject({
        id: 'pay_2',
        state: 'review',
        reason: 'paid_twice',
        proof: aProof(2),
        txHash: aProof(2).txHash,
      })
      expect(ledger.payments.isOfferTaken(offer.id)).toBe(true)
      expect(ledger.payments.findUndecidedPayment({ accountId: accountIdOf(1) })).toEqual(first)
      expect(deedsOf(ledger).at(-1)).toEndWith('payment.review pay_2')
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'default: the newest payment that is open is that of its account',
    use(async (ledger) => {
      const { findUndecidedPayment: find } = ledger.payments
      const open = await Array.fromAsync([1, 2], async (number) => (await claim(ledger, number)).id)
      await claimUpTo(ledger, 3, { state: 'void' })
      expect(find({ accountId: accountIdOf(1) })?.id).toBe(open[1] ?? '')
      expect(find({ accountId: accountIdOf(1), offerId: offerIdOf(1) })?.id).toBe(open[0] ?? '')
      expect(find({ accountId: accountIdOf(1), offerId: offerIdOf(3) })).toBeUndefined()
      expect(find({ accountId: accountIdOf(2) })).toBeUndefined()
      const of = { accountId: accountIdOf(1), offerId: offerIdOf(4) }
      const rejected = await claimUpTo(ledger, 4, { state: 'rejected' })
      expect(find(of)).toEqual(rejected)
    }),
  )
}

function conformSamePurchase(use: UsePayments): void {
  const order = { accountId: accountIdOf(1), tierId: 'pro', network, asset: ASSET }
  const idOf = (ledger: Ledger, changes: Partial<typeof order> = {}, sinceMs = NOW_MS) =>
    ledger.payments.findSamePurchase({ ...order, ...changes }, sinceMs)?.id

  test.each([
    'received',
    'screened',
    'settling',
    'pending',
    'unknown',
    'settled',
    'rejected',
  ] as const)(
    'default: finds the payment of the same account, tier and token that is %s',
    (state) =>
      use(async (ledger) => {
        const { id } = await claimUpTo(ledger, 1, { state })
        expect(idOf(ledger)).toBe(id)
        expect(idOf(ledger, { asset: ASSET.toLowerCase() })).toBe(id)
        const others = [
          { accountId: accountIdOf(2) },
          { tierId: 'starter' },
          { network: 'eip155:8453' },
          { asset: addressOf(7) },
        ]
        for (const other of others) expect(idOf(ledger, other)).toBeUndefined()
      })(),
  )

  test.each(['void', 'review'] as const)('behavior: one that is %s is not repeated', (state) =>
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state })
      expect(idOf(ledger)).toBeUndefined()
    })(),
  )

  test(
    'behavior: one that was made counts for a while, and less than one in flight',
    use(async (ledger) => {
      await buy(ledger, 1, { nowMs: NOW_MS + 1 })
      expect(idOf(ledger)).toBe(paymentIdOf(1))
      expect(idOf(ledger, {}, NOW_MS + 1)).toBeUndefined()
      await claimUpTo(ledger, 2, { state: 'rejected' })
      expect(idOf(ledger)).toBe(paymentIdOf(1))
      expect(idOf(ledger, {}, NOW_MS + 1)).toBe(paymentIdOf(2))
      await claimUpTo(ledger, 3, { state: 'pending' })
      expect(idOf(ledger)).toBe(paymentIdOf(3))
    }),
  )
}

function conformNonces(use: UsePayments): void {
  test(
    'default: the same nonce again finds the same payment, whoever comes with it, for any offer',
    use(async (ledger) => {
      const first = await claim(ledger, 1)
      const before = auditLength(ledger)
      await ledger.createAccount({ id: accountIdOf(2) }, by())
      const other = await openOffer(ledger, 2, { accountId: accountIdOf(2) })
      const signed = aSigned(1, other)
      const answer = await ledger.payments.claim({ id: paymentIdOf(2), offer: other, signed }, by())
      expect(answer).toEqual({ kind: 'existing', payment: first })
      expect(auditLength(ledger)).toBe(before + 2)
    }),
  )

  test(
    'behavior: nonces are of a payer and a contract',
    use(async (ledger) => {
      const first = await claim(ledger, 1)
      for (const [number, changes] of [
        [2, { payer: '0xbb' }],
        [3, { nonceContract: '0xcc' }],
      ] as const) {
        const offer = await openOffer(ledger, number)
        const signed = { ...aSigned(number, offer), nonce: first.signed.nonce, ...changes }
        const answer = await ledger.payments.claim({ id: paymentIdOf(number), offer, signed }, by())
        expect(answer.kind).toBe('claimed')
        expect(ledger.payments.findPaymentByNonce(signed)?.id).toBe(paymentIdOf(number))
      }
      expect(ledger.payments.findPaymentByNonce(first.signed)).toEqual(first)
    }),
  )
}

function conformLists(use: UsePayments): void {
  test(
    'default: pages of an account, newest first, put together are all of them, in any state',
    use(async (ledger) => {
      const numbers = [1, 2, 3, 4, 5]
      for (const number of numbers) {
        const offer = await openOffer(ledger, number)
        const draft = { id: paymentIdOf(number), offer, signed: aSigned(number, offer) }
        // Some at the same moment.
        await ledger.payments.claim(draft, by(NOW_MS + Math.floor(number / 2)))
      }
      const expected = numbers.toReversed().map(paymentIdOf)
      for (const limit of [1, 2, 4, 5, 9]) {
        for (const accountId of [accountIdOf(1), undefined]) {
          const query = { limit, ...(accountId === undefined ? {} : { accountId }) }
          const ids: string[] = []
          for (let page = ledger.payments.listPayments(query); page.length > 0;) {
            ids.push(...page.map(({ id }) => id))
            page = ledger.payments.listPayments({ ...query, after: page.at(-1) })
          }
          expect(ids).toEqual(expected)
        }
      }
      expect(ledger.payments.listPayments({ accountId: accountIdOf(2), limit: 9 })).toEqual([])
    }),
  )

  test(
    'default: lists those in some states, oldest first',
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state: 'unknown' })
      await claimUpTo(ledger, 2, { state: 'pending' })
      await claimUpTo(ledger, 3, { state: 'void' })
      const idsIn = (...states: Parameters<typeof ledger.payments.listPaymentsIn>[0]) =>
        ledger.payments.listPaymentsIn(states).map(({ id }) => id)
      expect(idsIn('pending', 'unknown')).toEqual([paymentIdOf(1), paymentIdOf(2)])
      expect(idsIn('void')).toEqual([paymentIdOf(3)])
      expect(idsIn()).toEqual([])
    }),
  )
}

function conformMove(use: UsePayments): void {
  test(
    'default: notes what was learned, keeps what was known, and audits it',
    use(async (ledger) => {
      const { id } = await claimUpTo(ledger, 1, { state: 'settling' })
      const learned = { reason: 'timeout', txHash: '0xabc' }
      const change = { from: ['settling', 'pending'], to: 'unknown', ...learned } as const
      const unknown = await ledger.payments.move(id, change, by(NOW_MS + 1))
      expect(unknown).toMatchObject({ state: 'unknown', ...learned, updatedMs: NOW_MS + 1 })
      expect(unknown?.leaseUntilMs).toBeUndefined()
      const proof = aProof(1)
      const paid = await ledger.payments.move(id, { from: ['unknown'], to: 'settled', proof }, by())
      expect(paid).toMatchObject({ state: 'settled', txHash: '0xabc', proof })
      expect(paid?.reason).toBeUndefined()
      expect(ledger.payments.findPayment(id)).toEqual(paid)
      expect(auditOf(ledger).slice(-2)).toMatchObject([
        { deed: `operator payment.unknown ${id}`, state: { reason: 'timeout', txHash: '0xabc' } },
        { deed: `operator payment.settled ${id}`, state: { proofTxHash: proof.txHash } },
      ])
    }),
  )

  test(
    'default: from another state, or of nothing, it moves and audits nothing',
    use(async (ledger) => {
      for (const [number, state] of paymentStates.entries()) {
        if (state === 'provisioned') continue
        const payment = await claimUpTo(ledger, number, { state })
        const before = auditLength(ledger)
        const from = paymentStates.filter((other) => other !== state)
        const change = { from, to: 'void', reason: 'expired' } as const
        expect(await ledger.payments.move(payment.id, change, by(NOW_MS + 1))).toBeUndefined()
        expect(await ledger.payments.move('pay_none', change, by())).toBeUndefined()
        expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
        expect(auditLength(ledger)).toBe(before)
      }
    }),
  )
}

function conformMoveErrors(use: UsePayments): void {
  test(
    'error: refuses what is more than a word: settling, provisioned, and settled without a proof',
    use(async (ledger) => {
      const payment = await claimUpTo(ledger, 1, { state: 'unknown' })
      for (const to of ['settling', 'provisioned', 'settled'] as const) {
        await expect(
          ledger.payments.move(payment.id, { from: ['unknown'], to }, by()),
        ).rejects.toThrow()
      }
      expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
    }),
  )

  test(
    'error: one transfer pays one payment',
    use(async (ledger) => {
      await claimUpTo(ledger, 1, { state: 'settled' })
      const second = await claimUpTo(ledger, 2, { state: 'pending' })
      const settle = (logIndex: number) => {
        const proof = { ...aProof(1), logIndex }
        return ledger.payments.move(second.id, { from: ['pending'], to: 'settled', proof }, by())
      }
      await expect(settle(1)).rejects.toThrow(expect.objectContaining({ kind: 'ledger_rule' }))
      await expect(settle(1)).rejects.toThrow(paymentIdOf(1))
      expect(ledger.payments.findPayment(second.id)).toEqual(second)
      expect((await settle(2))?.state).toBe('settled')
    }),
  )

  test(
    'error: one offer has one payment, though money that came on top can be reviewed',
    use(async (ledger) => {
      const first = await claimUpTo(ledger, 1, { state: 'rejected' })
      const offer = ledger.payments.findOffer(first.offerId)
      if (offer === undefined) throw new Error('no offer')
      await ledger.payments.claim({ id: paymentIdOf(2), offer, signed: aSigned(2, offer) }, by())
      const move = (to: 'settled' | 'review') =>
        ledger.payments.move(first.id, { from: ['rejected'], to, proof: aProof(1) }, by())
      await expect(move('settled')).rejects.toThrow(paymentIdOf(2))
      expect(ledger.payments.findPayment(first.id)).toEqual(first)
      expect(await move('review')).toMatchObject({ state: 'review', proof: aProof(1) })
    }),
  )
}

function conformLease(use: UsePayments): void {
  const untilMs = NOW_MS + 100
  for (const state of ['screened', 'pending', 'unknown'] as const) {
    test(
      `default: a ${state} payment is leased to one, until the lease ends`,
      use(async (ledger) => {
        const { id, attempts } = await claimUpTo(ledger, 1, { state })
        const leased = await ledger.payments.lease(id, untilMs, by())
        const expected = { state: 'settling', attempts: attempts + 1, leaseUntilMs: untilMs }
        expect(leased).toMatchObject(expected)
        const before = auditLength(ledger)
        expect(await ledger.payments.lease(id, untilMs + 50, by(untilMs - 1))).toBeUndefined()
        expect(ledger.payments.findPayment(id)).toEqual(leased)
        expect(auditLength(ledger)).toBe(before)
        const again = await ledger.payments.lease(id, untilMs + 50, by(untilMs))
        expect(again).toMatchObject({ attempts: attempts + 2, leaseUntilMs: untilMs + 50 })
        expect(deedsOf(ledger).at(-1)).toBe(`operator payment.settling ${id}`)
      }),
    )
  }

  test(
    'behavior: a lease is renewed while its attempt goes on, and never afterwards',
    use(async (ledger) => {
      const { renewLease, lease, move, findPayment } = ledger.payments
      const { id } = await claimUpTo(ledger, 1, { state: 'settling', leaseUntilMs: untilMs })
      const before = auditLength(ledger)
      for (const longerMs of [50, 20])
        expect(await renewLease(id, { attempts: 1, untilMs: untilMs + longerMs })).toBe(true)
      expect(findPayment(id)).toMatchObject({ leaseUntilMs: untilMs + 50, updatedMs: NOW_MS })
      expect(auditLength(ledger)).toBe(before)
      expect([...ledger.verifyAudit()]).toEqual([])
      expect(await lease(id, untilMs + 99, by(untilMs))).toBeUndefined()
      expect(await lease(id, untilMs + 99, by(untilMs + 50))).toMatchObject({ attempts: 2 })
      expect(await renewLease(id, { attempts: 1, untilMs: untilMs + 200 })).toBe(false)
      await move(id, { from: ['settling'], to: 'unknown' }, by())
      const after = findPayment(id)
      expect(await renewLease(id, { attempts: 2, untilMs: untilMs + 200 })).toBe(false)
      expect(await renewLease('pay_none', { attempts: 1, untilMs })).toBe(false)
      expect(findPayment(id)).toEqual(after)
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )

  test(
    'error: a payment in another state cannot be leased, nor one that is not there',
    use(async (ledger) => {
      const states = ['received', 'settled', 'rejected', 'void', 'review'] as const
      for (const [number, state] of states.entries()) {
        const payment = await claimUpTo(ledger, number, { state })
        expect(await ledger.payments.lease(payment.id, untilMs, by(NOW_MS * 2))).toBeUndefined()
        expect(ledger.payments.findPayment(payment.id)).toEqual(payment)
      }
      expect(await ledger.payments.lease('pay_none', untilMs, by())).toBeUndefined()
    }),
  )
}

function conformPaidIn(use: UsePayments): void {
  test(
    'default: lists what was provisioned by money in some blocks, which may go to review after all',
    use(async (ledger) => {
      for (const number of [3, 1, 2]) await buy(ledger, number)
      await claimUpTo(ledger, 4, { state: 'settled' })
      const list = (from: number, to: number, on: string = network) =>
        ledger.payments.listPaidIn(on, { from, to }).map(({ id }) => id)
      const blockOf = (number: number) => aProof(number).blockNumber
      expect(list(0, blockOf(9))).toEqual([1, 2, 3].map(paymentIdOf))
      expect(list(blockOf(2), blockOf(2))).toEqual([paymentIdOf(2)])
      expect(list(0, blockOf(9), 'eip155:8453')).toEqual([])
      const change = { from: ['provisioned'], to: 'review', reason: 'reorganised' } as const
      expect(await ledger.payments.move(paymentIdOf(2), change, by())).toMatchObject({
        state: 'review',
      })
      expect(list(0, blockOf(9))).toEqual([1, 3].map(paymentIdOf))
      expect(ledger.payments.findSubscriptionOf(paymentIdOf(2))).toBeDefined()
      expect([...ledger.verifyAudit()]).toEqual([])
    }),
  )
}
