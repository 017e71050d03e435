/** A signed payment in the form of the contracts, and the x402 error codes for its faults. */
import type { Abi, Hex } from 'viem'

import type { Viem } from '#src/chain/node.ts'
import type { PaymentTerms } from '#src/chain/token-checks.ts'
import type { PaymentFault } from '#src/domain/selling/chain-view.ts'
import { parsePayment } from '#src/domain/selling/payload.ts'
import type {
  PaymentChain,
  PaymentToken,
  TransferMethod,
} from '#src/domain/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'

/** Addresses in lower case. */
export type Transfer = PaymentTerms & {
  token: PaymentToken
  /** The contract that spends Permit2 signatures. */
  proxy: string
  signature: Hex
}

export type TransferFault =
  | PaymentFault
  | 'network_mismatch'
  | 'recipient_mismatch'
  | 'amount_mismatch'
  | 'asset_mismatch'
  | 'not_deployed'
  | 'expired'
  | 'too_early'
  | 'simulation_failed'
  | 'transaction_failed'
  | 'transfer_missing'

/** Error codes of x402 facilitators, by transfer method. */
const words: Record<TransferFault, Record<TransferMethod, string>> = {
  nonce_used: { eip3009: 'invalid_exact_evm_nonce_already_used', permit2: 'permit2_invalid_nonce' },
  signature_invalid: {
    eip3009: 'invalid_exact_evm_signature',
    permit2: 'invalid_permit2_signature',
  },
  insufficient_balance: {
    eip3009: 'invalid_exact_evm_insufficient_balance',
    permit2: 'permit2_insufficient_balance',
  },
  allowance_required: {
    eip3009: 'invalid_exact_evm_transaction_simulation_failed',
    permit2: 'permit2_allowance_required',
  },
  payer_blocked: {
    eip3009: 'invalid_exact_evm_transaction_simulation_failed',
    permit2: 'permit2_simulation_failed',
  },
  network_mismatch: {
    eip3009: 'invalid_exact_evm_network_mismatch',
    permit2: 'invalid_exact_evm_network_mismatch',
  },
  recipient_mismatch: {
    eip3009: 'invalid_exact_evm_recipient_mismatch',
    permit2: 'invalid_permit2_recipient_mismatch',
  },
  amount_mismatch: {
    eip3009: 'invalid_exact_evm_payload_authorization_value_mismatch',
    permit2: 'permit2_amount_mismatch',
  },
  asset_mismatch: { eip3009: 'unsupported_payload_type', permit2: 'permit2_token_mismatch' },
  not_deployed: { eip3009: 'asset_not_deployed_contract', permit2: 'permit2_proxy_not_deployed' },
  expired: {
    eip3009: 'invalid_exact_evm_payload_authorization_valid_before',
    permit2: 'permit2_deadline_expired',
  },
  too_early: {
    eip3009: 'invalid_exact_evm_payload_authorization_valid_after',
    permit2: 'permit2_not_yet_valid',
  },
  simulation_failed: {
    eip3009: 'invalid_exact_evm_transaction_simulation_failed',
    permit2: 'permit2_simulation_failed',
  },
  transaction_failed: {
    eip3009: 'invalid_exact_evm_transaction_failed',
    permit2: 'invalid_exact_evm_transaction_failed',
  },
  transfer_missing: {
    eip3009: 'invalid_exact_evm_transfer_event_mismatch',
    permit2: 'invalid_exact_evm_transfer_event_mismatch',
  },
}

export const toReason = (fault: TransferFault, { method }: Pick<Transfer, 'method'>): string =>
  words[fault][method]

/** Parses a payload that billing has written. Throws if it is invalid, or on another chain. */
export function readTransfer(payload: string, { network, permit2Proxy }: PaymentChain): Transfer {
  const { signed, token, body } = parsePayment(JSON.parse(payload))
  if (signed.network !== network) throw new Error('The payment is on another chain.')
  const signature = body.signature as Hex
  return { ...signed, token, proxy: permit2Proxy.toLowerCase(), signature }
}

const isSame = (address: string, other: string): boolean =>
  address.toLowerCase() === other.toLowerCase()

/** The member in which a payment differs from its requirements. */
export function findMismatch(
  { network, asset, payTo, amount }: Transfer,
  requirements: PaymentRequirements,
): TransferFault | undefined {
  if (network !== requirements.network) return 'network_mismatch'
  if (!isSame(asset, requirements.asset)) return 'asset_mismatch'
  if (!isSame(payTo, requirements.payTo)) return 'recipient_mismatch'
  return amount === BigInt(requirements.amount) ? undefined : 'amount_mismatch'
}

/** r, s and v of a plain account. */
const plainSignature = /^0x([0-9a-f]{64})([0-9a-f]{64})(1b|1c)$/

/** The call that executes a payment, as the x402 SDK defines its contracts. */
export function encodeCall(
  { encodeFunctionData }: Viem,
  { eip3009ABI, x402ExactPermit2ProxyABI }: typeof import('@x402/evm'),
  { method, asset, proxy, signature, ...terms }: Transfer,
): { to: Hex; data: Hex } {
  const { payer, payTo, amount, validAfter, validBefore, nonce } = terms
  if (method === 'permit2') {
    const permitted = { token: asset, amount }
    const permit = { permitted, nonce: BigInt(nonce), deadline: validBefore }
    const args = [permit, payer, { to: payTo, validAfter }, signature]
    const abi: Abi = x402ExactPermit2ProxyABI
    return { to: proxy as Hex, data: encodeFunctionData({ abi, functionName: 'settle', args }) }
  }
  // All tokens with EIP-3009 take v, r and s; a contract wallet's signature is one byte string.
  const plain = plainSignature.exec(signature)
  const abi: Abi = eip3009ABI
  const [, r = '', s = '', v = ''] = plain ?? []
  const last = plain ? [Number.parseInt(v, 16), `0x${r}`, `0x${s}`] : [signature]
  const data = encodeFunctionData({
    abi,
    functionName: 'transferWithAuthorization',
    args: [payer, payTo, amount, validAfter, validBefore, nonce, ...last],
  })
  return { to: asset as Hex, data }
}
