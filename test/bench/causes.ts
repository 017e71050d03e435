/**
 * `bun test/bench/causes.ts`: what the processor does for a page that was never served.
 *
 *   --limit <n>       rows of a page, 100 by default, or 1000
 *   --one-outcome     of both that are held
 *   --files           by file of the source instead of by cause
 *
 * The whole application in this process answers random pages, timed and then sampled, in turn with
 * a server under load, which shows what a socket and the kernel add. On a busy machine the shares
 * hold better than the microseconds.
 */
import { type Profiler, Session } from 'node:inspector/promises'
import { parseArgs } from 'node:util'

import { benchAuthorization } from './bench-key.ts'
import { moveToServerCore } from './cores.ts'
import { prepareOurData } from './dataset.ts'
import { assertTools, runLoad, type Sample } from './load.ts'
import { median } from './measure.ts'
import { openOurApp, type OurApp } from './our-app.ts'
import { describeMachine, toFacts } from './report.ts'
import { drawPages, scenarios } from './scenarios.ts'
import { startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

const { values: flags } = parseArgs({
  options: {
    limit: { type: 'string', default: '100' },
    'one-outcome': { type: 'boolean', default: false },
    files: { type: 'boolean', default: false },
  },
})

const SNAPSHOTS = 1_000_000
const ROUNDS = 5
const PAGES_A_ROUND = 3_000
/** Until most chunks are in the cache: before that a page costs up to five times as much. */
const WARM_UP_PAGES = 25_000
const SAMPLE_US = 100
const LOAD_SECONDS = 1

/** The first that any file of a sample's stack matches; the last takes what is left. */
const causes: readonly [cause: string, files: RegExp][] = [
  ['chunk of one outcome derived', /codec\/own-chunk/],
  ['coverage note', /core\/coverage/],
  ['cursor', /core\/cursor/],
  ['access log', /log-buffer/],
  ['key, tier, rate window, metering', /src\/(access|ledger)\/|selling\/|rate-windows/],
  ['first row: decoded and encoded', /codec\/(frame-encoder|deflate-code|chunk-decoder|row-text)/],
  ['bits joined, checksum', /codec\/|lib\/bits/],
  ['chunks chosen and read', /src\/(history|sqlite)\//],
  ['page cache', /page-cache/],
  ['headers and response', /promises|data-response|kept-pages|http\/negotiation/],
  ['query and market', /data-query|kinds|validation|body|src\/modules\//],
  ['Elysia, routing', /src\/(http|app)|node_modules/],
  ['engine: promises, requests, collector', /(?:)/],
]

const scenario = scenarios.find(
  ({ query, isRepeated }) =>
    !isRepeated &&
    query.limit === Number(flags.limit) &&
    (query.outcome === 'all') === flags['one-outcome'],
)
if (scenario === undefined) throw new Error('--limit is 100 or 1000')

assertTools()
const data = await prepareOurData(SNAPSHOTS, { isFresh: false })
const pages = await drawPages(data, scenario)
const paths = (await Bun.file(pages.pathsFile).text()).split('\n')

async function askNext(app: OurApp['app'], count: number): Promise<void> {
  for (const path of paths.splice(0, count)) {
    const headers = { authorization: benchAuthorization, 'accept-encoding': 'gzip' }
    const response = await app.fetch(new Request(`http://127.0.0.1${path}`, { headers }))
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
  }
}

/** Files of the stack of each sample. */
async function sample(body: () => Promise<void>): Promise<string[][]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  await session.post('Profiler.start')
  await body()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  const stacks = toStacks(profile)
  return profile.samples?.flatMap((id) => [stacks.get(id) ?? []]) ?? []
}

/** Parents come before their children. */
function toStacks({ nodes }: Profiler.Profile): Map<number, string[]> {
  const stacks = new Map<number, string[]>()
  for (const { id, children = [], callFrame } of nodes) {
    const stack = [
      callFrame.url.replace(/^.*?(?=(src|node_modules)\/)/, ''),
      ...(stacks.get(id) ?? []),
    ]
    stacks.set(id, stack)
    for (const child of children) stacks.set(child, stack)
  }
  return stacks
}

const causeOf = (stack: readonly string[]) =>
  causes.find(([, files]) => stack.some((file) => files.test(file)))?.[0] ?? ''
const fileOf = (stack: readonly string[]) =>
  stack.find((file) => /^(src|node_modules)\//.test(file)) ?? 'engine'

/** Microseconds a page. */
async function timeApp({ app }: OurApp, count: number): Promise<number> {
  const before = process.cpuUsage()
  await askNext(app, count)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** Application and server in turn on the same core, so that other work meets both. */
async function measure() {
  const ours = openOurApp(data.dataPath)
  const server = await startServer({ command: bookfeed(data), readyPath: '/healthz' })
  const appUs: number[] = []
  const samples: Sample[] = []
  try {
    let skip = 0
    for (let round = 0; round <= ROUNDS; round++) {
      const count = round === 0 ? WARM_UP_PAGES : PAGES_A_ROUND
      appUs.push(await timeApp(ours, count))
      for (const end = skip + count; skip < end;) {
        const load = { server, pathsFile: pages.pathsFile, skip, seconds: LOAD_SECONDS }
        const sample = await runLoad({ ...load, encoding: 'gzip' })
        skip += sample.requests
        if (skip >= end) samples.push(sample)
      }
    }
    const stacks = await sample(() => askNext(ours.app, ROUNDS * PAGES_A_ROUND))
    const groups = Object.entries(Object.groupBy(stacks, flags.files ? fileOf : causeOf))
    const shares = groups.map(([name, group = []]) => [name, group.length / stacks.length] as const)
    // The first round warms up.
    const of = (field: 'cpuUsPerRequest' | 'kernelUsPerRequest') =>
      median(samples.slice(1).map((each) => each[field]))
    return {
      wholeUs: of('cpuUsPerRequest'),
      kernelUs: of('kernelUsPerRequest'),
      appUs: median(appUs.slice(1)),
      shares: shares.toSorted(([, a], [, b]) => b - a),
    }
  } finally {
    ours.dispose()
    await server.stop()
  }
}

moveToServerCore()
const { wholeUs, kernelUs, appUs, shares } = await measure()
const toUs = (value: number) => `${value.toFixed(1)} µs`
console.log(`${describeMachine()}.\n`)
console.log(
  toFacts(`${scenario.title}, processor time`, [
    ['over a socket', `${toUs(wholeUs)}, of that kernel ${toUs(kernelUs)}`],
    ['in one process', toUs(appUs)],
    ...shares.map(([name, share]): [string, string] => [
      `– ${name}`,
      `${toUs(share * appUs)}, ${(100 * share).toFixed(0)} %`,
    ]),
  ]),
)
