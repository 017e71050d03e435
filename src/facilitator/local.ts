/** The SDK's facilitator behind a guard: what it makes of a node that fails is not believed. */
import type { PendingSettlementStore } from '@x402/core/facilitator'
import type { FacilitatorEvmSigner } from '@x402/evm'
import type { EIP1193RequestFn, Hex, PublicClient, RpcRequestError } from 'viem'

import {
  answerOf,
  isRevert,
  type Node,
  openNode,
  type Question,
  type Viem,
} from '#src/chain/node.ts'
import type { Facilitator, SettleResult } from '#src/selling/facilitator.ts'
import type { PaymentChain } from '#src/selling/payment-chain.ts'
import type { PaymentRequirements } from '#src/selling/payment.ts'

import { type Broadcast, createGasWallet, type GasWallet } from './gas-wallet.ts'
import { payerOf, readSettleAnswer, SETTLEMENT_PENDING, toSettleResult } from './settle-answer.ts'

const CONFIRMATION_MS = 20_000
const RPC_MS = 5000
/** Payers wait half of this for nothing, on average; blocks of Polygon are two seconds apart. */
const POLL_MS = 250

export type LocalOptions = {
  chain: PaymentChain
  rpcUrl: string
  gasKey: Hex
  /** How long to wait for a transaction to be mined, before it is reported as pending. */
  confirmationTimeoutMs?: number | undefined
  /** For each question to the node, with its retry. */
  rpcTimeoutMs?: number | undefined
  pollMs?: number | undefined
}

/** Opens nothing: the SDK and viem are loaded, and the chain checked, when it is first asked. */
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
        // Nothing is known of it, so nothing is claimed.
        return { kind: 'unknown', reason: 'unexpected_settle_error' }
      }
    },
    async supported() {
      try {
        const reason = await (await open()).findFault()
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
  const [node, { privateKeyToAccount }, { ExactEvmScheme }, { InMemoryPendingSettlementStore }] =
    await Promise.all([
      openNode({ chain, url: rpcUrl, redirect: 'error' }),
      import('viem/accounts'),
      import('@x402/evm/exact/facilitator'),
      import('@x402/core/facilitator'),
    ])
  const connect = (broadcast: Broadcast) => connectTo(node, broadcast, options)
  const wallet = createGasWallet(node.viem, privateKeyToAccount(gasKey), {
    chainId: chain.chainId,
    connect: () => connect(unseen()),
  })
  // Makes a repeated settlement wait for the transaction that is on its way, if it still is.
  const pending = new InMemoryPendingSettlementStore()
  const pendingSettlementStore: PendingSettlementStore = {
    async get(key) {
      const hash = await pending.get(key)
      return hash !== undefined && wallet.isLost(hash) ? undefined : hash
    },
    set: (key, hash) => pending.set(key, hash),
    delete: (key) => pending.delete(key),
  }

  /** Asked once, and again after a failure: another node may have taken the place of this one. */
  let checking: Promise<string | undefined> | undefined
  async function findChainFault(): Promise<string | undefined> {
    const chainId = await connect(unseen())
      .getChainId()
      .catch(() => undefined)
    if (chainId === chain.chainId) return undefined
    checking = undefined
    return chainId === undefined ? 'rpc_unavailable' : 'rpc_wrong_chain'
  }

  async function attempt(
    broadcast: Broadcast,
    payload: unknown,
    requirements: PaymentRequirements,
  ) {
    const client = connect(broadcast)
    const signer = createSigner(node.viem, { client, wallet, broadcast, timeout })
    const scheme = new ExactEvmScheme(signer, { simulateInSettle: true, pendingSettlementStore })
    try {
      // Parsed by the caller and, where it matters, by the SDK.
      const answer = readSettleAnswer(await scheme.settle(payload as never, requirements))
      if (answer?.reason === SETTLEMENT_PENDING) wallet.resetNonce()
      return answer
    } catch {
      return undefined
    }
  }

  return {
    async settle(payload: string, requirements: PaymentRequirements): Promise<SettleResult> {
      checking ??= findChainFault()
      const fault = await checking
      if (fault === 'rpc_unavailable') return { kind: 'unknown', reason: fault }
      if (fault !== undefined) return { kind: 'refused', reason: fault }
      await wallet.restore()
      const parsed: unknown = JSON.parse(payload)
      const broadcast = unseen()
      const answer = await attempt(broadcast, parsed, requirements)
      if (broadcast.isSilent) checking = undefined
      if (answer?.txHash !== undefined || (answer && isUntouched(broadcast))) {
        return toSettleResult(answer, { network: requirements.network, payer: payerOf(parsed) })
      }
      return explain(broadcast)
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

/** What is certain of a settlement whose answer, if there was one, may not be believed. */
function explain({ isSilent, isOutOfGas, txHash }: Broadcast): SettleResult {
  if (txHash !== undefined) {
    return { kind: 'unknown', reason: 'rpc_unavailable_after_broadcast', txHash }
  }
  if (isSilent) return { kind: 'unknown', reason: 'rpc_unavailable' }
  if (isOutOfGas) return { kind: 'refused', reason: 'gas_exhausted' }
  return { kind: 'unknown', reason: 'unexpected_settle_error' }
}

/** Whatever fails is noted here: to the SDK a node that fails makes a signature "invalid". */
function connectTo(node: Node, broadcast: Broadcast, options: LocalOptions): PublicClient {
  const { rpcTimeoutMs = RPC_MS, pollMs = POLL_MS } = options
  const request = async (question: Question) => {
    try {
      return await node.request(question, AbortSignal.timeout(rpcTimeoutMs))
    } catch (error) {
      note(broadcast, question.method, answerOf(node.viem, error))
      throw error
    }
  }
  return node.viem.createPublicClient({
    chain: node.chain,
    transport: node.viem.custom({ request: request as EIP1193RequestFn }, { retryCount: 0 }),
    // A contract could else make us fetch a URL of its choice (EIP-3668).
    ccipRead: false,
    pollingInterval: pollMs,
  })
}

/** Questions whose honest answer may be an error, which then says so. */
const refusable: readonly string[] = ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']
/** Not every node has it; viem then asks for something else. */
const optional = 'eth_maxPriorityFeePerGas'
const gasWords = /insufficient funds|gas required exceeds allowance/i

function note(broadcast: Broadcast, method: string, answer: RpcRequestError | undefined): void {
  if (answer !== undefined && method === optional) return
  if (answer !== undefined && refusable.includes(method) && isRevert(answer)) return
  // Only of our own account: what a contract says of funds is about the payer.
  const isOurs = method === 'eth_estimateGas' && gasWords.test(answer?.details ?? '')
  broadcast[isOurs ? 'isOutOfGas' : 'isSilent'] = true
}

/** `timeout` is how long to wait for a transaction to be mined. */
type Settlement = { client: PublicClient; wallet: GasWallet; broadcast: Broadcast; timeout: number }

function createSigner(
  { encodeFunctionData, concat }: Viem,
  { client, wallet, broadcast, timeout }: Settlement,
): FacilitatorEvmSigner {
  return {
    getAddresses: () => [wallet.address],
    // What the SDK has of types here is wider than what viem takes.
    readContract: (question) => client.readContract(question as never),
    verifyTypedData: (question) => client.verifyTypedData(question as never),
    // The SDK does not always wait for this, so it must not reject; the failure is noted.
    getCode: (question) => client.getCode(question).catch(() => undefined),
    waitForTransactionReceipt: ({ hash }) =>
      // Another transaction in this one's place would be another payment's.
      client.waitForTransactionReceipt({ hash, timeout, checkReplacement: false }),
    writeContract({ address, abi, functionName, args, dataSuffix = '0x' }) {
      const data = encodeFunctionData({ abi, functionName, args } as never)
      return wallet.send(client, { to: address, data: concat([data, dataSuffix]) }, broadcast)
    },
    // Deploys wallets of payers, by factories that are allowed: none is.
    sendTransaction: () => Promise.reject(new Error('Only settlements are sent.')),
  }
}
