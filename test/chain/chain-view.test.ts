import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { type ChainViewOptions, createChainView } from '#src/chain/chain-view.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

import { hasAnvil } from '../support/anvil.ts'
import { twoCode } from '../support/evm-code.ts'
import { type FaultyNode, type Meddling, startFaultyNode } from './faulty-node.ts'
import { permit2, permit2Proxy, settle, signUsdc, signUsdt } from './signed-payments.ts'

const [usdc = '', usdt = ''] = homeChain.tokens.map(({ address }) => address)
const fixed = { log: () => {} }

describe.skipIf(!hasAnvil)('ChainView', () => {
  let chain: LittlePolygon
  let snapshot = ''
  let nowMs = 0
  const nodes: FaultyNode[] = []

  beforeAll(async () => {
    chain = await startLittlePolygon()
    await chain.approvePermit2(chain.payer.key)
  })
  beforeEach(async () => {
    nowMs = 1_000_000
    snapshot = await chain.snapshot()
  })
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    await chain.revert(snapshot)
  })
  afterAll(() => chain?.stop())

  function open(options: Partial<ChainViewOptions> & { meddle?: Meddling } = {}) {
    const node = startFaultyNode(chain.url, options.meddle)
    nodes.push(node)
    const own = { clock: () => nowMs, confirmations: 'final' as const, payTo: chain.payee.address }
    const rpc = createRpc({ chain: homeChain, url: node.url })
    return { node, view: createChainView(rpc, { ...fixed, ...own, ...options }) }
  }
  const latest = async () => Number(await chain.rpc('eth_blockNumber'))

  describe('head', () => {
    test('default: tells what is final and what is newest', async () => {
      const number = await latest()
      const head = await open().view.head(0)
      expect(head).toMatchObject({ finalNumber: number - 2, latestNumber: number })
    })

    test('behavior: counts confirmations, the newest block as the first', async () => {
      const number = await latest()
      const finalOf = async (confirmations: number) =>
        (await open({ confirmations }).view.head(0))?.finalNumber
      expect(await Promise.all([1, 3, 1000].map(finalOf))).toEqual([number, number - 2, 0])
    })

    test('behavior: asks again once what it saw is too old', async () => {
      const { view } = open()
      const number = await latest()
      await view.head(0)
      await chain.mine()
      nowMs += 500
      expect(await view.head(500)).toMatchObject({ latestNumber: number })
      expect(await view.head(499)).toMatchObject({ latestNumber: number + 1 })
    })

    test('error: without an answer there is none', async () => {
      expect(await open({ meddle: () => 'dead' }).view.head(0)).toBeUndefined()
    })
  })

  describe('transfersTo', () => {
    test('default: finds every transfer of our tokens, paid by signature or not', async () => {
      const from = (await latest()) + 1
      const { key, address } = chain.payer
      const payTo = chain.payee.address
      const payer = address.toLowerCase()
      const hashes = [
        await settle(chain, await signUsdc(chain)),
        await settle(chain, await signUsdt(chain)),
        await chain.transfer('USDC', { key, to: payTo, amount: 5n }),
      ]
      await chain.transfer('USDC', { key, to: payTo, amount: 0n })
      await chain.transfer('USDC', { key, to: address, amount: 6n })
      const to = await latest()
      await chain.finalize()
      const found = await open().view.transfersTo(payTo, { from, to })
      expect(found.map(({ txHash }) => txHash)).toEqual(hashes)
      expect(found.map(({ asset }) => asset)).toEqual(
        [usdc, usdt, usdc].map((asset) => asset.toLowerCase()),
      )
      expect(found[2]).toMatchObject({ from: payer, amount: 5n, blockNumber: from + 2 })
    })

    test('behavior: asks for no more than 2000 blocks at once, and for each of them once', async () => {
      const block = { number: '0xffff', hash: `0x${'11'.repeat(32)}`, timestamp: '0x1' }
      const ranges: unknown[] = []
      const meddle: Meddling = (method, _, [params]) => {
        if (method !== 'eth_getLogs') return method === 'eth_getBlockByNumber' ? block : undefined
        const { fromBlock, toBlock } = params as { fromBlock: string; toBlock: string }
        ranges.push([Number(fromBlock), Number(toBlock)])
        return []
      }
      const { view } = open({ meddle })
      await view.transfersTo(chain.payee.address, { from: 10, to: 4010 })
      expect(ranges).toEqual([
        [10, 2009],
        [2010, 4009],
        [4010, 4010],
      ])
    })

    test('behavior: asks for fewer blocks where the node will not answer for so many', async () => {
      const from = await latest()
      const { key } = chain.payer
      await chain.transfer('USDC', { key, to: chain.payee.address, amount: 5n })
      await chain.mine(300)
      let isFirst = true
      const meddle = (method: string) => {
        const isTooMuch = method === 'eth_getLogs' && isFirst
        isFirst &&= !isTooMuch
        return isTooMuch ? 'dead' : undefined
      }
      const { view } = open({ meddle })
      const range = { from, to: from + 299 }
      expect(await view.transfersTo(chain.payee.address, range)).toHaveLength(1)
    })

    test.each([
      ['dead', (method: string) => (method === 'eth_getLogs' ? 'dead' : undefined)],
      ['odd', (method: string) => (method === 'eth_getLogs' ? [{ data: '0x' }] : undefined)],
    ])('error: rejects without an answer: %s', async (_, meddle) => {
      const asked = open({ meddle }).view.transfersTo(chain.payee.address, { from: 1, to: 2 })
      expect(String(await asked.catch((error: unknown) => error))).toStartWith('Fault')
    })

    test('error: rejects a range that is not final', async () => {
      const to = await latest()
      const asked = open().view.transfersTo(chain.payee.address, { from: 1, to })
      expect(String(await asked.catch((error: unknown) => error))).toContain('not final')
    })
  })

  describe('check', () => {
    const place = (address: string, code: string) => chain.rpc('anvil_setCode', [address, code])

    test('default: the chain is as it must be', async () => {
      expect(await open().view.check()).toEqual({ tokens: {} })
    })

    test.each([
      ['the token', usdc, 'USDC'],
      ['the token', usdt, 'USDT'],
      ['Permit2', permit2, 'USDT'],
      ['the proxy', permit2Proxy, 'USDT'],
    ])('error: without %s at %s no %s', async (_, address, symbol) => {
      await place(address, '0x')
      const reason = `There is no contract at ${address}.`
      expect(await open().view.check()).toEqual({ tokens: { [symbol]: reason } })
    })

    test('error: a token in another domain cannot be signed for', async () => {
      await place(usdc, twoCode)
      const { tokens } = await open().view.check()
      expect(tokens.USDC).toContain('domain')
      expect(tokens.USDT).toBeUndefined()
    })

    test('error: a receiving address that the issuer has frozen gets nothing', async () => {
      await chain.block('USDT', chain.payee.address)
      const { tokens } = await open().view.check()
      expect(tokens).toEqual({ USDT: 'The issuer of USDT has blocked the receiving address.' })
    })

    test('error: a node of another chain, or none, is the reason for all', async () => {
      const other = (method: string) => (method === 'eth_chainId' ? '0x1' : undefined)
      const { chain: wrong, tokens } = await open({ meddle: other }).view.check()
      expect(wrong).toEndWith('is on chain 1, not on 137.')
      expect(tokens).toEqual({})
      expect((await open({ meddle: () => 'dead' }).view.check()).chain).toBeString()
    })

    test('error: a node without a final block is the reason for all', async () => {
      const meddle = (method: string) => (method === 'eth_getBlockByNumber' ? null : undefined)
      expect((await open({ meddle }).view.check()).chain).toContain('final')
    })
  })
})
