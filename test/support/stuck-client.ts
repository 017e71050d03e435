/** A connection of the stream in this process, whose test decides when it reads. */
import type { Outcome } from '#src/domain/market.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import { createRounds } from '#src/http/rounds.ts'

import { aSnapshot, START_MS } from '../history/books.ts'
import { append, asDocumented, type Message, putMarket, startLiveServer } from './live-client.ts'

type Server = Pick<ReturnType<typeof startLiveServer>, 'app' | 'key'>

/** A connection whose client reads only when the test says so. */
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
    /** True if it receives nothing more; it closes after the client has read everything. */
    isOver: () => data.session?.isOver ?? true,
    ask: (message: object) => websocket.message(connection, JSON.stringify(message)),
    close: () => websocket.close(connection),
    /** Reads everything in flight. */
    take() {
      state.buffered = 0
      websocket.drain(connection)
    },
  }
}

/** A market with one state of each outcome, and a function that writes more. */
export async function startWriting() {
  // Operations are performed at once, however slow the machine is.
  const server = startLiveServer({ replaced: { rounds: createRounds(() => 0) } })
  await putMarket(server.history)
  let written = 0
  /** Levels make a row large. */
  const write = async (outcome: Outcome, levels = 1) => {
    written++
    const prices = Array.from({ length: levels }, (_, index) => 500_000 - index * 1000)
    const bids = { prices, sizes: prices.map((_, index) => (written + index) * 10_000) }
    await append(server.history, [aSnapshot({ outcome, timestampMs: START_MS + written, bids })])
    // A slice may end before every connection has it.
    for (let rounds = 0; rounds < 4; rounds++) while (server.app.stream.tick());
  }
  await write('up')
  await write('down')
  return { ...server, write }
}
