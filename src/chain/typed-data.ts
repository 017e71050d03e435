/** The typed data that a payer signs (EIP-712), and its domains. */
import type { Hex } from 'viem'

import type { PaymentChain, PaymentToken } from '#src/domain/selling/payment-chain.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'

/** Parses the members of a struct from their list in Solidity. */
const parseMembers = (list: string): { type: string; name: string }[] =>
  list.split(', ').map((member) => {
    const [type = '', name = ''] = member.split(' ')
    return { type, name }
  })

const eip3009Types = {
  TransferWithAuthorization: parseMembers(
    'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
  ),
}

const permit2Types = {
  PermitWitnessTransferFrom: parseMembers(
    'TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline, Witness witness',
  ),
  TokenPermissions: parseMembers('address token, uint256 amount'),
  Witness: parseMembers('address to, uint256 validAfter'),
}

const toHex = (text: string): Hex => text.toLowerCase() as Hex

const tokenDomain = ({ chainId }: PaymentChain, { domain, address }: PaymentToken) => ({
  ...domain,
  chainId,
  verifyingContract: toHex(address),
})

/** The value that a token's contract must return from `DOMAIN_SEPARATOR()`. */
export async function hashDomain(chain: PaymentChain, token: PaymentToken): Promise<Hex> {
  const { domainSeparator } = await import('viem')
  return domainSeparator({ domain: tokenDomain(chain, token) })
}

export async function hashPayment(
  {
    method,
    asset,
    payer,
    payTo,
    amount,
    validAfter,
    validBefore,
    nonce,
  }: Omit<SignedPayment, 'network' | 'nonceContract' | 'payload' | 'payloadHash'>,
  chain: PaymentChain,
  token: PaymentToken,
): Promise<Hex> {
  const { hashTypedData } = await import('viem')
  const { chainId, permit2, permit2Proxy } = chain
  const to = toHex(payTo)
  if (method === 'eip3009') {
    return hashTypedData({
      domain: tokenDomain(chain, token),
      types: eip3009Types,
      primaryType: 'TransferWithAuthorization',
      message: { from: toHex(payer), to, value: amount, validAfter, validBefore, nonce },
    })
  }
  return hashTypedData({
    domain: { name: 'Permit2', chainId, verifyingContract: toHex(permit2) },
    types: permit2Types,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: toHex(asset), amount },
      spender: toHex(permit2Proxy),
      nonce: BigInt(nonce),
      deadline: validBefore,
      witness: { to, validAfter },
    },
  })
}
