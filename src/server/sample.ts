/** The simulated sample of a server that has nothing recorded. */
import { mainCoins } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { every, type Job } from '#src/platform/job.ts'
import { sentenceOf } from '#src/platform/message.ts'
import { createModel } from '#src/simulator/model.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'
import { makeSample, makeSampleWindows } from '#src/simulator/sample.ts'

import { type CliContext, listFilesIn, type ServerExtension } from './extension.ts'
import { roomFault } from './room.ts'

/** Manifests are made one hour after their day, so yesterday may be too late. */
const DAYS_AGO = 2
const NOON_MS = DAY_MS / 2
/** Low, because the files of the day are made before the server listens. */
const STATES_PER_SECOND = 0.2

/**
 * Fills an empty history at the first start: the last windows of each coin, and one window of a day
 * that is over, with its manifest, citation and files. The day is skipped if the disk has no room.
 */
export async function fillSample(
  context: CliContext,
  history: MarketHistory,
  extensions: readonly ServerExtension[],
): Promise<void> {
  if (history.totals().markets > 0) return
  await makeSample(history, context)
  const { dataPath } = context.config()
  if (roomFault(context, dataPath) !== undefined) return
  const nowMs = context.clock()
  const dayMs = Math.floor(nowMs / DAY_MS - DAYS_AGO) * DAY_MS
  await makeSampleWindows(history, {
    coin: 'btc',
    count: 1,
    startMs: dayMs + NOON_MS,
    statesPerSecond: STATES_PER_SECOND,
  })
  const listFiles = await listFilesIn(dataPath, context.extensions)
  for (const { makeDays } of extensions)
    await makeDays?.(history, { dataPath, nowMs, coins: ['btc'], timeframes: ['5m'], listFiles })
}

/** How often the markets of the sample move. */
const SAMPLE_MS = 200

/** Moves the open markets of the sample until the first market is recorded. */
export function moveSample(context: CliContext, history: MarketHistory): Job {
  const { clock, printError, config } = context
  const model = createModel()
  const sample = mainCoins.map((coin) => createMovingMarket(history, coin, model))
  let step: NodeJS.Immediate | undefined
  let moving: Promise<void> | undefined
  let hasFailed = false

  async function moveAll(): Promise<void> {
    try {
      const fault = roomFault(context, config().dataPath)
      if (fault !== undefined) throw fault
      const nowMs = clock()
      const moved: Awaited<ReturnType<(typeof sample)[number]['tick']>>[] = []
      for (const { tick } of sample) moved.push(await tick(nowMs))
      if (moved.includes('behind')) step = setImmediate(move)
      if (moved.every((state) => state === 'over')) job.dispose()
      hasFailed = false
    } catch (error) {
      if (!hasFailed)
        printError(`bookfeed: the sample cannot be written: ${sentenceOf(error)}`, 'error')
      hasFailed = true
    }
  }
  function move(): void {
    moving ??= moveAll().finally(() => {
      moving = undefined
    })
  }
  const job = every(SAMPLE_MS, move, () => clearImmediate(step))
  return {
    async dispose() {
      job.dispose()
      await moving
      // The step that was running may have left another one.
      clearImmediate(step)
    },
  }
}
