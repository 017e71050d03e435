import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import {
  createPublicClient,
  domainSeparator,
  http,
  keccak256,
  pad,
  parseAbi,
  parseEventLogs,
  toHex,
} from 'viem'

import { addresses } from '#dev/sandbox/addresses.ts'
import { sanctionsAbi, usdcAbi, usdtAbi } from '#dev/sandbox/contract-abis.ts'
import { describeChain } from '#dev/sandbox/exact-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'
import { createStockClient, signPayment } from '../support/stock-client.ts'

describe.skipIf(!hasAnvil)('startLittlePolygon', () => {
  let chain: LittlePolygon
  let snapshot: string
  beforeAll(async () => {
    chain = await startLittlePolygon()
  })
  beforeEach(async () => {
    snapshot = await chain.snapshot()
  })
  afterEach(() => chain.revert(snapshot))
  afterAll(() => chain.stop())

  const reader = () =>
    createPublicClient({
      chain: describeChain(chain.chain, chain.url),
      transport: http(chain.url),
      cacheTime: 0,
    })
  const separatorAt = (address: `0x${string}`) =>
    reader().readContract({ address, abi: usdcAbi, functionName: 'DOMAIN_SEPARATOR' })
  const numberOf = async (blockTag: 'latest' | 'finalized') =>
    Number((await reader().getBlock({ blockTag })).number)

  test('default: starts in well under a second as chain 137 with money for the payer alone', async () => {
    const other = await startLittlePolygon()
    try {
      expect(await other.rpc('eth_chainId')).toBe('0x89')
      expect(await other.balanceOf('USDC', other.payer.address)).toBe(1_000_000_000n)
      expect(await other.balanceOf('USDT', other.payer.address)).toBe(1_000_000_000n)
      expect(await other.balanceOf('USDC', other.payee.address)).toBe(0n)
      const gas = await other.rpc('eth_getBalance', [other.facilitator.address, 'latest'])
      expect(BigInt(String(gas))).toBe(10n ** 20n)
    } finally {
      await other.stop()
    }
  })

  test('behavior: USDC has the domain of the real one', async () => {
    const verifyingContract = addresses.usdc
    const domain = { name: 'USD Coin', version: '2', chainId: 137, verifyingContract } as const
    const expected = '0xcaa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2ca'
    expect(await separatorAt(addresses.usdc)).toBe(expected)
    expect(domainSeparator({ domain })).toBe(expected)
  })

  test('behavior: USDT has the salted domain of the real one and no EIP-3009', async () => {
    const salt = pad(toHex(137))
    const domain = { name: 'USDT0', version: '1', verifyingContract: addresses.usdt, salt }
    const expected = '0x7b43b7deae87806d0ace67d6c8e9e347fc85db8ad198e756e5c17d126fef9a05'
    expect(await separatorAt(addresses.usdt)).toBe(expected)
    expect(domainSeparator({ domain })).toBe(expected)
    const state = reader().readContract({
      address: addresses.usdt,
      abi: usdcAbi,
      functionName: 'authorizationState',
      args: [chain.payer.address, pad('0x1')],
    })
    await expect(state).rejects.toThrow('authorizationState')
  })

  test('behavior: Permit2 is the real one on this chain, and Multicall3 is the real one', async () => {
    const domain = { name: 'Permit2', chainId: 137, verifyingContract: addresses.permit2 }
    expect(await separatorAt(addresses.permit2)).toBe(domainSeparator({ domain }))
    const code = await reader().getCode({ address: addresses.multicall3 })
    expect(keccak256(code ?? '0x')).toBe(
      '0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891',
    )
  })

  test('behavior: a block is final with two above it', async () => {
    const before = await numberOf('latest')
    expect(await numberOf('finalized')).toBe(before - 2)
    await chain.finalize()
    expect(await numberOf('finalized')).toBe(before)
  })

  test('behavior: with epochs of no length each block is final at once', async () => {
    const other = await startLittlePolygon({ slotsInAnEpoch: 0 })
    try {
      const finalized = await other.rpc('eth_getBlockByNumber', ['finalized', false])
      expect(finalized).toEqual(await other.rpc('eth_getBlockByNumber', ['latest', false]))
    } finally {
      await other.stop()
    }
  })

  test('behavior: a reorganisation takes a transfer back and keeps the height', async () => {
    const { payer, payee } = chain
    await chain.transfer('USDC', { key: payer.key, to: payee.address, amount: 5n })
    const height = await numberOf('latest')
    expect(await chain.balanceOf('USDC', payee.address)).toBe(5n)
    await chain.reorg(1)
    expect(await chain.balanceOf('USDC', payee.address)).toBe(0n)
    expect(await numberOf('latest')).toBe(height)
  })

  test('behavior: while it does not mine, transactions wait', async () => {
    const { payer, payee } = chain
    await chain.stopMining()
    const height = await numberOf('latest')
    const sent = { from: payer.address, to: payee.address, value: '0x1' }
    const hash = String(await chain.rpc('eth_sendTransaction', [sent]))
    expect(await chain.rpc('eth_getTransactionReceipt', [hash])).toBeNull()
    expect(await numberOf('latest')).toBe(height)
    await chain.startMining()
    expect(await chain.rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
  })

  test('behavior: the clock of the chain goes on from where it was set', async () => {
    const later = (await chain.time()) + 100_000
    await chain.setTime(later)
    expect(await chain.time()).toBe(later)
    await chain.mine()
    expect(await chain.time()).toBeWithin(later, later + 60)
  })

  test('behavior: blocks an address in either token', async () => {
    const { payer, payee } = chain
    const pay = (symbol: 'USDC' | 'USDT') =>
      chain.transfer(symbol, { key: payer.key, to: payee.address, amount: 1n })
    for (const symbol of ['USDC', 'USDT'] as const) {
      await chain.block(symbol, payer.address)
      await expect(pay(symbol)).rejects.toThrow()
      await chain.unblock(symbol, payer.address)
      await pay(symbol)
      expect(await chain.balanceOf(symbol, payee.address)).toBe(1n)
    }
    const args = [payer.address] as const
    const query = {
      address: addresses.usdt,
      abi: usdtAbi,
      functionName: 'isBlocked',
      args,
    } as const
    expect(await reader().readContract(query)).toBe(false)
  })

  test('behavior: sanctions an address and takes it back', async () => {
    const args = [chain.payer.address] as const
    const isSanctioned = () =>
      reader().readContract({
        address: addresses.sanctionsList,
        abi: sanctionsAbi,
        functionName: 'isSanctioned',
        args,
      })
    expect(await isSanctioned()).toBe(false)
    await chain.sanction(chain.payer.address)
    expect(await isSanctioned()).toBe(true)
    await chain.unsanction(chain.payer.address)
    expect(await isSanctioned()).toBe(false)
  })

  describe('a signed payment', () => {
    const sign = async () => {
      const client = createStockClient(chain.url, chain.payer.key)
      const { payload } = await signPayment(client, {
        scheme: 'exact',
        network: 'eip155:137',
        asset: addresses.usdc,
        amount: '10000',
        payTo: chain.payee.address,
        maxTimeoutSeconds: 600,
        extra: { name: 'USD Coin', version: '2' },
      })
      return payload as Parameters<typeof chain.frontRun>[0]
    }
    const isUsed = async (nonce: `0x${string}`) =>
      reader().readContract({
        address: addresses.usdc,
        abi: usdcAbi,
        functionName: 'authorizationState',
        args: [chain.payer.address, nonce],
      })

    test('behavior: is sent by anybody, once', async () => {
      const signed = await sign()
      const hash = await chain.frontRun(signed)
      const { logs } = await reader().getTransactionReceipt({ hash })
      const abi = parseAbi([
        'event Transfer(address indexed from, address indexed to, uint256 value)',
      ])
      expect(parseEventLogs({ abi, logs })).toMatchObject([
        { args: { from: chain.payer.address, to: chain.payee.address, value: 10_000n } },
      ])
      await expect(chain.frontRun(signed)).rejects.toThrow('authorization is used or canceled')
    })

    test('behavior: is worth nothing once its payer canceled it', async () => {
      const signed = await sign()
      await chain.cancelAuthorization(chain.payer.key, signed.authorization.nonce)
      expect(await isUsed(signed.authorization.nonce)).toBe(true)
      await expect(chain.frontRun(signed)).rejects.toThrow()
      expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(0n)
    })
  })
})
