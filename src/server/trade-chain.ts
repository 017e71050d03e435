/** Asks nodes of Polygon for receipts of the transactions of trades, for `chain` of trades. */
import { createReceiptVote, type ReceiptVote } from '#src/chain/receipt-vote.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { Clock } from '#src/domain/time.ts'
import { CHECKED_MS, type TradeReceipt, type UncheckedTrade } from '#src/domain/trade-chain.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createJob, LOCK_RETRY_MS, startTimer } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from './extension.ts'
import { jobLockFor } from './open-data-folder.ts'

/** Transactions that are asked for at once. */
const BATCH = 20
/** Ids of trades in one read, which takes a few milliseconds. */
const IDS_AT_ONCE = 2000
/** Trades that wait in memory; others wait in the history. */
const WAITING_MAX = 20_000
/** After a start, ids up to so many may be read again. */
const UNNOTED_IDS_MAX = 100_000
/** A transaction is hardly final earlier. */
const FIRST_MS = 30_000
/** A transaction without a receipt is asked for again after half of its age, within these bounds. */
const AGAIN_MS = { min: 30_000, max: 3_600_000 }
/** Five full batches a second: the venue has some thirty trades a second at its busiest. */
const PAUSE_MS = { reading: 5, full: 200, asking: 1000, idle: 5000, failed: 60_000 }

type Waiting = UncheckedTrade & { dueMs: number }
type Checked = Pick<
  MarketHistory,
  'lastTradeId' | 'nextCheckedId' | 'putReceipts' | 'uncheckedTrades'
>

/** Makes the step of the job, which returns the milliseconds until the next one. */
export function createTradeCheck(history: Checked, vote: ReceiptVote, clock: Clock) {
  let notedId = history.nextCheckedId()
  let readId = (notedId ?? 1) - 1
  let waiting: Waiting[] = []
  let askedMs = Number.NEGATIVE_INFINITY

  /** Reads some of the trades that were not read yet; returns true if there are more. */
  function read(nowMs: number): boolean {
    const lastId = history.lastTradeId()
    waiting = waiting.filter(({ timestampMs }) => timestampMs > nowMs - CHECKED_MS)
    if (readId >= lastId || waiting.length >= WAITING_MAX) return false
    const upToId = Math.min(readId + IDS_AT_ONCE, lastId)
    const query = { afterId: readId, upToId, sinceMs: nowMs - CHECKED_MS }
    for (const trade of history.uncheckedTrades(query))
      waiting.push({ ...trade, dueMs: trade.timestampMs + FIRST_MS })
    readId = upToId
    return readId < lastId
  }

  /** Some of the transactions that are due. */
  function dueAt(nowMs: number): Set<string> {
    const due = new Set<string>()
    for (const { dueMs, transactionHash } of waiting)
      if (dueMs <= nowMs && due.size < BATCH) due.add(transactionHash)
    return due
  }

  const firstOf = (trades: readonly Waiting[]): number =>
    trades.reduce((least, { id }) => Math.min(least, id), readId + 1)

  async function note(receipts: readonly TradeReceipt[], nextId: number): Promise<void> {
    await history.putReceipts(receipts, nextId)
    notedId = nextId
  }

  /** Asks for transactions, and stores the receipts that are agreed on. */
  async function ask(hashes: ReadonlySet<string>): Promise<void> {
    const decided = await vote.ask([...hashes])
    const nowMs = clock()
    const receipts: TradeReceipt[] = []
    const rest: Waiting[] = []
    for (const trade of waiting) {
      const isSuccess = decided.get(trade.transactionHash)
      if (isSuccess !== undefined) receipts.push({ tradeId: trade.id, isSuccess })
      else if (!hashes.has(trade.transactionHash)) rest.push(trade)
      else rest.push({ ...trade, dueMs: nextMs(trade, nowMs) })
    }
    if (receipts.length > 0) await note(receipts, firstOf(rest))
    waiting = rest
  }

  return async function step(): Promise<number> {
    const nowMs = clock()
    const hasMore = read(nowMs)
    const nextId = firstOf(waiting)
    if (notedId === undefined || nextId - notedId > UNNOTED_IDS_MAX) await note([], nextId)
    const due = dueAt(nowMs)
    const restMs = vote.restMs()
    const pauseMs = due.size < BATCH ? PAUSE_MS.asking : PAUSE_MS.full
    if (due.size > 0 && restMs === 0 && nowMs >= askedMs + pauseMs) {
      askedMs = nowMs
      await ask(due)
    }
    if (hasMore) return PAUSE_MS.reading
    return due.size > 0 ? Math.max(pauseMs, restMs) : PAUSE_MS.idle
  }
}

function nextMs({ timestampMs }: Waiting, nowMs: number): number {
  const halfAgeMs = (nowMs - timestampMs) / 2
  return nowMs + Math.min(AGAIN_MS.max, Math.max(AGAIN_MS.min, halfAgeMs))
}

/** The nodes of `BOOKFEED_TRADE_NODES`. None is asked before it is needed. */
export const openTradeNodes = ({
  config,
  printError,
}: Pick<CliContext, 'config' | 'printError'>) => {
  const log: Log = (line, ...more) => printError(`bookfeed: ${line}`, ...more)
  return config().tradeNodes.map((url) => createRpc({ chain: homeChain, url, log }))
}

/** Starts the job, unless no node is configured. Of servers that share the history, one does it. */
export function startTradeCheck(
  context: CliContext,
  history: Checked,
): AsyncDisposable | undefined {
  const nodes = openTradeNodes(context)
  if (nodes.length === 0) return undefined
  const { clock, printError } = context
  const vote = createReceiptVote(nodes, clock)
  const lock = jobLockFor(context, 'history', 'trade receipts')
  let step: (() => Promise<number>) | undefined
  const job = createJob(startTimer, async () => {
    try {
      if (lock !== undefined && !(await lock.take())) {
        step = undefined
        return LOCK_RETRY_MS
      }
      step ??= createTradeCheck(history, vote, clock)
      return await step()
    } catch (error) {
      printError(`bookfeed: trades cannot be checked on the chain: ${messageOf(error)}.`, 'error')
      return PAUSE_MS.failed
    }
  })
  job.hasten(0)
  return {
    async [Symbol.asyncDispose]() {
      await job.dispose()
      await lock?.give()
    },
  }
}
