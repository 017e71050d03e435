import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import { toTopic } from './contract-questions.ts'
import type { Hex } from './hex.ts'
import { wasUsedBefore } from './nonces.ts'
import type { ChainLog, Receipt } from './rpc-answers.ts'
import { type Rpc, RpcFault } from './rpc.ts'
import type { Search } from './search.ts'
import { findFirstLog, isTransferOf, receiptOf, topics } from './transfer-logs.ts'

/**
 * Finds what a spent authorization was spent on. A spent nonce alone proves nothing: the payer may have
 * canceled it, or signed another transfer with it.
 */
export async function lookEip3009(rpc: Rpc, search: Search): Promise<ChainVerdict> {
  const { signed, range, paid, settled } = search
  const event = await findEvent(rpc, search)
  if (event === undefined) {
    if (await wasUsedBefore(rpc, search)) return settled(range.from - 1, 'used_elsewhere')
    throw new RpcFault(`The RPC does not show what the nonce of ${signed.payer} was used for.`)
  }
  if (event.topics[0] === topics.canceled) return settled(event.blockNumber, 'canceled')
  const transfer = findAuthorizedTransfer(signed, await receiptOf(rpc, event))
  return transfer ? paid(transfer) : settled(event.blockNumber, 'used_elsewhere')
}

const findEvent = (rpc: Rpc, { signed, range }: Search) =>
  findFirstLog(rpc, {
    addresses: [signed.nonceContract],
    topics: [[topics.used, topics.canceled], toTopic(signed.payer), signed.nonce as Hex],
    ...range,
  })

/**
 * The transfer of a payment in a transaction: the next that its token says after the use of its nonce.
 * There may be others in the transaction, which are of other authorizations.
 */
export function findAuthorizedTransfer(
  signed: SignedPayment,
  receipt: Receipt,
): ChainLog | undefined {
  const logs = receipt.isSuccess ? receipt.logs.filter((log) => log.address === signed.asset) : []
  const used = logs.findIndex((log) => isUseOf(signed, log))
  const next = used === -1 ? undefined : logs[used + 1]
  return next && isTransferOf(signed, next) ? next : undefined
}

const isUseOf = (signed: SignedPayment, { topics: [event, authorizer, nonce] }: ChainLog) =>
  event === topics.used && authorizer === toTopic(signed.payer) && nonce === signed.nonce
