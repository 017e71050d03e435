/** Final receipts of transactions, as nodes of different hosts agree on them. */
import type { Clock } from '#src/domain/time.ts'
import { backoffMs } from '#src/platform/backoff.ts'

import type { Receipt, Rpc } from './rpc.ts'

/** How long a node that failed is not asked: it doubles with each failure after another. */
const REST_MS = { min: 10_000, max: 600_000 }

export type ReceiptNode = Pick<Rpc, 'chain' | 'getBlock' | 'getReceipt'>

/** For each transaction, how many nodes gave the same final receipt. */
type Votes = Map<string, Map<string, { receipt: Receipt; count: number }>>

export type ReceiptVote = ReturnType<typeof createReceiptVote>

/** One node alone can confirm a success; with more nodes, two must agree on either result. */
export function createReceiptVote(rpcs: readonly ReceiptNode[], clock: Clock) {
  const nodes = rpcs.map((rpc) => ({ rpc, failures: 0, restsUntilMs: 0 }))
  const needed = Math.min(2, nodes.length)

  /** The final receipts of a node. Never rejects: a request that fails is a missing receipt. */
  async function receiptsOf(
    node: (typeof nodes)[number],
    hashes: readonly string[],
  ): Promise<Receipt[]> {
    const { rpc } = node
    const final = await rpc.getBlock(rpc.chain.finality).catch(() => undefined)
    const answers = final && (await Promise.allSettled(hashes.map((hash) => rpc.getReceipt(hash))))
    const isWhole = answers?.every(({ status }) => status === 'fulfilled') ?? false
    node.failures = isWhole ? 0 : node.failures + 1
    node.restsUntilMs = isWhole ? 0 : clock() + backoffMs(node.failures, REST_MS)
    return (answers ?? []).flatMap((answer, at) => {
      const receipt = answer.status === 'fulfilled' ? answer.value : undefined
      const isOfIt = receipt?.txHash === hashes[at]
      return receipt && final && isOfIt && receipt.blockNumber <= final.number ? [receipt] : []
    })
  }

  function successOf(votes: Votes, hash: string): boolean | undefined {
    const all = [...(votes.get(hash)?.values() ?? [])]
    const agreed = all.find(({ count }) => count >= 2)
    if (agreed !== undefined) return agreed.receipt.isSuccess
    return nodes.length === 1 && all[0]?.receipt.isSuccess === true ? true : undefined
  }

  return {
    /** Milliseconds until as many nodes as are needed may be asked; 0 if they may be asked now. */
    restMs(): number {
      const rests = nodes.map(({ restsUntilMs }) => restsUntilMs).sort((a, b) => a - b)
      return Math.max(0, (rests[needed - 1] ?? 0) - clock())
    },

    /**
     * Asks one node after another until all transactions are decided. Returns for those that are
     * whether they succeeded.
     */
    async ask(hashes: readonly string[]): Promise<Map<string, boolean>> {
      const decided = new Map<string, boolean>()
      const votes: Votes = new Map()
      for (const node of nodes) {
        const open = hashes.filter((hash) => !decided.has(hash))
        if (open.length === 0) break
        if (node.restsUntilMs > clock()) continue
        for (const receipt of await receiptsOf(node, open)) {
          const { txHash, blockHash, isSuccess } = receipt
          const own = votes.get(txHash) ?? new Map()
          const name = `${blockHash} ${isSuccess}`
          own.set(name, { receipt, count: (own.get(name)?.count ?? 0) + 1 })
          votes.set(txHash, own)
          const success = successOf(votes, txHash)
          if (success !== undefined) decided.set(txHash, success)
        }
      }
      return decided
    },
  }
}
