/**
 * `bun test/bench/recorder.ts`: venue frames a second that one core takes, from their text to rows
 * in a file and on a live connection, and where the time goes; 20 open markets, one change of a
 * level a frame, each in a millisecond of its market's own, so that each makes two states with two
 * hashes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { type Coin, coins, isListed, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'
import type { SocketEvents } from '#src/recorder/ports.ts'
import { startRecorder } from '#src/recorder/recorder.ts'
import type { KnownFacts } from '#src/venue/catalogue.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { fakeHistory } from '../support/fake-history.ts'
import { createHarness } from '../support/harness.ts'
import type { Change, MarketState } from '../support/venue/book.ts'
import { bookText, render } from '../support/venue/frames.ts'
import type { VenueMarket } from '../support/venue/playbook.ts'
import { windowAt } from '../support/venue/windows.ts'

const START_MS = Date.UTC(2026, 10, 22, 10, 2)
/** Frames with the same timestamp, each of another market. */
const PER_MS = 5
const FRAMES = 60_000
const TICK_MS = 5

type Timed = { atMs: number; text: string }
type Load = { markets: VenueMarket[]; first: string; frames: Timed[] }

function marketsOf(): VenueMarket[] {
  const pairs = coins.flatMap((coin) =>
    timeframes.flatMap((timeframe) => (isListed(coin, timeframe) ? { coin, timeframe } : [])),
  )
  return pairs.map(({ coin, timeframe }, index) => ({
    ...windowAt(coin, timeframe, START_MS),
    conditionId: `0x${String(index + 1).padStart(64, 'a')}`,
    assetIds: [`1${String(index).padStart(70, '7')}`, `2${String(index).padStart(70, '7')}`],
    slug: `${coin}-${timeframe}`,
    listedMs: 0,
    tick: '0.01',
    strike: '1',
    finalPrice: '1',
    winner: 0,
  }))
}

function makeLoad(): Load {
  const random = createRandom('recorder bench')
  const markets = marketsOf()
  const size = () => String((random.integer(2_000_000) + 1) / 100)
  const cents = Array.from({ length: 99 }, (_, at) => at + 1).filter((each) => each !== 50)
  const change = (cent: number): Change => ({
    side: cent < 50 ? 'bids' : 'asks',
    price: cent * 10_000,
    size: size(),
  })
  const states = new Map<VenueMarket, MarketState>()
  const step = (market: VenueMarket, atMs: number, changes: readonly Change[]) => {
    const { state, frames } = render({
      market,
      timestampMs: atMs,
      recipe: 'documented',
      schema: 'current',
      before: states.get(market),
      step: { atMs, conditionId: market.conditionId, changes },
    })
    states.set(market, state)
    return frames
  }
  for (const market of markets) step(market, START_MS, cents.map(change))
  const books = [...states.values()].flatMap((state) =>
    state.books.map((book) => bookText(state, book)),
  )
  const frames = Array.from({ length: FRAMES }, (_, at): Timed => {
    const atMs = START_MS + 1 + Math.floor(at / PER_MS)
    const market = markets[at % markets.length]
    const [frame] = market ? step(market, atMs, [change(random.pick(cents))]) : []
    return { atMs, text: frame?.text ?? '' }
  })
  return { markets, first: `[${books.join(',')}]`, frames }
}

const factsOf = (market: VenueMarket): KnownFacts => ({
  conditionId: market.conditionId,
  slug: market.slug,
  coin: market.coin as Coin,
  timeframe: market.timeframe as Timeframe,
  windowStartMs: market.startMs,
  windowEndMs: market.endMs,
  assetIds: { up: market.assetIds[0], down: market.assetIds[1] },
})

/** A recorder that is given frames by hand, with a clock that follows them. */
async function startFed(history: MarketHistory, { markets, first }: Load, afterTick = () => {}) {
  let nowMs = START_MS
  const timers: { everyMs: number; dueMs: number; work: () => void }[] = []
  const sockets: SocketEvents[] = []
  const recorder = startRecorder({
    hearsLifecycle: false,
    history,
    venue: polymarket,
    feed: polymarket.feed,
    feedUrl: '',
    clock: () => nowMs,
    catalogue: {
      find: async ({ coin, timeframe, startMs }) => {
        const isIt = (market: VenueMarket) =>
          market.coin === coin && market.timeframe === timeframe && market.startMs === startMs
        const market = markets.find(isIt)
        return market && factsOf(market)
      },
      read: async () => undefined,
    },
    coins,
    timeframes,
    maxPerSecond: {},
    feedCopies: 1,
    batchMs: 50,
    spotSources: [],
    freeBytes: () => undefined,
    freeBytesMin: 0,
    random: () => 0.5,
    log: console.error,
    every(everyMs, work) {
      timers.push({ everyMs, dueMs: nowMs + everyMs, work })
      return () => {}
    },
    openSocket(_, events) {
      sockets.push(events)
      return { send() {}, close() {} }
    },
  })
  function moveTo(timeMs: number): void {
    nowMs = timeMs
    for (const timer of timers) {
      if (timer.dueMs > timeMs) continue
      timer.dueMs = timeMs + timer.everyMs
      timer.work()
    }
    afterTick()
  }
  const settle = async () => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
  }
  for (let tick = 0; tick < 8; tick++) {
    moveTo(nowMs + 500)
    await settle()
  }
  const [events] = sockets
  if (events === undefined || sockets.length > 1) throw new Error('Not one connection was opened.')
  events.opened()
  events.message(first)
  let tickedMs = nowMs
  const shiftMs = nowMs - START_MS
  return {
    recorder,
    hear({ atMs, text }: Timed): void {
      const timeMs = atMs + shiftMs
      if (timeMs >= tickedMs + TICK_MS) {
        moveTo(timeMs)
        tickedMs = timeMs
      }
      events.message(text)
    },
    end(): void {
      moveTo(nowMs + 5000)
    },
  }
}

/** Microseconds of CPU a frame. */
function cpuOf(frames: number, work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / frames
}

const load = makeLoad()
console.log(
  `${FRAMES} frames of ${load.frames[1]?.text.length} bytes, ${load.markets.length} markets`,
)
const rows: { name: string; us: number }[] = []
let before = 0
function tell(name: string, us: number): void {
  rows.push({ name, us: us - before })
  before = us
  console.log(
    `${name.padEnd(34)} ${us.toFixed(1).padStart(7)} us, ${Math.round(1e6 / us)} a second`,
  )
}

async function measure(name: string, history: MarketHistory, afterTick?: () => void) {
  const fed = await startFed(history, load, afterTick)
  const us = cpuOf(FRAMES, () => {
    for (const frame of load.frames) fed.hear(frame)
    fed.end()
  })
  const { sink, books } = fed.recorder.status()
  if (books.verified < 2 * FRAMES - 100) throw new Error(JSON.stringify(books))
  tell(name, us)
  return sink
}

tell(
  'decoded',
  cpuOf(FRAMES, () => load.frames.forEach(({ text }) => void polymarket.feed.decode(text))),
)
const nowhere = fakeHistory({
  putMarket: async () => {},
  record: async ({ snapshots }) => ({ accepted: snapshots.length, duplicates: 0 }),
})
await measure('and books, with every hash', nowhere)

const { values } = parseArgs({
  options: { live: { type: 'boolean', default: true } },
  allowNegative: true,
})
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-bench-'))
try {
  const history = openHistory(join(folder, 'one.db'), { lagMs: 1 })
  const sink = await measure('and stored in a file', history)
  console.log(`${sink.rows} rows in ${sink.batches} transactions`)
  history.dispose()
  if (values.live) await measureLive()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measureLive(): Promise<void> {
  const history = openHistory(join(folder, 'two.db'), { lagMs: 1 })
  const harness = createHarness({ history })
  harness.time.nowMs = START_MS + 5000
  const { stream } = harness.app
  const sent = { rows: 0, bytes: 0 }
  const connection = {
    data: { authorization: `Bearer ${harness.key}` },
    send(text: string): void {
      if (text.startsWith('{"type":"row"')) sent.rows++
      sent.bytes += text.length
    },
    getBufferedAmount: () => 0,
    close: (code: number, reason: string) => console.error(`closed with ${code}: ${reason}`),
  }
  let isOpen = false
  const subscribe = (channel: string, coin: string, rest: object) =>
    stream.websocket.message(
      connection,
      JSON.stringify({ op: 'subscribe', id: `${channel} ${coin}`, channel, coin, ...rest }),
    )
  await measure('and live: quotes of all, one market', history, () => {
    harness.advance(TICK_MS)
    if (!isOpen) {
      isOpen = true
      stream.websocket.open(connection)
      for (const coin of coins) subscribe('quotes', coin, {})
      subscribe('snapshots', 'btc', { timeframe: '5m' })
    }
    stream.tick()
  })
  console.log(`${sent.rows} rows, ${Math.round(sent.bytes / 1e6)} MB to one subscriber`)
  history.dispose()
}

console.log('\n| part | us a frame | share |\n|---|--:|--:|')
for (const { name, us } of rows)
  console.log(`| ${name} | ${us.toFixed(1)} | ${Math.round((100 * us) / before)} % |`)
