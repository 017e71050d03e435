/** A payment as a row of its table, and back. Amounts and seconds are decimal digits in the file. */
import type { TransferMethod } from '#src/selling/payment-chain.ts'
import type { Payment, PaymentProof, PaymentState, SignedPayment } from '#src/selling/payment.ts'

export type PaymentRow = {
  id: string
  offer_id: string
  account_id: string
  state: string
  network: string
  method: string
  asset: string
  payer: string
  pay_to: string
  amount: string
  valid_after: string
  valid_before: string
  nonce: string
  nonce_contract: string
  payload_hash: string
  payload: string
  attempts: number
  lease_until_ms: number | null
  tx_hash: string | null
  proof_tx_hash: string | null
  block_number: number | null
  log_index: number | null
  reason: string | null
  resolution: string | null
  created_ms: number
  updated_ms: number
}

export function toPayment(row: PaymentRow | null): Payment | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    offerId: row.offer_id,
    accountId: row.account_id,
    state: row.state as PaymentState,
    signed: toSigned(row),
    attempts: row.attempts,
    leaseUntilMs: row.lease_until_ms ?? undefined,
    txHash: row.tx_hash ?? undefined,
    proof: toProof(row),
    reason: row.reason ?? undefined,
    resolution: row.resolution ?? undefined,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
  }
}

const toSigned = (row: PaymentRow): SignedPayment => ({
  network: row.network as SignedPayment['network'],
  method: row.method as TransferMethod,
  asset: row.asset,
  payer: row.payer,
  payTo: row.pay_to,
  amount: BigInt(row.amount),
  validAfter: BigInt(row.valid_after),
  validBefore: BigInt(row.valid_before),
  nonce: row.nonce,
  nonceContract: row.nonce_contract,
  payloadHash: row.payload_hash,
  payload: row.payload,
})

function toProof(row: PaymentRow): PaymentProof | undefined {
  const { proof_tx_hash: txHash, block_number: blockNumber, log_index: logIndex } = row
  if (txHash === null || blockNumber === null || logIndex === null) return undefined
  return { txHash, blockNumber, logIndex }
}
