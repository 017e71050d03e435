/** What a payer signs (EIP-712), and in which domains. */
import type { Hex } from 'viem'

import type { PaymentChain, PaymentToken } from '#src/selling/payment-chain.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

const eip3009Types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

const permit2Types = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

const toHex = (text: string): Hex => text.toLowerCase() as Hex

const tokenDomain = ({ chainId }: PaymentChain, { domain, address }: PaymentToken) => ({
  ...domain,
  chainId,
  verifyingContract: toHex(address),
})

/** What the contract of a token with a domain must answer to `DOMAIN_SEPARATOR()`. */
export async function domainSeparatorOf(chain: PaymentChain, token: PaymentToken): Promise<Hex> {
  const { domainSeparator } = await import('viem')
  return domainSeparator({ domain: tokenDomain(chain, token) })
}

type Terms = Omit<SignedPayment, 'network' | 'nonceContract' | 'payload' | 'payloadHash'>

/** The hash that the signature of a payment is made over. */
export async function hashPayment(
  signed: Terms,
  chain: PaymentChain,
  token: PaymentToken,
): Promise<Hex> {
  const { hashTypedData } = await import('viem')
  const { chainId, permit2, permit2Proxy } = chain
  if (signed.method === 'permit2') {
    return hashTypedData({
      domain: { name: 'Permit2', chainId, verifyingContract: toHex(permit2) },
      types: permit2Types,
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token: toHex(signed.asset), amount: signed.amount },
        spender: toHex(permit2Proxy),
        nonce: BigInt(signed.nonce),
        deadline: signed.validBefore,
        witness: { to: toHex(signed.payTo), validAfter: signed.validAfter },
      },
    })
  }
  return hashTypedData({
    domain: tokenDomain(chain, token),
    types: eip3009Types,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: toHex(signed.payer),
      to: toHex(signed.payTo),
      value: signed.amount,
      validAfter: signed.validAfter,
      validBefore: signed.validBefore,
      nonce: toHex(signed.nonce),
    },
  })
}
