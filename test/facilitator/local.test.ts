import { afterEach, beforeEach, describe, expect, setSystemTime, test } from 'bun:test'
import { randomBytes } from 'node:crypto'

import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { addresses } from '#dev/sandbox/addresses.ts'
import { hasAnvil, startAnvil } from '#dev/sandbox/anvil.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import { createLocalFacilitator, type LocalOptions } from '#src/facilitator/local.ts'

import { permitTypes, transferTypes } from '../support/typed-data.ts'
import { systemClock } from '../support/venue/venue.ts'

let chain: LittlePolygon
const stops: (() => unknown)[] = []
beforeEach(async () => {
  if (!hasAnvil) return
  chain = await startLittlePolygon()
  stops.push(() => chain.stop())
})
afterEach(async () => {
  setSystemTime()
  for (const stop of stops.splice(0).reverse()) await stop()
})

const amount = '49000137'
const open = (options: Partial<LocalOptions> = {}) =>
  createLocalFacilitator({
    chain: homeChain,
    rpcUrl: chain.url,
    gasKey: chain.facilitator.key,
    pollMs: 10,
    ...options,
  })

const requirementsOf = (asset: string): PaymentRequirements => ({
  scheme: 'exact',
  network: 'eip155:137',
  asset,
  amount,
  payTo: chain.payee.address,
  maxTimeoutSeconds: 600,
  extra:
    asset === addresses.usdc
      ? { name: 'USD Coin', version: '2' }
      : { assetTransferMethod: 'permit2' },
})

const payloadOf = (accepted: PaymentRequirements, payload: object) =>
  JSON.stringify({ x402Version: 2, payload, accepted })

const ends = async () => BigInt(await chain.time()) + 600n

async function signUsdc(key: Hex = chain.payer.key) {
  const accepted = requirementsOf(addresses.usdc)
  const account = privateKeyToAccount(key)
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`
  const message = {
    from: account.address,
    to: chain.payee.address,
    value: BigInt(amount),
    validAfter: 0n,
    validBefore: await ends(),
    nonce,
  }
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: addresses.usdc },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const { value, validAfter, validBefore, ...rest } = message
  const authorization = {
    ...rest,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
  }
  return { accepted, payload: payloadOf(accepted, { authorization, signature }) }
}

async function signUsdt() {
  const accepted = requirementsOf(addresses.usdt)
  const deadline = await ends()
  const permitted = { token: addresses.usdt, amount: BigInt(amount) }
  const witness = { to: chain.payee.address, validAfter: 0n }
  const signature = await privateKeyToAccount(chain.payer.key).signTypedData({
    domain: { name: 'Permit2', chainId: 137, verifyingContract: addresses.permit2 },
    types: permitTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: { permitted, spender: addresses.permit2Proxy, nonce: 7n, deadline, witness },
  })
  const permit2Authorization = {
    from: chain.payer.address,
    permitted: { token: addresses.usdt, amount },
    spender: addresses.permit2Proxy,
    nonce: '7',
    deadline: String(deadline),
    witness: { to: chain.payee.address, validAfter: '0' },
  }
  return { accepted, payload: payloadOf(accepted, { permit2Authorization, signature }) }
}

type Rpc = { method: string; params?: string[] }
/** A node in front of the node, that does as it is told. */
function startProxy(around: (call: Rpc, forward: () => Promise<Response>) => unknown) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text()
      const forward = () =>
        fetch(chain.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
      return (await around(JSON.parse(body) as Rpc, forward)) as Response
    },
  })
  stops.push(() => server.stop(true))
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

const paid = (symbol: 'USDC' | 'USDT' = 'USDC') => chain.balanceOf(symbol, chain.payee.address)
const hashFormat = /^0x[0-9a-f]{64}$/

describe.skipIf(!hasAnvil)('settle', () => {
  test('default: USDC moves from payer to payee', async () => {
    const { accepted, payload } = await signUsdc()
    const result = await open().settle(payload, accepted)
    expect(result).toEqual({ kind: 'success', txHash: expect.stringMatching(hashFormat) })
    expect(await paid()).toBe(BigInt(amount))
    expect(await chain.balanceOf('USDC', chain.payer.address)).toBe(1_000_000_000n - BigInt(amount))
  })

  test('default: USDT moves by Permit2, once that is allowed to', async () => {
    const facilitator = open()
    const { accepted, payload } = await signUsdt()
    const reason = 'permit2_allowance_required'
    expect(await facilitator.settle(payload, accepted)).toMatchObject({ kind: 'failed', reason })
    await chain.approvePermit2(chain.payer.key)
    expect(await facilitator.settle(payload, accepted)).toMatchObject({ kind: 'success' })
    expect(await paid('USDT')).toBe(BigInt(amount))
  })

  test('behavior: a payment settles once', async () => {
    const facilitator = open()
    const { accepted, payload } = await signUsdc()
    expect(await facilitator.settle(payload, accepted)).toMatchObject({ kind: 'success' })
    expect(await facilitator.settle(payload, accepted)).toEqual({
      kind: 'failed',
      reason: 'invalid_exact_evm_nonce_already_used',
    })
    expect(await paid()).toBe(BigInt(amount))
  })

  test('behavior: eight at once all settle', async () => {
    const facilitator = open()
    const signed = await Promise.all(Array.from({ length: 8 }, () => signUsdc()))
    const results = await Promise.all(
      signed.map(({ payload, accepted }) => facilitator.settle(payload, accepted)),
    )
    expect(results.map(({ kind }) => kind)).toEqual(new Array(8).fill('success'))
    expect(await paid()).toBe(8n * BigInt(amount))
  })

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('behavior: a clock of this machine that is an hour %s changes nothing', async (_, offMs) => {
    const facilitator = open()
    await chain.approvePermit2(chain.payer.key)
    const usdc = await signUsdc()
    const usdt = await signUsdt()
    setSystemTime(new Date(systemClock() + offMs))
    expect(await facilitator.settle(usdc.payload, usdc.accepted)).toMatchObject({ kind: 'success' })
    expect(await facilitator.settle(usdt.payload, usdt.accepted)).toMatchObject({ kind: 'success' })
    expect(await paid()).toBe(BigInt(amount))
    expect(await paid('USDT')).toBe(BigInt(amount))
  })

  test('error: what has ended by the clock of the chain is not sent', async () => {
    const { accepted, payload } = await signUsdc()
    await chain.setTime((await chain.time()) + 596)
    const before = await chain.rpc('eth_getTransactionCount', [chain.facilitator.address, 'latest'])
    expect(await open().settle(payload, accepted)).toEqual({
      kind: 'failed',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    })
    const after = await chain.rpc('eth_getTransactionCount', [chain.facilitator.address, 'pending'])
    expect(after).toBe(before)
    expect(await paid()).toBe(0n)
  })

  test('error: a payment to another payee or of another amount is not sent', async () => {
    const { accepted, payload } = await signUsdc()
    const cases = [
      [{ payTo: chain.facilitator.address }, 'invalid_exact_evm_recipient_mismatch'],
      [{ amount: '49000138' }, 'invalid_exact_evm_payload_authorization_value_mismatch'],
      [{ network: 'eip155:8453' }, 'invalid_exact_evm_network_mismatch'],
    ] as const
    for (const [change, reason] of cases) {
      const result = await open().settle(payload, { ...accepted, ...change })
      expect(result).toEqual({ kind: 'failed', reason })
    }
    expect(await paid()).toBe(0n)
  })

  test('error: a forged signature is told as one', async () => {
    const { accepted, payload } = await signUsdc()
    const forged = payload.replace(/"nonce":"0x./, '"nonce":"0xz').replace('0xz', '0x0')
    const other = forged === payload ? payload.replace('"nonce":"0x0', '"nonce":"0x1') : forged
    expect(await open().settle(other, accepted)).toEqual({
      kind: 'failed',
      reason: 'invalid_exact_evm_signature',
    })
  })

  test('behavior: pending until it is mined, and then the same transaction', async () => {
    const facilitator = open({ confirmationTimeoutMs: 50 })
    const { accepted, payload } = await signUsdc()
    await chain.stopMining()
    const result = await facilitator.settle(payload, accepted)
    expect(result).toEqual({ kind: 'pending', txHash: expect.stringMatching(hashFormat) })
    await chain.startMining()
    const again = await settleMined(facilitator, payload, accepted)
    expect(again).toEqual({ ...result, kind: 'success' } as never)
    expect(await paid()).toBe(BigInt(amount))
  })

  test('behavior: what a reorganisation took back is sent again, and no nonce is left out', async () => {
    const facilitator = open({ confirmationTimeoutMs: 300 })
    const before = await chain.snapshot()
    const first = await signUsdc()
    const second = await signUsdc()
    expect(await settleMined(facilitator, first.payload, first.accepted)).toMatchObject({
      kind: 'success',
    })
    await chain.revert(before)
    expect(await paid()).toBe(0n)
    expect(await settleMined(facilitator, second.payload, second.accepted)).toMatchObject({
      kind: 'success',
    })
    expect(await paid()).toBe(2n * BigInt(amount))
  })

  /** Settles again until the transaction was seen in a block, however late that is. */
  async function settleMined(
    facilitator: ReturnType<typeof open>,
    ...given: Parameters<ReturnType<typeof open>['settle']>
  ) {
    for (;;) {
      const result = await facilitator.settle(...given)
      if (result.kind !== 'pending') return result
    }
  }

  /** Settles one payment without a miner, and has the node forget its transaction. */
  async function dropFirst(facilitator: ReturnType<typeof open>) {
    const { accepted, payload } = await signUsdc()
    await chain.stopMining()
    const result = await facilitator.settle(payload, accepted)
    if (result.kind !== 'pending') throw new Error(`It is ${result.kind}.`)
    await chain.rpc('anvil_dropTransaction', [result.txHash])
    expect(await chain.rpc('eth_getTransactionByHash', [result.txHash])).toBeNull()
    return { accepted, payload, txHash: result.txHash }
  }

  test('behavior: a transaction that the node has forgotten is sent again, the same bytes', async () => {
    const facilitator = open({ confirmationTimeoutMs: 50 })
    const { accepted, payload, txHash } = await dropFirst(facilitator)
    expect(await facilitator.settle(payload, accepted)).toEqual({ kind: 'pending', txHash })
    expect(await chain.rpc('eth_getTransactionByHash', [txHash])).toMatchObject({ hash: txHash })
    await chain.startMining()
    expect(await settleMined(facilitator, payload, accepted)).toEqual({ kind: 'success', txHash })
    expect(await paid()).toBe(BigInt(amount))
  })

  test('behavior: it is sent again by a check, and before the next payer, who does not wait behind it', async () => {
    const facilitator = open({ confirmationTimeoutMs: 50 })
    const { txHash } = await dropFirst(facilitator)
    const next = await signUsdc()
    expect(await facilitator.settle(next.payload, next.accepted)).toMatchObject({ kind: 'pending' })
    await chain.rpc('anvil_dropTransaction', [txHash])
    await facilitator.supported()
    await chain.startMining()
    expect(await settleMined(facilitator, next.payload, next.accepted)).toMatchObject({
      kind: 'success',
    })
    expect(await paid()).toBe(2n * BigInt(amount))
  })

  test('behavior: where the node does not take it back, the next payer has its nonce', async () => {
    const refused = new Set<string>()
    const proxy = startProxy(({ method, params }, forward) => {
      const [raw = ''] = params ?? []
      if (method === 'eth_sendRawTransaction' && refused.has(keccak256(raw as Hex))) {
        const error = { code: -32000, message: 'transaction underpriced' }
        return Response.json({ jsonrpc: '2.0', id: 1, error })
      }
      return forward()
    })
    const facilitator = open({ rpcUrl: proxy.url, confirmationTimeoutMs: 300 })
    const first = await dropFirst(facilitator)
    refused.add(first.txHash)
    await chain.startMining()
    const next = await signUsdc()
    expect(await settleMined(facilitator, next.payload, next.accepted)).toMatchObject({
      kind: 'success',
    })
    // The first payment has another transaction now.
    const again = await settleMined(facilitator, first.payload, first.accepted)
    expect(again).toEqual({ kind: 'success', txHash: expect.stringMatching(hashFormat) })
    expect(again).not.toMatchObject({ txHash: first.txHash })
    expect(await paid()).toBe(2n * BigInt(amount))
  })

  test('error: a dead node is no forged signature, and recovers', async () => {
    let isDead = true
    const proxy = startProxy((_, forward) =>
      isDead ? new Response('', { status: 503 }) : forward(),
    )
    const facilitator = open({ rpcUrl: proxy.url })
    const { accepted, payload } = await signUsdc()
    const unknown = { kind: 'unknown', reason: 'rpc_unavailable' } as const
    expect(await facilitator.settle(payload, accepted)).toEqual(unknown)
    isDead = false
    expect(await facilitator.settle(payload, accepted)).toMatchObject({ kind: 'success' })
    isDead = true
    const next = await signUsdc()
    expect(await facilitator.settle(next.payload, next.accepted)).toEqual(unknown)
    expect(await paid()).toBe(BigInt(amount))
  })

  test.each(['eth_getCode', 'eth_call', 'eth_estimateGas', 'eth_getTransactionCount'])(
    'error: a node that fails at %s is believed in nothing, and nothing is sent',
    async (failing) => {
      const methods: string[] = []
      const proxy = startProxy(({ method }, forward) => {
        methods.push(method)
        const error = { code: -32005, message: 'limit exceeded' }
        return method === failing ? Response.json({ jsonrpc: '2.0', id: 1, error }) : forward()
      })
      const { accepted, payload } = await signUsdc()
      const result = await open({ rpcUrl: proxy.url }).settle(payload, accepted)
      expect(result).toEqual({ kind: 'unknown', reason: 'rpc_unavailable' })
      expect(methods).not.toContain('eth_sendRawTransaction')
      expect(await paid()).toBe(0n)
    },
  )

  test('error: an answer lost after sending is unknown, with the hash', async () => {
    let sent = ''
    const proxy = startProxy(async ({ method, params }, forward) => {
      const response = await forward()
      if (method !== 'eth_sendRawTransaction') return response
      sent = keccak256(params?.[0] as Hex)
      return new Response('', { status: 502 })
    })
    const { accepted, payload } = await signUsdc()
    expect(await open({ rpcUrl: proxy.url }).settle(payload, accepted)).toEqual({
      kind: 'unknown',
      reason: 'rpc_unavailable_after_broadcast',
      txHash: sent,
    })
    // The node may still be making the block.
    await chain.mine()
    expect(await paid()).toBe(BigInt(amount))
  })

  test('error: no word of the node undoes that it was given the transaction', async () => {
    const error = { code: -32000, message: 'insufficient funds for gas * price + value' }
    const proxy = startProxy(async ({ method }, forward) => {
      const response = await forward()
      return method === 'eth_sendRawTransaction'
        ? Response.json({ jsonrpc: '2.0', id: 1, error })
        : response
    })
    const { accepted, payload } = await signUsdc()
    expect(await open({ rpcUrl: proxy.url }).settle(payload, accepted)).toMatchObject({
      kind: 'unknown',
      txHash: expect.stringMatching(hashFormat),
    })
    // The node may still be making the block.
    await chain.mine()
    expect(await paid()).toBe(BigInt(amount))
  })

  test('error: a node that dies once the transaction is sent leaves it pending', async () => {
    let isDead = false
    const proxy = startProxy(async ({ method }, forward) => {
      if (isDead) return new Response('', { status: 503 })
      isDead = method === 'eth_sendRawTransaction'
      return forward()
    })
    const { accepted, payload } = await signUsdc()
    const facilitator = open({ rpcUrl: proxy.url, confirmationTimeoutMs: 100 })
    const result = await facilitator.settle(payload, accepted)
    expect(result).toEqual({ kind: 'pending', txHash: expect.stringMatching(hashFormat) })
    expect(await paid()).toBe(BigInt(amount))
  })

  test('error: nothing is sent to another chain', async () => {
    const other = await startAnvil({ chainId: 31337 })
    stops.push(() => other.stop())
    const { accepted, payload } = await signUsdc()
    const facilitator = open({ rpcUrl: other.url })
    const reason = 'rpc_wrong_chain'
    expect(await facilitator.settle(payload, accepted)).toEqual({ kind: 'refused', reason })
    expect(await facilitator.supported()).toEqual({ kinds: undefined, reason })
    expect(await other.rpc('eth_blockNumber')).toBe('0x0')
  })

  test('error: without gas it is refused, and settles once there is some', async () => {
    await chain.setGas(chain.facilitator.address, 0n)
    const facilitator = open()
    const { accepted, payload } = await signUsdc()
    const reason = 'gas_exhausted'
    expect(await facilitator.settle(payload, accepted)).toEqual({ kind: 'refused', reason })
    const gasAddress = chain.facilitator.address
    expect(await facilitator.supported()).toEqual({ kinds: undefined, reason, gasAddress })
    await chain.setGas(chain.facilitator.address, 10n ** 18n)
    expect(await facilitator.settle(payload, accepted)).toMatchObject({ kind: 'success' })
  })

  test('error: what is no payload is unknown', async () => {
    const { accepted } = await signUsdc()
    const reason = 'unexpected_settle_error'
    for (const payload of ['', '{}', payloadOf(accepted, {})]) {
      expect(await open().settle(payload, accepted)).toEqual({ kind: 'unknown', reason })
    }
  })
})

describe.skipIf(!hasAnvil)('supported', () => {
  test('default: scheme exact on Polygon', async () => {
    const facilitator = open()
    expect(facilitator.name).toBe('local')
    expect(await facilitator.supported()).toEqual({
      kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:137' }],
    })
  })

  test('error: nothing without a node', async () => {
    const proxy = startProxy(() => new Response('', { status: 503 }))
    const reason = 'rpc_unavailable'
    expect(await open({ rpcUrl: proxy.url }).supported()).toEqual({ kinds: undefined, reason })
  })
})

describe('src/facilitator', () => {
  test('behavior: viem is not loaded with the files that use it', async () => {
    const files = ['local', 'remote', 'cdp-token', 'gas-wallet'].map((name) =>
      Bun.resolveSync(`#src/facilitator/${name}.ts`, import.meta.dir),
    )
    const external = ['viem', 'viem/*', '@x402/*']
    const built = await Bun.build({ entrypoints: files, target: 'bun', external })
    const texts = await Promise.all(built.outputs.map((output) => output.text()))
    const text = texts.join('\n')
    expect(text).toContain('import("viem/accounts")')
    expect(text).not.toMatch(/from\s*["']viem/)
    expect(text).toContain('import("@x402/evm")')
    // The facilitator of the SDK judges by the clock of this machine.
    expect(text).not.toMatch(/from\s*["']@x402|@x402\/(core|evm\/)/)
  })
})
