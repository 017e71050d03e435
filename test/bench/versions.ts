/**
 * `bun test/bench/versions.ts --before <checkout>`: processor time of this version beside another
 * one, which is checked out and installed in a folder of its own. Requests go to a server of each
 * version in turn, in bursts, so that a slow moment of the machine hits both.
 *
 *   --before <path>   the checkout of the other version
 *   --only <text>     the lines whose names contain it: pages, `at`, exports, import, start
 *   --starts <n>      pairs of servers a line, 4 by default: a process can be fast or slow by chance
 *   --rounds <n>      rounds of bursts of each pair, 7 by default
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { assert } from '#src/platform/assert.ts'

import { benchAuthorization } from './bench-key.ts'
import { moveToLoadCore, onServerCore } from './cores.ts'
import { benchFolder, DAY, prepareDay, prepareOurData } from './dataset.ts'
import { median } from './measure.ts'
import { describeMachine } from './report.ts'
import { drawMoments, drawPaths } from './request-paths.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { recordedFiles } from './snapshot-source.ts'

const { values: flags } = parseArgs({
  options: {
    before: { type: 'string' },
    only: { type: 'string', default: '' },
    starts: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '7' },
  },
})
if (flags.before === undefined) throw new Error('--before names the checkout to compare with.')
const [starts, rounds] = [Number(flags.starts), Number(flags.rounds)]

const SNAPSHOTS = 300_000
const CONNECTIONS = 8
const IMPORTED_LINES = 60_000

/** A checkout, and the folder with the data that it made for itself. */
type Version = { checkout: string; folder: string }
const now: Version = { checkout: join(import.meta.dir, '../..'), folder: benchFolder }
const before: Version = {
  checkout: resolve(flags.before),
  folder: join(benchFolder, `before-${Bun.hash(resolve(flags.before)).toString(36)}`),
}
const versions = [before, now] as const

type Line = {
  name: string
  data: 'snapshots' | 'day'
  encoding: 'gzip' | 'identity'
  /** Requests of a burst, and of the warm-up. */
  burst: number
  bursts: number
  warmUp: number
  /** Endless: the path of each request. */
  paths: () => Iterator<string>
}

function* forever(paths: readonly string[]): Generator<string> {
  for (let at = 0; ; at++) yield paths[at % paths.length] ?? ''
}

/** Throws at the end of the paths, so that none is requested twice. */
function* once(paths: readonly string[]): Generator<string> {
  yield* paths
  throw new Error('The data have too few pages.')
}

async function listLines(): Promise<Line[]> {
  const data = await prepareOurData(SNAPSHOTS, { isFresh: false })
  const pages = (limit: number, count: number) => drawPaths(data, { limit, count, seed: limit })
  const moments = drawMoments(data, { count: 100_000, seed: 5 }).map(
    ({ conditionId, outcome, timestampMs }) =>
      `/v1/btc/markets/${conditionId}/snapshots/at?ts=${timestampMs}&outcome=${outcome}`,
  )
  const small = { data: 'snapshots', encoding: 'gzip', burst: 200, bursts: 8 } as const
  const large = { data: 'day', burst: 1, bursts: 1, warmUp: 2 } as const
  const exported = [`/v1/btc/export?day=${DAY.date}`]
  return [
    {
      ...small,
      name: 'page of 100, uncached',
      warmUp: 15_000,
      paths: () => once(pages(100, 200_000)),
    },
    {
      ...small,
      name: 'page of 1000, uncached',
      warmUp: 20_000,
      paths: () => once(pages(1000, 200_000)),
    },
    {
      ...small,
      name: 'page of 100, cached',
      warmUp: 20_000,
      paths: () => forever(pages(100, 500)),
    },
    {
      ...small,
      name: 'page of 1000, cached',
      warmUp: 20_000,
      paths: () => forever(pages(1000, 500)),
    },
    { ...small, name: 'at', warmUp: 15_000, paths: () => once(moments) },
    { ...large, name: 'export of a day, gzip', encoding: 'gzip', paths: () => forever(exported) },
    {
      ...large,
      name: 'export of a day, text',
      encoding: 'identity',
      paths: () => forever(exported),
    },
  ]
}

/** Processor time of all threads in nanoseconds; `/proc/PID/stat` has steps of ten milliseconds. */
function cpuNsOf(pid: number): number {
  let ns = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
      ns += Number(text.split(' ')[0])
    } catch {
      // It has ended.
    }
  }
  return ns
}

async function requestAll(
  server: ServerProcess,
  line: Line,
  paths: Iterator<string>,
  count: number,
) {
  const headers = { authorization: benchAuthorization, 'accept-encoding': line.encoding }
  let left = count
  async function request(): Promise<void> {
    while (left-- > 0) {
      const { value } = paths.next()
      const response = await fetch(server.origin + value, { headers, decompress: false })
      assert(response.status === 200, `${value}: ${response.status}`)
      for await (const _ of response.body ?? []);
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONNECTIONS, count) }, request))
}

/** The bench's own data of a version: each makes its files itself. */
async function prepare({ checkout, folder }: Version, data: Line['data']): Promise<string> {
  if (folder === benchFolder) {
    return data === 'day'
      ? (await prepareDay({ isFresh: false })).dataPath
      : (await prepareOurData(SNAPSHOTS, { isFresh: false })).dataPath
  }
  const made =
    data === 'day'
      ? 'prepareDay({ isFresh: false })'
      : `prepareOurData(${SNAPSHOTS}, { isFresh: false })`
  const script = `const { prepareDay, prepareOurData } = await import('${checkout}/test/bench/dataset.ts'); console.log((await ${made}).dataPath)`
  mkdirSync(folder, { recursive: true })
  const command = ['env', `TMPDIR=${folder}`, process.execPath, '--eval', script]
  const child = Bun.spawn(command, { cwd: checkout, stderr: 'inherit' })
  return (await new Response(child.stdout).text()).trim()
}

/** What `bun run start` of the version sets for the runtime. */
async function readRuntime({ checkout }: Version): Promise<string[]> {
  const { scripts } = await Bun.file(join(checkout, 'package.json')).json()
  return String(scripts.start).match(/\b[A-Z]\w*=\S+/g) ?? []
}

async function start(version: Version, data: Line['data']): Promise<ServerProcess> {
  const dataPath = await prepare(version, data)
  const settings = [`BOOKFEED_DATA=${dataPath}`, 'BOOKFEED_RECORD=off', 'BOOKFEED_SAMPLE=off']
  const runtime = await readRuntime(version)
  const command = (port: number) => [
    'env',
    ...settings,
    ...runtime,
    `BOOKFEED_PORT=${port}`,
    process.execPath,
    join(version.checkout, 'src/main.ts'),
    'serve',
  ]
  return await startServer({ command, readyPath: '/healthz' })
}

type Figure = { before: number; now: number }

async function measureRequests(line: Line): Promise<Figure[]> {
  const figures: Figure[] = []
  for (let pair = 0; pair < starts; pair++) {
    const servers: { server: ServerProcess; paths: Iterator<string> }[] = []
    // The server that is started second is slower, whichever version it is.
    for (const [at, version] of pair % 2 === 0
      ? versions.entries()
      : [...versions.entries()].reverse()) {
      const server = await start(version, line.data)
      const paths = line.paths()
      await requestAll(server, line, paths, line.warmUp)
      servers[at] = { server, paths }
    }
    for (let round = 0; round < rounds; round++) {
      const spent = [0, 0]
      for (let burst = 0; burst < line.bursts; burst++) {
        for (const at of burst % 2 === 0 ? [0, 1] : [1, 0]) {
          const { server, paths } = servers[at] as (typeof servers)[number]
          const startNs = cpuNsOf(server.pid)
          await requestAll(server, line, paths, line.burst)
          spent[at] = (spent[at] ?? 0) + cpuNsOf(server.pid) - startNs
        }
      }
      const [ofBefore = 0, ofNow = 0] = spent.map((ns) => ns / 1000 / line.bursts / line.burst)
      figures.push({ before: ofBefore, now: ofNow })
    }
    for (const { server } of servers) await server.stop()
  }
  return figures
}

/** The first lines of the recorded days, as text. */
async function prepareLines(): Promise<string> {
  const file = join(benchFolder, `lines-${IMPORTED_LINES}.jsonl`)
  if (existsSync(file)) return file
  const lines: string[] = []
  for (const recorded of recordedFiles) {
    const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(recorded).bytes()))
    lines.push(...text.split('\n').slice(0, IMPORTED_LINES - lines.length))
  }
  await Bun.write(file, `${lines.join('\n')}\n`)
  return file
}

/** Processor time of a whole process, start included. */
async function importOnce({ checkout }: Version, file: string): Promise<number> {
  const dataPath = mkdtempSync(join(tmpdir(), 'bookfeed-import-'))
  const program = [process.execPath, join(checkout, 'src/main.ts'), 'import', file]
  const child = Bun.spawn(onServerCore(['env', `BOOKFEED_DATA=${dataPath}`, ...program]), {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  assert((await child.exited) === 0, 'the import succeeds')
  rmSync(dataPath, { recursive: true })
  return Number(child.resourceUsage()?.cpuTime.total ?? Number.NaN)
}

async function measureImports(): Promise<Figure[]> {
  const file = await prepareLines()
  const figures: Figure[] = []
  for (let round = 0; round < rounds; round++) {
    const figure = { before: 0, now: 0 }
    for (const version of round % 2 === 0 ? versions : versions.toReversed())
      figure[version === now ? 'now' : 'before'] = (await importOnce(version, file)) / 1000
    figures.push(figure)
  }
  return figures
}

async function measureStarts(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (let round = 0; round < rounds; round++) {
    const figure = { before: 0, now: 0 }
    for (const version of round % 2 === 0 ? versions : versions.toReversed()) {
      const server = await start(version, 'snapshots')
      figure[version === now ? 'now' : 'before'] = server.startMs
      await server.stop()
    }
    figures.push(figure)
  }
  return figures
}

function print(name: string, unit: string, figures: readonly Figure[]): void {
  const digits = unit === 'µs' ? 1 : 0
  const shares = figures.map((figure) => (figure.now / figure.before - 1) * 100)
  const of = (version: keyof Figure) =>
    median(figures.map((figure) => figure[version])).toFixed(digits)
  const signed = (share = Number.NaN) => `${share < 0 ? '−' : '+'}${Math.abs(share).toFixed(1)}`
  const sorted = shares.toSorted((a, b) => a - b)
  const [low, high] = [0.25, 0.75].map((share) => sorted[Math.floor(share * sorted.length)])
  const spread = `${signed(low)} to ${signed(high)}`
  console.log(
    `| ${name}, ${unit} | ${of('before')} | ${of('now')} | ${signed(median(shares))} % | ${spread} |`,
  )
}

moveToLoadCore()
console.log(`${describeMachine()}. Medians; the last column has half of the rounds.\n`)
console.log('| processor time | before | now | change | rounds |\n|---|--:|--:|--:|--:|')
const isWanted = (name: string) => name.includes(flags.only)
for (const line of await listLines()) {
  if (isWanted(line.name)) print(line.name, 'µs', await measureRequests(line))
}
const imported = `import of ${IMPORTED_LINES} lines`
if (isWanted(imported)) print(imported, 'ms', await measureImports())
const started = 'start to /healthz (time)'
if (isWanted(started)) print(started, 'ms', await measureStarts())
