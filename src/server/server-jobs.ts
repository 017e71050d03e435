/** What a server does repeatedly while it answers, in steps that no request waits for. */
import { setImmediate as othersTurn } from 'node:timers/promises'

import type { Billing } from '#src/billing/billing.ts'
import { type StoreName, storeNames } from '#src/database/stores.ts'
import { mainCoins } from '#src/domain/market.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { type Clock, DAY_MS, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'
import {
  createJob,
  createReportedJob,
  type Job,
  type JobLock,
  type JobReport,
  LOCK_RETRY_MS,
  type StartTimer,
  withJobLock,
} from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf, sentenceOf } from '#src/platform/message.ts'
import type { App, Reader } from '#src/server/app.ts'
import { createModel } from '#src/simulator/model.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'

import type { CliContext } from './extension.ts'
import { jobLockFor } from './open-data-folder.ts'
import { roomFault } from './room.ts'

/** What is being answered when a server stops has this long to end. */
export const DRAIN_MS_MAX = 10_000
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** Calls back once; returns how to cancel that. */
export const startTimer: StartTimer = (callback, delayMs) => {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}

export async function atMost(promise: Promise<void>, ms: number): Promise<void> {
  const deadline = Promise.withResolvers<void>()
  const cancel = startTimer(deadline.resolve, ms)
  await Promise.race([promise, deadline.promise])
  cancel()
}

/** Well below the ten seconds of usage that a killed process may lose. */
export const FLUSH_MS = 2 * SECOND_MS
/** The age of what is served is looked at so often. */
const AGE_MS = 200
/** In a row, before the operator hears of it. */
const FAILURES_REPORTED = 5

/** `failingMs`: for how long the ledger has not taken what was used; 0 while it does. */
export type UsageFlush = Job & { failingMs: () => number }

/**
 * Moves usage into the ledger every two seconds, and once more at the end. What the ledger does not
 * take stays in memory, and is written once by a later flush.
 */
export function startUsageFlush(
  { flushUsage }: Pick<App, 'flushUsage'>,
  { timer, say }: { timer: Clock; say: Log },
): UsageFlush {
  let failures = 0
  let failedMs: number | undefined

  function flush(): boolean {
    try {
      const hasMore = flushUsage()
      if (failures >= FAILURES_REPORTED) say('bookfeed: usage is written again')
      failures = 0
      failedMs = undefined
      return hasMore
    } catch (error) {
      // Another process may be writing.
      failedMs ??= timer()
      if (++failures === FAILURES_REPORTED)
        say(`bookfeed: usage cannot be written: ${sentenceOf(error)}`, 'error')
      return false
    }
  }
  async function flushAll(): Promise<number> {
    while (flush()) await othersTurn()
    return FLUSH_MS
  }
  const job = createJob(startTimer, flushAll)
  job.hasten(FLUSH_MS)
  return {
    failingMs: () => (failedMs === undefined ? 0 : timer() - failedMs),
    async dispose() {
      await job.dispose()
      await flushAll()
    },
  }
}

/** Accounts that never paid are kept this long without use. */
const IDLE_MS = 30 * DAY_MS
const FORGET_MS = 60 * MINUTE_MS
/** Looked at in one piece: a few milliseconds, also if all of them are forgotten. */
const ACCOUNTS_PER_STEP = 50

export function startForgetting(context: CliContext, ledger: Ledger, report?: JobReport): Job {
  const { clock, printError } = context
  const lock = jobLockFor(context, 'ledger', 'forgetting')
  let isDisposed = false
  const job = createReportedJob({ startTimer, clock, report, lock }, async () => {
    const nowMs = clock()
    const waitMs = FORGET_MS
    let deleted = 0
    try {
      let afterId: string | undefined = ''
      while (afterId !== undefined && !isDisposed) {
        const range = { afterId, limit: ACCOUNTS_PER_STEP, idleSinceMs: nowMs - IDLE_MS }
        const { nextId, forgotten } = ledger.forgetIdle(range, { actor: 'system', nowMs })
        deleted += forgotten.length
        afterId = nextId
        await othersTurn()
      }
      return { outcome: `${count(deleted, 'account')} deleted.`, waitMs }
    } catch (error) {
      printError(`bookfeed: idle accounts cannot be forgotten: ${messageOf(error)}.`, 'error')
      return { outcome: messageOf(error), isFailed: true, waitMs }
    }
  })
  job.hasten(0)
  return {
    dispose() {
      isDisposed = true
      return job.dispose()
    },
  }
}

/** Prints a line when what is served becomes stale, and one when it is current again. */
export function startAgeWatch(staleSince: StaleSince, say: Log): Job {
  const stale = new Set<StoreName>()
  function look(): void {
    for (const store of storeNames) {
      const sinceMs = staleSince(store)
      if (sinceMs !== undefined && !stale.has(store)) {
        stale.add(store)
        const since = toIso(sinceMs)
        say(`bookfeed: the ${store} is stale: nothing after ${since} is known`, 'warn')
      } else if (sinceMs === undefined && stale.delete(store))
        say(`bookfeed: the ${store} is current again`)
    }
  }
  return every(AGE_MS, look)
}

/** Writes the time down each minute: a clock that was set back shows at the next start. */
export function startTimeKeeping({ keep }: { keep: () => void }): Job {
  const tryKeep = (): void => {
    try {
      keep()
    } catch {
      // Another process writes, or the disk is full: the next try comes later.
    }
  }
  tryKeep()
  return every(MINUTE_MS, tryKeep, tryKeep)
}

/** What another process commits shows on live connections after so long. */
const STREAM_MS = 5

/** Hands on what is new to live connections; what is left of it, after requests that came in. */
export function startStream({ tick }: Pick<App | Reader, 'tick'>): Job & { wake: () => void } {
  let next: NodeJS.Immediate | undefined
  function step(): void {
    next = tick() ? setImmediate(step) : undefined
  }
  /** To be called after commits of this process. */
  function wake(): void {
    if (next === undefined) step()
  }
  return { ...every(STREAM_MS, wake, () => clearImmediate(next)), wake }
}

/** How often the markets of the sample move. */
const SAMPLE_MS = 200

/** Moves the open markets of the sample; those that are open when a market is recorded are the last. */
export function startSample(context: CliContext, history: MarketHistory): Job {
  const { clock, printError, config } = context
  const model = createModel()
  const sample = mainCoins.map((coin) => createMovingMarket(history, coin, model))
  let step: NodeJS.Immediate | undefined
  let hasFailed = false

  function move(): void {
    try {
      const fault = roomFault(context, config().dataPath)
      if (fault !== undefined) throw fault
      const nowMs = clock()
      const moved = sample.map(({ tick }) => tick(nowMs))
      if (moved.includes('behind')) step = setImmediate(move)
      if (moved.every((state) => state === 'over')) job.dispose()
      hasFailed = false
    } catch (error) {
      if (!hasFailed)
        printError(`bookfeed: the sample cannot be written: ${sentenceOf(error)}`, 'error')
      hasFailed = true
    }
  }
  const job = every(SAMPLE_MS, move, () => clearImmediate(step))
  return job
}

/** Does a step again and again, and `end` when it is disposed of. */
export function every(ms: number, step: () => void, end: () => void = () => undefined): Job {
  const timer = setInterval(step, ms)
  return {
    dispose() {
      clearInterval(timer)
      return end()
    },
  }
}

/** After a payment was submitted: soon, then later by half each time, up to the second. */
const RECONCILE_MS = { min: 2 * SECOND_MS, max: MINUTE_MS }
const GROWTH = 1.5
/** A check may fail by chance: purchases are paused only if this one fails, too. */
const RECHECK_MS = 10 * SECOND_MS

type Tools = { startTimer: StartTimer; log: Log }

/** Of several servers: each looks for itself whether it can sell. */
type BillingLocks = Partial<Record<'reconcile' | 'watch', JobLock | undefined>>

/** Begins what billing does by itself. `checked`: all was checked for the first time. */
export function startBillingJobs(
  billing: Pick<Billing, 'refresh' | 'sales' | 'reconcile' | 'watch' | 'onSubmitted'>,
  tools: Tools & {
    report?: { job: JobReport; clock: Clock } | undefined
    turns?: BillingLocks
  },
) {
  const { job: board, clock } = tools.report ?? {}
  const { reconcile, watch } = tools.turns ?? {}
  const { promise: checked, resolve } = Promise.withResolvers<void>()
  let delayMs = RECONCILE_MS.min
  const reconciling = repeat(async () => {
    board?.began()
    const open = await withJobLock(reconcile, billing.reconcile)
    if (open === undefined) {
      board?.ended('Another server does it now.', (clock?.() ?? 0) + delayMs)
      return delayMs
    }
    const isIdle = open === 0
    const nextMs = isIdle ? RECONCILE_MS.max : delayMs
    board?.ended(
      `${count(open, 'payment')} ${open === 1 ? 'is' : 'are'} not decided yet.`,
      (clock?.() ?? 0) + nextMs,
    )
    delayMs = isIdle ? RECONCILE_MS.min : Math.min(delayMs * GROWTH, RECONCILE_MS.max)
    return nextMs
  }, tools)
  billing.onSubmitted(() => {
    delayMs = RECONCILE_MS.min
    reconciling.hasten(delayMs)
  })
  const refreshing = repeat(async () => {
    await billing.refresh()
    resolve()
    // What fails is published within that time, and what works again too.
    return billing.sales().state === 'failing' ? RECHECK_MS : MINUTE_MS
  }, tools)
  const watching = repeat(async () => {
    const isDone = await withJobLock(watch, () => billing.watch().then(() => true))
    return isDone ? MINUTE_MS : LOCK_RETRY_MS
  }, tools)
  return {
    checked,
    /** Stops; resolves when nothing uses the ledger any more. */
    async dispose() {
      await Promise.all([reconciling, refreshing, watching].map((job) => job.dispose()))
    },
  }
}

/** Begins at once. */
function repeat(work: () => Promise<number>, { startTimer, log }: Tools) {
  const job = createJob(startTimer, () =>
    // The verbs promise not to reject; should one do so, payments must still be looked at.
    work().catch((error: unknown) => {
      log(`Billing failed: ${messageOf(error)}.`, 'error')
      return MINUTE_MS
    }),
  )
  job.hasten(0)
  return job
}
