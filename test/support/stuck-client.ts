/** A connection of the stream in this process, whose test decides what it takes. */
import { createLimits } from '#src/access/limits.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import { createWork } from '#src/http/work.ts'

import { aSnapshot, START_MS } from '../history/books.ts'
import { append, asDocumented, type Message, putMarket, startLiveServer } from './live-client.ts'

type Server = Pick<ReturnType<typeof startLiveServer>, 'app' | 'key'>

/** A connection whose other end takes bytes only when the test says so. */
export function openStuck({ app, key }: Server) {
  const { websocket } = app.stream
  const sent: Message[] = []
  const state = { buffered: 0, most: 0, code: 0, isCut: false }
  const data: StreamData = { authorization: `Bearer ${key}` }
  const connection = {
    data,
    send(text: string) {
      sent.push(asDocumented(JSON.parse(text)))
      state.buffered += text.length
      state.most = Math.max(state.most, state.buffered)
    },
    getBufferedAmount: () => state.buffered,
    close(code: number) {
      state.code = code
      websocket.close(connection)
    },
    terminate() {
      state.isCut = true
      websocket.close(connection)
    },
  }
  websocket.open(connection)
  return {
    state,
    sent,
    /** Whether it gets nothing more; it is closed when it has taken all. */
    isOver: () => data.session?.isOver ?? true,
    ask: (message: object) => websocket.message(connection, JSON.stringify(message)),
    close: () => websocket.close(connection),
    /** The other end takes all that is on its way. */
    take() {
      state.buffered = 0
      websocket.drain(connection)
    },
  }
}

/** A market with one state of each outcome, and what writes on. */
export function startWriting() {
  const work = createWork({
    timer: () => performance.now(),
    limits: createLimits(8),
  })
  // What is asked is done at once, however slow the machine is.
  const tryNow = (act: () => void) => {
    act()
    return true
  }
  const server = startLiveServer({ work: { ...work, tryNow } })
  putMarket(server.history)
  let written = 0
  /** Levels make a row large. */
  const write = (outcome: Outcome, levels = 1) => {
    written++
    const prices = Array.from({ length: levels }, (_, index) => 500_000 - index * 1000)
    const bids = { prices, sizes: prices.map((_, index) => (written + index) * 10_000) }
    append(server.history, [aSnapshot({ outcome, timestampMs: START_MS + written, bids })])
    // A slice may be over before all have it.
    for (let ticks = 0; ticks < 4; ticks++) server.app.stream.tick()
  }
  write('up')
  write('down')
  return { ...server, write }
}
