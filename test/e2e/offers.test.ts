/** Who may pay what on a real chain, and how soon after its finality a payment is provisioned. */
import { describe, expect, test } from 'bun:test'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { startBillingJobs } from '#src/server/billing.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChainAfresh } from '../support/chain-ground.ts'
import { createFakeTimers } from '../support/fake-timers.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import { until } from '../support/until.ts'
import { type MortalNode, openWorld, outcomeOf, sign, startMortalNode } from './recovery-world.ts'

const PRICE = 49_000_000n
const polygon = 'eip155:137'
/** Reconciling, checking whether it can sell, and watching transfers. */
const JOBS = 3
const wish = { tierId: 'pro', network: polygon, token: 'USDC' }

describe.skipIf(!hasAnvil)('offers', () => {
  let chain: LittlePolygon
  let node: MortalNode
  let scripted: ScriptedFacilitator
  const endings: (() => Promise<void> | void)[] = []

  useChainAfresh(
    ({ keep, ...ground }) => {
      ;({ chain, scripted } = ground)
      node = keep(startMortalNode(chain.url))
    },
    async () => {
      for (const end of endings.splice(0).reverse()) await end()
    },
  )

  async function newWallet() {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await chain.mintUsdc(address, 2n * PRICE)
    return { key, address }
  }

  /** A server and an account whose wallet has money. */
  async function open() {
    const world = await openWorld({ chain, node, scripted })
    endings.push(() => world.dispose())
    const wallet = await newWallet()
    const address = wallet.address.toLowerCase()
    const by = { actor: 'operator', nowMs: world.time.nowMs } as const
    await world.ledger.createAccount({ id: 'acc_wallet', address }, by)
    const quote = async (payer?: string, anotherPeriod = false) =>
      (
        await world.billing.quote(await world.caller('acc_wallet'), {
          ...wish,
          payer,
          anotherPeriod,
        })
      ).offer
    return { world, wallet, quote }
  }

  test('default: the wallet of an account pays the plain price, as often as it likes', async () => {
    const { world, wallet, quote } = await open()
    world.time.onSleep = () => chain.mine()
    for (const count of [1, 2]) {
      const offer = await quote(undefined, count > 1)
      expect(offer.requirements.amount).toBe(String(PRICE))
      const { payload } = await sign(chain, { offer, payer: wallet })
      expect(await outcomeOf(world.settle(payload, 'acc_wallet'))).toBe('provisioned')
      expect(world.subscriptions('acc_wallet')).toHaveLength(count)
    }
    expect(await world.received()).toBe(2n * PRICE)
  })

  test('behavior: another wallet pays what was quoted for it; the plain price from it is nobody’s', async () => {
    const { world, quote } = await open()
    world.time.onSleep = () => chain.mine()
    const friend = await newWallet()
    const plain = await sign(chain, { offer: await quote(), payer: friend })
    expect(await outcomeOf(world.settle(plain.payload, 'acc_wallet'))).toBe('unknown_offer')
    const offer = await quote(friend.address)
    expect(BigInt(offer.requirements.amount)).toBeLessThan(PRICE)
    const { payload } = await sign(chain, { offer, payer: friend })
    expect(await outcomeOf(world.settle(payload, 'acc_wallet'))).toBe('provisioned')
    expect(await world.received()).toBe(BigInt(offer.requirements.amount))
  })

  test('error: nobody but the account of the wallet can submit what it signed at the plain price', async () => {
    const { world, wallet, quote } = await open()
    const { payload } = await sign(chain, { offer: await quote(), payer: wallet })
    await world.quote('acc_thief')
    expect(await outcomeOf(world.settle(payload, 'acc_thief'))).toBe('unknown_offer')
    expect(world.payments()).toEqual([])
    world.time.onSleep = () => chain.mine()
    expect(await outcomeOf(world.settle(payload, 'acc_wallet'))).toBe('provisioned')
  })

  /** A server that has been idle, and a payment in flight whose caller has gone. */
  async function openInFlight() {
    const { world, wallet, quote } = await open()
    const timers = createFakeTimers(0)
    const jobs = startBillingJobs(world.billing, { startTimer: timers.startTimer, log: () => {} })
    endings.push(() => jobs.dispose())
    const untilAtRest = () => until(() => timers.delays().length === JOBS)
    await untilAtRest()
    const { payload } = await sign(chain, { offer: await quote(), payer: wallet })
    const { payment } = await world.settle(payload, 'acc_wallet')
    expect(payment.state).toBe('pending')
    /** Looks at the payment when the server does; in how many seconds that is. */
    const look = async (): Promise<number> => {
      const [ms = Infinity] = timers.delays()
      timers.advance(ms)
      await untilAtRest()
      return ms / 1000
    }
    return { world, id: payment.id, look }
  }

  test('behavior: on an idle server a payment is provisioned within seconds of its finality', async () => {
    const { world, look } = await openInFlight()
    // An idle server would look in a minute.
    expect(await look()).toBeWithin(1, 5)
    expect(world.states()).toEqual(['pending'])
    await chain.finalize()
    expect(await look()).toBeWithin(1, 5)
    expect(world.states()).toEqual(['provisioned'])
  }, 300_000)

  test('behavior: whoever asks for his payment once it is final has it with that answer', async () => {
    const { world, id } = await openInFlight()
    await chain.finalize()
    // It looks before it waits.
    world.time.onSleep = () => new Promise(() => {})
    const { payment, subscription } = await world.billing.payment(
      await world.caller('acc_wallet'),
      id,
    )
    expect([payment.state, subscription?.tierId]).toEqual(['provisioned', 'pro'])
  }, 300_000)
})
