/**
 * `bun test/bench/recorder-latency.ts`: a venue of 20 open markets on loopback, 1,000 frames a second,
 * `bookfeed serve` that records it in a process of its own, and a subscriber: how old a row is when
 * it comes, by the venue's stamp, and what the server takes.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { timeframes } from '#src/domain/market.ts'
import { openLedger } from '#src/ledger/open.ts'

import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    /** `BOOKFEED_BATCH_MS`; its own default where absent. */
    batch: { type: 'string' },
    /** Steps a second of a market; 22 make 1,000 frames a second. */
    rate: { type: 'string', default: '22' },
  },
})
/** Fixed, so that figures stay comparable when a coin is added. */
const coins = ['btc', 'eth', 'sol', 'xrp'] as const
const SECONDS = Number(values.seconds)
const WARM_UP_MS = 8000

const data = mkdtempSync(join(tmpdir(), 'bookfeed-latency-'))
const ledger = openLedger(join(data, 'ledger.db'), { nowMs: systemClock() })
const key = addKey(ledger, {
  tierId: 'bench',
  name: 'Bench',
  rank: 98,
  coins: [...coins],
  isForSale: false,
  routes: ['markets', 'snapshots', 'quotes'],
  requestsPerMinute: 1_000_000,
})
ledger.dispose()
await using venue = await startVenue({
  playbook: generatedPlaybook({
    seed: 'latency',
    startMs: systemClock(),
    coins,
    timeframes,
    stepsPerSecond: Number(values.rate),
  }),
  pace: { by: 'clock', clock: systemClock },
  doesKeep: false,
})
const server = await startKillableServer({
  BOOKFEED_DATA: data,
  BOOKFEED_PORT: '0',
  BOOKFEED_LOG: 'off',
  BOOKFEED_SAMPLE: 'off',
  BOOKFEED_RECORD: 'on',
  BOOKFEED_FREE_MB: '0',
  ...(values.batch === undefined ? {} : { BOOKFEED_BATCH_MS: values.batch }),
  BOOKFEED_FEED_URL: venue.marketUrl,
  BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
})
const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
const cpuSeconds = (): number => {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

await Bun.sleep(WARM_UP_MS)
const ages: number[] = []
const socket = new WebSocket(`${server.origin.replace('http', 'ws')}/v1/stream`, {
  headers: { authorization: `Bearer ${key}` },
})
socket.onopen = () => {
  for (const coin of coins)
    socket.send(
      JSON.stringify({ op: 'subscribe', id: coin, channel: 'snapshots', coin, depth: 10 }),
    )
}
socket.onmessage = ({ data: text }: MessageEvent<string>) => {
  const stamp = /"timestamp":"([^"]+)"/.exec(text)?.[1]
  if (text.startsWith('{"type":"row"') && stamp) ages.push(systemClock() - Date.parse(stamp))
}
await Bun.sleep(3000)
ages.length = 0
const sent = () => venue.connections.reduce((sum, each) => sum + each.sentCount(), 0)
const start = { sent: sent(), mb: residentMb(), cpu: cpuSeconds() }
const resident: number[] = []
for (let second = 0; second < SECONDS; second++) {
  await Bun.sleep(1000)
  resident.push(residentMb())
}
const frames = Math.round((sent() - start.sent) / SECONDS)
const busy = Math.round((100 * (cpuSeconds() - start.cpu)) / SECONDS)
ages.sort((a, b) => a - b)
const part = (share: number) => ages[Math.floor(ages.length * share)]
console.log(`${frames} frames a second, ${Math.round(ages.length / SECONDS)} rows a second came`)
console.log(`age of a row: median ${part(0.5)} ms, p90 ${part(0.9)} ms, p99 ${part(0.99)} ms`)
console.log(
  `server: ${busy} % of a core, ${Math.round(start.mb)} MB at first, ` +
    `${Math.round(Math.max(...resident))} MB at most, ${Math.round(resident.at(-1) ?? 0)} MB at last`,
)
const status = JSON.parse(readFileSync(join(data, 'recorder.json'), 'utf8'))
console.log(`slowest batch: ${status.sink.slowestMs} ms`)
socket.close()
await server.kill()
rmSync(data, { recursive: true, force: true })
