/**
 * Two servers that settle one signed payment at once are one payment: one transfer, one purchase,
 * and the same answer, wherever one comes between two steps of the other.
 */
import { expect, test } from 'bun:test'

import type { Settlement } from '#src/billing/billing.ts'
import { parsePayment, sealPayment } from '#src/domain/selling/payload.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import { defaultPacks, type Pack } from '#src/domain/selling/tier.ts'
import { Fault } from '#src/platform/fault.ts'

import { onEachEngine } from '../support/engines/each.ts'
import { NOW_MS, openBilling, paid, payWithUsdc, type World } from './scripted-billing.ts'

const MS_MAX = 240_000
/** More steps than a settlement has. */
const STEPS_MAX = 100
const by = { actor: 'account:acc_1', nowMs: NOW_MS } as const

/** A server that does `act` where it takes its nth step. */
async function openServer(ledgerPlace: string, prefix: string, step: 'atWait' | 'atCall') {
  let steps = 0
  let at = 0
  let act: () => unknown = () => undefined
  let acting: Promise<unknown> | undefined
  const waiting = async () => {
    if (++steps === at) await act()
  }
  /** Begins at a read, and is over before the next call that writes. */
  const calling = async () => {
    if (++steps === at) acting = Promise.resolve(act())
    await acting
  }
  const hooks = step === 'atWait' ? { atWait: waiting } : { atCall: calling }
  const world = await openBilling({ ledgerPlace, prefix, ...hooks })
  return {
    world,
    stopAt(nth: number, next: () => unknown): void {
      steps = 0
      acting = undefined
      at = nth
      act = next
    },
  }
}

/** A new offer, signed; the chain of all servers shows the payment once it is sent. */
async function sign(worlds: readonly World[], nonce: number) {
  const [world] = worlds as [World]
  const send = (): void => {
    for (const { script } of worlds) {
      script.verdict = paid(true, nonce)
      script.preflight = { kind: 'fault', faults: ['nonce_used'] }
    }
  }
  for (const { script, calls } of worlds) {
    calls.payloads.length = 0
    script.verdict = { kind: 'open' }
    script.preflight = { kind: 'ready' }
    script.onSettle = send
  }
  const offer = await world.quote('USDC', 'pro', true)
  return { offer, send, payload: payWithUsdc(offer, {}, nonce) }
}

type Signed = Awaited<ReturnType<typeof sign>>

/** It was sent once, both see one purchase for each payment, and the audit chain is sound. */
async function expectOnce(worlds: readonly World[], purchases: number): Promise<void> {
  for (const { ledger, me } of worlds) {
    // A copy gets what others have written at the latest then.
    await ledger.probeWrite()
    expect(ledger.listSubscriptions(me.accountId)).toHaveLength(purchases)
    expect(ledger.payments.listPayments({ limit: 10_000 })).toHaveLength(purchases)
    expect([...ledger.verifyAudit()]).toEqual([])
    ledger.dispose()
  }
}

const [product] = defaultPacks as readonly [Pack]

/** What a wallet makes of the first offer to callers without a key. */
async function signUnquoted(worlds: readonly World[]) {
  const { send } = await sign(worlds, 1)
  const [world] = worlds as [World]
  const { accepts } = await world.billing.demand(product)
  const requirements = accepts[0] as PaymentRequirements
  return { send, payload: payWithUsdc({ requirements, createdMs: NOW_MS, payer: undefined }) }
}

function expectOneCredit(worlds: readonly World[]): void {
  expect(worlds.flatMap(({ calls }) => calls.payloads)).toHaveLength(1)
  for (const { ledger, me } of worlds) {
    expect(ledger.payments.listPayments({ limit: 10 })).toHaveLength(1)
    expect(ledger.payments.listCredits(me.accountId)).toHaveLength(1)
    expect([...ledger.verifyAudit()]).toEqual([])
    ledger.dispose()
  }
}

const settle = ({ billing, me }: World, payload: unknown): Promise<Settlement> =>
  billing.settle(me, payload)

/** What the other server does. */
const others = {
  /** Takes the payment in, and does no more. */
  claims: async ({ ledger }: World, { offer, payload }: Signed) => {
    const signed = sealPayment(parsePayment(payload), offer)
    const { payment } = await ledger.payments.claim({ id: `other_${offer.id}`, offer, signed }, by)
    return payment
  },
  /** Takes it to its end. */
  async settles(world: World, signed: Signed, nonce: number) {
    const { payments } = world.ledger
    const { id } = await others.claims(world, signed)
    await payments.move(id, { from: ['received'], to: 'screened' }, by)
    if ((await payments.lease(id, NOW_MS + 15_000, by)) === undefined) return
    world.calls.payloads.push('by the other')
    signed.send()
    const { proof } = paid(true, nonce) as Extract<ReturnType<typeof paid>, { kind: 'paid' }>
    await payments.move(id, { from: ['settling'], to: 'settled', proof }, by)
    const ids = { subscriptionId: `sub_${id}`, restId: `rest_${id}` }
    await payments.provision(id, ids, by)
  },
}

onEachEngine(({ placeOf }) => {
  test(
    'behavior: the second settles while the first waits, and stands still until the first has ended',
    async () => {
      const place = placeOf('while_it_waits')
      const first = await openServer(place, 'a', 'atWait')
      const second = await openServer(place, 'b', 'atWait')
      const worlds = [first.world, second.world]
      let nonce = 0

      /** Whether both have so many steps. */
      async function race(at: number, otherAt: number): Promise<[boolean, boolean]> {
        const { payload } = await sign(worlds, ++nonce)
        const { promise: firstIsOver, resolve } = Promise.withResolvers<void>()
        let other: Promise<Settlement> | undefined
        let isStopped = false
        first.stopAt(at, async () => {
          const stopped = Promise.withResolvers<void>()
          second.stopAt(otherAt, async () => {
            isStopped = true
            stopped.resolve()
            await firstIsOver
          })
          other = settle(second.world, payload)
          await Promise.race([stopped.promise, other.catch(() => undefined)])
        })
        const { payment } = await settle(first.world, payload).finally(resolve)
        if (other !== undefined) expect((await other).payment.id).toBe(payment.id)
        for (const server of [first, second]) server.stopAt(0, () => undefined)
        for (const world of worlds)
          expect((await settle(world, payload)).payment).toMatchObject({
            id: payment.id,
            state: 'provisioned',
          })
        expect(worlds.flatMap(({ calls }) => calls.payloads)).toHaveLength(1)
        return [other !== undefined, isStopped]
      }

      for (let at = 1, isThere = true; isThere && at < STEPS_MAX; at++) {
        for (let otherAt = 1, isOtherThere = true; isOtherThere; otherAt++)
          [isThere, isOtherThere] = await race(at, otherAt)
      }
      expect(nonce).toBeGreaterThan(50)
      await expectOnce(worlds, nonce)
    },
    MS_MAX,
  )

  for (const [name, act] of Object.entries(others)) {
    test(
      `behavior: the second ${name} it between any two calls of the ledger by the first`,
      async () => {
        const place = placeOf(`between_${name}`)
        const first = await openServer(place, 'a', 'atCall')
        const second = await openServer(place, 'b', 'atCall')
        const worlds = [first.world, second.world]
        let nonce = 0
        for (let isThere = true; isThere && nonce < STEPS_MAX;) {
          const signed = await sign(worlds, ++nonce)
          isThere = false
          first.stopAt(nonce, async () => {
            isThere = true
            await act(second.world, signed, nonce)
          })
          const { payment } = await settle(first.world, signed.payload)
          expect([nonce, payment.state]).toEqual([nonce, 'provisioned'])
          expect((await settle(second.world, signed.payload)).payment).toEqual(payment)
          expect(worlds.flatMap(({ calls }) => calls.payloads)).toHaveLength(1)
        }
        expect(nonce).toBeGreaterThan(10)
        await expectOnce(worlds, nonce)
      },
      MS_MAX,
    )
  }

  for (const [name, fault] of [
    ['its money is gone', 'insufficient_balance'],
    ['its allowance is used', 'allowance_required'],
  ] as const) {
    test(`behavior: without a key, the second settles it meanwhile: ${name}, as that payment`, async () => {
      const place = placeOf(`keyless_${fault}`)
      const first = await openServer(place, 'a', 'atWait')
      const second = await openServer(place, 'b', 'atWait')
      const { payload } = await signUnquoted([first.world, second.world])
      let other: Promise<Settlement> | undefined
      // Its first wait is before the chain is asked what it has against the payment.
      first.stopAt(1, async () => {
        other = second.world.billing.settleUnquoted(product, payload)
        await other
        first.world.script.preflight = { kind: 'fault', faults: [fault] }
      })
      const { payment } = await first.world.billing.settleUnquoted(product, payload)
      expect(payment).toEqual((await other)?.payment as typeof payment)
      expectOneCredit([first.world, second.world])
    })
  }

  test('behavior: without a key, what the wallet has paid before is this very payment', async () => {
    const place = placeOf('keyless_before')
    const worlds = [
      (await openServer(place, 'a', 'atWait')).world,
      (await openServer(place, 'b', 'atWait')).world,
    ] as const
    const { payload } = await signUnquoted(worlds)
    const [first, second] = worlds
    const { payment } = await first.billing.settleUnquoted(product, payload, {
      async onAdmitted() {
        await second.billing.settleUnquoted(product, payload)
        throw new Fault('', { kind: 'paid_before' })
      },
    })
    expect(payment.state).toBe('provisioned')
    expectOneCredit(worlds)
  })

  test.each([
    { lifeSeconds: 599, isProved: false },
    { lifeSeconds: 600, isProved: false },
    { lifeSeconds: 601, isProved: true },
  ])(
    'behavior: without a key, a signature of $lifeSeconds s beside a payment of 600 s is not settled; its payer is proved: $isProved',
    async ({ lifeSeconds, isProved }) => {
      const place = placeOf(`keyless_repeated_${lifeSeconds}`)
      const worlds = [
        (await openServer(place, 'a', 'atWait')).world,
        (await openServer(place, 'b', 'atWait')).world,
      ] as const
      const [first, second] = worlds
      const { payload } = await signUnquoted(worlds)
      const bought = await first.billing.settleUnquoted(product, payload)
      expect(bought.isProved).toBe(true)
      // The nonce of the other one is unspent.
      second.script.preflight = { kind: 'ready' }
      const { accepts } = await second.billing.demand(product)
      const offer = { requirements: accepts[0] as PaymentRequirements, createdMs: NOW_MS }
      const validBefore = String(Math.floor(NOW_MS / 1000) + lifeSeconds)
      const other = payWithUsdc({ ...offer, payer: undefined }, { validBefore }, 2)
      const again = await second.billing.settleUnquoted(product, other, { repeatsSinceMs: 0 })
      expect([again.payment.id, again.isProved]).toEqual([bought.payment.id, isProved])
      expectOneCredit(worlds)
    },
  )

  test('error: without a key, a signature that has ended is not compared with what its empty wallet has paid', async () => {
    const { world } = await openServer(placeOf('keyless_ended'), 'a', 'atWait')
    const { accepts } = await world.billing.demand(product)
    const offer = { requirements: accepts[0] as PaymentRequirements, createdMs: NOW_MS }
    const validBefore = String(Math.floor(NOW_MS / 1000) - 1)
    world.script.preflight = { kind: 'fault', faults: ['insufficient_balance'] }
    const admitted: string[] = []
    const settled = world.billing.settleUnquoted(
      product,
      payWithUsdc({ ...offer, payer: undefined }, { validBefore }),
      { onAdmitted: async ({ payer }) => void admitted.push(payer) },
    )
    await expect(settled).rejects.toMatchObject({ code: 'payment_rejected' })
    expect(admitted).toEqual([])
    world.ledger.dispose()
  })
})
