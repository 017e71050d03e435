/** A server with its live stream on its own port, and a client from another author. */

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { readStreamDocument } from './asyncapi-document.ts'
import { createHarness, type HarnessParts } from './harness.ts'

export type Message = Record<string, unknown> & {
  type: string
  data?: Record<string, unknown> & { id?: string }
}

const { faultsOf } = await readStreamDocument()

/** Throws for a message that is not in the AsyncAPI document. */
export function asDocumented(message: Message): Message {
  const faults = faultsOf(`${message.type}Message`, message)
  if (faults.length > 0) throw new Error(`${JSON.stringify(message)}: ${faults.join('; ')}`)
  return message
}

const closers: (() => void)[] = []
/** Ends everything that tests started; call it after each test. */
export function closeAll(): void {
  for (const close of closers.splice(0)) close()
}

/** Starts a server that is ticked every millisecond; the test moves its wall clock. */
export function startLiveServer(options: HarnessParts = {}) {
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
  /** Waits until an unread message matches, and takes it with all before it. */
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
export async function append(
  history: MarketHistory,
  snapshots: readonly Snapshot[],
): Promise<void> {
  // With a reason the batch is not an import, which would fill the gaps of other writers.
  await history.append({
    id: `live-${++batches}`,
    source: 'simulated',
    snapshots,
    gapReason: 'import',
  })
}

/** Stores a five-minute market whose window begins this many milliseconds after the first one's. */
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
