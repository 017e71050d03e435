/** The nodes of `BOOKFEED_RPC_URL`. Each is opened once and shared. */
import { createRpc } from '#src/chain/rpc.ts'
import { paymentChains } from '#src/domain/selling/payment-chain.ts'
import { every, type Job } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'

import type { CliContext } from './extension.ts'

const CHECK_MS = 60_000

export type Nodes = ReturnType<typeof createNodes>

/** No node is asked before it is needed. */
export function createNodes({ config, printError }: Pick<CliContext, 'config' | 'printError'>) {
  const { rpcUrls } = config()
  const log: Log = (line, ...more) => printError(`bookfeed: ${line}`, ...more)
  /** The nodes in the order of the chains. */
  const list = paymentChains.flatMap((chain) => {
    const url = rpcUrls[chain.network]
    return url === undefined ? [] : [createRpc({ chain, url, log })]
  })
  let onOtherChains: readonly { origin: string; reason: string }[] = []

  /** Asks each node for its chain. Never rejects. */
  async function check(): Promise<void> {
    const reasons = await Promise.all(list.map((rpc) => rpc.findOtherChain()))
    onOtherChains = list.flatMap(({ origin }, at) => {
      const reason = reasons[at]
      return reason === undefined ? [] : { origin, reason }
    })
  }

  return {
    list,
    check,
    /**
     * The nodes that were on another chain than configured: their address, which is not public, and
     * a reason such as `is on chain 1, not on 137`.
     */
    onOtherChains: () => onOtherChains,
    start(): Job | undefined {
      if (list.length === 0) return undefined
      void check()
      return every(CHECK_MS, () => void check())
    },
  }
}
