import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

import { hasAnvil } from '../support/anvil.ts'
import { type FaultyNode, type Meddling, startFaultyNode } from './faulty-node.ts'
import {
  AMOUNT,
  type Draft,
  settle,
  settleTogether,
  signUsdc,
  signUsdt,
  spendElsewhere,
} from './signed-payments.ts'

const options = { clock: () => 0, log: () => {} }
const elsewhere = `0x${'e1'.repeat(20)}`

describe.skipIf(!hasAnvil)('ChainView.look', () => {
  let chain: LittlePolygon
  let snapshot = ''
  let fromBlock = 0
  const nodes: FaultyNode[] = []

  beforeAll(async () => {
    chain = await startLittlePolygon()
    await chain.approvePermit2(chain.payer.key)
    await chain.mine(5)
  })
  beforeEach(async () => {
    snapshot = await chain.snapshot()
    fromBlock = Number(await chain.rpc('eth_blockNumber'))
  })
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    await chain.revert(snapshot)
  })
  afterAll(() => chain?.stop())

  function open({ meddle, confirmations }: { meddle?: Meddling; confirmations?: number } = {}) {
    const node = startFaultyNode(chain.url, meddle)
    nodes.push(node)
    const rpc = createRpc({ chain: homeChain, url: node.url })
    const view = createChainView(rpc, { ...options, confirmations: confirmations ?? 'final' })
    return { node, view }
  }

  const look = ({ signed }: Draft, txHash?: string) =>
    open().view.look(signed, { fromBlock, txHash })

  const methods = [
    ['USDC', signUsdc],
    ['USDT', signUsdt],
  ] as const

  describe.each(methods)('of %s', (_, sign) => {
    test('default: finds a payment from its hash, final once its block is', async () => {
      const draft = await sign(chain)
      const txHash = await settle(chain, draft)
      expect(await look(draft, txHash)).toMatchObject({
        kind: 'paid',
        proof: { txHash, blockNumber: fromBlock + 1 },
        isFinal: false,
      })
      await chain.finalize()
      expect(await look(draft, txHash)).toMatchObject({ kind: 'paid', isFinal: true })
    })

    test('behavior: finds a payment that somebody else sent, without its hash', async () => {
      const draft = await sign(chain)
      const txHash = await settle(chain, draft)
      await chain.finalize()
      expect(await look(draft)).toMatchObject({ kind: 'paid', proof: { txHash }, isFinal: true })
    })

    test('behavior: counts confirmations from the block of the payment on', async () => {
      const draft = await sign(chain)
      await settle(chain, draft)
      const isFinal = async (confirmations: number) => {
        const { view } = open({ confirmations })
        return view.look(draft.signed, { fromBlock })
      }
      expect(await isFinal(1)).toMatchObject({ kind: 'paid', isFinal: true })
      expect(await isFinal(2)).toMatchObject({ kind: 'paid', isFinal: false })
      await chain.mine()
      expect(await isFinal(2)).toMatchObject({ kind: 'paid', isFinal: true })
    })

    test('behavior: the hash of another payment is no proof', async () => {
      const draft = await sign(chain)
      const other = await sign(chain)
      const txHash = await settle(chain, other)
      await chain.finalize()
      expect(await look(draft, txHash)).toEqual({ kind: 'open' })
    })

    test('behavior: a payment that nobody sent is open, and expired by the final time of the chain', async () => {
      const draft = await sign(chain)
      const end = Number(draft.signed.validBefore)
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'open' })
      await chain.setTime(end - 1)
      await chain.setTime(end + 1)
      await chain.mine()
      // The block before the end is the final one.
      expect(await look(draft)).toEqual({ kind: 'open' })
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'void', reason: 'expired' })
    })

    test('behavior: a reorganisation takes a payment back that was not final', async () => {
      const draft = await sign(chain)
      const txHash = await settle(chain, draft)
      expect(await look(draft)).toMatchObject({ kind: 'paid', isFinal: false })
      await chain.reorg(1)
      expect(await look(draft, txHash)).toEqual({ kind: 'open' })
    })

    test('behavior: a nonce that the payer took back is void once that is final', async () => {
      const draft = await sign(chain)
      const { nonce, method } = draft.signed
      const { key } = chain.payer
      await (method === 'permit2'
        ? chain.invalidatePermit2Nonce(key, BigInt(nonce))
        : chain.cancelAuthorization(key, nonce as `0x${string}`))
      expect(await look(draft)).toEqual({ kind: 'open' })
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'void', reason: 'canceled' })
    })

    test.each([
      ['payee', { payTo: elsewhere }],
      ['amount', { amount: AMOUNT - 1n }],
    ])('behavior: a nonce used for another %s is void once that is final', async (_, wish) => {
      const draft = await sign(chain)
      const nonce = `0x${BigInt(draft.signed.nonce).toString(16).padStart(64, '0')}`
      await settle(chain, await sign(chain, { ...wish, nonce }))
      expect(await look(draft)).toEqual({ kind: 'open' })
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'void', reason: 'used_elsewhere' })
    })

    test('behavior: a nonce used before the offer is void', async () => {
      const draft = await sign(chain)
      const nonce = `0x${BigInt(draft.signed.nonce).toString(16).padStart(64, '0')}`
      await settle(chain, await sign(chain, { payTo: elsewhere, nonce }))
      await chain.finalize()
      fromBlock = Number(await chain.rpc('eth_blockNumber'))
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'void', reason: 'used_elsewhere' })
    })

    test('behavior: a transfer without the signature is no payment', async () => {
      const draft = await sign(chain)
      const { key } = chain.payer
      const symbol = draft.signed.method === 'permit2' ? 'USDT' : 'USDC'
      const hash = await chain.transfer(symbol, { key, to: chain.payee.address, amount: AMOUNT })
      await chain.finalize()
      expect(await look(draft, hash)).toEqual({ kind: 'open' })
    })

    test('error: a node that dies at any question is told as unavailable', async () => {
      const draft = await sign(chain)
      const unsent = await sign(chain)
      await settle(chain, draft)
      await chain.setTime(Number(draft.signed.validBefore) + 1)
      await chain.finalize()
      for (const [{ signed }, kind] of [
        [draft, 'paid'],
        [unsent, 'void'],
      ] as const) {
        const whole = open()
        expect(await whole.view.look(signed, { fromBlock })).toMatchObject({ kind })
        expect(whole.node.methods.length).toBeGreaterThan(3)
        for (const dead of whole.node.methods.keys()) {
          const { view } = open({ meddle: (_, at) => (at >= dead ? 'dead' : undefined) })
          expect(await view.look(signed, { fromBlock })).toMatchObject({ kind: 'unavailable' })
        }
      }
    })

    test.each([
      ['logs', 'eth_getLogs', []],
      ['receipts', 'eth_getTransactionReceipt', null],
      ['blocks', 'eth_getBlockByNumber', null],
    ])('error: a node without %s proves nothing', async (_, lost, answer) => {
      const draft = await sign(chain)
      await settle(chain, draft)
      await chain.setTime(Number(draft.signed.validBefore) + 1)
      await chain.finalize()
      const { view } = open({ meddle: (method) => (method === lost ? answer : undefined) })
      const verdict = await view.look(draft.signed, { fromBlock })
      expect(verdict).toMatchObject({ kind: 'unavailable' })
    })

    test('error: a newest state that is older than the final one proves nothing', async () => {
      const draft = await sign(chain)
      await settle(chain, draft)
      await chain.setTime(Number(draft.signed.validBefore) + 1)
      await chain.finalize()
      const stale: Meddling = (method, _, [, block]) =>
        method === 'eth_call' && block === 'latest' ? `0x${'00'.repeat(32)}` : undefined
      const { view } = open({ meddle: stale })
      expect(await view.look(draft.signed, { fromBlock })).toEqual({ kind: 'open' })
    })

    test.each([
      ['in another block', { blockHash: `0x${'11'.repeat(32)}` }],
      ['undone', { status: '0x0' }],
    ])('error: a transaction that logs show, but its receipt shows %s', async (_, change) => {
      const draft = await sign(chain)
      const hash = await settle(chain, draft)
      await chain.finalize()
      const receipt = await chain.rpc('eth_getTransactionReceipt', [hash])
      const changed = { ...(receipt as object), ...change }
      const { view } = open({
        meddle: (method) => (method === 'eth_getTransactionReceipt' ? changed : undefined),
      })
      const verdict = await view.look(draft.signed, { fromBlock })
      expect(verdict).toMatchObject({ kind: 'unavailable' })
    })

    test('error: a node that goes back behind its final block is not believed at once', async () => {
      const draft = await sign(chain)
      const before = await chain.snapshot()
      await chain.setTime(Number(draft.signed.validBefore) + 1)
      await chain.mine(5)
      const { view } = open()
      expect(await view.look(draft.signed, { fromBlock })).toMatchObject({ kind: 'void' })
      await chain.revert(before)
      expect(await view.look(draft.signed, { fromBlock })).toMatchObject({ kind: 'unavailable' })
      expect(await view.look(draft.signed, { fromBlock })).toEqual({ kind: 'open' })
    })
  })

  test.each([
    ['before', signUsdc, 'void'],
    ['at', signUsdt, 'open'],
  ] as const)('behavior: the last moment of a payment is %s its end', async (_, sign, kind) => {
    const draft = await sign(chain)
    await chain.setTime(Number(draft.signed.validBefore))
    await chain.finalize()
    expect(await look(draft)).toMatchObject({ kind })
  })

  test('behavior: a Permit2 nonce is not taken back with its neighbour', async () => {
    const draft = await signUsdt(chain)
    const nonce = BigInt(draft.signed.nonce)
    await chain.invalidatePermit2Nonce(chain.payer.key, nonce ^ 1n)
    expect(await look(draft)).toEqual({ kind: 'open' })
    const same = `0x${nonce.toString(16).padStart(64, '0')}`
    await settle(chain, await signUsdt(chain, { payTo: elsewhere, nonce: same }))
    await chain.finalize()
    expect(await look(draft)).toEqual({ kind: 'void', reason: 'used_elsewhere' })
  })

  test.each(['USDT', 'USDC'] as const)(
    'behavior: a Permit2 nonce that another shop has used on %s is void once that is final',
    async (symbol) => {
      const draft = await signUsdt(chain)
      const { nonce } = draft.signed
      await spendElsewhere(chain, { key: chain.payer.key, nonce, symbol })
      expect(await look(draft)).toEqual({ kind: 'open' })
      await chain.mine(9)
      await chain.finalize()
      expect(await look(draft)).toEqual({ kind: 'void', reason: 'used_elsewhere' })
      const { view } = open({ meddle: (method) => (method === 'eth_getLogs' ? [] : undefined) })
      expect(await view.look(draft.signed, { fromBlock })).toMatchObject({ kind: 'unavailable' })
    },
  )

  test('behavior: so is that of a payer who makes more transfers than can be looked at one by one', async () => {
    const draft = await signUsdt(chain)
    const transfer = { key: chain.payer.key, to: elsewhere, amount: 1n }
    for (let count = 0; count < 101; count++) await chain.transfer('USDT', transfer)
    const nonce = `0x${BigInt(draft.signed.nonce).toString(16).padStart(64, '0')}`
    await settle(chain, await signUsdt(chain, { payTo: elsewhere, nonce }))
    await chain.finalize()
    expect(await look(draft)).toEqual({ kind: 'void', reason: 'used_elsewhere' })
  })

  test('behavior: a USDT payment through another contract counts if it is the only one', async () => {
    const first = await signUsdt(chain)
    const second = await signUsdt(chain, { amount: 7n })
    const txHash = await settleTogether(chain, [first, second])
    await chain.finalize()
    expect(await look(first)).toMatchObject({ kind: 'paid', proof: { txHash }, isFinal: true })
    expect(await look(second)).toMatchObject({ kind: 'paid', proof: { txHash }, isFinal: true })
  })

  test('behavior: of USDT payments that nothing tells apart none is chosen', async () => {
    const first = await signUsdt(chain)
    const second = await signUsdt(chain)
    await settleTogether(chain, [first, second])
    await chain.finalize()
    expect(await look(first)).toMatchObject({ kind: 'unavailable' })
  })
})
