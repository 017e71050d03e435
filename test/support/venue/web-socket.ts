/**
 * A WebSocket server on plain TCP (RFC 6455, no extensions), because a faulty venue must be able to
 * omit the handshake, trickle the bytes of a frame and end without a close frame.
 */
import { createHash } from 'node:crypto'

const HANDSHAKE_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const opcodes = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const

export type Peer = {
  path: string
  /** Queues a text; `flush` writes. */
  send(text: string): void
  flush(): void
  /** Bytes that the client has not read yet. */
  buffered(): number
  /** Writes the queue this many bytes at a time, followed by later texts. */
  drip(bytes: number, everyMs: number): void
  close(code: number): void
  /** Ends the connection without a close frame. */
  terminate(): void
}

export type PeerHandlers = { message(text: string): void; closed(): void }

/** `ignore` accepts the connection and never answers its request. */
export type Admission = 'upgrade' | 'ignore' | 'refuse'

type Options = {
  port: number
  admit: () => Admission
  open: (peer: Peer) => PeerHandlers | undefined
}
type Socket = Bun.Socket<Connection>
type Connection = { data(bytes: Buffer): void; flush(): void; closed(): void }

export function listenForSockets({ port, admit, open }: Options) {
  const sockets = new Set<Socket>()
  const ignored = new Set<Socket>()
  const listener = Bun.listen<Connection>({
    hostname: '127.0.0.1',
    port,
    socket: {
      open(socket) {
        sockets.add(socket)
        const admission = admit()
        socket.data = createConnection(socket, admission === 'upgrade' ? open : undefined)
        if (admission === 'ignore') ignored.add(socket)
        if (admission === 'refuse') socket.terminate()
      },
      data: (socket, bytes) => socket.data.data(bytes),
      drain: (socket) => socket.data.flush(),
      close(socket) {
        sockets.delete(socket)
        ignored.delete(socket)
        socket.data.closed()
      },
      error() {},
    },
  })
  return {
    port: listener.port,
    /** Connections whose request is never answered. */
    ignored: () => ignored.size,
    stop() {
      listener.stop(true)
      for (const socket of sockets) socket.terminate()
    },
  }
}

function createConnection(socket: Socket, open: Options['open'] | undefined): Connection {
  const output = createOutput(socket)
  let input = Buffer.alloc(0)
  let handlers: PeerHandlers | undefined
  let fragments = ''

  function handshake(): void {
    const end = input.indexOf('\r\n\r\n')
    if (end < 0 || open === undefined) return
    const head = input.toString('latin1', 0, end)
    input = input.subarray(end + 4)
    const key = /^sec-websocket-key: *(\S+)/im.exec(head)?.[1] ?? ''
    const path = /^GET (\S+)/.exec(head)?.[1] ?? ''
    const accept = createHash('sha1').update(`${key}${HANDSHAKE_ID}`).digest('base64')
    output.write(
      Buffer.from(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
          `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
      ),
    )
    output.flush()
    handlers = open({ path, ...output.peer })
    if (handlers === undefined) output.peer.close(1008)
  }

  function receive({ opcode, isLast, payload }: Message): void {
    if (opcode === opcodes.close) {
      output.peer.close(payload.length >= 2 ? payload.readUInt16BE(0) : 1000)
    } else if (opcode === opcodes.ping) {
      output.write(encode(opcodes.pong, payload))
      output.flush()
    } else if (opcode === opcodes.text || opcode === opcodes.continuation) {
      fragments += payload.toString()
      if (!isLast) return
      const text = fragments
      fragments = ''
      handlers?.message(text)
      output.flush()
    }
  }

  return {
    data(bytes) {
      input = Buffer.concat([input, bytes])
      if (handlers === undefined) handshake()
      if (handlers === undefined) return
      for (let message = decode(input); message; message = decode(input)) {
        input = input.subarray(message.bytes)
        receive(message)
      }
    },
    flush: output.flush,
    closed() {
      output.stop()
      handlers?.closed()
      handlers = undefined
    },
  }
}

/** The output to a client: a queue, because a socket accepts only so much at a time. */
function createOutput(socket: Socket) {
  let pending: Buffer[] = []
  let bufferedBytes = 0
  let isOver = false
  let trickle: ReturnType<typeof setInterval> | undefined

  const write = (bytes: Buffer): void => {
    pending.push(bytes)
    bufferedBytes += bytes.length
  }
  function put(bytesMax: number): number {
    if (pending.length === 0 || isOver) return 0
    const all = pending.length === 1 ? (pending[0] ?? Buffer.alloc(0)) : Buffer.concat(pending)
    const taken = Math.max(0, socket.write(all.subarray(0, bytesMax)))
    pending = taken === all.length ? [] : [all.subarray(taken)]
    bufferedBytes -= taken
    return taken
  }
  const flush = (): void => {
    if (trickle === undefined) put(Number.POSITIVE_INFINITY)
  }
  function stop(): void {
    isOver = true
    clearInterval(trickle)
  }
  function drip(bytes: number, everyMs: number): void {
    let left = bufferedBytes
    clearInterval(trickle)
    trickle = setInterval(() => {
      left -= put(Math.min(bytes, left))
      if (left > 0) return
      clearInterval(trickle)
      trickle = undefined
      flush()
    }, everyMs)
  }

  const peer: Omit<Peer, 'path'> = {
    send: (text) => write(encode(opcodes.text, Buffer.from(text))),
    flush,
    buffered: () => bufferedBytes,
    drip,
    close(code) {
      if (isOver) return
      const reason = Buffer.alloc(2)
      reason.writeUInt16BE(code)
      write(encode(opcodes.close, reason))
      flush()
      stop()
      socket.end()
    },
    terminate() {
      flush()
      stop()
      socket.end()
    },
  }
  return { write, flush, stop, peer }
}

function encode(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x80 | opcode), lengthOf(payload.length), payload])
}

function lengthOf(length: number): Buffer {
  if (length < 126) return Buffer.of(length)
  if (length < 65_536) return Buffer.of(126, length >> 8, length & 0xff)
  const wide = Buffer.alloc(9)
  wide[0] = 127
  wide.writeBigUInt64BE(BigInt(length), 1)
  return wide
}

type Message = { opcode: number; isLast: boolean; payload: Buffer; bytes: number }

/** Reads the first, masked message of a client; undefined while it is incomplete. */
function decode(input: Buffer): Message | undefined {
  const [first = 0, second = 0] = input
  const short = second & 0x7f
  const maskAt = 2 + ({ 126: 2, 127: 8 }[short] ?? 0)
  if (input.length < maskAt + 4) return undefined
  let length = short
  if (short === 126) length = input.readUInt16BE(2)
  if (short === 127) length = Number(input.readBigUInt64BE(2))
  const start = maskAt + 4
  if (input.length < start + length) return undefined
  const payload = Buffer.from(input.subarray(start, start + length))
  for (let at = 0; at < length; at++) {
    payload[at] = (payload[at] ?? 0) ^ (input[maskAt + (at & 3)] ?? 0)
  }
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload, bytes: start + length }
}
