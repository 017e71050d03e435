/** Pays by x402 for `bookfeed pay`: the server sets amount, payee and time. */
import type { Hex } from 'viem'

import type { PaymentChain, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'

import { askContract, type Rpc } from './rpc.ts'
import { hashPayment } from './typed-data.ts'

/** The longest validity of a payment, whatever the server requests. */
const VALID_SECONDS_MAX = 3600

export type Payer = Awaited<ReturnType<typeof createPayer>>

/** The order of secp256k1: a private key is at least 1 and below it. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

export const isPrivateKey = (text: string): text is Hex =>
  /^0x[0-9a-fA-F]{64}$/.test(text) && BigInt(text) > 0n && BigInt(text) < ORDER

/** Loads viem. `privateKey` must pass `isPrivateKey`. */
export async function createPayer(privateKey: Hex) {
  const { privateKeyToAccount } = await import('viem/accounts')
  const account = privateKeyToAccount(privateKey)
  return {
    address: account.address,
    signMessage: (message: string): Promise<string> => account.signMessage({ message }),
    /** `nowMs` is the wall clock; `nonce` is 32 random bytes. */
    async signPayment({
      chain,
      token,
      requirements,
      nowMs,
      nonce: bytes,
    }: {
      chain: PaymentChain
      token: PaymentToken
      requirements: PaymentRequirements
      nowMs: number
      nonce: Uint8Array
    }): Promise<Record<string, unknown>> {
      const { payTo, amount, maxTimeoutSeconds } = requirements
      const seconds = Math.min(maxTimeoutSeconds, VALID_SECONDS_MAX)
      const validBefore = String(Math.floor(nowMs / 1000) + seconds)
      const isPermit = token.method === 'permit2'
      const hex = `0x${Buffer.from(bytes).toString('hex')}`
      // Permit2 nonces are decimal.
      const nonce = isPermit ? String(BigInt(hex)) : hex
      const from = account.address
      const signed = {
        method: token.method,
        asset: token.address,
        payer: from,
        payTo,
        amount: BigInt(amount),
        validAfter: 0n,
        validBefore: BigInt(validBefore),
        nonce,
      }
      const signature = await account.sign({ hash: await hashPayment(signed, chain, token) })
      if (!isPermit) {
        const times = { validAfter: '0', validBefore }
        return { signature, authorization: { from, to: payTo, value: amount, ...times, nonce } }
      }
      const permit2Authorization = {
        from,
        permitted: { token: token.address, amount },
        spender: chain.permit2Proxy,
        nonce,
        deadline: validBefore,
        witness: { to: payTo, validAfter: '0' },
      }
      return { signature, permit2Authorization }
    },
  }
}

/** The amount of a token that an owner allows Permit2 to take. Throws an `rpc` fault. */
export async function readPermit2Allowance(
  rpc: Pick<Rpc, 'call'>,
  { chain, token, owner }: { chain: PaymentChain; token: PaymentToken; owner: string },
): Promise<bigint> {
  const signature = 'allowance(address owner, address spender) view returns (uint256)'
  const args = [owner, chain.permit2]
  return BigInt((await askContract(rpc, { to: token.address, signature, args })) ?? 0)
}

export async function encodePermit2Approval({ permit2 }: PaymentChain): Promise<Hex> {
  const { encodeFunctionData, erc20Abi, maxUint256 } = await import('viem')
  const args = [permit2 as Hex, maxUint256] as const
  return encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args })
}
