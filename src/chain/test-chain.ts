/**
 * Replaces a chain and its facilitator on servers without real money. It checks signatures as a
 * token does. A payment is mined in the next block, or not at all with `isSlow`.
 */

import type { ChainView } from '#src/domain/selling/chain-view.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import { testChain } from '#src/domain/selling/payment-chain.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'

import { hashPayment } from './typed-data.ts'
import { isPlainPaymentSignature } from './wallets.ts'

/** Submitted payments by nonce, shared by all views of a chain. */
export type TestBlocks = Map<string, number>

const head = (blocks: TestBlocks) => ({ finalNumber: blocks.size, latestNumber: blocks.size })
const nameOf = ({ payer, nonce }: Pick<SignedPayment, 'payer' | 'nonce'>) => `${payer} ${nonce}`
const txHashOf = (name: string) => `0x${Bun.SHA256.hash(name, 'hex')}`

export function createTestChain(blocks: TestBlocks, isSlow: boolean) {
  const view: ChainView = {
    async preflight(signed, signature) {
      if (blocks.has(nameOf(signed))) return { kind: 'fault', faults: ['nonce_used'] }
      const [token] = testChain.tokens
      if (token?.address !== signed.asset) return { kind: 'unavailable', reason: 'No such token.' }
      const hash = await hashPayment(signed, testChain, token)
      const isRight = await isPlainPaymentSignature({ address: signed.payer, hash, signature })
      return isRight ? { kind: 'ready' } : { kind: 'fault', faults: ['signature_invalid'] }
    },
    async look(signed) {
      const name = nameOf(signed)
      const blockNumber = blocks.get(name)
      if (blockNumber === undefined || isSlow) return { kind: 'open' }
      return {
        kind: 'paid',
        isFinal: true,
        proof: { txHash: txHashOf(name), blockNumber, logIndex: 0 },
      }
    },
    senderOf: async () => undefined,
    head: async () => head(blocks),
    transfersTo: async () => [],
    check: async () => ({ tokens: {} }),
  }
  const facilitator: Facilitator = {
    name: 'test',
    async settle(payload) {
      const name = nameOf(parsePayment(JSON.parse(payload)).signed)
      if (!blocks.has(name)) blocks.set(name, blocks.size + 1)
      return { kind: isSlow ? 'pending' : 'success', txHash: txHashOf(name) }
    },
    supported: async () => ({
      kinds: [{ x402Version: 2, scheme: 'exact', network: testChain.network }],
    }),
  }
  return { chain: testChain, view, facilitator }
}
