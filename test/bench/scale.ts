/**
 * `bun test/bench/scale.ts`: books on PostgreSQL with a synchronous standby beside the same in a
 * file: what is written a second, how late a row of another process comes to a subscriber, pages,
 * and two servers beside one. Prints Markdown; progress goes to standard error.
 *
 *   --rounds <n>     3 by default; --seconds <n> of a round of pages, 5 by default
 *   --snapshots <n>  100000 by default
 *   --rows <n>       rows that are followed, 1000 by default
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Snapshot } from '#src/domain/snapshot.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { copyBooks } from '../support/copied-stores.ts'
import { type Postgres, startPostgres } from '../support/engines/postgres.ts'
import { openHistoryIn } from '../support/stores.ts'
import { addBenchKey, benchAuthorization } from './bench-key.ts'
import { benchFolder, type OurData, prepareOurData, sourceTitle } from './dataset.ts'
import { assertTools, CONNECTIONS, rateOf, runLoad } from './load.ts'
import { compare, type Contestant, median } from './measure.ts'
import { describeMachine, toFacts, toInteger, toTable } from './report.ts'
import { drawPages, type Pages, toScenario } from './scenarios.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed, type Command, hello } from './servers.ts'
import { readSnapshots } from './snapshot-source.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    snapshots: { type: 'string', default: '100000' },
    rows: { type: 'string', default: '1000' },
  },
})
const timing = { rounds: Number(flags.rounds), seconds: Number(flags.seconds), warmUpSeconds: 2 }
const [snapshots, followedRows] = [Number(flags.snapshots), Number(flags.rows)]
/** Rows that are appended in a round, and in a transaction of a recorder and of an import. */
const APPENDED = 20_000
const TRANSACTION_ROWS = [500, 2000]
const FOLLOWED_WARM_UP = 100
const FOLLOWED_EVERY_MS = 10
const MARKET_MS = 3_600_000
const SHARE_OF_CORE = 0.5

type Fact = readonly [string, string]
const progress = (line: string): void => console.error(line)

/** Rows a second, and microseconds of CPU of the process that writes one. */
async function append(place: string, rows: readonly Snapshot[], atOnce: number) {
  const history = await openHistoryIn(place)
  const startedAt = performance.now()
  const before = process.cpuUsage()
  for (let from = 0; from < rows.length; from += atOnce) {
    const batch = rows.slice(from, from + atOnce)
    await history.append({ id: `bench-${from}`, source: 'recorded', snapshots: batch })
  }
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage(before)
  history.dispose()
  return { rate: rows.length / seconds, cpuUs: (user + system) / rows.length }
}

async function measureAppend({ url }: Postgres): Promise<Fact[]> {
  const rows: Snapshot[] = []
  for await (const batch of readSnapshots(APPENDED)) rows.push(...batch)
  const file = join(benchFolder, 'scale-append.db')
  const ways = {
    'a file': () => file,
    PostgreSQL: (round: number, atOnce: number) => `${url}?schema=append_${round}_${atOnce}`,
  }
  const found = TRANSACTION_ROWS.flatMap((atOnce) =>
    Object.entries(ways).map(([name, placeOf]) => ({
      name,
      atOnce,
      placeOf,
      samples: [] as Awaited<ReturnType<typeof append>>[],
    })),
  )
  // The first round warms up.
  for (let round = 0; round <= timing.rounds; round++)
    for (const { placeOf, atOnce, samples } of found) {
      for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
      const sample = await append(placeOf(round, atOnce), rows, atOnce)
      if (round > 0) samples.push(sample)
    }
  return found.map(({ name, atOnce, samples }) => [
    `appended to ${name}, ${atOnce} rows a transaction`,
    `${toInteger(median(samples.map(({ rate }) => rate)))} rows a second, ${toInteger(median(samples.map(({ cpuUs }) => cpuUs)))} µs of CPU of the writer a row`,
  ])
}

/** From the commit of this process to the row on a socket of a server. */
async function measureRow(place: string, server: ServerProcess): Promise<Fact[]> {
  const history = await openHistoryIn(place)
  const conditionId = conditionIdOf(1)
  const startMs = Date.now()
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '1h',
    source: 'recorded',
    windowStartMs: startMs,
    windowEndMs: startMs + MARKET_MS,
  })
  const committed: number[] = []
  const times: number[] = []
  const all = Promise.withResolvers<void>()
  const socket = new WebSocket(`${server.origin.replace('http', 'ws')}/v1/stream`, {
    headers: { authorization: benchAuthorization },
  })
  const subscribed = Promise.withResolvers<void>()
  socket.onopen = () =>
    socket.send(
      JSON.stringify({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc', conditionId }),
    )
  socket.onerror = () => all.reject(new Error('The stream failed.'))
  socket.onmessage = ({ data }) => {
    const nowMs = performance.now()
    const { type, data: row } = JSON.parse(String(data))
    if (type === 'subscribed') subscribed.resolve()
    if (type !== 'row') return
    const number = Math.round(row.bidSize * 100) - 1
    if (number >= FOLLOWED_WARM_UP) times.push(nowMs - (committed[number] ?? nowMs))
    if (number === FOLLOWED_WARM_UP + followedRows - 1) all.resolve()
  }
  await subscribed.promise
  for (let row = 0; row < followedRows + FOLLOWED_WARM_UP; row++) {
    const snapshot = aSnapshot(
      { conditionId, timeframe: '1h', timestampMs: startMs + row },
      (row + 1) * 10_000,
    )
    await history.append({ id: `row-${row}`, source: 'recorded', snapshots: [snapshot] })
    committed.push(performance.now())
    await Bun.sleep(FOLLOWED_EVERY_MS)
  }
  await all.promise
  socket.close()
  history.dispose()
  if (times.length !== followedRows) throw new Error(`There were ${times.length} rows.`)
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`
  return [
    [
      'commit of another process to the row on a socket: p50, p99, longest',
      `${at(0.5)}, ${at(0.99)}, ${at(1 - 1e-9)}`,
    ],
  ]
}

type Place = { name: string; command: (...settings: string[]) => Command; files: string[] }

/** The same pages from both, in each of three states of memory. */
async function measurePages(ours: OurData, places: readonly Place[]): Promise<void> {
  const scenarios = [
    { title: 'page of 100, served before', isRepeated: true, settings: [] },
    {
      title: 'page of 100, chunks in memory',
      isRepeated: true,
      settings: ['BOOKFEED_PAGE_CACHE_MB=0'],
    },
    {
      title: 'page of 100, nothing in memory',
      isRepeated: false,
      settings: ['BOOKFEED_PAGE_CACHE_MB=0', 'BOOKFEED_CHUNK_CACHE_MB=0'],
    },
  ]
  for (const { title, isRepeated, settings } of scenarios) {
    progress(`measuring: ${title}`)
    const pages = await drawScaled(ours, isRepeated)
    const contestants = places.map(({ name, command, files }): Contestant => ({
      name,
      pages,
      files,
      encoding: 'gzip',
      server: { command: command(...settings) },
    }))
    const results = await compare(contestants, timing)
    console.log(`${toTable(title, results)}\n`)
    const [file, postgres] = results.map(({ sample }) => sample)
    const ratio = (postgres?.requestsPerSecond ?? 0) / (file?.requestsPerSecond ?? 0)
    console.log(`PostgreSQL of the file: ${ratio.toFixed(2)}\n`)
  }
}

const drawScaled = (ours: OurData, isRepeated: boolean): Promise<Pages> =>
  drawPages(ours, toScenario('scaled', { limit: 100, isRepeated }, isRepeated ? 31 : 32))

/**
 * One server, and two on cores of their own, each with its load on the same core. A server may use
 * half of its core, so that its load, PostgreSQL and the system need not wait for it, nor it for
 * them. Two that only greet say what the machine gives to two of anything.
 */
async function measureTwo(
  ours: OurData,
  kinds: Readonly<Record<string, readonly Command[]>>,
): Promise<Fact[]> {
  const pages = await drawScaled(ours, true)
  const start = async (command: Command, core: number) => {
    const share = SHARE_OF_CORE
    const server = await startServer({ command, core, share, readyPath: '/healthz' })
    const load = { server, core, pathsFile: pages.pathsFile, skip: 0, encoding: 'gzip' } as const
    return { server, load: (seconds: number) => runLoad({ ...load, seconds }) }
  }
  const found = Object.entries(kinds).map(([name, commands]) => ({
    name,
    commands,
    rounds: [] as { one: number; two: number }[],
  }))
  for (let round = 0; round < timing.rounds; round++)
    for (const { commands, rounds } of found) {
      const servers = await Promise.all(commands.map(start))
      for (const { load } of servers) await load(timing.warmUpSeconds)
      const alone = await Promise.all(servers.slice(0, 1).map(({ load }) => load(timing.seconds)))
      const both = await Promise.all(servers.map(({ load }) => load(timing.seconds)))
      rounds.push({ one: rateOf(alone), two: rateOf(both) })
      for (const { server } of servers) await server.stop()
    }
  return found.map(({ name, rounds }) => {
    const [one, two] = [rounds.map((each) => each.one), rounds.map((each) => each.two)]
    const times = median(rounds.map((each) => each.two / each.one))
    return [
      `two of ${name}`,
      `${toInteger(median(two))} req/s, one ${toInteger(median(one))}: ${times.toFixed(2)} times`,
    ]
  })
}

/** Of the servers on PostgreSQL each has a data folder of its own, with the same key. */
async function dataFolderOf(name: string): Promise<string> {
  const folder = join(benchFolder, `scale-${name}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await addBenchKey(folder)
  return folder
}

async function main(): Promise<void> {
  assertTools()
  const ours = await prepareOurData(snapshots, { isFresh: false })
  await using postgres = await startPostgres({ isOnDisk: true })
  progress('copying')
  await copyBooks(join(ours.dataPath, 'history.db'), postgres.url)
  const onPostgres = async (name: string) => {
    const data = { dataPath: await dataFolderOf(name) }
    return (...settings: string[]) =>
      bookfeed(data, `BOOKFEED_HISTORY=${postgres.url}`, ...settings)
  }
  const first = await onPostgres('first')
  const second = await onPostgres('second')
  console.log(`${describeMachine()}.\n`)
  console.log(
    `${toInteger(snapshots)} snapshots: ${sourceTitle}. PostgreSQL and its standby run on any core; ${CONNECTIONS} connections; ${timing.rounds} interleaved rounds of ${timing.seconds} s, medians.\n`,
  )
  progress('measuring: rows')
  const facts = await measureAppend(postgres)
  const server = await startServer({ command: first(), readyPath: '/healthz' })
  facts.push(...(await measureRow(postgres.url, server)))
  await server.stop()
  console.log(`${toFacts('rows', facts)}\n`)
  await measurePages(ours, [
    {
      name: 'a file',
      command: (...settings) => bookfeed(ours, ...settings),
      files: [ours.dataPath],
    },
    { name: 'PostgreSQL', command: first, files: [] },
  ])
  progress('measuring: two servers')
  const servers = { ours: [first(), second()], 'a hello': [hello, hello] }
  console.log(toFacts('two servers, page of 100, served before', await measureTwo(ours, servers)))
}

await main()
