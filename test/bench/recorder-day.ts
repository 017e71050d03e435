/**
 * `bun test/bench/recorder-day.ts --hours 24`: a simulated day of four coins and all timeframes,
 * recorded into a file and followed by a subscriber, and what becomes of the memory. The venue
 * is another process.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { coins, timeframes } from '#src/domain/market.ts'

import { startRig } from '../recorder/rig.ts'
import { openAwayVenue } from './away-venue.ts'

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '24' },
    /** Steps a second of a market; each is some four frames. */
    rate: { type: 'string', default: '0.5' },
    /** MiB of chunks kept; more than a slow day fills look like a leak. */
    cache: { type: 'string', default: '4' },
  },
})
const HOUR_MS = 3_600_000
const WAKE_MS = 1000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-bench-'))
try {
  const stepsPerSecond = Number(values.rate)
  await using away = await openAwayVenue({ coins, timeframes, stepsPerSecond })
  await using rig = await startRig({
    away,
    generated: { coins: [] },
    recorder: { coins, timeframes },
    stepMs: 1000,
    historyPath: join(folder, 'history.db'),
    chunkCacheBytes: Number(values.cache) * 2 ** 20,
  })
  const { harness, history } = rig
  const { stream } = harness.app
  let rows = 0
  const connection = {
    data: { authorization: `Bearer ${harness.key}` },
    send(text: string): void {
      if (text.startsWith('{"type":"row"')) rows++
    },
    getBufferedAmount: () => 0,
    close: (code: number, reason: string) => console.error(`closed with ${code}: ${reason}`),
  }
  stream.websocket.open(connection)
  for (const coin of coins)
    for (const channel of ['snapshots', 'quotes'])
      stream.websocket.message(
        connection,
        JSON.stringify({ op: 'subscribe', id: `${channel} ${coin}`, channel, coin }),
      )
  console.log('hour  anonymous MB  heap MB  markets     rows  sent to the subscriber  connections')
  for (let hour = 1; hour <= Number(values.hours); hour++) {
    for (let ms = 0; ms < HOUR_MS; ms += WAKE_MS) {
      await rig.advance(WAKE_MS)
      harness.advance(rig.clock() - harness.time.nowMs)
      stream.tick()
    }
    Bun.gc(true)
    const heap = process.memoryUsage().heapUsed
    const anonymous = Number(
      /RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
    )
    const { markets, snapshots } = history.totals()
    const { opened } = rig.recorder().status().lanes[0] ?? {}
    const cells = [hour, anonymous / 1024, heap / 1e6, markets, snapshots, rows, opened ?? 0]
    console.log(cells.map((cell) => String(Math.round(cell)).padStart(8)).join('  '))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
