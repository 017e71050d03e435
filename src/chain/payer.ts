/**
 * A wallet that pays by x402, for `bookfeed pay`; a server never signs payments. What is signed comes from
 * the registry of chains (selling/payment-chain.ts), not from the server that asks for it: of that it takes
 * the amount, the payee and the time alone.
 */
import type { Hex } from 'viem'

import type { PaymentRequirements } from '#src/selling/offer.ts'
import type { PaymentChain, PaymentToken } from '#src/selling/payment-chain.ts'

import { askContract } from './contract-questions.ts'
import type { Rpc } from './rpc.ts'
import { hashPayment } from './typed-data.ts'

/** The longest that a payment may stay open, whatever the server asks for. */
const VALID_SECONDS_MAX = 3600
const UINT256_MAX = 2n ** 256n - 1n

export type PaymentTerms = {
  chain: PaymentChain
  token: PaymentToken
  requirements: PaymentRequirements
  /** Wall clock, Unix milliseconds. */
  nowMs: number
  /** 32 bytes that nobody can guess. */
  nonce: Uint8Array
}

export type Payer = {
  /** Checksummed. */
  address: string
  signMessage(message: string): Promise<string>
  /** Signs, and returns the body of an x402 v2 payment. */
  signPayment(terms: PaymentTerms): Promise<Record<string, unknown>>
}

/** The order of secp256k1: a private key is from 1 to below it. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** True for a private key. */
export const isPrivateKey = (text: string): text is Hex =>
  /^0x[0-9a-fA-F]{64}$/.test(text) && BigInt(text) > 0n && BigInt(text) < ORDER

/** Loads viem. `privateKey` is one by `isPrivateKey`. */
export async function createPayer(privateKey: Hex): Promise<Payer> {
  const { privateKeyToAccount } = await import('viem/accounts')
  const account = privateKeyToAccount(privateKey)
  return {
    address: account.address,
    signMessage: (message) => account.signMessage({ message }),
    async signPayment({ chain, token, requirements, nowMs, nonce }) {
      const { payTo, amount } = requirements
      const hexNonce = `0x${Buffer.from(nonce).toString('hex')}`
      const terms = {
        payer: account.address,
        payTo,
        amount,
        validBefore: endOf(requirements, nowMs),
        // Permit2 counts its nonces in decimal.
        nonce: token.method === 'permit2' ? BigInt(hexNonce).toString() : hexNonce,
      }
      const hash = await hashPayment(
        {
          ...terms,
          network: chain.network,
          method: token.method,
          asset: token.address,
          amount: BigInt(amount),
          validAfter: 0n,
          validBefore: BigInt(terms.validBefore),
          // Of the ledger of a server; no part of what is signed.
          nonceContract: '',
          payloadHash: '',
          payload: '',
        },
        chain,
        token,
      )
      const signature = await account.sign({ hash })
      return token.method === 'permit2'
        ? { signature, permit2Authorization: toPermit(terms, chain, token) }
        : { signature, authorization: toAuthorization(terms) }
    },
  }
}

const endOf = ({ maxTimeoutSeconds }: PaymentRequirements, nowMs: number): string =>
  String(Math.floor(nowMs / 1000) + Math.min(maxTimeoutSeconds, VALID_SECONDS_MAX))

type Terms = { payer: string; payTo: string; amount: string; validBefore: string; nonce: string }

const toAuthorization = ({ payer, payTo, amount, validBefore, nonce }: Terms) => ({
  from: payer,
  to: payTo,
  value: amount,
  validAfter: '0',
  validBefore,
  nonce,
})

const toPermit = (terms: Terms, { permit2Proxy }: PaymentChain, { address }: PaymentToken) => ({
  from: terms.payer,
  permitted: { token: address, amount: terms.amount },
  spender: permit2Proxy,
  nonce: terms.nonce,
  deadline: terms.validBefore,
  witness: { to: terms.payTo, validAfter: '0' },
})

/** How much of a token Permit2 may take from an owner. Throws `RpcFault`. */
export async function readPermit2Allowance(
  rpc: Pick<Rpc, 'call'>,
  { chain, token, owner }: { chain: PaymentChain; token: PaymentToken; owner: string },
): Promise<bigint> {
  const signature = 'allowance(address owner, address spender) view returns (uint256)'
  const args = [owner, chain.permit2]
  return BigInt((await askContract(rpc, { to: token.address, signature, args })) ?? 0)
}

/** Call data that lets Permit2 take a token from its owner, once and for all. */
export async function encodePermit2Approval({ permit2 }: PaymentChain): Promise<Hex> {
  const { encodeFunctionData, parseAbi } = await import('viem')
  return encodeFunctionData({
    abi: parseAbi(['function approve(address spender, uint256 amount)']),
    args: [permit2 as Hex, UINT256_MAX],
  })
}
