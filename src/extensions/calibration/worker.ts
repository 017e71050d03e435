/** Makes the tables once a day, on a low-priority thread. */

import { prepareStore, type StorePlace } from '#src/database/stores.ts'
import { coins, timeframes } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistoryAt } from '#src/history/open.ts'
import { readSource } from '#src/history/reads/market-pages.ts'
import { count } from '#src/platform/count.ts'
import { createReportedJob, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'
import { BACKGROUND, defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'
import type { CliContext } from '#src/server/extension.ts'
import { placeOf } from '#src/server/open-data-folder.ts'

import { createTableStore } from './store.ts'
import { makeTable } from './table.ts'

type Start = { place: StorePlace; dataPath: string; nowMs: number }
type Made = { tables: number; isStopped: boolean }

/** The delay after the start, which is busy enough. */
const FIRST_MS = 60_000
const RETRY_MS = 3_600_000
/** The longest uninterrupted work, and so the longest wait of a request to stop. */
const SLICE_MS = 20

/** Makes the tables daily, and soon after the start if the existing ones are a day old. */
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
      const place = placeOf(context, 'history')
      thread = calibrationWorker.start({ place, dataPath, nowMs: clock() })
      const { tables, isStopped } = await thread.result
      const outcome = `${count(tables, 'table')} made${isStopped ? ' before the stop' : ''}.`
      return { outcome, waitMs: DAY_MS }
    } catch (error) {
      const outcome = messageOf(error)
      printError(`bookfeed: the calibration cannot be computed: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: RETRY_MS }
    } finally {
      thread = undefined
    }
  })
  const madeMs = createTableStore(config().dataPath).oldestMs() ?? 0
  job.hasten(Math.max(firstMs, madeMs + DAY_MS - clock()))
  return {
    async dispose(): Promise<void> {
      // The tables of one coin are written together; the next process computes the remaining ones.
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
        // Lets messages arrive.
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
  { name: 'calibration', purpose: 'computes the calibration', nice: BACKGROUND },
  async (start: Start, parent: Parent<never, 'stop'>) => {
    await prepareStore()
    // Rejects if the copy of the database is not current.
    const history = await openHistoryAt(start.place, { chunkCacheBytes: 0 })
    try {
      return await makeTables(history, start, parent)
    } finally {
      history.dispose()
    }
  },
)
