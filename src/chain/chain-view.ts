import type { ChainView, FoundTransfer } from '#src/selling/chain-view.ts'
import type { SignedPayment } from '#src/selling/payment.ts'

import { createHeadWatch, type HeadOptions } from './chain-head.ts'
import { toTopic } from './contract-questions.ts'
import { amountOf, findLogs, topics, toProof } from './evidence.ts'
import { look } from './look.ts'
import { type Rpc, RpcFault } from './rpc.ts'
import { checkChain, preflight } from './token-checks.ts'

export type ChainViewOptions = {
  /** Where payments go. */
  payTo?: string | undefined
} & HeadOptions

/** The chain as billing sees it. Opens nothing before it is asked. */
export function createChainView(rpc: Rpc, options: ChainViewOptions): ChainView {
  const heads = createHeadWatch(rpc, options)

  return {
    async preflight(signed, signature) {
      const token = findToken(rpc, signed)
      if (!token) return { kind: 'unavailable', reason: 'The token cannot be paid with that way.' }
      return orUnavailable(() => preflight(rpc, token, { signed, signature }))
    },
    look: (signed, hint) =>
      orUnavailable(async () => look(rpc, { signed, hint, head: await heads.ask() })),
    head: heads.recent,
    async transfersTo(to, range) {
      const { final } = await heads.ask()
      if (range.to > final.number) throw new RpcFault(`Block ${range.to} is not final yet.`)
      return findTransfers(rpc, to, range)
    },
    check: () => checkChain(rpc, options),
  }
}

const findToken = ({ chain: { network, tokens } }: Rpc, signed: SignedPayment) =>
  network === signed.network
    ? tokens.find(
        ({ address, method }) => address.toLowerCase() === signed.asset && method === signed.method,
      )
    : undefined

/** A node that gives no answer is reported as that, never as a fault of the payer's. */
async function orUnavailable<T>(
  ask: () => Promise<T>,
): Promise<T | { kind: 'unavailable'; reason: string }> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof RpcFault) return { kind: 'unavailable', reason: error.message }
    throw error
  }
}

async function findTransfers(
  rpc: Rpc,
  to: string,
  range: { from: number; to: number },
): Promise<FoundTransfer[]> {
  const logs = await findLogs(rpc, {
    addresses: rpc.chain.tokens.map(({ address }) => address.toLowerCase()),
    topics: [topics.transfer, null, toTopic(to)],
    ...range,
  })
  return logs.flatMap((log) => {
    const [, from = ''] = log.topics
    const amount = amountOf(log)
    // Moving nothing costs nothing, and anybody can do it in any other's name.
    if (amount === undefined || amount === 0n) return []
    return [{ ...toProof(log), asset: log.address, from: `0x${from.slice(-40)}`, amount }]
  })
}
