/** An answer to `settle`, read as if it meant us harm: messages may hold URLs with keys. */

import type { SettleResult } from '#src/domain/selling/facilitator.ts'
import { isRecord } from '#src/platform/record.ts'

export type SettleAnswer = {
  success: boolean
  txHash: string | undefined
  network: string | undefined
  /** In lower case; undefined if it was not given: it is optional. */
  payer: string | undefined
  reason: string | undefined
}

export type Expected = { network: string; payer: string | undefined }

/** The reason that the SDK gives for a transaction that it has sent and not yet seen. */
export const SETTLEMENT_PENDING = 'settlement_pending'

const hashFormat = /^0x[0-9a-fA-F]{64}$/
/** Some facilitators put a message after the word. */
const reasonFormat = /^([A-Za-z0-9_.-]{1,80})(?::|$)/

export function readSettleAnswer(value: unknown): SettleAnswer | undefined {
  if (!isRecord(value) || typeof value.success !== 'boolean') return undefined
  const { success, transaction, network, payer, errorReason } = value
  // What is optional may be absent or null; `transaction` is '' if nothing was sent.
  const texts = [transaction, network, payer, errorReason].map((text) => text ?? '')
  if (!texts.every((text) => typeof text === 'string')) return undefined
  const [hash = '', place = '', from = '', reason = ''] = texts
  return {
    success,
    txHash: hashFormat.test(hash) ? hash.toLowerCase() : undefined,
    network: place || undefined,
    payer: from.toLowerCase() || undefined,
    reason: reasonFormat.exec(reason)?.[1],
  }
}

export function toSettleResult(answer: SettleAnswer, expected: Expected): SettleResult {
  const { success, txHash, network, payer } = answer
  if (!success) return toFailure(answer)
  if (txHash === undefined) return { kind: 'unknown', reason: 'facilitator_hash_invalid' }
  if (network !== expected.network) {
    return { kind: 'unknown', reason: 'facilitator_network_mismatch', txHash }
  }
  if (payer !== undefined && payer !== expected.payer) {
    return { kind: 'unknown', reason: 'facilitator_payer_mismatch', txHash }
  }
  return { kind: 'success', txHash }
}

export function toFailure({ txHash, reason = 'no_reason_given' }: SettleAnswer): SettleResult {
  if (reason !== SETTLEMENT_PENDING) return { kind: 'failed', reason, txHash }
  return txHash === undefined ? { kind: 'unknown', reason } : { kind: 'pending', txHash }
}

/** Who pays by a payload of either transfer method, in lower case. */
export function findPayer(payload: unknown): string | undefined {
  const signed = isRecord(payload) ? payload.payload : undefined
  if (!isRecord(signed)) return undefined
  const authorization = signed.permit2Authorization ?? signed.authorization
  const from = isRecord(authorization) ? authorization.from : undefined
  return typeof from === 'string' ? from.toLowerCase() : undefined
}
