import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { addBenchKey, benchAuthorization } from './bench-key.ts'
import { onLoadCore } from './cores.ts'
import { describeMachine } from './report.ts'
import { startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

/**
 * `bun test/bench/stream.ts`: the live stream. Subscribers of snapshots on connections of their
 * own, spread over markets that each get rows at a rate; how late rows are on their sockets, what
 * they cost the server, and how long a page of 100 takes meanwhile against one without subscribers.
 *
 *   --subscribers <n>   1000 by default
 *   --markets <n>       10 by default
 *   --rate <n>          rows a second of each market, 10 by default
 *   --seconds <n>       10 by default
 *   --channel <name>    snapshots by default
 *
 * The server has the first core; writer, subscribers and the caller of pages share the other.
 */
const { values: flags } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '1000' },
    markets: { type: 'string', default: '10' },
    rate: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '10' },
    channel: { type: 'string', default: 'snapshots' },
  },
})
const [subscribers, markets] = [Number(flags.subscribers), Number(flags.markets)]
const { channel } = flags
const [rate, seconds] = [Number(flags.rate), Number(flags.seconds)]

/** Connections that one account of the highest tier has. */
const CONNECTIONS = 16
const PAGE_PAUSE_MS = 5
const clients = new URL('./stream-clients.ts', import.meta.url).pathname

const dataPath = mkdtempSync(join(tmpdir(), 'bookfeed-live-'))
const history = openHistory(join(dataPath, 'history.db'), { lagMs: 0 })
const conditionIdOf = (market: number) => `0x${String(market + 1).padStart(64, '0')}`

/** Books that move as the simulator's, one after the other. */
const books = [
  ...simulate({
    seed: 'live',
    coins: ['btc'],
    timeframes: ['5m'],
    markets: 1,
    startMs: Date.now(),
    statesPerSecond: 20,
    outcomes: 'up',
    maxSnapshotsPerMarket: 2000,
  }),
].flatMap(({ snapshots }) => snapshots)
let written = 0

function makeRow(market: number): Snapshot {
  const book = books[written++ % books.length]
  if (book === undefined) throw new Error('The simulator made no books.')
  const place = {
    conditionId: conditionIdOf(market),
    assetId: `${market + 1}`,
    timeframe: '1d',
  } as const
  return { ...book, ...place, timestampMs: Date.now(), sourceHash: undefined }
}

async function write(): Promise<void> {
  const snapshots = Array.from({ length: markets }, (_, market) => makeRow(market))
  await history.record({ snapshots, trades: [], gaps: [] })
}

async function addKeys(): Promise<string[]> {
  await addBenchKey(dataPath)
  const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs: Date.now() })
  const by = { actor: 'operator', nowMs: Date.now() } as const
  const count = Math.ceil(subscribers / CONNECTIONS)
  const keys = await Array.fromAsync({ length: count }, async (_, index) => {
    const key = createApiKey((length) => new Uint8Array(length).fill(index))
    const accountId = `acc_live${index}`
    const id = `key_live${index}`
    await ledger.atomically((transaction) => {
      transaction.createAccount({ id: accountId }, by)
      transaction.addSubscription(
        { id: `sub_live${index}`, accountId, tierId: 'bench', startMs: 0 },
        by,
      )
      const digest = digestOf(key)
      transaction.createKey({ id, accountId, familyId: id, digest, hint: hintOf(key) }, by)
    })
    return key
  })
  ledger.dispose()
  return keys
}

type Quantiles = { p50: number; p99: number; max: number }

const quantilesOf = (values: readonly number[]): Quantiles => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Asks for one page after the other. */
async function callPages(origin: string, forMs: number): Promise<Quantiles> {
  const times: number[] = []
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const url = `${origin}/v1/btc/markets/${conditionIdOf(times.length % markets)}/snapshots?limit=100`
    const startedMs = performance.now()
    const response = await fetch(url, { headers: { authorization: benchAuthorization } })
    await response.arrayBuffer()
    times.push(performance.now() - startedMs)
    await Bun.sleep(PAGE_PAUSE_MS)
  }
  return quantilesOf(times)
}

for (let market = 0; market < markets; market++) {
  await history.putMarket({
    conditionId: conditionIdOf(market),
    coin: 'btc',
    timeframe: '1d',
    source: 'recorded',
    windowStartMs: Date.now() - 3_600_000,
    windowEndMs: Date.now() + 80_000_000,
  })
}
for (let round = 0; round < 120; round++) await write()
const keys = await addKeys()
const server = await startServer({ command: bookfeed({ dataPath }), readyPath: '/healthz' })
try {
  let writer = setInterval(write, 1000 / rate)
  const idle = await callPages(server.origin, seconds * 1000)
  clearInterval(writer)
  const names = Array.from({ length: markets }, (_, market) => conditionIdOf(market))
  const job = {
    origin: server.origin,
    keys,
    markets: names,
    subscribers,
    channel,
    connections: CONNECTIONS,
  }
  const child = Bun.spawn(onLoadCore([process.execPath, clients, JSON.stringify(job)]), {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = child.stdout.getReader()
  const line = async () => JSON.parse(new TextDecoder().decode((await lines.read()).value))
  await line()
  writer = setInterval(write, 1000 / rate)
  const [cpuUs, startedMs] = [server.cpuUs().all, performance.now()]
  child.stdin.write('start\n')
  child.stdin.flush()
  const loaded = await callPages(server.origin, seconds * 1000)
  child.stdin.write('stop\n')
  child.stdin.flush()
  const took = (performance.now() - startedMs) / 1000
  const { rows, bytes, skipped, late } = await line()
  clearInterval(writer)
  const figures = {
    'rows a second': Math.round(rows / took),
    'MB a second': Math.round(bytes / took / 1e5) / 10,
    'left out': skipped,
    'CPU a row, µs': Math.round(((server.cpuUs().all - cpuUs) / rows) * 10) / 10,
    'CPU of the server': `${Math.round((server.cpuUs().all - cpuUs) / took / 1e4)} %`,
    'RSS MB': Math.round(server.rssBytes() / 1e6),
  }
  console.log(`${describeMachine()}\n`)
  console.table([{ subscribers, markets, 'rows of each': rate, ...figures }])
  console.table({ 'row, write to socket, ms': late, 'page, idle, ms': idle, 'page, ms': loaded })
  child.kill()
} finally {
  await server.stop()
  history.dispose()
  rmSync(dataPath, { recursive: true, force: true })
}
