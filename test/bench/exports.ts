import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { openHistory } from '#src/history/open.ts'
import { assert } from '#src/platform/assert.ts'

import { benchAuthorization } from './bench-key.ts'
import { type Delivery, type Download, download, receive } from './byte-reader.ts'
import { moveToLoadCore, onServerCore } from './cores.ts'
import { benchFolder, DAY, prepareDay } from './dataset.ts'
import { runLoad } from './load.ts'
import { median } from './measure.ts'
import { describeMachine, toFacts, toInteger } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

/**
 * `bun test/bench/exports.ts`: a simulated day as NDJSON, against `zcat`, in memory and beside
 * pages; and as Parquet and CSV.
 *
 *   --rounds <n>      interleaved rounds, 3 by default
 *   --only <text>     `speed`, `files`, `memory` or `pages`
 *
 * Servers and zcat have the first core, all clients the other.
 */
const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string', default: '' } },
})
const rounds = Number(flags.rounds)

const CLIENTS = 16
const exportPath = `/v1/btc/export?day=${DAY.date}`
const encodings = ['identity', 'gzip'] as const
type Encoding = (typeof encodings)[number]
/** What is made of columns, on a thread of its own. */
const files = {
  'Parquet states': `${exportPath}&format=parquet&shape=states&depth=25`,
  'Parquet levels': `${exportPath}&format=parquet`,
  'CSV states': `${exportPath}&format=csv&shape=states&depth=25`,
} as const
type Fact = readonly [string, string]

const PAGE_SECONDS = 5
/** Two wait for each other, which hides what exports add. */
const PAGE_CONNECTIONS = 1
const PAGES = 20_000
/** Until what the connections hold is full, and nothing more is made for clients that hang. */
const HANG_MS = 1_000
const SAMPLE_MS = 20

const day = await prepareDay({ isFresh: false })
const start = () => startServer({ command: bookfeed(day), readyPath: '/healthz' })

/** The day's text compressed as everybody does, made of our own export once. */
async function prepareZipped(): Promise<string> {
  const file = join(benchFolder, `day-${DAY.markets}.ndjson.gz`)
  if (existsSync(file)) return file
  const server = await start()
  const headers = { authorization: benchAuthorization, 'accept-encoding': 'identity' }
  const response = await fetch(server.origin + exportPath, { headers })
  const draft = `${file}.draft`
  const gzip = Bun.spawn(['gzip', '-6'], { stdin: response, stdout: Bun.file(draft) })
  if ((await gzip.exited) !== 0) throw new Error('gzip failed')
  await server.stop()
  renameSync(draft, file)
  return file
}

/** `zcat` of the day straight into a connection of its own. */
async function runZcat(file: string): Promise<Delivery> {
  const { port, ended } = receive()
  const script = `exec zcat '${file}' > /dev/tcp/127.0.0.1/${port}`
  const child = Bun.spawn(onServerCore(['bash', '-c', script]))
  const delivery = await ended
  if ((await child.exited) !== 0) throw new Error('zcat failed')
  return delivery
}

async function measureSpeed(): Promise<Fact[]> {
  const zipped = await prepareZipped()
  const times = new Map<string, number[]>([...encodings, 'zcat'].map((name) => [name, []]))
  const sizes = new Map<string, number>()
  const note = (name: string, { bytes, seconds }: Delivery) => {
    times.get(name)?.push(seconds)
    sizes.set(name, bytes)
  }
  for (let round = 0; round < rounds; round++) {
    note('zcat', await runZcat(zipped))
    for (const encoding of encodings) {
      const server = await start()
      // Once for the file's pages and the compiled code, as of a server that runs.
      await exportOnce(server, encoding)
      note(encoding, await exportOnce(server, encoding))
      await server.stop()
    }
  }
  // Of ours the head and the frames of chunks are in the bytes: some parts in a thousand.
  const textBytes = sizes.get('zcat') ?? Number.NaN
  const secondsOf = (name: string) => median(times.get(name) ?? [])
  const rate = (name: string) => `${toInteger(textBytes / secondsOf(name) / 1e6)} MB/s of text`
  const ratio = (name: string) => (secondsOf('zcat') / secondsOf(name)).toFixed(2)
  const rows = toInteger((DAY.markets * DAY.snapshotsPerMarket) / secondsOf('gzip'))
  const size = (name: string) => `${toInteger((sizes.get(name) ?? Number.NaN) / 1e6)} MB`
  return [
    [`zcat, ${size('zcat')}`, rate('zcat')],
    [`export, identity, ${size('identity')}`, `${rate('identity')}: ${ratio('identity')} × zcat`],
    [
      `export, gzip, ${size('gzip')}`,
      `${rows} snapshots/s, ${rate('gzip')}: ${ratio('gzip')} × zcat`,
    ],
    ['rounds, s', [...times].map(([name, all]) => `${name} ${all.map(toSeconds)}`).join('; ')],
  ]
}

/** With 25 levels of each side; what the server holds more than at rest, but for files. */
async function measureFiles(): Promise<Fact[]> {
  const facts: Fact[] = []
  for (const [name, path] of Object.entries(files)) {
    const server = await start()
    const before = server.anonBytes()
    let most = before
    const sample = () => {
      most = Math.max(most, server.anonBytes())
    }
    const timer = setInterval(sample, SAMPLE_MS)
    const { bytes, seconds } = await (await download(server.origin, path, 'identity')).ended
    clearInterval(timer)
    await server.stop()
    const rows = DAY.markets * DAY.snapshotsPerMarket
    const rate = `${toInteger(rows / seconds)} snapshots/s, ${toInteger(bytes / rows)} B each`
    facts.push([name, `${rate}, at most +${toInteger((most - before) / 1e6)} MB`])
  }
  return facts
}

const toSeconds = (value: number) => value.toFixed(2)

async function exportOnce(server: ServerProcess, encoding: Encoding): Promise<Delivery> {
  const { ended } = await download(server.origin, exportPath, encoding)
  return await ended
}

const exportToAll = (server: ServerProcess, encoding: Encoding): Promise<Download[]> =>
  Promise.all(Array.from({ length: CLIENTS }, () => download(server.origin, exportPath, encoding)))

type Memory = { before: number; during: number[] }

/**
 * What the server holds before and during, after two exports to warm up; the worst of all rounds.
 */
async function measureMemory(encoding: Encoding): Promise<Fact[]> {
  const kinds = ['rss', 'anon'] as const
  const samples: Record<(typeof kinds)[number], Memory[]> = { rss: [], anon: [] }
  for (let round = 0; round < rounds; round++) {
    const server = await start()
    await exportOnce(server, encoding)
    await exportOnce(server, encoding)
    const before = takeMemory(server)
    const during: (typeof before)[] = []
    const timer = setInterval(() => void during.push(takeMemory(server)), SAMPLE_MS)
    const all = await exportToAll(server, encoding)
    await Promise.all(all.map(({ ended }) => ended))
    clearInterval(timer)
    await server.stop()
    for (const kind of kinds) {
      samples[kind].push({ before: before[kind], during: during.map((each) => each[kind]) })
    }
  }
  return kinds.map((kind) => {
    const worst = (of: (memory: Memory) => number) =>
      toInteger(Math.max(...samples[kind].map(of)) / 1e6)
    const rise = worst(({ before, during }) => Math.max(...during) - before)
    const swing = worst(({ during }) => (Math.max(...during) - Math.min(...during)) / 2)
    const rest = toInteger(median(samples[kind].map(({ before }) => before)) / 1e6)
    return [
      `${CLIENTS} exports at once, ${encoding}, ${kind === 'rss' ? 'resident' : 'of that not of files'}`,
      `${rest} MB at rest, at most +${rise} MB with them, within ±${swing} MB while they run`,
    ]
  })
}

const takeMemory = (server: ServerProcess) => ({
  rss: server.rssBytes(),
  anon: server.anonBytes(),
})

/** Pages of 100 of the day from distinct moments on. */
async function drawPages(): Promise<string> {
  const history = openHistory(join(day.dataPath, 'history.db'))
  const markets = history.listMarkets({ coin: 'btc', limit: 500 })
  history.dispose()
  const paths = Array.from({ length: PAGES }, (_, index) => {
    const { conditionId, windowStartMs = 0 } = markets[(index * 97) % markets.length] ?? {}
    // Half a minute of the two that are recorded, in steps that no page repeats.
    const from = windowStartMs + Math.floor(index / markets.length) * 400
    return `/v1/btc/markets/${conditionId}/snapshots?from=${from}&limit=100`
  })
  const file = join(benchFolder, 'paths-day.txt')
  await Bun.write(file, `${paths.join('\n')}\n`)
  return file
}

async function measurePages(): Promise<Fact[]> {
  const pathsFile = await drawPages()
  const p99 = new Map<string, number[]>()
  const p50 = new Map<string, number[]>()
  for (let round = 0; round < rounds; round++) {
    for (const { name, ...beside } of besides) {
      const server = await start()
      await exportOnce(server, 'gzip')
      const load = {
        server,
        pathsFile,
        skip: 0,
        encoding: 'gzip',
        connections: PAGE_CONNECTIONS,
      } as const
      await runLoad({ ...load, seconds: 1 })
      const all = keepExporting(server, beside)
      await Bun.sleep(HANG_MS)
      const sample = await runLoad({ ...load, skip: PAGES / 2, seconds: PAGE_SECONDS })
      assert(sample.failures === 0, 'each page is answered')
      p99.set(name, [...(p99.get(name) ?? []), sample.p99Ms])
      p50.set(name, [...(p50.get(name) ?? []), sample.p50Ms])
      for (const one of all) one.stop()
      await server.stop()
    }
  }
  const alone = median(p99.get('alone') ?? [])
  return besides.map(({ name }) => {
    const own = median(p99.get(name) ?? [])
    return [
      `page of 100 ${name}`,
      `p50 ${median(p50.get(name) ?? []).toFixed(2)} ms, p99 ${own.toFixed(2)} ms: ${(own / alone).toFixed(1)} × alone (rounds: ${(p99.get(name) ?? []).map((each) => each.toFixed(1)).join(', ')})`,
    ]
  })
}

type Beside = { path?: string; encoding?: Encoding; isRead?: boolean }
const besides: readonly (Beside & { name: string })[] = [
  { name: 'alone' },
  { name: `beside ${CLIENTS} exports, gzip`, path: exportPath, encoding: 'gzip' },
  { name: `beside ${CLIENTS} exports, identity`, path: exportPath },
  { name: `beside ${CLIENTS} exports that nobody reads`, path: exportPath, isRead: false },
  ...Object.entries(files).map(([name, path]) => ({
    name: `beside ${CLIENTS} exports, ${name}`,
    path,
  })),
]

/**
 * Clients each of which begins again as soon as its export has ended, or
 * stops reading at its first bytes.
 */
function keepExporting(
  server: ServerProcess,
  { path, encoding = 'identity', isRead = true }: Beside,
) {
  if (path === undefined) return []
  return Array.from({ length: CLIENTS }, () => {
    let isStopped = false
    let current: Download | undefined
    const go = async () => {
      while (!isStopped) {
        current = await download(server.origin, path, encoding)
        if (!isRead) current.pause()
        await current.ended
      }
    }
    const done = go().catch((error: unknown) => {
      if (!isStopped) throw error
    })
    return {
      done,
      stop() {
        isStopped = true
        current?.stop()
      },
    }
  })
}

async function main(): Promise<void> {
  moveToLoadCore()
  console.log(`${describeMachine()}. ${rounds} interleaved rounds, medians.\n`)
  const has = (name: string) => name.includes(flags.only)
  if (has('speed')) console.log(`${toFacts('exports, speed', await measureSpeed())}\n`)
  if (has('files')) console.log(`${toFacts('exports, files', await measureFiles())}\n`)
  if (has('memory')) {
    const facts = [...(await measureMemory('gzip')), ...(await measureMemory('identity'))]
    console.log(`${toFacts('exports, memory', facts)}\n`)
  }
  if (has('pages')) console.log(toFacts('pages beside exports', await measurePages()))
}

await main()
