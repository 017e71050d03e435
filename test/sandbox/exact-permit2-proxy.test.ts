import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { x402ExactPermit2ProxyABI as abi } from '@x402/evm'
import { encodeFunctionData, type Hex, toFunctionSelector, zeroAddress } from 'viem'

import { addresses } from '#dev/sandbox/addresses.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'

/** The client's own description of the contract says how it is asked, and what it answers. */
describe.skipIf(!hasAnvil)('ExactPermit2Proxy', () => {
  let chain: LittlePolygon
  beforeAll(async () => {
    chain = await startLittlePolygon()
  })
  afterAll(() => chain.stop())

  const payee = '0x00000000000000000000000000000000000ba7ee'
  const permitOf = (amount: bigint) =>
    ({ permitted: { token: addresses.usdt, amount }, nonce: 1n, deadline: 2n ** 40n }) as const
  /** A call that would be in order, but for its signature. */
  const sound = {
    permit: permitOf(5n),
    owner: payee as Hex,
    witness: { to: payee as Hex, validAfter: 0n },
  }
  const settle = ({ permit, owner, witness }: typeof sound) =>
    encodeFunctionData({ abi, functionName: 'settle', args: [permit, owner, witness, '0x'] })
  const ask = (data: Hex) =>
    chain.rpc('eth_call', [{ to: addresses.permit2Proxy, data }, 'latest']).then(
      () => 'nothing',
      (error: Error) => error.message,
    )
  const errorOf = (name: string) => toFunctionSelector(`${name}()`)

  const faults: [string, Partial<Record<keyof typeof sound, unknown>>][] = [
    ['InvalidAmount', { permit: permitOf(0n) }],
    ['InvalidOwner', { owner: zeroAddress }],
    ['InvalidDestination', { witness: { to: zeroAddress, validAfter: 0n } }],
    ['PaymentTooEarly', { witness: { to: payee, validAfter: 2n ** 40n } }],
  ]
  for (const [name, change] of faults) {
    test(`error: ${name}, by its own code`, async () => {
      expect(await ask(settle({ ...sound, ...change } as typeof sound))).toContain(errorOf(name))
    })
  }

  test('error: asks Permit2, which refuses what nobody signed', async () => {
    expect(await ask(settle(sound))).toContain(errorOf('InvalidSignatureLength'))
  })

  test('error: a permit of another amount is Permit2612AmountMismatch', async () => {
    const zero = `0x${'00'.repeat(32)}` as const
    const permit2612 = { value: 4n, deadline: 2n ** 40n, r: zero, s: zero, v: 27 }
    const { permit, owner, witness } = sound
    const data = encodeFunctionData({
      abi,
      functionName: 'settleWithPermit',
      args: [permit2612, permit, owner, witness, '0x'],
    })
    expect(await ask(data)).toContain(errorOf('Permit2612AmountMismatch'))
  })
})
