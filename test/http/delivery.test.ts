/** What a server learns of the bodies that it sends, over sockets that are ended as clients do. */
import { afterAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'

import { trackDelivery } from '#src/http/delivery.ts'

/** More than the buffers of both sockets hold. */
const LARGE_BYTES = 64 * 1024 * 1024

describe('trackDelivery', () => {
  let body: Uint8Array | null = null
  let asked = Promise.withResolvers<Request>()
  let answering: Promise<void> = Promise.resolve()
  let ended = Promise.withResolvers<boolean>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      asked.resolve(request)
      await answering
      const answer = new Response(body, { headers: { 'X-Own': 'kept' } })
      return trackDelivery(answer, ended.resolve)
    },
  })
  afterAll(() => server.stop(true))

  function prepare(bytes: number | null): void {
    body = bytes === null ? null : new Uint8Array(bytes).fill(65)
    asked = Promise.withResolvers()
    ended = Promise.withResolvers()
    answering = Promise.resolve()
  }

  const open = async (): Promise<Socket> => {
    const { promise, resolve } = Promise.withResolvers<Socket>()
    const socket = connect(server.port ?? 0, '127.0.0.1', () => resolve(socket))
    socket.on('error', () => undefined)
    await promise
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    return socket
  }

  test.each([
    ['an empty body', null, 0],
    ['a short body', 5, 5],
    ['a long body', 3_000_000, 3_000_000],
  ])(
    'default: %s that was read arrives as it is, and was handed over',
    async (_, bytes, length) => {
      prepare(bytes)
      const response = await fetch(server.url)
      expect(response.headers.get('x-own')).toBe('kept')
      expect((await response.arrayBuffer()).byteLength).toBe(length)
      expect(await ended.promise).toBe(true)
    },
  )

  const cuts: [name: string, cut: (socket: Socket) => void][] = [
    ['RST', (socket) => void socket.resetAndDestroy()],
    ['FIN', (socket) => void socket.end()],
  ]

  test.each(cuts)(
    'behavior: nothing was handed over to a connection that ended by %s before the answer',
    async (_, cut) => {
      prepare(5)
      const gate = Promise.withResolvers<void>()
      answering = gate.promise
      const socket = await open()
      const { signal } = await asked.promise
      const gone = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => gone.resolve())
      cut(socket)
      await gone.promise
      gate.resolve()
      expect(await ended.promise).toBe(false)
    },
  )

  test.each(cuts)(
    'behavior: a body that a client leaves by %s half-way was not handed over',
    async (_, cut) => {
      prepare(LARGE_BYTES)
      const socket = await open()
      socket.once('data', () => {
        socket.pause()
        cut(socket)
      })
      expect(await ended.promise).toBe(false)
      socket.destroy()
    },
  )
})
