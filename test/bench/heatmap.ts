import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Snapshot } from '#src/core/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/lib/random.ts'

import { createHarness } from '../support/harness.ts'
import { conditionIdOf } from '../support/market-history.ts'
import { median } from './measure.ts'
import { describeMachine } from './report.ts'

/**
 * `bun test/bench/heatmap.ts`: the heat map of a complete market of 5 minutes, 3,500 states of 99
 * levels each, through the whole application in one process. Made anew each time, by a cursor of
 * time that differs; with every chunk read from the file before, and without.
 */
const STATES = 3_500
const TICKS = 99
const TICK = 10_000
const START_MS = Date.UTC(2026, 0, 1)
const WINDOW_MS = 300_000
const ROUNDS = 40
const CHANGES = 4
const SIZE_MAX = 5_000

const conditionId = conditionIdOf('a')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-heatmap-'))
const history = openHistory(join(folder, 'history.db'))

function* states(): Generator<Snapshot> {
  const { uniform: random } = createRandom('heatmap')
  const cents = () => Math.floor(random() * SIZE_MAX * 100) * 10_000
  const sizes = Array.from({ length: TICKS }, cents)
  let best = 50
  for (let index = 0; index < STATES; index++) {
    if (random() < 0.1) best = Math.min(90, Math.max(10, best + (random() < 0.5 ? 1 : -1)))
    for (let change = 0; change < CHANGES; change++) {
      sizes[Math.floor(random() * TICKS)] = cents()
    }
    const side = (ticks: number[]) => ({
      prices: ticks.map((tick) => tick * TICK),
      sizes: ticks.map((tick) => sizes[tick - 1] ?? 0),
    })
    const bids = Array.from({ length: best }, (_, at) => best - at)
    const asks = Array.from({ length: TICKS - best }, (_, at) => best + 1 + at)
    yield {
      ...{ coin: 'btc', conditionId, timeframe: '5m', assetId: '1', outcome: 'up' },
      timestampMs: START_MS + Math.floor((index * WINDOW_MS) / STATES),
      ...{ bids: side(bids), asks: side(asks) },
    }
  }
}

history.putMarket({
  ...{ conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' },
  ...{ windowStartMs: START_MS, windowEndMs: START_MS + WINDOW_MS },
})
history.append({ id: 'all', source: 'simulated', snapshots: [...states()] })
history.close(conditionId)

const { send } = createHarness({ history, timer: () => performance.now() })
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
for (const agg of ['max', 'last', 'time-weighted']) {
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
history.dispose()
rmSync(folder, { recursive: true })
