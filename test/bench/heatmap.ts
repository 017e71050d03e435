import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { addHeatMarket, START_MS, WINDOW_MS } from './heat-market.ts'
import { median } from './measure.ts'
import { describeMachine } from './report.ts'

/**
 * `bun test/bench/heatmap.ts`: the heat map of a complete market of 5 minutes, 3,500 states of 99
 * levels each, through the whole application in one process. Made anew each time, by a cursor of
 * time that differs; with every chunk read from the file before, and without.
 */
const ROUNDS = 40

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-heatmap-'))
const history = openHistory(join(folder, 'history.db'))
const conditionId = await addHeatMarket(history)
const { send, closePool } = createHarness({ history, timer: () => performance.now() })
const path = `/v1/btc/markets/${conditionId}/heatmap`

/** The processor time is of all threads, so of compressing too. */
type Sample = { ms: number; cpuMs: number; bytes: number }

async function time(agg: string, extra: string): Promise<Sample> {
  const startMs = performance.now()
  const before = process.cpuUsage()
  const answer = await send(`${path}?agg=${agg}${extra}`, {
    headers: { 'accept-encoding': 'gzip' },
  })
  const { length } = await answer.bytes()
  const { user, system } = process.cpuUsage(before)
  return { ms: performance.now() - startMs, cpuMs: (user + system) / 1000, bytes: length }
}

console.log(describeMachine())
for (const agg of ['max', 'last', 'time-weighted', 'max&include=removed']) {
  const times: Sample[] = []
  for (let round = 0; round < ROUNDS; round++) {
    times.push(await time(agg, `&from=${START_MS}&to=${START_MS + WINDOW_MS + round}`))
  }
  const rest = times.slice(5)
  const worst = Math.max(...rest.map(({ ms }) => ms))
  console.log(
    `${agg}: median ${median(rest.map(({ ms }) => ms)).toFixed(1)} ms, ${median(rest.map(({ cpuMs }) => cpuMs)).toFixed(1)} ms of CPU, worst ${worst.toFixed(1)} ms, first ${times[0]?.ms.toFixed(1)} ms, ${times[0]?.bytes} bytes in gzip`,
  )
}
await closePool()
history.dispose()
rmSync(folder, { recursive: true })
