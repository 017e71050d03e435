import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { openHistory } from '#src/history/open.ts'

import { findFreePort } from '../support/free-port.ts'
import { addBenchKey, authorizationOf, type BenchAccount } from './bench-key.ts'
import { moveToLoadCore } from './cores.ts'
import { benchFolder, DAY, prepareHarm } from './dataset.ts'
import { type Harm, type HarmRequest, harms } from './harm-requests.ts'
import { describeMachine } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

/**
 * `bun test/bench/harm.ts`: the cheapest harmful request. Beside four clients that send a request
 * in a loop, how long another account waits for a page of 100 and for a panel, and how long the
 * event loop does nothing else: the worst first.
 *
 *   --seconds <n>     of each request, 3 by default
 *   --clients <n>     4 by default
 *   --only <text>     requests whose name it matches; `streams` for the memory of all allowed
 *   --cores <n>       of the server: 1, the first, by default; with 2 it shares that of the clients
 *
 * All clients have the second core.
 */
const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    cores: { type: 'string', default: '1' },
  },
})

/** Steps between the markets whose pages are asked for: no page is asked for twice. */
const PAGES = 997
const PAGE_MS_MAX = 10_000
const STALL_MS_MAX = 60_000
const STREAM_SAMPLE_MS = 20
const SETTLE_MS = 300
const PANEL = '/v1/btc/panel?timeframe=5m&offsets=-240s,-60s&limit=100'
const PANELS = 3
/** What the command of a server ends with. */
const MAIN_AND_SERVE = 2
const watched = new URL('./loop-stall.ts', import.meta.url).pathname
const client = new URL('./harm-client.ts', import.meta.url).pathname

type Row = {
  name: string
  p50: number
  p99: number
  panel: number
  stall: number
  rssMb: number
  statuses: string
}

const dataPath = await prepareHarm()
const accounts = ['bench', 'victim', 'third', 'fourth'] as const
for (const account of [...accounts, 'free'] as const) await addBenchKey(dataPath, account)

const history = openHistory(join(dataPath, 'history.db'))
const hours = history.listMarkets({ coin: 'btc', timeframe: '1h', limit: 1 })
const minutes = history.listMarkets({ coin: 'btc', timeframe: '5m', limit: 1000 })
history.dispose()
const { conditionId = '', windowStartMs = 0 } = hours[0] ?? {}
const conditionIds = minutes.map((market) => market.conditionId)
const victims = minutes.map(({ conditionId: id }) => `/v1/btc/markets/${id}/snapshots?limit=100`)

async function startWatched() {
  const stallPort = findFreePort()
  const server = await startServer({
    command: (port) => {
      // Whoever means harm asks for another page each time.
      const command = bookfeed(
        { dataPath },
        'BOOKFEED_PAGE_CACHE_MB=0',
        // So that a header can say which address a guest has.
        'BOOKFEED_TRUSTED_PROXIES=127.0.0.1',
      )(port)
      return [...command.slice(0, -MAIN_AND_SERVE), watched, String(stallPort), 'serve']
    },
    readyPath: '/healthz',
    core: flags.cores === '1' ? undefined : 'any',
  })
  const takeStall = async (): Promise<number> => {
    const signal = AbortSignal.timeout(STALL_MS_MAX)
    return Number(await (await fetch(`http://127.0.0.1:${stallPort}/`, { signal })).text())
  }
  return { server, takeStall }
}

const askPage = (server: ServerProcess, index: number): Promise<number> =>
  ask(server, victims[(index * PAGES) % victims.length] ?? '')

/** Long work of the other account: it waits for its turns. */
const askPanel = (server: ServerProcess): Promise<number> => ask(server, PANEL)

async function ask(server: ServerProcess, path: string): Promise<number> {
  const headers = { authorization: authorizationOf('victim'), 'accept-encoding': 'gzip' }
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(PAGE_MS_MAX)
  try {
    const response = await fetch(server.origin + path, { headers, signal })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path} is ${response.status}`)
  } catch (error) {
    // No answer counts as one after that time.
    if (!signal.aborted) throw error
  }
  return performance.now() - startedAt
}

function toText(
  { method, path, headers = '', body = '', isAnonymous = false, isFree = false }: HarmRequest,
  origin: string,
  account: BenchAccount = isFree ? 'free' : 'bench',
): string {
  const coding = headers.includes('Accept-Encoding') ? '' : 'Accept-Encoding: gzip\r\n'
  const type =
    body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  const key = isAnonymous ? '' : `Authorization: ${authorizationOf(account)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nConnection: close\r\n${key}${coding}${headers}${type}\r\n${body}`
}

/** Clients that send a request until they are stopped, and then tell what was answered. */
async function startClients(origin: string, count: string, text: string) {
  const file = join(benchFolder, `harm-request-${Bun.hash(text)}.txt`)
  await Bun.write(file, text)
  // Whoever measures is served first on the core that all clients share.
  const child = Bun.spawn(['nice', '-n', '10', process.execPath, client, origin, count, file], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  return async (): Promise<string> => {
    void child.stdin.end()
    return (await new Response(child.stdout).text()).trim()
  }
}

/** What as many day exports as a server takes hold in memory, from four accounts. */
async function measureStreams(query: string): Promise<string> {
  const { server } = await startWatched()
  try {
    for (let index = 0; index < 50; index++) await askPage(server, index)
    const rss = server.rssBytes()
    const anon = server.anonBytes()
    const path = `/v1/btc/export?day=${DAY.date}${query}`
    const clients = await Promise.all(
      accounts.map((account) => {
        const text = toText({ name: '', method: 'GET', path }, server.origin, account)
        return startClients(server.origin, '16', text)
      }),
    )
    const most = { rss: 0, anon: 0 }
    const endMs = performance.now() + 2 * Number(flags.seconds) * 1000
    while (performance.now() < endMs) {
      await Bun.sleep(STREAM_SAMPLE_MS)
      most.rss = Math.max(most.rss, server.rssBytes() - rss)
      most.anon = Math.max(most.anon, server.anonBytes() - anon)
    }
    const answers = await Promise.all(clients.map((stop) => stop()))
    const toMb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
    return `64 day exports at once${query}: +${toMb(most.rss)} resident, of that ${toMb(most.anon)} not of files (${answers.join(' ')})`
  } finally {
    await server.stop()
  }
}

async function measure({ name, requests }: Harm): Promise<Row> {
  const { server, takeStall } = await startWatched()
  try {
    for (let index = 0; index < 50; index++) await askPage(server, index)
    const clients = await Promise.all(
      requests.map((request) => {
        const text = toText(request, server.origin)
        return startClients(server.origin, request.clients ?? flags.clients, text)
      }),
    )
    await Bun.sleep(SETTLE_MS)
    await takeStall()
    const times: number[] = []
    let rss = 0
    const endMs = performance.now() + Number(flags.seconds) * 1000
    for (let index = 0; performance.now() < endMs; index++) {
      times.push(await askPage(server, index))
      if (index % 50 === 0) rss = Math.max(rss, server.rssBytes())
    }
    const panels: number[] = []
    while (panels.length < PANELS) panels.push(await askPanel(server))
    const statuses = (await Promise.all(clients.map((stop) => stop()))).join(' ')
    const stall = await takeStall()
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
    return {
      name,
      p50: at(0.5),
      p99: at(0.99),
      panel: panels.toSorted((a, b) => a - b)[1] ?? Number.NaN,
      stall,
      rssMb: rss / 1e6,
      statuses,
    }
  } finally {
    await server.stop()
  }
}

/** The market that a server lets guests read. */
async function findSample(): Promise<string> {
  const { server } = await startWatched()
  try {
    const response = await fetch(`${server.origin}/v1/sample`)
    const { market } = (await response.json()) as { market: { conditionId: string } | null }
    return market?.conditionId ?? ''
  } finally {
    await server.stop()
  }
}

moveToLoadCore()
const measured = harms({
  conditionId,
  windowStartMs,
  conditionIds,
  sampleId: await findSample(),
})
const rows: Row[] = []
for (const harm of [{ name: 'nothing', requests: [] }, ...measured]) {
  if (!new RegExp(flags.only).test(harm.name)) continue
  const row = await measure(harm)
  console.error(
    Object.values(row)
      .map((v) => (typeof v === 'number' ? v.toFixed(1) : v))
      .join(' | '),
  )
  rows.push(row)
}
console.log(`${describeMachine()}. ${flags.clients} clients, ${flags.seconds} s of each.\n`)
console.log(
  '| beside | page p50 ms | page p99 ms | panel ms | longest stall ms | RSS MB | answers |',
)
console.log('| --- | --: | --: | --: | --: | --: | --- |')
for (const { name, p50, p99, panel, stall, rssMb, statuses } of rows.toSorted(
  (a, b) => b.p99 - a.p99,
)) {
  console.log(
    `| ${name} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${panel.toFixed(1)} | ${stall.toFixed(1)} | ${rssMb.toFixed(0)} | ${statuses} |`,
  )
}
for (const query of ['', '&format=csv', '&format=parquet']) {
  if ('streams'.includes(flags.only)) console.log(`\n${await measureStreams(query)}`)
}
