import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'
import { storeSimulation } from '#src/simulator/simulator.ts'

import { asRecorded } from '../support/as-recorded.ts'
import { addBenchKey } from './bench-key.ts'
import { buildHistory } from './our-history.ts'
import { createPlainDatabase } from './plain-database.ts'
import { runBookfeed } from './servers.ts'
import { hasRecordedFiles, readSnapshots } from './snapshot-source.ts'

/** Snapshots in a data folder of ours, which is what BOOKFEED_DATA is set to. */
export type OurData = { snapshots: number; dataPath: string }

/** The same snapshots in the plain file of the baselines too. */
export type Dataset = OurData & { plainFile: string }

/** Outside of the checkout: a million snapshots are 4 GB as plain rows. */
export const benchFolder = join(tmpdir(), 'bookfeed-bench')

const sourceName = hasRecordedFiles ? 'mirrored' : 'simulated'

/** What the figures were measured on, for the heading of the report. */
export const sourceTitle = hasRecordedFiles
  ? 'two recorded days, of every market also the other outcome (the mirror of the recorded one), repeated under other names'
  : 'simulated books (../shared/data is absent)'

type Fresh = { isFresh: boolean }

/** Builds what is not there yet from an earlier run; `isFresh` builds our side again. */
export async function prepareDataset(snapshots: number, fresh: Fresh): Promise<Dataset> {
  const ours = await prepareOurData(snapshots, fresh)
  const plainFile = join(benchFolder, `${sourceName}-${snapshots}.db`)
  await buildOnce(plainFile, (path) => buildPlain(path, snapshots))
  return { ...ours, plainFile }
}

/** Our side alone: five million plain rows would be 21 GB. */
export async function prepareOurData(snapshots: number, { isFresh }: Fresh): Promise<OurData> {
  const dataPath = join(benchFolder, `${sourceName}-${snapshots}-data`)
  mkdirSync(benchFolder, { recursive: true })
  if (isFresh) rmSync(dataPath, { recursive: true, force: true })
  await buildOnce(dataPath, (path) => buildHistory(path, readSnapshots(snapshots)))
  await addBenchKey(dataPath)
  return { snapshots, dataPath }
}

/**
 * The day that is simulated for what reads whole days: about a million snapshots of both outcomes.
 */
export const DAY = {
  date: '2026-04-13',
  startMs: Date.UTC(2026, 3, 13),
  lengthMs: 86_400_000,
  markets: 288,
  snapshotsPerMarket: 3_472,
} as const

export type DayDataset = Pick<OurData, 'dataPath'>

/** Makes the day unless it is there; `isFresh` makes it again. */
export async function prepareDay({ isFresh }: Fresh): Promise<DayDataset> {
  const dataPath = join(benchFolder, `day-${DAY.markets}-data`)
  mkdirSync(benchFolder, { recursive: true })
  if (isFresh) rmSync(dataPath, { recursive: true, force: true })
  await buildOnce(dataPath, async (draft) => {
    mkdirSync(draft, { recursive: true })
    const history = openHistory(join(draft, 'history.db'))
    const { markets, snapshotsPerMarket: maxSnapshotsPerMarket, startMs } = DAY
    const which = { seed: '1', coins: ['btc'], timeframes: ['5m'], startMs } as const
    // Exports mark what is simulated, which takes time that recorded books do not take.
    const filling = storeSimulation(asRecorded(history), {
      ...which,
      markets,
      maxSnapshotsPerMarket,
    })
    while (!(await filling.next()).done);
    history.dispose()
  })
  await addBenchKey(dataPath)
  return { dataPath }
}

/** Many short markets and a long one, for what harms others. */
const HARM_TRADES = 30_000

/** The simulator has no trades: ten a second, through the hour of a market. */
async function addTrades(dataPath: string): Promise<void> {
  const history = openHistory(join(dataPath, 'history.db'))
  const [market] = history.listMarkets({ coin: 'btc', timeframe: '1h', limit: 1 })
  const { conditionId = '', windowStartMs = 0 } = market ?? {}
  const trades = Array.from({ length: HARM_TRADES }, (_, at): Trade => ({
    timestampMs: windowStartMs + at * 100,
    price: 500_000 + (at % 100) * 1000,
    outcome: at % 2 === 0 ? 'up' : 'down',
    size: 1_000_000 + at * 1000,
    side: at % 3 === 0 ? 'sell' : 'buy',
  }))
  await history.putTrades({ id: 'harm', conditionId, trades })
  history.dispose()
}

export async function prepareHarm(): Promise<string> {
  const dataPath = join(benchFolder, 'harm-data-2')
  mkdirSync(benchFolder, { recursive: true })
  await buildOnce(dataPath, async (draft) => {
    const btc = ['simulate', '--coins', 'btc', '--start', DAY.date]
    const short = ['--timeframes', '5m', '--markets', '1050', '--max-snapshots', '300']
    await runBookfeed(draft, [...btc, ...short])
    await runBookfeed(draft, [...btc, '--timeframes', '1h', '--markets', '2'])
    await addTrades(draft)
  })
  return dataPath
}

/** Size of a file, or of all files in a folder. */
export function sizeBytes(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size
  return readdirSync(path).reduce((sum, name) => sum + sizeBytes(join(path, name)), 0)
}

/** An interrupted build leaves nothing that a later run would take for a whole one. */
async function buildOnce(path: string, build: (draft: string) => Promise<void>): Promise<void> {
  if (existsSync(path)) return
  const draft = `${path}.draft`
  rmSync(draft, { recursive: true, force: true })
  const startedAt = performance.now()
  await build(draft)
  renameSync(draft, path)
  console.error(`built ${path} in ${Math.round((performance.now() - startedAt) / 1000)} s`)
}

async function buildPlain(path: string, snapshots: number): Promise<void> {
  const plain = createPlainDatabase(path)
  for await (const batch of readSnapshots(snapshots)) plain.append(batch)
  plain.finish()
}
