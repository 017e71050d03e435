/** The nodes of `BOOKFEED_RPC_URL`, each opened once for all that ask it. */
import { createRpc } from '#src/chain/rpc.ts'
import { paymentChains } from '#src/domain/selling/payment-chain.ts'
import type { Job } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'

import type { CliContext } from './extension.ts'
import { every } from './server-jobs.ts'

const CHECK_MS = 60_000

export type Nodes = ReturnType<typeof createNodes>

/** Nothing is asked or loaded before it is needed. */
export function createNodes({ config, printError }: Pick<CliContext, 'config' | 'printError'>) {
  const { rpcUrls } = config()
  const log: Log = (line, ...more) => printError(`bookfeed: ${line}`, ...more)
  /** In the order of the chains. */
  const list = paymentChains.flatMap((chain) => {
    const url = rpcUrls[chain.network]
    return url === undefined ? [] : [createRpc({ chain, url, log })]
  })
  let onOtherChains: readonly { origin: string; reason: string }[] = []

  /** Asks each on which chain it is. Never rejects. */
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
     * Those that were on another chain than they are configured for: their address, which is not
     * public, and a reason such as `is on chain 1, not on 137`.
     */
    onOtherChains: () => onOtherChains,
    start(): Job | undefined {
      if (list.length === 0) return undefined
      void check()
      return every(CHECK_MS, () => void check())
    },
  }
}
