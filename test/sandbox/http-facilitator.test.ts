import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'

import { addresses } from '#dev/sandbox/addresses.ts'
import {
  type HttpFacilitator,
  startFacilitatorProcess,
  startHttpFacilitator,
} from '#dev/sandbox/http-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'
import { createStockClient, signPayment } from '../support/stock-client.ts'

let chain: LittlePolygon
let server: HttpFacilitator
let facilitator: HTTPFacilitatorClient
let snapshot: string

const usdc = (amount: string): PaymentRequirements => ({
  scheme: 'exact',
  network: 'eip155:137',
  asset: addresses.usdc,
  amount,
  payTo: chain.payee.address,
  maxTimeoutSeconds: 600,
  extra: { name: 'USD Coin', version: '2' },
})
const usdt = (amount: string): PaymentRequirements => ({
  ...usdc(amount),
  asset: addresses.usdt,
  extra: { assetTransferMethod: 'permit2' },
})
const sign = (requirements: PaymentRequirements) =>
  signPayment(createStockClient(chain.url, chain.payer.key), requirements)

describe.skipIf(!hasAnvil)('startHttpFacilitator', () => {
  beforeAll(async () => {
    chain = await startLittlePolygon()
    server = startHttpFacilitator({ rpcUrl: chain.url, key: chain.facilitator.key })
    facilitator = new HTTPFacilitatorClient({ url: server.url, timeoutMs: 60_000 })
  })
  beforeEach(async () => {
    snapshot = await chain.snapshot()
  })
  afterEach(async () => {
    await chain.revert(snapshot)
  })
  afterAll(async () => {
    await server.stop()
    await chain.stop()
  })

  test('default: says what it settles', async () => {
    expect((await facilitator.getSupported()).kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network: 'eip155:137' },
    ])
  })

  test('default: settles USDC that a stock client signed', async () => {
    const payload = await sign(usdc('49000137'))
    expect(await facilitator.verify(payload, usdc('49000137'))).toMatchObject({ isValid: true })
    const settled = await facilitator.settle(payload, usdc('49000137'))
    expect(settled).toMatchObject({ success: true, payer: chain.payer.address })
    expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(49_000_137n)
    expect(await chain.balanceOf('USDC', chain.payer.address)).toBe(950_999_863n)
    const receipt = await chain.rpc('eth_getTransactionReceipt', [settled.transaction])
    expect(receipt).toMatchObject({ status: '0x1', from: chain.facilitator.address.toLowerCase() })
  })

  test('default: settles USDT once its owner let Permit2 spend it', async () => {
    const payload = await sign(usdt('49000137'))
    expect(await facilitator.verify(payload, usdt('49000137'))).toMatchObject({
      isValid: false,
      invalidReason: 'permit2_allowance_required',
    })
    await chain.approvePermit2(chain.payer.key)
    expect(await facilitator.verify(payload, usdt('49000137'))).toMatchObject({ isValid: true })
    expect(await facilitator.settle(payload, usdt('49000137'))).toMatchObject({ success: true })
    expect(await chain.balanceOf('USDT', chain.payee.address)).toBe(49_000_137n)
    expect(await chain.balanceOf('USDT', chain.payer.address)).toBe(950_999_863n)
    // The nonce is used up.
    expect(await facilitator.settle(payload, usdt('49000137'))).toMatchObject({ success: false })
    expect(await chain.balanceOf('USDT', chain.payee.address)).toBe(49_000_137n)
  })

  test('behavior: settles payments that come at once', async () => {
    const amounts = ['1', '2', '3', '4', '5', '6', '7', '8']
    const payloads = await Promise.all(amounts.map((amount) => sign(usdc(amount))))
    const results = await Promise.all(
      payloads.map((payload, index) => facilitator.settle(payload, usdc(amounts[index] ?? ''))),
    )
    expect(results.map((each) => each.errorReason ?? each.success)).toEqual(amounts.map(() => true))
    expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(36n)
  })

  test('error: takes back of a Permit2 nonce, used nonces, blocked payers settle nothing', async () => {
    await chain.approvePermit2(chain.payer.key)
    const invalidated = await sign(usdt('7'))
    const { nonce } = invalidated.payload.permit2Authorization as { nonce: string }
    await chain.invalidatePermit2Nonce(chain.payer.key, BigInt(nonce))
    expect(await facilitator.settle(invalidated, usdt('7'))).toMatchObject({ success: false })

    const payload = await sign(usdc('7'))
    await chain.block('USDC', chain.payer.address)
    expect(await facilitator.settle(payload, usdc('7'))).toMatchObject({ success: false })
    await chain.unblock('USDC', chain.payer.address)
    await facilitator.settle(payload, usdc('7'))
    expect(await facilitator.settle(payload, usdc('7'))).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
    expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(7n)
  })

  test('error: says settlement_pending with the hash when the chain does not mine', async () => {
    const hasty = startHttpFacilitator({
      rpcUrl: chain.url,
      key: chain.facilitator.key,
      confirmationTimeoutMs: 50,
    })
    const client = new HTTPFacilitatorClient({ url: hasty.url, timeoutMs: 60_000 })
    await chain.stopMining()
    try {
      const settled = await client.settle(await sign(usdc('9')), usdc('9'))
      expect(settled).toMatchObject({ success: false, errorReason: 'settlement_pending' })
      expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(0n)
      await chain.startMining()
      expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(9n)
      const receipt = await chain.rpc('eth_getTransactionReceipt', [settled.transaction])
      expect(receipt).toMatchObject({ status: '0x1' })
    } finally {
      await chain.startMining()
      await hasty.stop()
    }
  })
})

describe.skipIf(!hasAnvil)('startFacilitatorProcess', () => {
  test('default: settles from a process of its own, which ends when it is stopped', async () => {
    chain = await startLittlePolygon()
    const { url, pid, stop } = await startFacilitatorProcess({
      rpcUrl: chain.url,
      key: chain.facilitator.key,
    })
    const client = new HTTPFacilitatorClient({ url, timeoutMs: 60_000 })
    expect(await client.settle(await sign(usdc('11')), usdc('11'))).toMatchObject({ success: true })
    expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(11n)
    await stop()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await chain.stop()
  })
})
