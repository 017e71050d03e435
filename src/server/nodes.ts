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
  let onOtherChains: readonly string[] = []

  /** Asks each on which chain it is. Never rejects. */
  async function check(): Promise<void> {
    const found = await Promise.all(list.map((rpc) => rpc.findOtherChain()))
    onOtherChains = found.filter((text) => text !== undefined)
  }

  return {
    list,
    check,
    /** A sentence for each that was on another chain than it is configured for, with its address. */
    warnings: (): readonly string[] => onOtherChains,
    start(): Job | undefined {
      if (list.length === 0) return undefined
      void check()
      return every(CHECK_MS, () => void check())
    },
  }
}
