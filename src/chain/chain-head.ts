import type { Clock } from '#src/core/time.ts'
import type { ChainHead } from '#src/selling/chain-view.ts'

import type { Block } from './rpc-answers.ts'
import { type Rpc, RpcFault } from './rpc.ts'

/**
 * Blocks after which a payment counts, its own included, or `final` for the finality of the chain.
 */
export type Confirmations = 'final' | number

/** How far the chain is: all up to `final` stays. */
export type Head = { final: Block; latestNumber: number }

export type HeadOptions = {
  confirmations: Confirmations
  clock: Clock
  log: (line: string) => void
}

export function createHeadWatch(rpc: Rpc, { confirmations, clock, log }: HeadOptions) {
  let seen: { head: Head; atMs: number; order: number } | undefined
  let asked: Promise<Head> | undefined
  let count = 0

  async function refresh(): Promise<Head> {
    // Answers may overtake each other: one is compared with what was known when it was asked for.
    const before = seen?.head
    const [atMs, order] = [clock(), ++count]
    const head = await readHead(rpc, confirmations)
    if (seen === undefined || seen.order < order) seen = { head, atMs, order }
    if (before === undefined || !isTakenBack(before.final, head.final)) return head
    // The next answer is compared with this one: a node that was set up again is not refused
    // forever.
    const fault = `The RPC went back to block ${head.final.number}, before one that it called final.`
    log(fault)
    throw new RpcFault(fault)
  }

  return {
    /** Asks the node. Throws `RpcFault` without an answer, and once when the node went back. */
    ask: refresh,
    /** As ChainView. */
    async recent(ageMsMax: number): Promise<ChainHead | undefined> {
      if (seen !== undefined && clock() - seen.atMs <= ageMsMax) return toChainHead(seen.head)
      asked ??= refresh().finally(() => {
        asked = undefined
      })
      try {
        return toChainHead(await asked)
      } catch {
        // The RPC logs it by itself; here it only matters that there is no answer.
        return undefined
      }
    },
  }
}

async function readHead(rpc: Rpc, confirmations: Confirmations): Promise<Head> {
  if (confirmations === 'final') {
    const [final, latest] = await Promise.all([
      rpc.getBlock(rpc.chain.finality),
      rpc.getBlock('latest'),
    ])
    // Two nodes may share one address, and one may lag.
    if (final && latest) return { final, latestNumber: Math.max(final.number, latest.number) }
  } else {
    const latest = await rpc.getBlock('latest')
    const number = Math.max(0, (latest?.number ?? 0) - confirmations + 1)
    const final = number === latest?.number ? latest : await rpc.getBlock(number)
    if (final && latest) return { final, latestNumber: latest.number }
  }
  throw new RpcFault('The RPC knows no block that is final.')
}

const isTakenBack = (before: Block, after: Block): boolean =>
  after.number < before.number || (after.number === before.number && after.hash !== before.hash)

const toChainHead = ({ final, latestNumber }: Head): ChainHead => ({
  finalNumber: final.number,
  latestNumber,
})
