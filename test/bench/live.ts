/**
 * `bun test/bench/live.ts`: what a row costs that is followed as an event: bytes and CPU by
 * coding, without a server; then followers of one market over sockets, all in a process of their
 * own.
 *
 *   --rows <n>       rows a measurement, 2000 by default
 *   --followers <n>  1000 by default
 */
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { constants, createDeflateRaw, createGzip } from 'node:zlib'

import { createCursorCodec } from '#src/domain/cursor.ts'
import { snapshotList } from '#src/domain/lists.ts'
import type { Position, Snapshot } from '#src/domain/snapshot.ts'
import { createEventEncoder } from '#src/features/live/encoder.ts'
import { createLiveService } from '#src/features/live/service.ts'
import { readPrices } from '#src/features/prices/over-time.ts'
import { readQuotes } from '#src/features/quotes/routes.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { streamResponse } from '#src/http/stream.ts'
import { createMarketWatch } from '#src/live/market-watch.ts'
import { createRowReader, START } from '#src/live/rows.ts'
import { createZlibStream } from '#src/platform/zlib-stream.ts'
import { simulate } from '#src/simulator/simulator.ts'

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '2000' },
    followers: { type: 'string', default: '1000' },
    serve: { type: 'string' },
  },
})
const [rows, followers] = [Number(flags.rows), Number(flags.followers)]
/** Rows that are written before anything is measured. */
const WARM_UP_ROWS = 300
const START_MS = 1_776_081_600_000
/** In which a thousand groups of their own are all written. */
const TICKS_ALONE = 8
const timer = () => 0

function* snapshots(): Generator<Snapshot> {
  const options = { seed: 'live', markets: 10, startMs: START_MS }
  const made = simulate({ ...options, coins: ['btc'], timeframes: ['5m'] })
  let conditionId: string | undefined
  for (const { snapshots: found } of made) {
    conditionId ??= found[0]?.conditionId
    for (const snapshot of found) if (snapshot.conditionId === conditionId) yield snapshot
  }
}

async function openMarket() {
  const history = openHistory(':memory:')
  const source = snapshots()
  let batch = 0
  let conditionId = ''
  const append = async (): Promise<void> => {
    const { value, done } = source.next()
    if (done) throw new Error('The simulated market has fewer rows.')
    conditionId = value.conditionId
    await history.append({ id: `live-${++batch}`, source: 'simulated', snapshots: [value] })
  }
  for (let row = 0; row < WARM_UP_ROWS; row++) await append()
  const market = () => {
    const found = history.findMarket(conditionId)
    if (found === undefined) throw new Error('It was appended.')
    return found
  }
  return { history, append, market }
}

const cursors = createCursorCodec(new Uint8Array(32))

const createReads = (history: MarketHistory) =>
  createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })

function createService(history: MarketHistory) {
  const read = createReads(history)
  return createLiveService({
    history,
    cursors,
    timer,
    rows: read,
    clock: () => START_MS,
    markets: createMarketWatch(history, () => START_MS),
    describeMarket: () => '{}',
    randomBytes: (length) => new Uint8Array(length),
  })
}

type Bench = Awaited<ReturnType<typeof openMarket>>
/** Writes the next row; returns its bytes. */
type Way = () => Promise<number> | number

/** Text through a stream of zlib, flushed after each row as a socket would be. */
function flushed(read: () => string, zlib: ReturnType<typeof createGzip>): Way {
  let bytes = 0
  zlib.on('data', (piece: Uint8Array) => {
    bytes += piece.length
  })
  return async () => {
    const before = bytes
    zlib.write(read())
    await new Promise<void>((done) => zlib.flush(constants.Z_SYNC_FLUSH, done))
    return bytes - before
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const benchFilters = {
  conditionId: 'bench',
  order: 'asc',
  view: 'own',
  cut: { depth: undefined, fields: undefined },
} as const

const linesBefore = (position: Position) =>
  `event:row\nid:${cursors.encode(snapshotList, benchFilters, position)}\ndata:`

/** Text in one zlib stream, as messages of the WebSocket. */
function streamed(read: () => string): Way {
  let sent = Promise.withResolvers<number>()
  const stream = createZlibStream(
    ({ length }) => sent.resolve(length),
    (error) => sent.reject(error),
  )
  return () => {
    sent = Promise.withResolvers()
    stream.write(read())
    return sent.promise
  }
}

/** Reads rows one by one, each as its event. */
function createReader({ history, market }: Bench): () => string {
  const decoder = new TextDecoder()
  let after = history.page({ market: market(), order: 'asc', limit: WARM_UP_ROWS }).last
  return () => {
    const page = history.page({ market: market(), order: 'asc', after, limit: 1 })
    const [text] = page.texts()
    if (page.last === undefined) throw new Error('There are as many rows as are read.')
    after = page.last
    return `${linesBefore(after)}${decoder.decode(text)}\n\n`
  }
}

/** Writes rows one by one as the service does. */
function createEvents({ history, market }: Bench, isGzip: boolean, depth?: number): Way {
  const filter = { channel: 'snapshots', depth } as const
  const options = { filter, isGzip, isMixed: false }
  const encoder = createEventEncoder(history, createReads(history), options)
  encoder.event('retry:3000')
  let after = history.page({ market: market(), order: 'asc', limit: WARM_UP_ROWS }).last ?? START
  return () => {
    const query = { market: market(), after, toMs: undefined, limit: 1 }
    const page = encoder.rows(query, linesBefore)
    if (page instanceof Promise) throw new Error('Nothing has to be fetched of a file.')
    const { bytes, resume } = page
    after = resume
    return bytes.length
  }
}

/** Bytes and microseconds of CPU a row, from the history to what is sent. */
async function measureCodings(): Promise<void> {
  const bench = await openMarket()
  for (let row = 0; row < rows; row++) await bench.append()
  const zipped = (zlib: ReturnType<typeof createGzip>) => flushed(createReader(bench), zlib)
  const ways: Record<string, Way> = {
    'plain JSON': createEvents(bench, false),
    'gzip, stored frames': createEvents(bench, true),
    'depth=10, plain JSON': createEvents(bench, false, 10),
    'depth=10, gzip': createEvents(bench, true, 10),
    'gzip level 1, flushed each row': zipped(createGzip({ level: 1 })),
    'gzip level 6, flushed each row': zipped(createGzip({ level: 6 })),
    'zlib-stream, as on the WebSocket': streamed(createReader(bench)),
    'permessage-deflate, level 1': zipped(createDeflateRaw({ level: 1 })),
    'permessage-deflate, level 6': zipped(createDeflateRaw({ level: 6 })),
  }
  console.log('| a row as an event | bytes | CPU µs |\n|---|--:|--:|')
  for (const [name, write] of Object.entries(ways)) {
    const times: number[] = []
    let bytes = 0
    for (let from = 0; from < rows; from += 100) {
      const before = process.cpuUsage()
      for (let row = from; row < from + 100; row++) bytes += await write()
      const { user, system } = process.cpuUsage(before)
      times.push((user + system) / 100)
    }
    const steady = times.slice(times.length >> 2)
    console.log(`| ${name} | ${Math.round(bytes / rows)} | ${median(steady).toFixed(1)} |`)
  }
}

/** `shared`: all in one group; `own`: a group each; `bytes`: the same bytes for all, made nowhere. */
type Mode = 'none' | 'one' | 'shared' | 'own' | 'bytes'

/** The process that serves: reads `go` and prints the microseconds of CPU a row. */
async function serve(mode: Mode): Promise<void> {
  const { history, append, market } = await openMarket()
  const service = createService(history)
  const senders = new Set<(bytes: Uint8Array) => void>()
  let opened = 0
  const server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch() {
      opened++
      if (mode === 'bytes') {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => void senders.add((bytes) => controller.enqueue(bytes)),
        })
        return new Response(body)
      }
      const heartbeatMs = mode === 'own' ? 1e9 + opened : 1e9
      const { conditionId, coin } = market()
      const stream = service.open({
        options: {
          coin,
          conditionId,
          timeframe: undefined,
          filter: { channel: 'snapshots' },
          heartbeatMs,
        },
        market: market(),
        cursor: undefined,
        isGzip: true,
        refusal: () => undefined,
        takePlace: () => () => {},
      })
      return streamResponse({ headers: {}, ...stream })
    },
  })
  console.log(server.port)
  for await (const _line of console) break
  // Those who came one after the other are joined after the next rows of both outcomes.
  for (let row = 0; row < 40; row++) {
    await append()
    for (let tick = 0; tick < 5; tick++) service.tick()
    await Bun.sleep(5)
  }
  const piece = new Uint8Array(124).fill(7)
  const ticks = mode === 'own' ? TICKS_ALONE : 1
  function write(): void {
    if (mode === 'bytes') for (const send of senders) send(piece)
    else for (let tick = 0; tick < ticks; tick++) service.tick()
  }
  const times: number[] = []
  const writing: number[] = []
  for (let row = 0; row < rows / 4; row++) {
    await append()
    const before = process.cpuUsage()
    write()
    const made = process.cpuUsage(before)
    writing.push(made.user + made.system)
    await Bun.sleep(15)
    const { user, system } = process.cpuUsage(before)
    times.push(user + system)
  }
  console.log(`${median(times).toFixed(0)} ${median(writing).toFixed(0)} ${service.counts.groups}`)
  process.exit()
}

/** Followers that take what comes, in this process. */
async function follow(mode: Mode): Promise<[cpuUs: number, writeUs: number, groups: number]> {
  const args = ['--serve', mode, '--rows', String(rows), '--followers', String(followers)]
  const child = Bun.spawn([process.execPath, import.meta.path, ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const port = Number((await lines.read()).value)
  const counts: Partial<Record<Mode, number>> = { none: 0, one: 1 }
  const count = counts[mode] ?? followers
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await new Promise((resolve) => socket.once('data', resolve))
      socket.on('data', () => {})
      return socket
    }),
  )
  child.stdin.write('go\n')
  child.stdin.flush()
  const [cpuUs = 0, writeUs = 0, groups = 0] = ((await lines.read()).value ?? '')
    .split(' ')
    .map(Number)
  for (const socket of sockets) socket.destroy()
  await child.exited
  return [cpuUs, writeUs, groups]
}

if (flags.serve !== undefined) await serve(flags.serve as Mode)
else {
  await measureCodings()
  const names: Record<Mode, string> = {
    none: 'nobody',
    one: '1 follower',
    shared: `${followers} followers, in step`,
    own: `${followers} followers, each encoded for`,
    bytes: `${followers} plain streams of as many bytes`,
  }
  console.log(
    '\n| followers of one market | CPU µs to write a row | and to send it | groups |\n|---|--:|--:|--:|',
  )
  for (const [mode, name] of Object.entries(names)) {
    const [cpuUs, writeUs, groups] = await follow(mode as Mode)
    console.log(`| ${name} | ${writeUs} | ${cpuUs} | ${groups} |`)
  }
}
