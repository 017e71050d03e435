import type { ChainHead, ChainView, FoundTransfer } from '#src/domain/selling/chain-view.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'
import type { Clock } from '#src/domain/time.ts'
import { isFault } from '#src/platform/fault.ts'
import type { Log } from '#src/platform/log.ts'

import { findLogs, type Head, look, readAmount, topics, toProof } from './look.ts'
import { type Block, type Rpc, rpcFault, toTopic } from './rpc.ts'
import { checkChain, type Confirmations, preflight } from './token-checks.ts'

export type ChainViewOptions = {
  payTo?: string | undefined
  confirmations: Confirmations
  clock: Clock
  log: Log
}

export function createChainView(rpc: Rpc, options: ChainViewOptions): ChainView {
  const heads = createHeadWatch(rpc, options)

  return {
    async preflight(signed, signature) {
      const token = findToken(rpc, signed)
      if (!token)
        return { kind: 'unavailable', reason: 'The token does not support this transfer method.' }
      return orUnavailable(() => preflight(rpc, token, { signed, signature }))
    },
    look: (signed, hint) =>
      orUnavailable(async () => look(rpc, { signed, hint, head: await heads.ask() })),
    // The RPC logs failures itself.
    senderOf: (txHash) => rpc.getSender(txHash).catch(() => undefined),
    head: heads.recent,
    async transfersTo(to, range) {
      const { final } = await heads.ask()
      if (range.to > final.number) throw rpcFault(`Block ${range.to} is not final yet.`)
      return findTransfers(rpc, to, range)
    },
    check: () => checkChain(rpc, options),
    finality: options.confirmations === 'final' ? undefined : createFinalityView(rpc),
  }
}

function createFinalityView(rpc: Rpc): ChainView['finality'] {
  return {
    final: () =>
      readHead(rpc, 'final').then(
        (head) => head.final.number,
        // The RPC logs failures itself.
        () => undefined,
      ),
    look: (signed, hint) =>
      orUnavailable(async () => look(rpc, { signed, hint, head: await readHead(rpc, 'final') })),
  }
}

const findToken = ({ chain: { network, tokens } }: Rpc, signed: SignedPayment) =>
  network === signed.network
    ? tokens.find(
        ({ address, method }) => address.toLowerCase() === signed.asset && method === signed.method,
      )
    : undefined

/** Reports a node that does not answer as unavailable, never as a fault of the payer. */
async function orUnavailable<T>(
  ask: () => Promise<T>,
): Promise<T | { kind: 'unavailable'; reason: string }> {
  try {
    return await ask()
  } catch (error) {
    if (isFault(error, 'rpc')) return { kind: 'unavailable', reason: error.message }
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
    const amount = readAmount(log)
    // A transfer of nothing is free, and can be made in the name of any address.
    if (amount === undefined || amount === 0n) return []
    return [{ ...toProof(log), asset: log.address, from: `0x${from.slice(-40)}`, amount }]
  })
}

function createHeadWatch(rpc: Rpc, { confirmations, clock, log }: ChainViewOptions) {
  let seen: { head: Head; atMs: number; order: number } | undefined
  let asked: Promise<Head> | undefined
  let count = 0

  /** Throws an `rpc` fault if there is no answer, and once if the node went back. */
  async function ask(): Promise<Head> {
    // Answers may overtake each other: each is compared with the head known when it was requested.
    const before = seen?.head
    const atMs = clock()
    const order = ++count
    const head = await readHead(rpc, confirmations)
    if (seen === undefined || seen.order < order) seen = { head, atMs, order }
    if (before === undefined || !isTakenBack(before.final, head.final)) return head
    // The next answer is compared with this one, so that a replaced node is not refused forever.
    const fault = `The RPC went back to block ${head.final.number}, before one that it called final.`
    log(fault, 'warn')
    throw rpcFault(fault)
  }

  return {
    ask,
    async recent(ageMsMax: number): Promise<ChainHead | undefined> {
      if (seen !== undefined && clock() - seen.atMs <= ageMsMax) return toChainHead(seen.head)
      asked ??= ask().finally(() => {
        asked = undefined
      })
      // The RPC logs failures itself; here it matters only that there is no answer.
      return asked.then(toChainHead, () => undefined)
    },
  }
}

async function readHead(rpc: Rpc, confirmations: Confirmations): Promise<Head> {
  if (confirmations === 'final') {
    const [final, latest] = await Promise.all([
      rpc.getBlock(rpc.chain.finality),
      rpc.getBlock('latest'),
    ])
    // Two nodes may share one address, and one of them may lag.
    if (final && latest) {
      const newest = latest.number > final.number ? latest : final
      return { final, latestNumber: newest.number, latestTime: newest.time }
    }
  } else {
    const latest = await rpc.getBlock('latest')
    const number = Math.max(0, (latest?.number ?? 0) - confirmations + 1)
    const final = number === latest?.number ? latest : await rpc.getBlock(number)
    if (final && latest) {
      return { final, latestNumber: latest.number, latestTime: latest.time }
    }
  }
  throw rpcFault(`The RPC at ${rpc.origin} returned no final block.`)
}

const isTakenBack = (before: Block, after: Block): boolean =>
  after.number < before.number || (after.number === before.number && after.hash !== before.hash)

const toChainHead = ({ final, latestNumber, latestTime }: Head): ChainHead => ({
  finalNumber: final.number,
  latestNumber,
  latestMs: Number(latestTime) * 1000,
})
