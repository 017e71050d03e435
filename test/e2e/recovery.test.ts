/**
 * What no caller waits for: payments that are brought to their end by
 * the chain alone, on a real one.
 */
import { beforeEach, describe, expect, test } from 'bun:test'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChainAfresh } from '../support/chain-ground.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import {
  type MortalNode,
  openWorld,
  outcomeOf,
  startMortalNode,
  type World,
  type WorldOptions,
} from './recovery-world.ts'

const PRICE = 49_000_000n
/** Longer than a payment that was seen on its way is waited for before it is sent again. */
const LONG_MS = 61_000
const LEASE_MS = 90_000

describe.skipIf(!hasAnvil)('recovery', () => {
  let chain: LittlePolygon
  let node: MortalNode
  let scripted: ScriptedFacilitator
  const worlds: World[] = []

  useChainAfresh(
    ({ keep, ...ground }) => {
      ;({ chain, scripted } = ground)
      node = keep(startMortalNode(chain.url))
    },
    () => {
      for (const world of worlds.splice(0)) world.dispose()
    },
  )
  beforeEach(() => {
    node.liveOn()
    scripted.calls.length = 0
  })

  async function open(options: Partial<WorldOptions> = {}): Promise<World> {
    const world = await openWorld({ chain, node, scripted, ...options })
    worlds.push(world)
    return world
  }
  /** Makes all that is on the chain final, and looks again. */
  async function endOf({ billing }: World): Promise<number> {
    await chain.finalize()
    return billing.reconcile()
  }
  /** Late enough to ask the node anew. */
  function nextWatch({ billing, time }: World): Promise<void> {
    time.nowMs += LONG_MS
    return billing.watch()
  }
  /** Of other payers, so that no two have one nonce. */
  async function newPayer() {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await chain.mintUsdc(address, PRICE)
    return { key, address }
  }
  /** A payment whose transfer a reorganisation has taken back. */
  async function takenBack(world: World) {
    const signed = await world.signed()
    const { payment } = await world.settle(signed.payload)
    expect([payment.state, payment.reason]).toEqual(['pending', 'not_final'])
    expect(await world.received()).toBe(signedSum(world))
    await chain.reorg(1)
    expect(await world.received()).toBe(0n)
    return signed
  }

  describe('reorganisation', () => {
    test('default: takes back a transfer that was not final, for which nothing was given', async () => {
      const world = await open()
      await takenBack(world)
      expect(await endOf(world)).toBe(1)
      expect([world.states(), world.subscriptions()]).toEqual([['pending'], []])
    })

    test('behavior: what was taken back is sent again as it was, and gives one period', async () => {
      const world = await open()
      await takenBack(world)
      world.time.nowMs += LONG_MS
      await world.billing.reconcile()
      expect(await endOf(world)).toBe(0)
      expect([world.states(), world.subscriptions().length]).toEqual([['provisioned'], 1])
      expect(await world.received()).toBe(signedSum(world))
      const bodies = scripted.settles().map(({ body }) => body)
      expect([bodies.length, new Set(bodies).size]).toEqual([2, 1])
    })

    test('behavior: what anybody brings back counts where it is then', async () => {
      const world = await open()
      const { transfer } = await takenBack(world)
      await chain.mine(3)
      const txHash = await chain.frontRun(transfer)
      expect(await endOf(world)).toBe(0)
      expect(world.payments()[0]).toMatchObject({ state: 'provisioned', proof: { txHash } })
    })

    test('behavior: what does not come back is void once it never can, and may be signed anew', async () => {
      const world = await open()
      const { payload } = await takenBack(world)
      await chain.setTime(Number(payload.payload.authorization.validBefore))
      expect(await endOf(world)).toBe(0)
      expect([world.states(), world.subscriptions()]).toEqual([['void'], []])
      expect(await outcomeOf(world.settle(payload))).toBe('payment_rejected')
      expect(scripted.settles()).toHaveLength(1)
    })
  })

  describe('confirmations', () => {
    test('default: of one block, gives the period before the chain calls it final', async () => {
      const world = await open({ confirmations: 1 })
      const { payload } = await world.signed()
      expect(await outcomeOf(world.settle(payload))).toBe('provisioned')
    })

    test('default: of five blocks, waits for these though the chain calls it final', async () => {
      const world = await open({ confirmations: 5 })
      const { payload } = await world.signed()
      expect(await outcomeOf(world.settle(payload))).toBe('pending')
      const counts: number[] = []
      for (let block = 2; block <= 5; block++) {
        await chain.mine()
        await world.billing.reconcile()
        counts.push(world.subscriptions().length)
      }
      expect(counts).toEqual([0, 0, 0, 1])
    })

    test('default: by itself a caller waits for finality, and gets his answer', async () => {
      const world = await open()
      world.time.onSleep = () => chain.mine()
      const { payload } = await world.signed()
      expect(await outcomeOf(world.settle(payload))).toBe('provisioned')
    })
  })

  describe('late money', () => {
    test('default: is honoured at the terms that were quoted, however late', async () => {
      const world = await open()
      scripted.always('cut-before')
      const validBefore = BigInt((await chain.time()) + 36_000)
      const { offer, payload, transfer } = await world.signed('acc_1', { validBefore })
      expect(await outcomeOf(world.settle(payload))).toBe('unknown')
      const [pro] = world.ledger.listTiers().filter(({ tierId }) => tierId === 'pro')
      if (!pro) throw new Error('There is no Pro tier.')
      const by = { actor: 'operator', nowMs: world.time.nowMs } as const
      await world.ledger.putTier(
        { ...pro, name: 'Dear', requestsPerMinute: 1, amountMillionths: 1 },
        by,
      )
      world.time.nowMs = offer.expiresMs + 3_600_000
      await chain.frontRun(transfer)
      expect(await endOf(world)).toBe(0)
      expect(world.subscriptions()).toEqual([
        expect.objectContaining({
          terms: offer.terms,
          startMs: world.time.nowMs,
          endMs: world.time.nowMs + offer.periodDays * 86_400_000,
        }),
      ])
    })

    test('behavior: of a payment that was refused for want of money is honoured, too', async () => {
      const world = await open()
      const payer = await newPayer()
      const by = { actor: 'operator', nowMs: world.time.nowMs } as const
      await world.ledger.createAccount({ id: 'acc_1', address: payer.address.toLowerCase() }, by)
      await chain.transfer('USDC', { key: payer.key, to: chain.payer.address, amount: 1n })
      const { payload, transfer } = await world.signed('acc_1', {}, payer)
      expect(await outcomeOf(world.settle(payload))).toBe('payment_rejected')
      await chain.mintUsdc(payer.address, 1n)
      await chain.frontRun(transfer)
      await endOf(world)
      expect([world.states(), scripted.settles()]).toEqual([['provisioned'], []])
    })
  })

  describe('money that no payment explains', () => {
    test('default: is shown to the operator, who notes what he did', async () => {
      const world = await open()
      await world.billing.watch()
      const transfer = { key: chain.payer.key, to: chain.payee.address, amount: 1_500_000n }
      const txHash = await chain.transfer('USDC', transfer)
      await nextWatch(world)
      expect(world.ledger.payments.listUnmatchedTransfers(false)).toEqual([])
      await chain.finalize()
      await nextWatch(world)
      const { printed } = await world.line.run('payments', 'list', '--json')
      const [found] = JSON.parse(printed.join('\n')).unmatchedTransfers
      expect(found).toMatchObject({ amount: '1.5', transaction: txHash, resolution: null })
      const resolved = await world.line.run('payments', 'resolve', found.id, '--note', 'sent back')
      expect(resolved).toMatchObject({ exitCode: 0 })
      const shown = await world.line.run('payments', 'show', found.id, '--json')
      expect(JSON.parse(shown.printed.join('\n'))).toMatchObject({ resolution: 'sent back' })
      await nextWatch(world)
      expect(world.ledger.payments.listUnmatchedTransfers(false)).toEqual([])
      expect(world.subscriptions()).toEqual([])
    })

    test('behavior: a payment of ours is none of it', async () => {
      const world = await open()
      await world.billing.watch()
      world.time.onSleep = () => chain.mine()
      const { payload } = await world.signed()
      await world.settle(payload)
      await chain.finalize()
      await nextWatch(world)
      expect(world.ledger.payments.listUnmatchedTransfers(false)).toEqual([])
    })
  })

  describe('a nonce that was spent', () => {
    test('error: on something else is for the operator, who sees and resolves it', async () => {
      const world = await open()
      const { payload, transfer } = await world.signed()
      const { nonce, validBefore } = transfer.authorization
      const elsewhere = { nonce, validBefore: BigInt(validBefore), amount: 7n }
      const other = await world.signed('acc_2', elsewhere)
      await chain.frontRun(other.transfer)
      expect(await outcomeOf(world.settle(payload))).toBe('unknown')
      await endOf(world)
      expect(world.payments()[0]).toMatchObject({ state: 'review', reason: 'used_elsewhere' })
      expect(await outcomeOf(world.settle(payload))).toBe('payment_in_review')
      const id = world.payments()[0]?.id ?? ''
      const { printed } = await world.line.run('payments', 'list', '--state', 'review', '--json')
      expect(JSON.parse(printed.join('\n')).payments).toEqual([
        expect.objectContaining({ id, reason: 'used_elsewhere' }),
      ])
      const resolve = await world.line.run('payments', 'resolve', id, '--note', 'asked him')
      expect(resolve).toMatchObject({ exitCode: 0 })
      expect(world.payments()[0]).toMatchObject({ resolution: 'asked him' })
      expect([scripted.settles(), world.subscriptions()]).toEqual([[], []])
    })

    test('error: by its cancellation is void, and a new one may be signed', async () => {
      const world = await open()
      const { offer, payload, transfer } = await world.signed()
      await chain.cancelAuthorization(chain.payer.key, transfer.authorization.nonce)
      expect(await outcomeOf(world.settle(payload))).toBe('unknown')
      expect(await endOf(world)).toBe(0)
      expect(world.payments()[0]).toMatchObject({ state: 'void', reason: 'canceled' })
      const refusal = await world.settle(payload).catch((error: unknown) => error)
      expect(refusal).toMatchObject({
        code: 'payment_rejected',
        extras: { reason: 'canceled', paymentRequired: { accepts: [offer.requirements] } },
      })
      expect([scripted.settles(), await world.received()]).toEqual([[], 0n])
    })
  })

  describe('sanctions', () => {
    test('error: a payer who was clear when he signed up is screened again, and never settled', async () => {
      const world = await open()
      const payer = await newPayer()
      const by = { actor: 'operator', nowMs: world.time.nowMs } as const
      const account = { id: 'acc_1', address: payer.address.toLowerCase() }
      await world.ledger.createAccount(account, by)
      const { payload } = await world.signed('acc_1', {}, payer)
      await chain.sanction(payer.address)
      expect(await outcomeOf(world.settle(payload))).toBe('sanctioned')
      expect(world.ledger.findAccount('acc_1')?.blockedMs).toBe(world.time.nowMs)
      await chain.unsanction(payer.address)
      world.time.nowMs += LONG_MS
      await endOf(world)
      expect(world.payments()[0]).toMatchObject({ state: 'review', reason: 'sanctioned' })
      expect(await outcomeOf(world.settle(payload))).toBe('sanctioned')
      expect([scripted.settles(), await world.received()]).toEqual([[], 0n])
    })
  })

  describe('a dead node', () => {
    /** Dies after each number of questions in turn; each payment still ends well. */
    async function dieEverywhere(world: World, after: () => Promise<void>): Promise<string[]> {
      const outcomes: string[] = []
      for (let questions = 0; ; questions++) {
        const payer = await newPayer()
        const accountId = `acc_${questions}`
        const { payload } = await world.signed(accountId, {}, payer)
        node.dieAfter(questions)
        outcomes.push(await outcomeOf(world.settle(payload, accountId)))
        const wasDead = node.asked() > questions
        node.liveOn()
        await after()
        world.time.nowMs += LEASE_MS
        await chain.setTime(Math.ceil(world.time.nowMs / 1000))
        await outcomeOf(world.settle(payload, accountId))
        await endOf(world)
        expect([questions, world.states()[0]]).toEqual([questions, 'provisioned'])
        if (!wasDead) return outcomes
      }
    }

    test('default: is never told as a fault of the payer, at whichever question it dies', async () => {
      const world = await open()
      const outcomes = await dieEverywhere(world, async () => {})
      expect(outcomes.length).toBeGreaterThan(8)
      const known = ['billing_unavailable', 'pending', 'screening_unavailable']
      expect([...new Set(outcomes)].toSorted()).toEqual(known)
      expect(world.payments()).toHaveLength(outcomes.length)
      expect(await world.received()).toBe(signedSum(world))
    })

    test('default: nor where the facilitator is our own, on the same node', async () => {
      const gasKey = chain.facilitator.key
      const soon = { confirmationTimeoutMs: 100 }
      const facilitator = createLocalFacilitator({
        chain: homeChain,
        rpcUrl: node.url,
        gasKey,
        pollMs: 5,
        ...soon,
      })
      const world = await open({ facilitator })
      const outcomes = await dieEverywhere(world, async () => {
        await facilitator.supported()
      })
      expect(outcomes).not.toContain('payment_rejected')
      expect(world.payments()).toHaveLength(outcomes.length)
      expect(await world.received()).toBe(signedSum(world))
    })
  })

  describe('a restart', () => {
    test('default: finds several open payments, each at its step, and ends them all', async () => {
      const world = await open()
      const { ledger } = world
      const names = ['lost', 'pending', 'leased', 'screened', 'refused']
      const all: Awaited<ReturnType<World['signed']>>[] = []
      // One after the other: all are given their money by one wallet, which counts its
      // transactions.
      for (const index of names.keys()) {
        all.push(await world.signed(`acc_${index}`, {}, await newPayer()))
      }
      const settle = async (index: number) =>
        outcomeOf(world.settle(all[index]?.payload, `acc_${index}`))
      scripted.next('cut-after-broadcast', 'ok', '429', '429', '429')
      const outcomes = [await settle(0), await settle(1), await settle(2), await settle(3)]
      expect(outcomes).toEqual(['pending', 'pending', 'billing_unavailable', 'billing_unavailable'])
      // Killed with the lease in hand, before the call.
      const by = { actor: 'system', nowMs: world.time.nowMs } as const
      const leased = world.payments().find(({ accountId }) => accountId === 'acc_2')
      await ledger.payments.lease(leased?.id ?? '', world.time.nowMs + LEASE_MS, by)
      expect(await settle(4)).toBe('billing_unavailable')

      await world.restart()
      world.time.nowMs += LEASE_MS + 1
      await world.billing.reconcile()
      expect(await endOf(world)).toBe(0)
      expect(world.states()).toEqual(Array<'provisioned'>(5).fill('provisioned'))
      expect(names.map((_, index) => world.subscriptions(`acc_${index}`).length)).toEqual([
        1, 1, 1, 1, 1,
      ])
      expect(await world.received()).toBe(signedSum(world))
      expect([...world.ledger.verifyAudit()]).toEqual([])
      // Those that were sent before were not sent again.
      expect(scripted.settles()).toHaveLength(5 + 3)
    })
  })
})

/** What all payments that were taken move together. */
const signedSum = (world: World): bigint =>
  world.payments().reduce((sum, { signed }) => sum + signed.amount, 0n)
