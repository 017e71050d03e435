/**
 * `bun test/bench/overload.ts`: four times as much as the server can answer, for a minute. Who asks
 * beside it, of the same account and of another one, how long an accepted request takes, and
 * whether health, billing and live heartbeats go on; then whether all is well again at once.
 *
 *   --seconds <n>   of the flood, 60 by default
 *   --times <n>     as much as can be sustained, 4 by default
 *   --guests <n>    then so many network addresses that read the sample, each one heavy request
 *                   after the other, beside a paying account; 140 by default
 *
 * The server has the first core, wrk and the clients the other.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { openHistory } from '#src/history/open.ts'

import { addBenchKey, authorizationOf, type BenchAccount } from './bench-key.ts'
import { moveToLoadCore, onLoadCore } from './cores.ts'
import { prepareOurData } from './dataset.ts'
import { CONNECTIONS } from './load.ts'
import { describeMachine } from './report.ts'
import { startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    times: { type: 'string', default: '4' },
    guests: { type: 'string', default: '140' },
  },
})
const SNAPSHOTS = 100_000
const SUSTAINED_SECONDS = 8
const UNLOADED_SECONDS = 5
/** Each waits a little between two of its requests, as many callers do. */
const FLOOD_CONNECTIONS = 800
const PROBE_MS = 20
const RECOVERY_REQUESTS = 50
const GUEST_SECONDS = 10
/** A guest that is refused asks again after so long. */
const GUEST_PAUSE_MS = 500
const script = new URL('./flood.lua', import.meta.url).pathname

moveToLoadCore()
const { dataPath } = await prepareOurData(SNAPSHOTS, { isFresh: false })
for (const account of ['bench', 'victim'] as const) await addBenchKey(dataPath, account)
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-overload-'))
const pathsFile = join(folder, 'paths')
const history = openHistory(join(dataPath, 'history.db'))
const markets = history.listMarkets({ coin: 'btc', limit: 200 })
history.dispose()
/** What callers ask for, from 0.1 to some milliseconds of work. */
const queries = [
  'snapshots?limit=1000',
  'snapshots?limit=100&depth=10',
  'snapshots?limit=20&view=consolidated',
  'quotes?limit=1000',
  'prices?interval=10s',
  'trades?limit=100',
  'coverage',
]
const paths = markets.flatMap(({ conditionId: id }) =>
  queries.map((query) => `/v1/btc/markets/${id}/${query}`),
)
writeFileSync(pathsFile, paths.join('\n'))
// A page that is remembered would be no load.
const server = await startServer({
  command: bookfeed(
    { dataPath },
    'BOOKFEED_PAGE_CACHE_MB=0',
    // So that a header can say which address a guest has.
    'BOOKFEED_TRUSTED_PROXIES=127.0.0.1',
  ),
  readyPath: '/healthz',
})

type Flood = { requests: number; durationUs: number; statuses: Record<string, number> }

async function flood(connections: number, pauseMs: number, seconds: number): Promise<Flood> {
  const command = [
    'wrk',
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '-s',
    script,
  ]
  const headers = ['accept-encoding: gzip', `authorization: ${authorizationOf('bench')}`]
  const own = [...headers.flatMap((each) => ['-H', each]), server.origin, '--', pathsFile]
  const child = Bun.spawn(onLoadCore([...command, ...own, String(pauseMs)]), { stdout: 'pipe' })
  const output = await new Response(child.stdout).text()
  const result = /^result (\{.*\})$/m.exec(output)?.[1]
  if (result === undefined) throw new Error(`wrk said no result:\n${output}`)
  return JSON.parse(result)
}

type Seen = { name: string; statuses: Record<string, number>; accepted: number[] }

async function ask(path: string, account: BenchAccount, seen: Seen): Promise<void> {
  const startedMs = performance.now()
  const headers = { authorization: authorizationOf(account), 'accept-encoding': 'gzip' }
  const status = await fetch(server.origin + path, { headers, decompress: false }).then(
    (response) => response.arrayBuffer().then(() => String(response.status)),
    () => 'cut',
  )
  seen.statuses[status] = (seen.statuses[status] ?? 0) + 1
  if (status === '200') seen.accepted.push(performance.now() - startedMs)
}

const probes: [name: string, paths: string[], account: BenchAccount][] = [
  ['data, the same account', paths, 'bench'],
  ['data, another account', paths, 'victim'],
  ['health', ['/healthz'], 'victim'],
  ['readiness', ['/readyz'], 'victim'],
  ['billing', ['/v1/billing/tiers'], 'victim'],
]

/** Asks all of it again and again, each when it was answered, until `isOver`. */
async function probe(isOver: () => boolean): Promise<Seen[]> {
  const all = probes.map(async ([name, asked, account]) => {
    const seen: Seen = { name, statuses: {}, accepted: [] }
    for (let count = 0; !isOver(); count++) {
      await ask(asked[count % asked.length] ?? '', account, seen)
      await Bun.sleep(PROBE_MS)
    }
    return seen
  })
  return Promise.all(all)
}

/** Guests, each of a network address of its own, until `isOver`; returns how they were answered. */
async function askAsGuests(isOver: () => boolean): Promise<Seen> {
  const seen: Seen = { name: 'guests', statuses: {}, accepted: [] }
  const sample = (await (await fetch(`${server.origin}/v1/sample`)).json()) as {
    market: { conditionId: string } | null
  }
  const path = `/v1/btc/markets/${sample.market?.conditionId}/snapshots?limit=1000&interval=1s`
  const guests = Array.from({ length: Number(flags.guests) }, async (_, at) => {
    const headers = {
      authorization: 'Bearer sample',
      'x-forwarded-for': `10.0.${at >> 8}.${at & 255}`,
    }
    while (!isOver()) {
      const startedMs = performance.now()
      const response = await fetch(server.origin + path, { headers })
      await response.arrayBuffer()
      seen.statuses[response.status] = (seen.statuses[response.status] ?? 0) + 1
      if (response.ok) seen.accepted.push(performance.now() - startedMs)
      else await Bun.sleep(GUEST_PAUSE_MS)
    }
  })
  await Promise.all(guests)
  return seen
}

/** The longest time between two heartbeats of events, which should be five seconds. */
async function watchHeartbeats(isOver: () => boolean): Promise<number> {
  const headers = { authorization: authorizationOf('victim') }
  const path = `/v1/btc/live?heartbeat=5&channel=quotes`
  const stop = new AbortController()
  const response = await fetch(server.origin + path, { headers, signal: stop.signal })
  if (response.status !== 200) throw new Error(await response.text())
  let lastMs = performance.now()
  let longestMs = 0
  for await (const _ of response.body ?? []) {
    longestMs = Math.max(longestMs, performance.now() - lastMs)
    lastMs = performance.now()
    if (isOver()) break
  }
  stop.abort()
  return longestMs
}

const during = (ms: number): (() => boolean) => {
  const endMs = performance.now() + ms
  return () => performance.now() > endMs
}
const at = (sorted: number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1)
function print(title: string, all: readonly Seen[]): void {
  console.log(`\n${title}`)
  for (const { name, statuses, accepted } of all) {
    accepted.sort((a, b) => a - b)
    const times = `p50 ${at(accepted, 0.5)} p99 ${at(accepted, 0.99)} max ${at(accepted, 1)} ms`
    console.log(`  ${name.padEnd(24)} ${times.padEnd(40)} ${JSON.stringify(statuses)}`)
  }
}
const rateOf = ({ requests, durationUs }: Flood): number => (requests / durationUs) * 1e6

try {
  console.log(describeMachine())
  await flood(CONNECTIONS, 0, 2)
  print('nobody else', await probe(during(UNLOADED_SECONDS * 1000)))
  const sustained = rateOf(await flood(CONNECTIONS, 0, SUSTAINED_SECONDS))
  const pauseMs = Math.round((FLOOD_CONNECTIONS / (sustained * Number(flags.times))) * 1000)
  const seconds = Number(flags.seconds)
  const isOver = during(seconds * 1000)
  const [result, seen, heartbeatMs] = await Promise.all([
    flood(FLOOD_CONNECTIONS, pauseMs, seconds),
    probe(isOver),
    watchHeartbeats(isOver),
  ])
  print('beside the flood', seen)
  console.log(
    `\nsustained ${sustained.toFixed(0)} requests a second; flood ${rateOf(result).toFixed(0)} requests a second: ${JSON.stringify(result)}`,
  )
  console.log(
    `longest time between heartbeats of five seconds: ${(heartbeatMs / 1000).toFixed(2)} s`,
  )
  const after: Seen = { name: 'data, the same account', statuses: {}, accepted: [] }
  for (const path of paths.slice(0, RECOVERY_REQUESTS)) await ask(path, 'bench', after)
  print('at once after it', [after])
  const isQuiet = during(GUEST_SECONDS * 1000)
  const [guests, paying] = await Promise.all([askAsGuests(isQuiet), probe(isQuiet)])
  print(`beside ${flags.guests} guests`, [guests, ...paying])
} finally {
  await server.stop()
  rmSync(folder, { recursive: true })
}
