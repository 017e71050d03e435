/** A server with its live stream on a port of its own, and a client that was not written by us. */

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { AppDeps } from '#src/server/app.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { readStreamDocument } from './asyncapi-document.ts'
import { createHarness } from './harness.ts'

export type Message = Record<string, unknown> & {
  type: string
  data?: Record<string, unknown> & { id?: string }
}

const { faultsOf } = await readStreamDocument()

/** Throws for a message that the AsyncAPI document does not have. */
export function asDocumented(message: Message): Message {
  const faults = faultsOf(`${message.type}Message`, message)
  if (faults.length > 0) throw new Error(`${JSON.stringify(message)}: ${faults.join('; ')}`)
  return message
}

const closers: (() => void)[] = []
/** Ends what tests began; to be called after each. */
export function closeAll(): void {
  for (const close of closers.splice(0)) close()
}

/** Starts a server that is ticked every millisecond; its wall clock is moved by the test. */
export function startLiveServer(options: Partial<AppDeps> = {}) {
  const history = openHistory(':memory:', { chunkCacheBytes: 1 << 24, lagMs: 0 })
  // A test may replace the verb of `history`.
  const read = { ...history, page: (query: RowQuery) => history.page(query) }
  const harness = createHarness({ history: read, timer: () => performance.now(), ...options })
  const { app } = harness
  harness.time.nowMs = START_MS + 60_000
  const server = Bun.serve<StreamData>({
    port: 0,
    fetch: app.fetch,
    websocket: app.stream.websocket,
  })
  const timer = setInterval(app.stream.tick, 1)
  closers.push(() => {
    clearInterval(timer)
    void server.stop(true)
    history.dispose()
  })
  return { ...harness, history, port: server.port, url: `ws://127.0.0.1:${server.port}/v1/stream` }
}

export function connect(url: string, key?: string) {
  const messages: Message[] = []
  const waiting: (() => void)[] = []
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const socket = new WebSocket(url, { headers })
  const closed = Promise.withResolvers<CloseEvent>()
  socket.onclose = closed.resolve
  socket.onmessage = ({ data }) => {
    messages.push(asDocumented(JSON.parse(data)))
    for (const wake of waiting.splice(0)) wake()
  }
  const opened = new Promise((resolve) => {
    socket.onopen = resolve
  })
  const send = async (message: object) => {
    await opened
    socket.send(JSON.stringify(message))
  }
  /** Waits until a message of the kind is there that was not taken, and takes those before it. */
  const until = async (isIt: (message: Message) => boolean): Promise<Message[]> => {
    for (;;) {
      const at = messages.findIndex(isIt)
      if (at >= 0) return messages.splice(0, at + 1)
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  const untilType = (type: string) => until((message) => message.type === type)
  return { send, until, untilType, messages, closed: closed.promise, socket }
}

let batches = 0
export function append(history: MarketHistory, snapshots: readonly Snapshot[]): void {
  // With a reason it is no import, which would fill the gaps of other writers.
  history.append({ id: `live-${++batches}`, source: 'simulated', snapshots, gapReason: 'import' })
}

/** Puts a five-minute market whose window begins so many milliseconds after the first one's. */
export const putMarket = (history: MarketHistory, number = 1, afterMs = 0) =>
  history.putMarket({
    conditionId: conditionIdOf(number),
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS + afterMs,
    windowEndMs: START_MS + afterMs + 300_000,
  })

export const isRow = ({ type }: Message) => type === 'row'
