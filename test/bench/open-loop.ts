/**
 * `bun test/bench/open-loop.ts`: how long a request takes at a fixed rate, timed from when it was due:
 * kept and never served pages, `at` and quotes, alone and beside long work of another account, and two
 * ceilings that send the same bytes of kept pages in the same run: a bare Bun server, and nginx with
 * files that are compressed already (`gzip_static`). Prints Markdown.
 *
 *   --rate <n>       requests a second, 500 by default
 *   --seconds <n>    of a round, 5 by default; --rounds <n>, 3 by default
 *   --snapshots <n>  100000 by default
 *
 * The server has one core and the client the other. `sent late` is the share of requests that the
 * client itself sent more than a millisecond late: on a quiet machine nearly none.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { hasNginx } from '../support/balancer.ts'
import { addBenchKey, authorizationOf, benchAuthorization } from './bench-key.ts'
import { onLoadCore } from './cores.ts'
import { benchFolder, type OurData, prepareOurData, sourceTitle } from './dataset.ts'
import { median } from './measure.ts'
import type { OpenLoopTimes } from './open-loop-client.ts'
import { describeMachine, toMarkdown } from './report.ts'
import { drawMoments, drawSeries } from './request-paths.ts'
import { drawPages, type Pages, toScenario } from './scenarios.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed, startCeiling } from './servers.ts'

const { values: flags } = parseArgs({
  options: {
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    snapshots: { type: 'string', default: '100000' },
  },
})
const CONNECTIONS = 64
const WARM_UP_SECONDS = 2
const SEED = 77
const client = new URL('./open-loop-client.ts', import.meta.url).pathname
const LONG_WORK = '/v1/btc/panel?timeframe=5m&offsets=-240s,-180s,-120s,-60s'
const LONG_WORK_MARKETS = 500

/** One row of the table. */
type Subject = {
  name: string
  paths: Pick<Pages, 'pathsFile' | 'skip'>
  start: () => Promise<ServerProcess>
  /** Whether another account asks for long work in a loop meanwhile. */
  isBesideLongWork?: boolean
}
type Round = {
  p50: number
  p99: number
  p999: number
  cpuUs: number
  failures: number
  late: number
}

async function runClient(
  { origin }: ServerProcess,
  { pathsFile, skip }: Subject['paths'],
  seconds: number,
): Promise<OpenLoopTimes> {
  const words = [origin, pathsFile, skip, flags.rate, seconds, CONNECTIONS, benchAuthorization]
  const command = onLoadCore([process.execPath, client, ...words.map(String)])
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' })
  return JSON.parse(await new Response(child.stdout).text())
}

/** Asks for long work again and again until it is stopped; returns how often it was answered. */
function askForLongWork({ origin }: ServerProcess): () => Promise<number> {
  let isStopped = false
  let answered = 0
  const headers = { authorization: authorizationOf('victim') }
  async function ask(): Promise<void> {
    while (!isStopped) {
      const response = await fetch(`${origin}${LONG_WORK}&limit=${LONG_WORK_MARKETS}`, { headers })
      await response.arrayBuffer()
      if (response.ok) answered++
    }
  }
  const loops = [ask(), ask()]
  return async () => {
    isStopped = true
    await Promise.all(loops)
    return answered
  }
}

async function measure({ start, paths, isBesideLongWork }: Subject): Promise<Round> {
  const server = await start()
  try {
    await runClient(server, { ...paths, skip: 0 }, WARM_UP_SECONDS)
    const stop = isBesideLongWork ? askForLongWork(server) : undefined
    const before = server.cpuUs().all
    const { times, failures, late } = await runClient(server, paths, Number(flags.seconds))
    const cpuUs = (server.cpuUs().all - before) / times.length
    if (stop !== undefined && (await stop()) === 0) throw new Error('No long work was answered.')
    const sorted = times.toSorted((a, b) => a - b)
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
    return { p50: at(0.5), p99: at(0.99), p999: at(0.999), cpuUs, failures, late }
  } finally {
    await server.stop()
  }
}

async function toFile(name: string, paths: readonly string[]): Promise<Subject['paths']> {
  const pathsFile = join(benchFolder, `open-loop-${name}.txt`)
  await Bun.write(pathsFile, `${paths.join('\n')}\n`)
  return { pathsFile, skip: 0 }
}

/** nginx with a file for each path, in gzip; the paths to ask it for. */
async function prepareNginx(ours: OurData, pages: Pages) {
  const folder = join(benchFolder, 'open-loop-nginx')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'files'), { recursive: true })
  const server = await startServer({ command: bookfeed(ours), readyPath: '/healthz' })
  const lines = (await Bun.file(pages.pathsFile).text()).split('\n').filter(Boolean)
  for (const [at, path] of lines.entries()) {
    const headers = { 'accept-encoding': 'gzip', authorization: benchAuthorization }
    const response = await fetch(server.origin + path, { headers, decompress: false })
    await Bun.write(join(folder, `files/${at}.json.gz`), await response.arrayBuffer())
  }
  await server.stop()
  await Bun.write(join(folder, 'files/healthz.gz'), Bun.gzipSync('ok'))
  const command = (port: number): string[] => {
    const config = join(folder, 'nginx.conf')
    // One process answers, so its processor time is all there is.
    Bun.spawnSync(['tee', config], {
      stdin:
        Buffer.from(`daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error;
        events { worker_connections 512; } http { access_log off; keepalive_requests 1000000;
        server { listen 127.0.0.1:${port}; root ${folder}/files; gzip_static always;
        default_type application/json; } }`),
      stdout: 'ignore',
    })
    return ['nginx', '-c', config, '-e', `${folder}/error`]
  }
  return {
    paths: await toFile(
      'nginx',
      lines.map((_, at) => `/${at}.json`),
    ),
    start: () => startServer({ command, readyPath: '/healthz' }),
  }
}

const ours = await prepareOurData(Number(flags.snapshots), { isFresh: false })
await addBenchKey(ours.dataPath, 'victim')
const kept = await drawPages(ours, toScenario('kept', { limit: 100, isRepeated: true }, SEED))
const never = await drawPages(
  ours,
  toScenario('never', { limit: 100, isRepeated: false }, SEED + 1),
)
const moments = drawMoments(ours, { count: 20_000, seed: SEED }).map(
  ({ conditionId, outcome, timestampMs }) =>
    `/v1/btc/markets/${conditionId}/snapshots/at?ts=${timestampMs}&outcome=${outcome}`,
)
const start = () => startServer({ command: bookfeed(ours), readyPath: '/healthz' })
const subjects: Subject[] = [
  { name: 'page of 100, kept', paths: kept, start },
  { name: 'page of 100, never served', paths: never, start },
  { name: 'one book (`at`)', paths: await toFile('at', moments), start },
  {
    name: '1000 quotes, kept',
    paths: await toFile('quotes', drawSeries(ours, 'quotes', 1000)),
    start,
  },
  {
    name: 'page of 100, never served, beside two callers of a panel',
    paths: never,
    start,
    isBesideLongWork: true,
  },
  {
    name: 'ceiling: the kept pages from a bare Bun server',
    paths: kept,
    start: () => startCeiling(ours, kept),
  },
]
if (hasNginx)
  subjects.push({
    name: 'ceiling: the kept pages as files of nginx',
    ...(await prepareNginx(ours, kept)),
  })

const rounds = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]))
for (let round = 0; round < Number(flags.rounds); round++)
  for (const subject of subjects) {
    const found = await measure(subject)
    console.error(subject.name, JSON.stringify(found))
    rounds.get(subject.name)?.push(found)
  }
const toMs = (value: number): string => value.toFixed(2)
const rows = subjects.map(({ name }) => {
  const found = rounds.get(name) ?? []
  const of = (field: keyof Round): number => median(found.map((each) => each[field]))
  return [
    name,
    toMs(of('p50')),
    toMs(of('p99')),
    toMs(of('p999')),
    of('cpuUs').toFixed(0),
    `${((100 * of('late')) / (Number(flags.rate) * Number(flags.seconds))).toFixed(1)} %`,
    String(Math.max(...found.map(({ failures }) => failures))),
  ]
})
console.log(`${describeMachine()}. ${sourceTitle}.\n`)
console.log(
  `${flags.rate} requests a second over ${CONNECTIONS} connections, ${flags.rounds} rounds of ${flags.seconds} s in turn, medians of the rounds.\n`,
)
console.log(
  toMarkdown([
    ['request', 'p50 ms', 'p99 ms', 'p99.9 ms', 'µs of the server', 'sent late', 'failures'],
    ...rows,
  ]),
)
if (!hasNginx) console.log('\nWithout nginx, its ceiling is left out.')
