import type { Hex } from 'viem'

import type { ChainVerdict } from '#src/selling/chain-view.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import type { Head } from './chain-head.ts'
import { toTopic } from './contract-questions.ts'
import {
  findFirstLog,
  isNonceUsed,
  isTransferOf,
  receiptOf,
  type Search,
  topics,
  toProof,
  wasUsedBefore,
} from './evidence.ts'
import { findPermittedTransfer, lookPermit2 } from './look-permit2.ts'
import type { ChainLog, Receipt } from './rpc-answers.ts'
import { type Rpc, RpcFault } from './rpc.ts'

/** More than a day of blocks: a payment is valid for no longer than a day. */
const SEARCH_BLOCKS_MAX = 200_000
/** A reorganisation may put a payment below the block that was the newest when it was offered; none goes deeper. */
const REORG_BLOCKS_MAX = 256

export type Lookup = {
  signed: SignedPayment
  hint: { fromBlock: number; txHash?: string | undefined }
  head: Head
}

/**
 * Looks for a payment. Two kinds of evidence count: a transfer that is there, and a state of the chain at
 * its final block. What a node does not show is never taken for proof. Throws `RpcFault`.
 */
export async function look(rpc: Rpc, { signed, hint, head }: Lookup): Promise<ChainVerdict> {
  const search: Search = {
    signed,
    range: {
      from: Math.max(0, hint.fromBlock - REORG_BLOCKS_MAX),
      to: Math.min(head.latestNumber, hint.fromBlock + SEARCH_BLOCKS_MAX),
    },
    head,
    paid: (transfer) => confirm(rpc, transfer, head),
    settled: (blockNumber, reason) =>
      blockNumber <= head.final.number ? { kind: 'void', reason } : { kind: 'open' },
  }
  const hinted = hint.txHash && (await findInTransaction(rpc, search, hint.txHash))
  if (hinted) return search.paid(hinted)
  if (!(await isNonceUsed(rpc, signed, 'latest'))) return judgeUnused(rpc, search)
  return signed.method === 'eip3009' ? lookEip3009(rpc, search) : lookPermit2(rpc, search)
}

async function findInTransaction(rpc: Rpc, search: Search, txHash: string) {
  const receipt = await rpc.getReceipt(txHash)
  if (receipt === undefined) return undefined
  return search.signed.method === 'eip3009'
    ? findAuthorizedTransfer(search.signed, receipt)
    : findPermittedTransfer(rpc, search, receipt)
}

/** Nobody's clock counts but the chain's: a transaction that was sent in time may wait to be mined. */
async function judgeUnused(
  rpc: Rpc,
  { signed, head: { final }, settled }: Search,
): Promise<ChainVerdict> {
  // The token wants a time before `validBefore`; Permit2 takes the deadline itself, too.
  const isOver =
    signed.method === 'eip3009' ? final.time >= signed.validBefore : final.time > signed.validBefore
  const canCome = !isOver || (await isNonceUsed(rpc, signed, final.number))
  return canCome ? { kind: 'open' } : settled(final.number, 'expired')
}

/** Final only if the block that holds the transfer is the one that the node has there now. */
async function confirm(rpc: Rpc, transfer: ChainLog, { final }: Head): Promise<ChainVerdict> {
  const proof = toProof(transfer)
  if (transfer.blockNumber > final.number) return { kind: 'paid', proof, isFinal: false }
  const block = await rpc.getBlock(transfer.blockNumber)
  if (block?.hash === transfer.blockHash) return { kind: 'paid', proof, isFinal: true }
  throw new RpcFault(`The RPC contradicts itself about block ${transfer.blockNumber}.`)
}

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
function findAuthorizedTransfer(signed: SignedPayment, receipt: Receipt): ChainLog | undefined {
  const logs = receipt.isSuccess ? receipt.logs.filter((log) => log.address === signed.asset) : []
  const used = logs.findIndex((log) => isUseOf(signed, log))
  const next = used === -1 ? undefined : logs[used + 1]
  return next && isTransferOf(signed, next) ? next : undefined
}

const isUseOf = (signed: SignedPayment, { topics: [event, authorizer, nonce] }: ChainLog) =>
  event === topics.used && authorizer === toTopic(signed.payer) && nonce === signed.nonce
