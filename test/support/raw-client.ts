/** A connection that sends raw bytes, and parses responses strictly by HTTP/1.1. */
import { connect, type Socket } from 'node:net'

import { textOf } from './event-client.ts'

const ANSWER_MS_MAX = 120_000

export type RawAnswer = { status: number; headers: Headers; body: Uint8Array<ArrayBuffer> }

type Waiting = { isHead: boolean; resolve: (answer: RawAnswer | undefined) => void }

export type RawClient = {
  /**
   * Sends a request; resolves with the first final response, or undefined if the server closes
   * without a complete one. Throws after two minutes without data.
   */
  ask(bytes: Uint8Array, isHead: boolean): Promise<RawAnswer | undefined>
  close(): void
}

/** Connects on the first request, and again after the connection was closed. */
export function createRawClient(port: number): RawClient {
  let socket: Socket | undefined
  let received: Buffer<ArrayBuffer> = Buffer.alloc(0)
  let waiting: Waiting | undefined

  function finish(answer: RawAnswer | undefined): void {
    waiting?.resolve(answer)
    waiting = undefined
  }

  function open(): Socket {
    const next = connect(port, '127.0.0.1')
    received = Buffer.alloc(0)
    next.on('data', (bytes: Buffer) => {
      if (next !== socket) return
      received = received.length === 0 ? Buffer.from(bytes) : Buffer.concat([received, bytes])
      received = withoutInterim(received)
      const read = waiting && readAnswer(received, { ...waiting, isOver: false })
      if (read === undefined) return
      // Bytes after the response would be a response to bytes of ours that were taken for a
      // request.
      const isClean =
        read.length === received.length && read.answer.headers.get('connection') === null
      received = Buffer.alloc(0)
      if (!isClean) close()
      finish(read.answer)
    })
    next.on('error', () => next.destroy())
    next.on('close', () => {
      if (next !== socket) return
      socket = undefined
      const rest = waiting && readAnswer(received, { ...waiting, isOver: true })
      finish(rest?.answer)
    })
    return next
  }

  function close(): void {
    const old = socket
    socket = undefined
    old?.destroy()
  }

  return {
    async ask(bytes, isHead) {
      socket ??= open()
      const { promise, resolve, reject } = Promise.withResolvers<RawAnswer | undefined>()
      waiting = { isHead, resolve }
      const timer = setTimeout(() => reject(new Error('No answer.')), ANSWER_MS_MAX)
      socket.write(bytes)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
      }
    },
    close,
  }
}

/** Skips `100 Continue`, which a server that accepts WebSockets sends twice. */
function withoutInterim(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const end = bytes.indexOf('\r\n\r\n')
  const isInterim = end >= 0 && bytes.toString('latin1', 0, 10) === 'HTTP/1.1 1'
  return isInterim ? withoutInterim(bytes.subarray(end + '\r\n\r\n'.length)) : bytes
}

/** `isOver` is true when the server has closed the connection. */
type Reading = { isHead: boolean; isOver: boolean }

/**
 * The response at the beginning of some bytes, and its length; undefined while it is incomplete.
 */
function readAnswer(bytes: Buffer, { isHead, isOver }: Reading) {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const start = end + '\r\n\r\n'.length
  const hasBody = !isHead && status !== 204 && status !== 304
  const body = hasBody
    ? readBody(bytes, { start, headers, isOver })
    : { bytes: Buffer.alloc(0), length: 0 }
  if (body === undefined) return undefined
  const answer: RawAnswer = { status, headers, body: Uint8Array.from(body.bytes) }
  return { answer, length: start + body.length }
}

type Body = { start: number; headers: Headers; isOver: boolean }

/**
 * Without a length the body continues until the connection is closed, as in HTTP/1.0. Events are
 * taken once the bytes that are here end with a whole one.
 */
function readToEnd(bytes: Buffer, headers: Headers, isOver: boolean) {
  if (isOver) return { bytes, length: bytes.length }
  return isEndless(headers) && endsWhole(bytes, headers) ? { bytes, length: 0 } : undefined
}

/** Events have no end: the present bytes are taken and the connection is closed. */
const isEndless = (headers: Headers): boolean => headers.get('content-type') === 'text/event-stream'

function endsWhole(bytes: Buffer, headers: Headers): boolean {
  try {
    return textOf(headers, Uint8Array.from(bytes)) !== ''
  } catch {
    return false
  }
}

function readBody(bytes: Buffer, { start, headers, isOver }: Body) {
  if (headers.get('transfer-encoding') !== 'chunked') {
    const held = bytes.subarray(start)
    const length = headers.get('content-length')
    if (length === null) return readToEnd(held, headers, isOver)
    const body = held.subarray(0, Number(length))
    return body.length < Number(length) ? undefined : { bytes: body, length: body.length }
  }
  const pieces: Buffer[] = []
  const rest = () =>
    isEndless(headers) && pieces.length > 0
      ? { bytes: Buffer.concat(pieces), length: 0 }
      : undefined
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return rest()
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + length + 2
    if (next > bytes.length) return rest()
    if (length === 0) return { bytes: Buffer.concat(pieces), length: next - start }
    pieces.push(bytes.subarray(lineEnd + 2, next - 2))
    at = next
  }
}
