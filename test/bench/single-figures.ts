import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { type Dataset, prepareDataset, sizeBytes } from './dataset.ts'
import { compare, type Contestant, median, type Result, type Timing } from './measure.ts'
import { toInteger } from './report.ts'
import { drawPaths } from './request-paths.ts'
import { drawPages } from './scenarios.ts'
import { startServer } from './server-process.ts'
import { bookfeed, plain, runBookfeed } from './servers.ts'
import { hasRecordedFiles, recordedFiles } from './snapshot-source.ts'

/** Figures that are no comparison of servers under load. */
type Fact = readonly [string, string]

const SMALL_SNAPSHOTS = 10_000
const START_ROUNDS = 7

/**
 * The same pages in a small and in a large history; the page cache is off, it would hide growth.
 */
export async function measureGrowth(large: Dataset, timing: Timing): Promise<Result[]> {
  const small = await prepareDataset(SMALL_SNAPSHOTS, { isFresh: false })
  const pages = await drawPages(small, {
    title: 'growth',
    // The small history is the beginning of the large one; its last market is cut off in it.
    query: { limit: 100, count: 500, withinFirst: SMALL_SNAPSHOTS / 2, seed: 6 },
    isRepeated: true,
    ceilingPages: 0,
  })
  const contestants = [small, large].flatMap((dataset): Contestant[] => [
    {
      name: `Bookfeed, ${toInteger(dataset.snapshots)} snapshots`,
      encoding: 'gzip',
      server: { command: bookfeed(dataset, 'BOOKFEED_PAGE_CACHE_MB=0') },
      files: [dataset.dataPath],
    },
    {
      name: `plain Elysia, ${toInteger(dataset.snapshots)} snapshots`,
      encoding: 'identity',
      server: { command: plain(dataset) },
      files: [dataset.plainFile],
    },
  ])
  return await compare(pages, contestants, timing)
}

/** From starting the process to the first page of a market. */
export async function measureStart(dataset: Dataset): Promise<Fact> {
  const [readyPath = ''] = drawPaths(dataset.plainFile, { limit: 100, count: 1, seed: 7 })
  const starts: number[] = []
  for (let round = 0; round < START_ROUNDS; round++) {
    const server = await startServer({ command: bookfeed(dataset), readyPath })
    starts.push(server.startMs)
    await server.stop()
  }
  return [
    'cold start to the first page',
    `${toInteger(median(starts))} ms (median of ${START_ROUNDS})`,
  ]
}

/** Disk space of both forms of the data. */
export function measureDisk({ snapshots, dataPath, plainFile }: Dataset): Fact[] {
  const perSnapshot = (bytes: number) => `${toInteger(bytes / snapshots)} bytes a snapshot`
  return [
    ['disk, Bookfeed', perSnapshot(sizeBytes(dataPath))],
    ['disk, plain rows and two indexes', perSnapshot(sizeBytes(plainFile))],
  ]
}

/** Imports the recorded files as they are, with the command that an operator uses. */
export async function measureImport(): Promise<Fact[]> {
  if (!hasRecordedFiles) return [['import', 'not measured: ../shared/data is absent']]
  const dataPath = mkdtempSync(join(tmpdir(), 'bookfeed-import-'))
  try {
    const startedAt = performance.now()
    await runBookfeed(dataPath, ['import', ...recordedFiles])
    // Until the process has ended, so that all of it is on disk in one file.
    const seconds = (performance.now() - startedAt) / 1000
    const snapshots = countSnapshots(dataPath)
    const perSnapshot = sizeBytes(dataPath) / snapshots
    return [
      [
        `import of both days (${toInteger(snapshots)})`,
        `${toInteger(snapshots / seconds)} snapshots/s`,
      ],
      ['disk after that import', `${toInteger(perSnapshot)} bytes a snapshot`],
    ]
  } finally {
    rmSync(dataPath, { recursive: true })
  }
}

function countSnapshots(dataPath: string): number {
  const history = openHistory(join(dataPath, 'history.db'))
  const { snapshots } = history.totals()
  history.dispose()
  return snapshots
}
