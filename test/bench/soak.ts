/**
 * `bun test/bench/soak.ts [minutes]`, 60 unless said: `bookfeed serve` records a simulated venue of
 * all coins and answers a mixture of everything, with small caches, so that they fill soon. Prints
 * what the process takes each minute. Fails when something grows, was answered wrongly, or is
 * damaged at the end.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'

import { coins } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'

import { findFreePort } from '../support/free-port.ts'
import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { type Bound, growthOf } from '../support/plateau.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'
import { readStatus } from './server-process.ts'
import { startSoakLoad } from './soak-load.ts'

const MINUTES = Number(process.argv[2] ?? '60')
const LOOK_MS = 1000
const LOOKS_A_MINUTE = 60
const STOP_MS_MAX = 20_000
const MB = 2 ** 20
const STEPS_PER_SECOND = 5

/** Of the last third of the time against the middle third, medians of a look a second. */
const bounds: Record<string, Bound> = {
  anonymous: { share: 0.1, more: 8 * MB },
  heap: { share: 0.1, more: 8 * MB },
  wal: { share: 0.1, more: 8 * MB },
  descriptors: { share: 0, more: 2 },
  threads: { share: 0, more: 0 },
}
const names = ['resident', ...Object.keys(bounds)] as const

const data = mkdtempSync(join(tmpdir(), 'bookfeed-soak-'))
const ledgerFile = join(data, 'ledger.db')
const historyFile = join(data, 'history.db')

function makeKey(): string {
  const ledger = openLedger(ledgerFile, { nowMs: systemClock() })
  const key = addKey(ledger, {
    tierId: 'soak',
    name: 'Soak',
    rank: 98,
    coins: [...coins],
    isForSale: false,
    routes: ['markets', 'prices', 'snapshots', 'quotes'],
    requestsPerMinute: 1_000_000_000,
  })
  ledger.dispose()
  return key
}

async function look(pid: number, metricsPort: number): Promise<Record<string, number>> {
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return {
    resident: readStatus(pid, 'VmRSS'),
    anonymous: readStatus(pid, 'RssAnon'),
    heap: Number(/^process_heap_bytes (\S+)$/m.exec(metrics)?.[1]),
    wal: statSync(`${historyFile}-wal`).size + statSync(`${ledgerFile}-wal`).size,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: readStatus(pid, 'Threads'),
  }
}

const inMb = (bytes = Number.NaN): string => (bytes / MB).toFixed(0)
function printMinute(minute: number, last: Record<string, number>, rest: readonly unknown[]): void {
  const { resident, anonymous, heap, wal, descriptors, threads } = last
  const cells = [minute, ...[resident, anonymous, heap, wal].map(inMb), descriptors, threads]
  console.log([...cells, ...rest].map((cell) => String(cell).padStart(9)).join(' '))
}

/** What is wrong with the files that were left. */
function verifyFiles(): string[] {
  const history = openHistory(historyFile)
  const ledger = openLedger(ledgerFile, { nowMs: systemClock() })
  const { snapshots, markets } = history.totals()
  console.log(`${snapshots} snapshots in ${markets} markets`)
  const faults = [...history.verify(), ...ledger.verifyAudit()]
  history.dispose()
  ledger.dispose()
  return faults
}

async function soak(): Promise<string[]> {
  await using venue = await startVenue({
    playbook: generatedPlaybook({
      seed: 'soak',
      startMs: systemClock(),
      coins,
      timeframes: ['5m', '15m'],
      stepsPerSecond: STEPS_PER_SECOND,
    }),
    pace: { by: 'clock', clock: systemClock },
    doesKeep: false,
  })
  const key = makeKey()
  const metricsPort = findFreePort()
  const server = await startKillableServer({
    BOOKFEED_DATA: data,
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_RECORD: 'on',
    BOOKFEED_FREE_MB: '0',
    BOOKFEED_METRICS: String(metricsPort),
    BOOKFEED_CHUNK_CACHE_MB: '16',
    BOOKFEED_PAGE_CACHE_MB: '8',
    BOOKFEED_RECORD_TIMEFRAMES: '5m,15m',
    BOOKFEED_FEED_URL: venue.marketUrl,
    BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
  })
  try {
    const load = startSoakLoad(server.origin, key)
    const looks: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]))
    for (let second = 1; second <= MINUTES * LOOKS_A_MINUTE; second++) {
      await Bun.sleep(LOOK_MS)
      const seen = await look(server.pid, metricsPort)
      for (const name of names) looks[name]?.push(seen[name] ?? Number.NaN)
      if (second % LOOKS_A_MINUTE !== 0) continue
      const { requests, rows, refused, faults } = load.tally
      const rest = [requests, rows, refused, faults.length, loadavg()[0]?.toFixed(1)]
      printMinute(second / LOOKS_A_MINUTE, seen, rest)
    }
    await load.end()
    process.kill(server.pid, 'SIGTERM')
    const isOver = await Promise.race([server.ended, Bun.sleep(STOP_MS_MAX)])
    const { tally } = load
    if (tally.faults.length > 0) console.log(tally.faults.slice(0, 10).join('\n'))
    return [
      ...growthOf(looks, bounds),
      ...(isOver === 0 ? [] : [`SIGTERM did not end it well: ${isOver ?? 'late'}.`]),
      ...(tally.faults.length > 0 ? [`${tally.faults.length} wrong answers.`] : []),
      ...(server.errors() === '' ? [] : [`It said: ${server.errors()}`]),
      ...(tally.rows > 0 && tally.requests > 0 ? [] : ['Nothing was asked for.']),
      ...verifyFiles(),
    ]
  } finally {
    await server.kill()
  }
}

try {
  console.log(
    `${new Date().toISOString().slice(0, 10)}, Bun ${Bun.version}, ${MINUTES} minutes; memory and files in MiB`,
  )
  const columns = ['minute', ...names, 'requests', 'rows', 'refused', 'faults', 'load']
  console.log(columns.map((name) => name.padStart(9)).join(' '))
  const faults = await soak()
  console.log(faults.length === 0 ? 'A plateau, and nothing wrong.' : faults.join('\n'))
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  rmSync(data, { recursive: true, force: true })
}
