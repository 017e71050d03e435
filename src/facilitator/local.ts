/**
 * Sends signed payments to the chain with our own gas key. It uses no clock of this machine: the
 * newest block and the contracts judge whether a payment is in time.
 */

import type { EIP1193RequestFn, Hex, PublicClient, RpcRequestError } from 'viem'

import { isTransfer } from '#src/chain/look.ts'
import { findAnswer, isRevert, type Node, openNode, type Question } from '#src/chain/node.ts'
import { createRpc, type Rpc } from '#src/chain/rpc.ts'
import { preflight } from '#src/chain/token-checks.ts'
import type { Facilitator, SettleResult } from '#src/domain/selling/facilitator.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import { isFault } from '#src/platform/fault.ts'

import { type Broadcast, createGasWallet } from './gas-wallet.ts'
import {
  encodeCall,
  findMismatch,
  readTransfer,
  toReason,
  type Transfer,
  type TransferFault,
} from './transfer.ts'

const CONFIRMATION_MS = 20_000
const RPC_MS = 5000
/** On average a payer waits half of this in vain; blocks of Polygon are two seconds apart. */
const POLL_MS = 250
/** A transaction sent with fewer seconds left before its payment ends may come too late. */
const SECONDS_LEFT_MIN = 6n
/** Number of remembered unmined transactions; a forgotten payment is simulated again. */
const SENT_MAX = 10_000

export type LocalOptions = {
  chain: PaymentChain
  rpcUrl: string
  gasKey: Hex
  /** Wait for a transaction to be mined before it is reported as pending. */
  confirmationTimeoutMs?: number | undefined
  /** Timeout of a request to the node, including its retry. */
  rpcTimeoutMs?: number | undefined
  pollMs?: number | undefined
}

/** Connects to nothing: the first call loads viem and checks the chain. */
export function createLocalFacilitator(options: LocalOptions): Facilitator {
  let loading: ReturnType<typeof load> | undefined
  const open = () => {
    loading ??= load(options)
    loading.catch(() => {
      loading = undefined
    })
    return loading
  }

  return {
    name: 'local',
    async settle(payload, requirements) {
      try {
        return await (await open()).settle(payload, requirements)
      } catch {
        // Nothing is known of the payment, so nothing is claimed.
        return { kind: 'unknown', reason: 'unexpected_settle_error' }
      }
    },
    sender: () =>
      open().then(
        ({ gasAddress }) => gasAddress,
        () => undefined,
      ),
    async supported() {
      try {
        const { findFault, gasAddress } = await open()
        const reason = await findFault()
        if (reason === 'gas_exhausted') return { kinds: undefined, reason, gasAddress }
        return reason === undefined
          ? { kinds: [{ x402Version: 2, scheme: 'exact', network: options.chain.network }] }
          : { kinds: undefined, reason }
      } catch {
        return { kinds: undefined, reason: 'unexpected_error' }
      }
    },
  }
}

async function load(options: LocalOptions) {
  const { chain, rpcUrl, gasKey, confirmationTimeoutMs: timeout = CONFIRMATION_MS } = options
  const [node, { privateKeyToAccount }, contracts] = await Promise.all([
    openNode({ chain, url: rpcUrl, redirect: 'error' }),
    import('viem/accounts'),
    import('@x402/evm'),
  ])
  const connect = (broadcast: Broadcast) => connectTo(node, broadcast, options)
  const wallet = createGasWallet(node.viem, privateKeyToAccount(gasKey), {
    chainId: chain.chainId,
    connect: () => connect(unseen()),
  })
  const rpc = createRpc({ chain, url: rpcUrl, timeoutMs: options.rpcTimeoutMs })
  /** By signature: a repeated settlement waits for the transaction that is in flight. */
  const sent = new Map<string, Hex>()

  /** Checked once, and again after a failure: another node may have replaced this one. */
  let checking: Promise<string | undefined> | undefined
  async function findChainFault(): Promise<string | undefined> {
    const chainId = await connect(unseen())
      .getChainId()
      .catch(() => undefined)
    if (chainId === chain.chainId) return undefined
    checking = undefined
    return chainId === undefined ? 'rpc_unavailable' : 'rpc_wrong_chain'
  }

  /** Waits until a transaction is mined, and returns its result. */
  async function confirm(
    client: PublicClient,
    transfer: Transfer,
    hash: Hex,
  ): Promise<SettleResult> {
    sent.set(transfer.signature, hash)
    for (const oldest of sent.keys()) if (sent.size > SENT_MAX) sent.delete(oldest)
    let receipt: Awaited<ReturnType<PublicClient['waitForTransactionReceipt']>>
    try {
      // A transaction that replaces this one would belong to another payment.
      receipt = await client.waitForTransactionReceipt({ hash, timeout, checkReplacement: false })
    } catch {
      wallet.resetNonce()
      return { kind: 'pending', txHash: hash }
    }
    sent.delete(transfer.signature)
    const isPaid = receipt.logs.some(({ address, topics, data }) => {
      const log = { address: address.toLowerCase(), topics: topics.map(toLowerCase), data }
      return isTransfer(transfer, log)
    })
    if (receipt.status === 'success' && isPaid) return { kind: 'success', txHash: hash }
    const fault = receipt.status === 'success' ? 'transfer_missing' : 'transaction_failed'
    return { kind: 'failed', reason: toReason(fault, transfer), txHash: hash }
  }

  /** Rejects if the node does not answer, which is recorded in `broadcast`. */
  async function attempt(broadcast: Broadcast, transfer: Transfer): Promise<SettleResult> {
    const client = connect(broadcast)
    const known = sent.get(transfer.signature)
    if (known !== undefined && !wallet.isLost(known)) return confirm(client, transfer, known)
    const call = encodeCall(node.viem, contracts, transfer)
    const [tokenCode, code, { timestamp }] = await Promise.all([
      client.getCode({ address: transfer.asset as Hex }),
      client.getCode({ address: call.to }),
      client.getBlock({ blockTag: 'latest' }),
    ])
    // A call to an address without a contract succeeds and moves nothing.
    if (isEmpty(tokenCode) || isEmpty(code)) return failed(transfer, 'not_deployed')
    if (transfer.validBefore < timestamp + SECONDS_LEFT_MIN) return failed(transfer, 'expired')
    let hash: Hex
    try {
      // Simulated first, which is free if the contract refuses.
      await client.request({ method: 'eth_call', params: [call, 'latest'] })
      hash = await wallet.send(client, call, broadcast)
    } catch (error) {
      const answer = findAnswer(node.viem, error)
      if (!answer || !isRevert(answer) || !isUntouched(broadcast)) throw error
      const fault = await findTransferFault(rpc, transfer)
      if (fault === undefined) broadcast.isSilent = true
      return failed(transfer, fault ?? 'simulation_failed')
    }
    return confirm(client, transfer, hash)
  }

  return {
    gasAddress: wallet.address,
    async settle(payload: string, requirements: PaymentRequirements): Promise<SettleResult> {
      checking ??= findChainFault()
      const fault = await checking
      if (fault === 'rpc_unavailable') return { kind: 'unknown', reason: fault }
      if (fault !== undefined) return { kind: 'refused', reason: fault }
      await wallet.restore()
      const transfer = readTransfer(payload, chain)
      const mismatch = findMismatch(transfer, requirements)
      if (mismatch !== undefined) return failed(transfer, mismatch)
      const broadcast = unseen()
      const result = await attempt(broadcast, transfer).catch(() => undefined)
      if (broadcast.isSilent) checking = undefined
      const isSent = result !== undefined && 'txHash' in result
      return result && (isSent || isUntouched(broadcast)) ? result : explain(broadcast)
    },

    async findFault(): Promise<string | undefined> {
      wallet.resetNonce()
      await wallet.restore()
      checking = findChainFault()
      const fault = await checking
      if (fault !== undefined) return fault
      const { address } = wallet
      const balance = await connect(unseen())
        .getBalance({ address })
        .catch(() => undefined)
      if (balance === undefined) return 'rpc_unavailable'
      return balance === 0n ? 'gas_exhausted' : undefined
    },
  }
}

const unseen = (): Broadcast => ({ isSilent: false, isOutOfGas: false })

const isUntouched = ({ isSilent, isOutOfGas, txHash }: Broadcast): boolean =>
  !isSilent && !isOutOfGas && txHash === undefined

const toLowerCase = (text: string): string => text.toLowerCase()

const isEmpty = (code: Hex | undefined): boolean => code === undefined || code === '0x'

const failed = (transfer: Transfer, fault: TransferFault): SettleResult => ({
  kind: 'failed',
  reason: toReason(fault, transfer),
})

/** The reason why the contracts refuse a payment; undefined if the node does not answer. */
async function findTransferFault(rpc: Rpc, transfer: Transfer): Promise<TransferFault | undefined> {
  const { token, signature } = transfer
  try {
    const latest = await rpc.getBlock('latest')
    if (latest && transfer.validAfter >= latest.time) return 'too_early'
    const answer = await preflight(rpc, token, { signed: transfer, signature })
    if (answer.kind === 'fault') return answer.faults[0]
    return answer.kind === 'ready' ? 'simulation_failed' : undefined
  } catch (error) {
    if (isFault(error, 'rpc')) return undefined
    throw error
  }
}

/** The certain part of a settlement whose answer, if there was one, cannot be trusted. */
function explain({ isSilent, isOutOfGas, txHash }: Broadcast): SettleResult {
  if (txHash !== undefined) {
    return { kind: 'unknown', reason: 'rpc_unavailable_after_broadcast', txHash }
  }
  if (isSilent) return { kind: 'unknown', reason: 'rpc_unavailable' }
  if (isOutOfGas) return { kind: 'refused', reason: 'gas_exhausted' }
  return { kind: 'unknown', reason: 'unexpected_settle_error' }
}

/** Records every failure in `broadcast`: the results of a failing node are not trusted. */
function connectTo(node: Node, broadcast: Broadcast, options: LocalOptions): PublicClient {
  const { rpcTimeoutMs = RPC_MS, pollMs = POLL_MS } = options
  const request = async (question: Question) => {
    try {
      return await node.request(question, AbortSignal.timeout(rpcTimeoutMs))
    } catch (error) {
      note(broadcast, question.method, findAnswer(node.viem, error))
      throw error
    }
  }
  return node.viem.createPublicClient({
    chain: node.chain,
    transport: node.viem.custom({ request: request as EIP1193RequestFn }, { retryCount: 0 }),
    // Otherwise a contract could make us fetch a URL of its choice (EIP-3668).
    ccipRead: false,
    pollingInterval: pollMs,
  })
}

/** Requests whose valid answer may be an error. */
const refusable: readonly string[] = ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']
/** Optional: viem falls back to another request if a node lacks it. */
const optional = 'eth_maxPriorityFeePerGas'
const gasWords = /insufficient funds|gas required exceeds allowance/i

function note(broadcast: Broadcast, method: string, answer: RpcRequestError | undefined): void {
  if (answer !== undefined && method === optional) return
  if (answer !== undefined && refusable.includes(method) && isRevert(answer)) return
  // Applies only to our own account: a contract's error about funds concerns the payer.
  const isOurs = method === 'eth_estimateGas' && gasWords.test(answer?.details ?? '')
  broadcast[isOurs ? 'isOutOfGas' : 'isSilent'] = true
}
