/** One WebSocket connection as a bounded queue of messages. */
import { BookfeedError } from './errors.ts'
import { backoffMs, type Requester, sleep, watchdog } from './request.ts'

const QUEUE = { max: 5000, low: 500 }
const HEARTBEAT_SECONDS = 10
const ATTEMPTS = 8
const finalCloses: Record<number, 'unauthenticated' | 'too_many_streams' | 'invalid_request'> = {
  4001: 'unauthenticated',
  4002: 'invalid_request',
  4029: 'too_many_streams',
}

export const noWebSocket = (need: string): BookfeedError =>
  new BookfeedError(
    'no_websocket',
    `This runtime has no WebSocket (Node 20 has none). ${need}: use Node 22 or newer, or run \`npm install ws\` and pass \`WebSocket\` of that package to \`new Bookfeed({ WebSocket })\`.`,
  )

export type Wire = Record<string, unknown>
export const isRow = ({ type }: Wire): boolean => type === 'row' || type === 'snapshot'

export type Line = {
  send: (operation: Wire) => void
  /** The next message; undefined after the last one of a connection that may be reopened. */
  next: () => Promise<Wire | undefined>
  end: () => void
}

/** Inflates binary messages, which continue one zlib stream and are one line each. */
function createInflater(onText: (text: string) => void, onFault: () => void) {
  const stream = new DecompressionStream('deflate')
  const writer = stream.writable.getWriter()
  const reader = stream.readable.pipeThrough(new TextDecoderStream()).getReader()
  let pending = 0
  let onEmpty = () => {}
  async function read(): Promise<void> {
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) onText(line)
      pending -= lines.length
      if (pending === 0) onEmpty()
    }
  }
  read().catch(onFault)
  return {
    add(bytes: Uint8Array<ArrayBuffer>): void {
      pending++
      writer.write(bytes).catch(onFault)
    },
    /** Calls back after the text of every message so far. */
    whenEmpty(then: () => void): void {
      if (pending === 0) then()
      else onEmpty = then
    },
  }
}

export class SocketLine implements Line {
  readonly #socket: WebSocket
  readonly #requester: Requester
  readonly #replayId: string | undefined
  readonly #dog: ReturnType<typeof watchdog>
  readonly #queue: string[] = []
  #isHeld = false
  #close: { code: number; reason: string } | undefined
  #wake: (() => void) | undefined
  #inflater: ReturnType<typeof createInflater> | undefined

  /**
   * `replayId` names a replay, which is paused while its messages are not taken; a live connection
   * is closed instead.
   */
  constructor(requester: Requester, begin: (line: Line) => void, replayId?: string) {
    const { key, options } = requester
    const { server, WebSocket: Socket = globalThis.WebSocket } = options
    if (Socket === undefined) {
      throw noWebSocket('A replay, and the channels `spot` and `markets`, need one')
    }
    this.#dog = watchdog(() => this.end())
    this.#requester = requester
    this.#replayId = replayId
    this.#socket = new Socket(new URL('/v1/stream', server).href.replace(/^http/, 'ws'))
    this.#socket.binaryType = 'arraybuffer'
    this.#socket.onopen = () => {
      // Browsers cannot send headers with a WebSocket, and the key is never in the URL.
      if (key !== undefined) this.send({ op: 'auth', key })
      this.send({ op: 'heartbeat', seconds: HEARTBEAT_SECONDS })
      begin(this)
    }
    this.#socket.onmessage = ({ data }) => {
      if (typeof data === 'string') this.#take(data)
      else {
        this.#inflater ??= createInflater(
          (text) => this.#take(text),
          () => this.end(),
        )
        this.#inflater.add(new Uint8Array(data as ArrayBuffer))
      }
    }
    this.#socket.onclose = ({ code, reason }) => this.#closed(code, reason)
    this.#socket.onerror = () => this.#closed(1006, '')
  }

  send(operation: Wire): void {
    if (this.#close === undefined) this.#socket.send(JSON.stringify(operation))
  }

  async next(): Promise<Wire | undefined> {
    while (this.#queue.length === 0) {
      if (this.#close) return this.#over(this.#close)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const text = this.#queue.shift() ?? ''
    if (this.#isHeld && this.#queue.length < QUEUE.low) {
      this.#isHeld = false
      this.send({ op: 'resume', id: this.#replayId })
    }
    const message = JSON.parse(text) as Wire
    if (this.#requester.options.numbers && 'data' in message)
      message.data = (this.#requester.parse(text) as Wire).data
    return message
  }

  end(): void {
    this.#end(1000, '')
  }

  #take(text: string): void {
    // After the queue was full, further messages are requested again by the next connection.
    if (this.#close) return
    this.#dog.reset()
    this.#queue.push(text)
    this.#wake?.()
    if (this.#isHeld || this.#queue.length < QUEUE.max) return
    this.#isHeld = true
    if (this.#replayId === undefined) this.#end(4008, '')
    else this.send({ op: 'pause', id: this.#replayId })
  }

  /** Ends after the messages that arrived before the close, some of which are still inflated. */
  #closed(code: number, reason: string): void {
    if (this.#inflater === undefined) this.#end(code, reason)
    else this.#inflater.whenEmpty(() => this.#end(code, reason))
  }

  #end(code: number, reason: string): void {
    this.#dog.end()
    this.#close ??= { code, reason }
    this.#socket.close()
    this.#wake?.()
  }

  #over({ code, reason }: { code: number; reason: string }): undefined {
    const fatal = finalCloses[code]
    if (fatal) throw new BookfeedError(fatal, `The server closed the stream: ${code} ${reason}`)
    return undefined
  }
}

/** The use that a stream makes of a connection: it begins, and takes messages until it is over. */
export type Feed = {
  open: () => Line
  take: (message: Wire, line: Line) => AsyncIterable<Wire> | Iterable<Wire>
  isOver: () => boolean
}

/** The messages of consecutive connections. */
export async function* overLines(
  feed: Feed,
  signal?: AbortSignal,
): AsyncGenerator<Wire, void, void> {
  for (let failures = 0; ;) {
    for await (const message of overLine(feed, signal)) {
      failures = 0
      yield message
    }
    if (feed.isOver()) return
    if (++failures >= ATTEMPTS)
      throw new BookfeedError('connection_lost', `The stream broke ${failures} times in a row.`)
    await sleep(backoffMs(failures - 1), signal)
  }
}

/** The messages of one connection, up to its end or a temporary failure. */
async function* overLine({ open, take, isOver }: Feed, signal?: AbortSignal): AsyncGenerator<Wire> {
  signal?.throwIfAborted()
  const line = open()
  const abort = () => line.end()
  signal?.addEventListener('abort', abort)
  try {
    for (let message = await line.next(); message; message = await line.next()) {
      signal?.throwIfAborted()
      const error = message.type === 'error' ? errorIn(message) : undefined
      if (error?.isPassing) return
      if (error) throw error
      yield* take(message, line)
      if (isOver()) return
    }
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', abort)
    line.end()
  }
}

const passing = new Set(['rate_limited', 'unavailable', 'internal', 'too_many_streams'])

function errorIn({ code, detail, type: _, ...facts }: Wire): BookfeedError {
  const status = passing.has(String(code)) ? 503 : 400
  return new BookfeedError(code as 'internal', String(detail), { ...facts, status })
}
