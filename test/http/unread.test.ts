/** Answers that are not read, over real connections whose clients read nothing. */
import { afterEach, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'

import { Elysia } from 'elysia'

import { createLimits } from '#src/access/limits.ts'
import { bindPeers } from '#src/http/call.ts'
import type { Gate } from '#src/http/rights.ts'
import { createUnread } from '#src/http/unread.ts'

import { callerOf, callFrom, promisedApp } from '../support/calls.ts'
import { until } from '../support/until.ts'

const sockets: Socket[] = []
const servers: Bun.Server<undefined>[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) await server.stop(true)
})

/** Answers `/SIZE` with so many bytes to the account and tier that a header names. */
function startServer() {
  const limits = createLimits(8)
  const unread = createUnread(limits)
  let admitted = 0
  const gate: Gate = {
    admit({ request }) {
      admitted++
      const [accountId = '', tierId = ''] = (request.headers.get('authorization') ?? '').split(' ')
      if (accountId !== '') return callFrom({ caller: callerOf(accountId, tierId) })
      return callFrom({ address: request.headers.get('x-from') ?? '192.0.2.1' })
    },
    writeHeaders() {},
    count() {},
    countMore() {},
  }
  const routes = new Elysia().get('/:bytes', ({ params }) => {
    const bytes = Number(params.bytes)
    const headers = { 'Content-Length': String(bytes) }
    return new Response(new Uint8Array(bytes).fill(97), { headers })
  })
  const app = promisedApp(routes, { gate, unread, timer: () => performance.now() })
  const server = Bun.serve<unknown>({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    fetch: (request, peers) => app.fetch(bindPeers(request, peers)),
  })
  servers.push(server)
  return { server, unread, limits, admitted: () => admitted }
}

type Started = ReturnType<typeof startServer>

/** Sends a request; `status` is that of the answer once it is read. */
function open({ server }: Started, path: string, headers: Record<string, string> = {}) {
  const socket = connect(server.port ?? 0, '127.0.0.1')
  sockets.push(socket)
  socket.pause()
  socket.on('error', () => undefined)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('')}\r\n`)
  const read = async () => {
    let head = ''
    let bytes = 0
    socket.on('data', (data: Buffer) => {
      if (head === '') head = data.subarray(0, 12).toString()
      bytes += data.length
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.resume()
    await closed
    return { status: Number(head.slice(9)), bytes }
  }
  return { socket, read }
}

/** More than the system keeps for a connection, so that some of it waits in the server. */
const SIZE = 7_500_000
const asPaid = (account: string) => ({ Authorization: `${account} pro` })
const asFree = (account: string) => ({ Authorization: `${account} free` })

describe('answers that are not read', () => {
  test('default: an answer is counted until it was taken, and not afterwards', async () => {
    const started = startServer()
    const stuck = open(started, `/${SIZE}`, asPaid('a'))
    await until(() => started.unread.total() === SIZE)
    expect(await stuck.read()).toMatchObject({ status: 200 })
    await until(() => started.unread.total() === 0)
    const left = open(started, `/${SIZE}`, asPaid('a'))
    await until(() => started.unread.total() === SIZE)
    left.socket.destroy()
    await until(() => started.unread.total() === 0)
  })

  test.each([
    ['a guest', 1, {}],
    ['a free key', 2, asFree('a')],
    ['a paying account', 8, asPaid('a')],
  ])('error: %s has so many waiting, and the next is 503', async (_name, count, headers) => {
    const started = startServer()
    const stuck = Array.from({ length: count }, () => open(started, `/${SIZE}`, headers))
    await until(() => started.unread.total() === count * SIZE)
    const refused = await open(started, `/${SIZE}`, headers).read()
    expect(refused.status).toBe(503)
    expect(started.unread.total()).toBe(count * SIZE)
    // Whoever else asks, of whatever level, is answered.
    const others = [{ 'X-From': '192.0.2.2' }, asFree('b'), asPaid('b')]
    for (const other of others)
      expect(await open(started, `/${SIZE}`, other).read()).toMatchObject({ status: 200 })
    // As soon as it has read one, it gets the next.
    await stuck[0]?.read()
    await until(() => started.unread.total() < count * SIZE)
    expect(await open(started, `/${SIZE}`, headers).read()).toMatchObject({ status: 200 })
  })

  test('error: guests of many addresses are bounded together, and paying accounts are not', async () => {
    const started = startServer()
    for (let at = 0; at < 40; at++) open(started, `/${SIZE}`, { 'X-From': `192.0.2.${at}` })
    await until(() => started.admitted() === 40)
    await until(() => started.unread.total() === 10 * SIZE)
    // 80 MB are for those that have nothing waiting.
    expect(started.unread.total()).toBeLessThanOrEqual(80_000_000)
    const late = await open(started, `/${SIZE}`, { 'X-From': '198.51.100.1' }).read()
    expect(late.status).toBe(503)
    expect(await open(started, `/${SIZE}`, asPaid('a')).read()).toMatchObject({ status: 200 })
  })

  test('behavior: answers of usual size are counted at once beyond 32 MB', () => {
    const unread = createUnread(createLimits(8))
    const peers = { requestIP: () => ({ address: '192.0.2.1' }), timeout() {} }
    const holder = { owner: 'a', level: 0 }
    const bytes = 200_000
    for (let count = 1; count <= 400; count++) {
      unread.hold({ request: new Request('http://x/'), peers, bytes, holder })
      expect(count * bytes - unread.total()).toBeLessThanOrEqual(32_000_000)
    }
  })

  test('behavior: small answers that are not taken count, too', async () => {
    const started = startServer()
    const stuck = open(started, `/${SIZE}`, asPaid('a'))
    await until(() => started.unread.total() === SIZE)
    // On its own connection each fits into what the system keeps: it is taken at once.
    for (let count = 0; count < 10; count++)
      expect(await open(started, '/60000', asPaid('a')).read()).toMatchObject({ status: 200 })
    await until(() => started.unread.total() === SIZE)
    stuck.socket.destroy()
    await until(() => started.unread.total() === 0)
  })
})
