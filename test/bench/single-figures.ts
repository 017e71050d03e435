import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { benchAuthorization } from './bench-key.ts'
import { type Dataset, type OurData, prepareOurData, sizeBytes } from './dataset.ts'
import { compare, type Contestant, median, type Result, type Timing } from './measure.ts'
import { referenceNames, toInteger } from './report.ts'
import { drawPaths } from './request-paths.ts'
import { drawPages, growthScenario } from './scenarios.ts'
import { startServer } from './server-process.ts'
import { bookfeed, runBookfeed } from './servers.ts'
import { hasRecordedFiles, recordedFiles } from './snapshot-source.ts'

/** Figures that are no comparison of servers under load. */
type Fact = readonly [string, string]

const SMALL_SNAPSHOTS = 10_000
const START_ROUNDS = 7

/** Random pages over all rows of a small and of a large store, without the page cache. */
export async function measureGrowth(large: number, timing: Timing): Promise<Result[]> {
  const stores: Contestant[] = []
  for (const snapshots of [SMALL_SNAPSHOTS, large]) {
    const data = await prepareOurData(snapshots, { isFresh: false })
    stores.push({
      name: snapshots === SMALL_SNAPSHOTS ? referenceNames.small : `${toInteger(large)} snapshots`,
      encoding: 'gzip',
      server: { command: bookfeed(data, 'BOOKFEED_PAGE_CACHE_MB=0') },
      files: [data.dataPath],
      // The small store has fewer pages than are asked for, and nothing that keeps them.
      pages: { ...(await drawPages(data, growthScenario)), isRepeated: true },
    })
  }
  return await compare(stores, timing)
}

/** From starting the process to the first page of a market, and what its headers weigh. */
export async function measureStart(dataset: OurData): Promise<Fact[]> {
  const [readyPath = ''] = drawPaths(dataset, { limit: 100, count: 1, seed: 7 })
  const starts: number[] = []
  let head = 0
  for (let round = 0; round < START_ROUNDS; round++) {
    const server = await startServer({ command: bookfeed(dataset), readyPath })
    starts.push(server.startMs)
    head = await measureHead(server.origin + readyPath)
    await server.stop()
  }
  return [
    ['cold start to the first page', `${toInteger(median(starts))} ms (median of ${START_ROUNDS})`],
    ['header of a page, status line included', `${head} bytes`],
  ]
}

/** Bytes on the wire before the body. */
async function measureHead(url: string): Promise<number> {
  const { hostname, port, pathname, search } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const ask = [
    `GET ${pathname}${search} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: ${benchAuthorization}`,
    'Accept-Encoding: gzip',
  ]
  let got = ''
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (opened) => void opened.write(`${ask.join('\r\n')}\r\n\r\n`),
      data(_, bytes) {
        got += Buffer.from(bytes).toString('latin1')
        const end = got.indexOf('\r\n\r\n')
        if (end !== -1) resolve(end + 4)
      },
      error: (_, error) => reject(error),
    },
  })
  const length = await promise
  socket.end()
  return length
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
