/** A day of the sample that is over: a first start has its manifest, its citation and its files. */
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { makeSampleWindows } from '#src/simulator/sample.ts'

import type { ListFiles, ServerExtension } from './extension.ts'

/** A manifest waits for an hour after its day, so yesterday may be too late. */
const DAYS_AGO = 2
const NOON_MS = DAY_MS / 2
/** Few, because the files are made before the server listens. */
const STATES_PER_SECOND = 0.2

type Deps = {
  dataPath: string
  clock: Clock
  extensions: readonly ServerExtension[]
  listFiles: ListFiles
}

export async function makeSampleDay(
  history: MarketHistory,
  { dataPath, clock, extensions, listFiles }: Deps,
): Promise<void> {
  const nowMs = clock()
  const dayMs = Math.floor(nowMs / DAY_MS - DAYS_AGO) * DAY_MS
  makeSampleWindows(history, {
    coin: 'btc',
    count: 1,
    startMs: dayMs + NOON_MS,
    statesPerSecond: STATES_PER_SECOND,
  })
  for (const { makeDays } of extensions)
    await makeDays?.(history, { dataPath, nowMs, coins: ['btc'], timeframes: ['5m'], listFiles })
}
