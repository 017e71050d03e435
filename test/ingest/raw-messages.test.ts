import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import { coverageOf, type Gap } from '#src/domain/coverage.ts'
import { outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'
import { openDataFolder } from '#src/server/open-data-folder.ts'
import { startRecording } from '#src/server/recording.ts'

import { toldTrades } from '../history/books.ts'
import { startSteppedVenue } from '../recorder/rig.ts'
import { createCliContext } from '../support/cli-context.ts'
import { createHarness } from '../support/harness.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { until } from '../support/until.ts'
import type { Fault } from '../support/venue/faults.ts'
import { START_MS } from '../support/venue/ground.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-raw-'))
})
const recorded: MarketHistory[] = []
afterAll(async () => {
  for (const history of recorded) history.dispose()
  await rm(folder, { recursive: true, force: true })
})

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

/** The first window of which the market is found during the recording. */
const FOUND_MS = RECORD_MS + 630_000

/** What is recorded, of the venue's time: until the script is over and there is enough. */
const VENUE_MS_MIN = 75_000
const VENUE_MS_MAX = 240_000
/** How far the clock moves at once. */
const STEP_MS = 10

/** Records a venue with faults for some minutes of its time, and keeps every message. */
async function record(name: string, env: Record<string, string> = {}, rawBytesMax?: number) {
  await using stepped = await startSteppedVenue({
    startMs: RECORD_MS,
    stepMs: STEP_MS,
    generated: { seed: 'test', stepsPerSecond: 20 },
    venue: { script, spotFaults: { dropEvery: 7 } },
  })
  const { venue, clock, every, openSocket, fetch } = stepped
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
  const config = () => {
    const known = context.config()
    return { ...known, rawBytesMax: rawBytesMax ?? known.rawBytesMax }
  }
  const history = await openDataFolder({ ...context, clock })
  recorded.push(history)
  {
    await using _job = startRecording({ ...context, clock, config }, history, {
      every,
      openSocket,
      fetch,
    })
    const isEnded = () =>
      clock() >= RECORD_MS + VENUE_MS_MIN &&
      (isOver(history) || clock() >= RECORD_MS + VENUE_MS_MAX)
    while (!isEnded()) {
      const keptBytes = bytesOf(raw)
      await stepped.advance(1000)
      // Messages come in each second, and are written at its end while the clock stands still.
      await until(() => bytesOf(raw) !== keptBytes)
    }
  }
  return { history, raw, errors, nowMs: clock() }
}

const bytesOf = (path: string): number =>
  readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)

/** Imports of a loaded machine take minutes; nothing that is compared depends on it. */
const TEST_MS_MAX = 400_000

/**
 * Whether states of every market came, the last one that is found among them: the gap of a market
 * that still waits for a connection is in the history and in no message.
 */
function isEachHeard(history: MarketHistory): boolean {
  const markets = history.listMarkets({ coin: 'btc', limit: 50 })
  return (
    markets.some(({ windowStartMs }) => windowStartMs === FOUND_MS) &&
    markets.every(({ spans }) => spans.up && spans.down)
  )
}

const isOver = (history: MarketHistory): boolean => isEnough(history) && isEachHeard(history)

/** Whether there is as much of everything as the tests need. */
function isEnough(history: MarketHistory): boolean {
  const markets = history.listMarkets({ coin: 'btc', limit: 50 })
  const spot = history.spot({ coin: 'btc', order: 'asc', limit: 10_000 })
  const count = (of: (market: (typeof markets)[number]) => number): number =>
    markets.reduce((sum, market) => sum + of(market), 0)
  return (
    count(({ snapshotCounts }) => snapshotCounts.up + snapshotCounts.down) > 200 &&
    count((market) => history.gaps(market).length) > 2 &&
    count((market) => history.trades({ market }).length) > 5 &&
    spot.length > 200 &&
    spot.filter(({ dropped }) => dropped !== undefined).length > 3
  )
}

/** One recording for all tests that only read it. */
let plain: ReturnType<typeof record> | undefined
const recordPlain = () => (plain ??= record('plain'))

const inMemory = () => openHistory(':memory:', { chunkCacheBytes: 0, lagMs: 0 })

type Replay = { nowMs: number; history?: MarketHistory; from?: number; to?: number }

async function replay(raw: string, { nowMs, history = inMemory(), from = 0, to }: Replay) {
  const names = (await readdir(raw)).sort().slice(from, to)
  const files = names.map((name) => join(raw, name))
  return { ...(await importAll(files, { nowMs, history })), names }
}

async function importAll(files: string[], { nowMs, history = inMemory() }: Replay) {
  const faults: unknown[] = []
  const report = await importFiles({
    history,
    files,
    source: 'recorded',
    clock: () => nowMs,
    isStrict: false,
    signal: new AbortController().signal,
    onFault: (fault) => faults.push(fault),
    onProgress: () => {},
  })
  return { history, report, faults }
}

/** Makes gaps that follow on each other one: which parts they came in says nothing. */
function withGap(gaps: Gap[], gap: Gap): Gap[] {
  const last = gaps.at(-1)
  return last?.toMs === gap.fromMs && last.outcome === gap.outcome && last.reason === gap.reason
    ? [...gaps.slice(0, -1), { ...last, toMs: gap.toMs }]
    : [...gaps, gap]
}

/** The gaps of each market as they are served, and the times of its states. */
const timesOf = (history: MarketHistory, nowMs: number) =>
  history.listMarkets({ coin: 'btc', limit: 50 }).map((market) => ({
    gaps: coverageOf({ market, gaps: history.gaps(market), nowMs }).flatMap(({ gaps }) =>
      gaps.reduce(withGap, []),
    ),
    states: [...snapshotRuns(history, { market })]
      .flat()
      .map(({ outcome, timestampMs }) => ({ outcome, timestampMs })),
  }))

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
      '',
      '/coverage',
      '/snapshots?limit=100&order=desc',
      '/quotes?limit=100',
      '/prices?limit=100',
      '/export?include=receivedAt',
      '/export?format=csv',
    ]
    return await Promise.all(paths.map((path) => ask(base + path)))
  }
  return {
    routes: [await ask('/v1/btc/markets'), await ask('/v1/coins')],
    markets: await Promise.all(markets.map(of)),
    gaps: markets.map((market) => history.gaps(market)),
    trades: markets.map((market) => toldTrades(history, { market })),
    rows: markets.map((market) => [...snapshotRuns(history, { market })].flat()),
    spot: history.spot({ coin: 'btc', order: 'asc', limit: 10_000 }),
  }
}

type Told = Awaited<ReturnType<typeof everything>>

/** In each millisecond, as an import stores them; a recorder may store Down first. */
const upBeforeDown = (rows: readonly StoredSnapshot[]): StoredSnapshot[] =>
  rows.toSorted(
    (a, b) =>
      a.timestampMs - b.timestampMs || outcomes.indexOf(a.outcome) - outcomes.indexOf(b.outcome),
  )

function listMovedIds(rows: readonly StoredSnapshot[]): number[] {
  const inOrder = upBeforeDown(rows)
  return rows.filter((row, at) => row !== inOrder[at]).map(({ id }) => id)
}

/** What was told, in an order that does not depend on ids; a row that moved has another one. */
const withoutIds = (told: Told) => ({
  ...told,
  rows: told.rows.map((rows) => upBeforeDown(rows).map((row) => ({ ...row, id: 0 }))),
  markets: told.markets.map((bodies) => bodies.map((body) => listRows(body).toSorted())),
})

/** The rows of a list, an export or a table as text. */
function listRows(body: string): string[] {
  const text = body.replaceAll(/"id":"\d+",|(?<=^[^,{]+Z,)\d+,/gm, '')
  return text.startsWith('{"data":')
    ? JSON.parse(text).data.map((row: unknown) => JSON.stringify(row))
    : text.split('\n')
}

const rowsOf = (of: MarketHistory) =>
  of
    .listMarkets({ coin: 'btc', limit: 50 })
    .flatMap((market) => [...snapshotRuns(of, { market })].flat())

/** A book that is sent again was received later. */
const bookOf = ({ outcome, timestampMs, bids, asks }: StoredSnapshot): string =>
  JSON.stringify([outcome, timestampMs, bids, asks])

const isIn = (
  gaps: readonly Gap[],
  { outcome, timestampMs }: Pick<StoredSnapshot, 'outcome' | 'timestampMs'>,
) =>
  gaps.some((gap) => gap.outcome === outcome && gap.fromMs <= timestampMs && timestampMs < gap.toMs)

const withoutReasons = (all: ReturnType<typeof timesOf>) =>
  all.map(({ gaps, states }) => {
    const unnamed = gaps.map((gap): Gap => ({ ...gap, reason: 'import' }))
    return { states, gaps: unnamed.reduce(withGap, []) }
  })

describe('importFiles of raw messages', () => {
  test.each([
    ['every state', recordPlain],
    [
      'two connections and a rate',
      () => record('rate', { BOOKFEED_FEED_CONNECTIONS: '2', BOOKFEED_RECORD_RATE: '5m=5' }),
    ],
  ])(
    'default: they become what the recorder stored: %s',
    async (_, recordIt) => {
      const { history, raw, nowMs } = await recordIt()
      const replayed = await replay(raw, { nowMs })
      expect(replayed.faults).toEqual([])
      const first = await everything(history, nowMs)
      const second = await everything(replayed.history, nowMs)
      expect(first.rows.flat().length).toBeGreaterThan(200)
      expect(first.gaps.flat().length).toBeGreaterThan(2)
      expect(first.trades.flat().length).toBeGreaterThan(5)
      expect(first.spot.length).toBeGreaterThan(200)
      expect(first.spot.filter(({ dropped }) => dropped !== undefined).length).toBeGreaterThan(3)
      expect(second.spot).toEqual(first.spot)
      expect(second.gaps).toEqual(first.gaps)
      expect(second.trades).toEqual(first.trades)
      expect(second.rows).toEqual(second.rows.map(upBeforeDown))
      expect(withoutIds(second)).toEqual(withoutIds(first))
      const movedIds = first.rows.flatMap(listMovedIds)
      const isBeforeMoved = ({ id }: StoredSnapshot) => id < Math.min(...movedIds)
      expect(second.rows.flat().filter(isBeforeMoved)).toEqual(
        first.rows.flat().filter(isBeforeMoved),
      )
      if (movedIds.length === 0) expect(second).toEqual(first)
      expect(replayed.names).toHaveLength(2)
      const again = await replay(raw, { nowMs, history: replayed.history })
      expect([again.faults, again.report.accepted, again.report.prices.accepted]).toEqual([
        [],
        0,
        0,
      ])
      expect(await everything(replayed.history, nowMs)).toEqual(second)
      const markets = () => replayed.history.listMarkets({ coin: 'btc', limit: 50 })
      for (const market of markets())
        if (market.lastSnapshotMs) await replayed.history.putMarket({ ...market, tickSize: 1000 })
      // A part may choose others of the rows that a rate leaves out.
      const beside = () =>
        markets().map((market) => [market.tickSize, replayed.history.gaps(market)])
      const held = beside()
      for (const part of [{ to: 1 }, { from: 1 }]) {
        const { faults } = await replay(raw, { nowMs, history: replayed.history, ...part })
        expect([faults, beside()]).toEqual([[], held])
      }
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a later file alone has nothing false',
    async () => {
      const { history, raw, nowMs } = await recordPlain()
      const replayed = await replay(raw, { nowMs, from: 1 })
      expect(replayed.faults).toEqual([])
      const all = new Set(rowsOf(history).map(bookOf))
      const rows = rowsOf(replayed.history)
      expect(rows.length).toBeGreaterThan(100)
      expect(rows.filter((row) => !all.has(bookOf(row)) && row.isVerified !== true)).toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: nothing runs on over a file that is missing',
    async () => {
      const { raw, nowMs } = await record('missing', {}, 220_000)
      const names = (await readdir(raw)).sort().map((name) => join(raw, name))
      expect(names.length).toBeGreaterThan(2)
      const missing = names[1] ?? ''
      const text = gunzipSync(await readFile(missing)).toString()
      const times = [...text.matchAll(/"_recv":(\d+)/g)].map(([, ms]) => Number(ms))
      const fromMs = Math.min(...times)
      const toMs = Math.max(...times)
      const { history: whole } = await importAll(names, { nowMs })
      const found = await importAll(
        names.filter((name) => name !== missing),
        { nowMs },
      )
      expect(found.faults).toEqual([])
      const rows = rowsOf(whole)
      const all = new Set(rows.map(bookOf))
      const kept = rowsOf(found.history)
      expect(kept.filter((row) => !all.has(bookOf(row)) && row.isVerified !== true)).toEqual([])
      expect(kept.length).toBeGreaterThan(50)
      const gone = rows.filter(({ receivedMs = 0 }) => receivedMs > fromMs && receivedMs < toMs)
      expect(gone.length).toBeGreaterThan(20)
      // The last of the hole may be said again when it is over. What was not heard before it cannot
      // run on.
      const said = new Set(kept.map(bookOf))
      const isMissing = (row: StoredSnapshot) => {
        const market = found.history.findMarket(row.conditionId)
        const { firstMs = row.timestampMs } = market?.spans[row.outcome] ?? {}
        const isBegun = market !== undefined && firstMs < row.timestampMs
        return isBegun && !said.has(bookOf(row)) && !isIn(found.history.gaps(market), row)
      }
      expect(gone.filter(isMissing).map(bookOf)).toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: files that overlap make no gap where another has the book',
    async () => {
      const { raw, nowMs } = await recordPlain()
      const names = (await readdir(raw)).sort()
      const [first = '', second = ''] = names.map((name) => join(raw, name))
      /** Of a recorder that was killed while another one went on. */
      const killed = join(folder, 'killed.jsonl.gz')
      const lines = gunzipSync(await readFile(second))
        .toString()
        .split('\n')
      const killedMs = RECORD_MS + 52_000
      const kept = lines.filter((line) => Number(/"_recv":(\d+)/.exec(line)?.[1]) < killedMs)
      expect([names.length, kept.length < lines.length]).toEqual([2, true])
      await writeFile(killed, gzipSync(kept.join('\n')))
      const copies = ['first', 'second'].map((name) => join(folder, `${name}-copy.jsonl.gz`))
      for (const [at, file] of copies.entries()) await copyFile([first, second][at] ?? '', file)
      const [copy = '', copy2 = ''] = copies

      async function importOrder(...imports: string[][]) {
        const into = inMemory()
        for (const files of imports) {
          const { faults } = await importAll(files, { nowMs, history: into })
          expect(faults).toEqual([])
        }
        return timesOf(into, nowMs)
      }

      const whole = await importOrder([first, second])
      expect(whole.flatMap(({ gaps }) => gaps).length).toBeGreaterThan(2)
      expect(await importOrder([first, copy, second, copy2])).toEqual(whole)
      expect(await importOrder([first, copy], [copy2, second])).toEqual(
        await importOrder([first], [second]),
      )
      // Until the second file has a whole book, only the first one knows the book; each may see
      // another reason why it does not.
      const known = withoutReasons(whole)
      for (const order of [[[second, first, killed]], [[first, killed], [second]]])
        expect(withoutReasons(await importOrder(...order))).toEqual(known)
      const apart = await importOrder([second], [first])
      expect(withoutReasons(apart)).toEqual(withoutReasons(await importOrder([first], [second])))
      const falsely = apart.map(({ gaps, states }, at) =>
        states.filter((state) => isIn(gaps, state) && !isIn(whole[at]?.gaps ?? [], state)),
      )
      expect(falsely.flat()).toEqual([])
    },
    TEST_MS_MAX,
  )
})
