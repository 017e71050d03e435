import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDataFolder } from '#src/cli/open-data-folder.ts'
import { startRecording } from '#src/cli/record.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'

import { createCliContext } from '../support/cli-context.ts'
import { createHarness } from '../support/harness.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import type { Fault } from '../support/venue/faults.ts'
import { START_MS, startGround } from '../support/venue/ground.ts'
import { createVenueClock } from '../support/venue/venue.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-raw-'))
})
afterAll(() => rm(folder, { recursive: true }))

const at = (atMs: number, fault: Fault) => ({ atMs, fault })
const script = [
  at(12_000, { kind: 'reorder', batches: 3 }),
  at(15_000, { kind: 'late-trade', trades: 3, byMs: 88 }),
  at(20_000, { kind: 'wrong-hash', batches: 2 }),
  at(24_000, { kind: 'corrupt-level', of: 'size', frames: 1 }),
  at(30_000, { kind: 'garbage' }),
  at(33_000, { kind: 'duplicate', frames: 5 }),
  at(36_000, { kind: 'lose', frames: 2 }),
  at(40_000, { kind: 'drop', hasCloseFrame: true }),
  at(55_000, { kind: 'freeze', forMs: 9000 }),
]

/** Half a minute before the end of a window, and of an hour. */
const RECORD_MS = START_MS + 3_450_000

/** Records a venue with faults for a minute of its time, and keeps every message. */
async function record(name: string, env: Record<string, string> = {}) {
  const startMs = RECORD_MS
  const clock = createVenueClock(startMs, 10)
  const spotFaults = { dropEvery: 7 }
  await using venue = await startGround({ clock, startMs, script, spotFaults, stepsPerSecond: 20 })
  const raw = join(folder, name, 'raw')
  const { context, errors } = createCliContext({
    BOOKFEED_DATA: join(folder, name),
    BOOKFEED_RAW: raw,
    BOOKFEED_FEED_URL: venue.marketUrl,
    BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
    BOOKFEED_SPOT: `live=${venue.liveUrl},rtds=${venue.rtdsUrl}`,
    BOOKFEED_SPOT_KEY: 'key:secret:phrase',
    BOOKFEED_RECORD_COINS: 'btc',
    BOOKFEED_RECORD_TIMEFRAMES: '5m',
    ...env,
  })
  const history = openDataFolder({ ...context, clock })
  {
    using _job = startRecording({ ...context, clock }, history)
    await Bun.sleep(7500)
  }
  return { history, raw, errors, nowMs: clock() }
}

const inMemory = () => openHistory(':memory:', { chunkCacheBytes: 0, lagMs: 0 })

type Replay = { nowMs: number; history?: MarketHistory; from?: number }

async function replay(raw: string, { nowMs, history = inMemory(), from = 0 }: Replay) {
  const names = (await readdir(raw)).sort().slice(from)
  const faults: unknown[] = []
  const report = await importFiles({
    ...{ history, source: 'recorded', clock: () => nowMs, isStrict: false },
    files: names.map((name) => join(raw, name)),
    signal: new AbortController().signal,
    onFault: (fault) => faults.push(fault),
    onProgress: () => {},
  })
  return { history, report, faults, names }
}

/**
 * Everything that the routes say of the markets, but for cursors, which a secret of each signs, and
 * revisions, which count writes: an import closes at its end what the recorder closed in between.
 */
async function everything(history: MarketHistory, nowMs: number) {
  const { send, time } = createHarness({ history })
  time.nowMs = nowMs
  const ask = async (path: string) =>
    (await (await send(path)).text())
      .replace(/"nextCursor":"[^"]*"/, '"nextCursor":"…"')
      .replace(/"revision":\d+/g, '"revision":0')
  const markets = history.listMarkets({ coin: 'btc', limit: 50 })
  const of = async ({ conditionId }: { conditionId: string }) => {
    const base = `/v1/btc/markets/${conditionId}`
    const paths = [
      ...['', '/coverage', '/snapshots?limit=100&order=desc', '/quotes?limit=100'],
      ...['/prices?limit=100', '/export?include=receivedAt', '/export?format=csv'],
    ]
    return await Promise.all(paths.map((path) => ask(base + path)))
  }
  return {
    routes: [await ask('/v1/btc/markets'), await ask('/v1/coins')],
    markets: await Promise.all(markets.map(of)),
    gaps: markets.map((market) => history.gaps(market)),
    trades: markets.map((market) => history.trades({ market })),
    rows: markets.map((market) => [...snapshotRuns(history, { market })].flat()),
    spot: history.spot({ coin: 'btc', order: 'asc', limit: 10_000 }),
  }
}

describe('importFiles of raw messages', () => {
  test.each([
    ['every state', {}],
    ['two connections', { BOOKFEED_FEED_CONNECTIONS: '2' }],
    ['a rate', { BOOKFEED_RECORD_RATE: '5m=5' }],
  ])(
    'default: they become what the recorder stored: %s',
    async (name, env) => {
      const { history, raw, nowMs } = await record(name, env)
      const replayed = await replay(raw, { nowMs })
      expect(replayed.faults).toEqual([])
      const [first, second] = [
        await everything(history, nowMs),
        await everything(replayed.history, nowMs),
      ]
      expect(first.rows.flat().length).toBeGreaterThan(200)
      expect(first.gaps.flat().length).toBeGreaterThan(2)
      expect(first.trades.flat().length).toBeGreaterThan(5)
      expect(first.spot.length).toBeGreaterThan(200)
      expect(first.spot.filter(({ dropped }) => dropped !== undefined).length).toBeGreaterThan(3)
      expect(second.spot).toEqual(first.spot)
      expect(second.gaps).toEqual(first.gaps)
      expect(second.trades).toEqual(first.trades)
      expect(second.rows).toEqual(first.rows)
      expect(second).toEqual(first)
      expect(replayed.names).toHaveLength(2)
      const again = await replay(raw, { nowMs, history: replayed.history })
      expect([again.faults, again.report.accepted, again.report.prices.accepted]).toEqual([
        [],
        0,
        0,
      ])
      expect(await everything(replayed.history, nowMs)).toEqual(first)
      history.dispose()
    },
    60_000,
  )

  test('behavior: a later file alone has nothing false', async () => {
    const { history, raw, nowMs } = await record('alone')
    const replayed = await replay(raw, { nowMs, from: 1 })
    expect(replayed.faults).toEqual([])
    const rowsOf = (of: MarketHistory) =>
      of
        .listMarkets({ coin: 'btc', limit: 50 })
        .flatMap((market) => [...snapshotRuns(of, { market })].flat())
    // A book that is sent again was received later.
    const textOf = ({ outcome, timestampMs, bids, asks }: StoredSnapshot): string =>
      JSON.stringify([outcome, timestampMs, bids, asks])
    const all = new Set(rowsOf(history).map(textOf))
    const rows = rowsOf(replayed.history)
    expect(rows.length).toBeGreaterThan(100)
    expect(rows.filter((row) => !all.has(textOf(row)) && row.isVerified !== true)).toEqual([])
    history.dispose()
  }, 60_000)
})
