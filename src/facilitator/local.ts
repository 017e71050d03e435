/**
 * A facilitator inside this process: the SDK's, behind a guard. The SDK checks a payment and tells what a
 * receipt says; what it makes of a node that fails is not believed (`polygon-node.ts`), and how a
 * transaction is sent is ours (`gas-wallet.ts`).
 */
import type { FacilitatorEvmSigner } from '@x402/evm'

import type { Facilitator, SettleResult } from '#src/selling/facilitator.ts'
import type { PaymentRequirements } from '#src/selling/offer.ts'

import type { GasKey } from './gas-key.ts'
import { type Broadcast, createGasWallet, type GasWallet } from './gas-wallet.ts'
import { openNode, POLYGON_CHAIN_ID, type Viem } from './polygon-node.ts'
import { payerOf, readSettleAnswer, SETTLEMENT_PENDING, toSettleResult } from './settle-answer.ts'

const NETWORK = `eip155:${POLYGON_CHAIN_ID}`
const CONFIRMATION_MS = 20_000
const RPC_MS = 5000
/** Payers wait half of this for nothing, on average; blocks of Polygon are two seconds apart. */
const POLL_MS = 250

export type LocalOptions = {
  rpcUrl: string
  gasKey: GasKey
  /** How long to wait for a transaction to be mined, before it is told as pending. */
  confirmationTimeoutMs?: number | undefined
  /** For each question to the node. */
  rpcTimeoutMs?: number | undefined
  /** How often to look whether a transaction is mined. */
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
          ? { kinds: [{ x402Version: 2, scheme: 'exact', network: NETWORK }] }
          : { kinds: undefined, reason }
      } catch {
        return { kinds: undefined, reason: 'unexpected_error' }
      }
    },
  }
}

async function load({ rpcUrl, gasKey, ...options }: LocalOptions) {
  const { rpcTimeoutMs: timeoutMs = RPC_MS, pollMs = POLL_MS } = options
  const { confirmationTimeoutMs = CONFIRMATION_MS } = options
  const [viem, { privateKeyToAccount }, { ExactEvmScheme }, { InMemoryPendingSettlementStore }] =
    await Promise.all([
      import('viem'),
      import('viem/accounts'),
      import('@x402/evm/exact/facilitator'),
      import('@x402/core/facilitator'),
    ])
  const connect = openNode(viem, { url: rpcUrl, timeoutMs, pollMs })
  const wallet = createGasWallet(viem, privateKeyToAccount(gasKey))
  // Makes a repeated settlement wait for the transaction that is on its way.
  const pendingSettlementStore = new InMemoryPendingSettlementStore()
  const checkChain = createChainCheck(connect)

  async function attempt(
    broadcast: Broadcast,
    payload: unknown,
    requirements: PaymentRequirements,
  ) {
    const client = connect(broadcast)
    const signer = createSigner({ viem, client, wallet, broadcast, confirmationTimeoutMs })
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
      const fault = await checkChain()
      if (fault === 'rpc_unavailable') return { kind: 'unknown', reason: fault }
      if (fault !== undefined) return { kind: 'refused', reason: fault }
      const parsed: unknown = JSON.parse(payload)
      const broadcast: Broadcast = { isSilent: false, isOutOfGas: false, txHash: undefined }
      const answer = await attempt(broadcast, parsed, requirements)
      if (broadcast.isSilent) checkChain.again()
      if (answer?.txHash !== undefined || (answer && isUntouched(broadcast))) {
        return toSettleResult(answer, { network: requirements.network, payer: payerOf(parsed) })
      }
      return explain(broadcast)
    },

    /** Why nothing could be settled now; undefined if it could. */
    async findFault(): Promise<string | undefined> {
      checkChain.again()
      wallet.resetNonce()
      const fault = await checkChain()
      if (fault !== undefined) return fault
      const client = connect({ isSilent: false, isOutOfGas: false })
      const { address } = wallet
      const balance = await client.getBalance({ address }).catch(() => undefined)
      if (balance === undefined) return 'rpc_unavailable'
      return balance === 0n ? 'gas_exhausted' : undefined
    },
  }
}

/** Whether an answer without a hash may be believed: the node always answered, and nothing was sent. */
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

type Connect = ReturnType<typeof openNode>

/** Asks the node for its chain once, and again after `again`: another one may have taken its place. */
function createChainCheck(connect: Connect) {
  let checking: Promise<string | undefined> | undefined

  async function findFault(): Promise<string | undefined> {
    const client = connect({ isSilent: false, isOutOfGas: false })
    const chainId = await client.getChainId().catch(() => undefined)
    if (chainId === POLYGON_CHAIN_ID) return undefined
    checking = undefined
    return chainId === undefined ? 'rpc_unavailable' : 'rpc_wrong_chain'
  }

  const check = (): Promise<string | undefined> => {
    checking ??= findFault()
    return checking
  }
  return Object.assign(check, {
    again() {
      checking = undefined
    },
  })
}

type SignerDeps = {
  viem: Viem
  client: ReturnType<Connect>
  wallet: GasWallet
  broadcast: Broadcast
  confirmationTimeoutMs: number
}

/** What the SDK sees of the chain and of our account during one settlement. */
function createSigner(deps: SignerDeps): FacilitatorEvmSigner {
  const { viem, client, wallet, broadcast, confirmationTimeoutMs } = deps
  return {
    getAddresses: () => [wallet.address],
    // What the SDK has of types here is wider than what viem takes.
    readContract: (question) => client.readContract(question as never),
    verifyTypedData: (question) => client.verifyTypedData(question as never),
    // The SDK starts this without always waiting for it, so it must not reject; the failure is noted.
    getCode: (question) => client.getCode(question).catch(() => undefined),
    waitForTransactionReceipt: ({ hash }) =>
      client.waitForTransactionReceipt({
        hash,
        timeout: confirmationTimeoutMs,
        // Another transaction in this one's place would be another payment's.
        checkReplacement: false,
      }),
    writeContract({ address, abi, functionName, args, dataSuffix = '0x' }) {
      const data = viem.encodeFunctionData({ abi, functionName, args } as never)
      return wallet.send(client, { to: address, data: viem.concat([data, dataSuffix]) }, broadcast)
    },
    // Deploys wallets of payers, by factories that are allowed: none is.
    sendTransaction: () => Promise.reject(new Error('Only settlements are sent.')),
  }
}
