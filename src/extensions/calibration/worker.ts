/** Makes the tables once a day, on a thread that gives way to those that serve. */

import { prepareStore } from '#src/database/stores.ts'
import { coins, timeframes } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { readSource } from '#src/history/reads/market-pages.ts'
import { count } from '#src/platform/count.ts'
import { createReportedJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'
import type { CliContext } from '#src/server/extension.ts'
import { historyOf } from '#src/server/open-data-folder.ts'
import { startTimer } from '#src/server/server-jobs.ts'

import { createTableStore } from './store.ts'
import { makeTable } from './table.ts'

type Start = { path: string; dataPath: string; nowMs: number }
type Made = { tables: number; isStopped: boolean }

/** A start has enough to do without it. */
const FIRST_MS = 60_000
const RETRY_MS = 3_600_000
/** Work at one go; a request to stop waits that long. */
const SLICE_MS = 20

/** Makes the tables soon after the start if those that are there are a day old, and every day. */
export function startCalibration(
  context: CliContext,
  report?: JobReport,
  { firstMs = FIRST_MS } = {},
) {
  const { clock, config, printError } = context
  let thread: Thread<Made, 'stop'> | undefined
  const job = createReportedJob({ startTimer, clock, report }, async () => {
    try {
      const { dataPath } = config()
      thread = calibrationWorker.start({ path: historyOf(context), dataPath, nowMs: clock() })
      const { tables, isStopped } = await thread.result
      const outcome = `${count(tables, 'table')} made${isStopped ? ' before the stop' : ''}.`
      return { outcome, waitMs: DAY_MS }
    } catch (error) {
      const outcome = messageOf(error)
      printError(`bookfeed: the calibration cannot be counted: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: RETRY_MS }
    } finally {
      thread = undefined
    }
  })
  const madeMs = createTableStore(config().dataPath).oldestMs() ?? 0
  job.hasten(Math.max(firstMs, madeMs + DAY_MS - clock()))
  return {
    async dispose(): Promise<void> {
      // The tables of a coin are written whole: the next process makes the others.
      thread?.send('stop')
      await job.dispose()
    },
  }
}

async function makeTables(history: MarketHistory, start: Start, parent: Parent<never, 'stop'>) {
  const store = createTableStore(start.dataPath)
  const made: Made = { tables: 0, isStopped: false }
  void parent.receive(() => {
    made.isStopped = true
  })
  let endMs = performance.now() + SLICE_MS
  for (const coin of coins) {
    const source = readSource(history, coin, undefined) ?? history.sourcesOf(coin)[0]
    if (source === undefined) continue
    const tables = []
    for (const timeframe of timeframes) {
      const steps = makeTable(history, { coin, timeframe, source, nowMs: start.nowMs })
      let step = steps.next()
      for (; step.done !== true; step = steps.next()) {
        if (performance.now() < endMs) continue
        // Messages come in between.
        await Bun.sleep(0)
        if (made.isStopped) return made
        endMs = performance.now() + SLICE_MS
      }
      if (step.value !== undefined) tables.push(step.value)
    }
    store.write(coin, tables)
    made.tables += tables.length
  }
  return made
}

export const calibrationWorker = defineWorker(
  { name: 'calibration', purpose: 'counts the calibration', isLowPriority: true },
  async (start: Start, parent: Parent<never, 'stop'>) => {
    await prepareStore(start.path)
    const history = openHistory(start.path, { isReadOnly: true, chunkCacheBytes: 0 })
    try {
      return await makeTables(history, start, parent)
    } finally {
      history.dispose()
    }
  },
)
