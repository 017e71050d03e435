/** Reads bytes from loopback and only counts them: what a client costs at the least. */
import type { Socket, TCPSocketListener } from 'bun'

import { benchAuthorization } from './bench-key.ts'

/** What one connection delivered. */
export type Delivery = { bytes: number; seconds: number }

export type Download = {
  /** When the other side has closed, or `stop` was called. */
  ended: Promise<Delivery>
  /** Bytes so far. */
  bytes(): number
  /** Lets the other side's bytes lie, as a client that hangs. */
  pause(): void
  stop(): void
}

/**
 * Asks a server of HTTP for a path and counts the answer, its head
 * included; throws when it is not a 200.
 */
export async function download(
  origin: string,
  path: string,
  encoding: 'gzip' | 'identity',
): Promise<Download> {
  const { hostname, port } = new URL(origin)
  const head = [
    `GET ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: ${benchAuthorization}`,
    `Accept-Encoding: ${encoding}`,
    'Connection: close',
  ]
  const count = createCount()
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (opened) => void opened.write(`${head.join('\r\n')}\r\n\r\n`),
      data: (_, bytes) => count.add(bytes),
      close: () => count.end(),
      error: (_, error) => count.fail(error),
    },
  })
  return {
    ended: count.ended,
    bytes: count.bytes,
    pause: () => socket.pause(),
    stop: () => socket.terminate(),
  }
}

/** Waits for one connection on a port of its own and counts what comes. */
export function receive(): { port: number; ended: Promise<Delivery> } {
  const count = createCount({ isHttp: false })
  const listener: TCPSocketListener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (_: Socket, bytes) => count.add(bytes),
      close: () => {
        count.end()
        listener.stop()
      },
      error: (_: Socket, error) => count.fail(error),
    },
  })
  return { port: listener.port, ended: count.ended }
}

/** Time begins when it is made. */
function createCount({ isHttp = true } = {}) {
  const startedAt = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<Delivery>()
  let bytes = 0
  return {
    ended: promise,
    bytes: () => bytes,
    add(piece: Uint8Array) {
      const status = Buffer.from(piece.subarray(0, 12)).toString('latin1')
      if (isHttp && bytes === 0 && status !== 'HTTP/1.1 200') reject(new Error(status))
      bytes += piece.length
    },
    end: () => resolve({ bytes, seconds: (performance.now() - startedAt) / 1000 }),
    fail: (error: Error) => reject(error),
  }
}
