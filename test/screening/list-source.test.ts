import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

import { isFault } from '#src/platform/fault.ts'
import { type ListSourceOptions, openListSource, toPublicName } from '#src/screening/list-source.ts'

const NOW_MS = Date.UTC(2026, 10, 21)

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-list-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A publisher; returns where it is. */
function publish(answer: (request: Request) => Response | Promise<Response>): string {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  stops.push(() => server.stop(true))
  return server.url.href
}

type Options = Partial<ListSourceOptions>

async function read(location: string, options: Options = {}) {
  const signal = AbortSignal.any([])
  const source = await openListSource(location, { clock: () => NOW_MS, signal, ...options })
  let text = ''
  for await (const chunk of source.chunks) text += new TextDecoder().decode(chunk)
  return { text, confirmedMs: source.confirmedMs }
}

const faultOf = (location: string, options?: Options): Promise<string> =>
  read(location, options).then(
    ({ text }) => `No fault, but ${text}`,
    (error: unknown) =>
      isFault(error, 'sanctions_list') ? error.message : `No sanctions_list fault: ${error}`,
  )

const xml = (text: string, type = 'application/xml') =>
  new Response(text, { headers: { 'content-type': type } })

describe('openListSource, URL', () => {
  test.each([
    'application/xml',
    'text/xml; charset=utf-8',
    'application/octet-stream',
    'binary/octet-stream',
    'text/plain',
  ])('default: reads %s, which is confirmed now', async (type) => {
    expect(await read(publish(() => xml('<a/>', type)))).toEqual({
      text: '<a/>',
      confirmedMs: NOW_MS,
    })
  })

  test('behavior: follows three redirects, not four', async () => {
    const url = publish((request) => {
      const left = Number(new URL(request.url).pathname.slice(1))
      return left === 0 ? xml('<a/>') : Response.redirect(`/${left - 1}`)
    })
    expect((await read(`${url}3`)).text).toBe('<a/>')
    expect(await faultOf(`${url}4`)).toBe('is redirected too many times')
  })

  test.each([
    ['a loop', '/', 'is redirected too many times'],
    ['nowhere', undefined, 'is redirected without a target'],
    ['no URL', 'http://[', 'is redirected without a target'],
    ['a file', 'file:///etc/hostname', 'is redirected away from https'],
    ['data', 'data:text/xml,<a/>', 'is redirected away from https'],
  ])('error: refuses a redirect to %s', async (_, location, fault) => {
    const headers: Record<string, string> = location === undefined ? {} : { location }
    expect(await faultOf(publish(() => new Response('', { status: 302, headers })))).toBe(fault)
  })

  test.each([201, 204, 206, 304, 403, 404, 500, 503])(
    'error: refuses the status %d',
    async (status) => {
      const url = publish(() => new Response(status === 204 ? null : '<a/>', { status }))
      expect(await faultOf(url)).toBe(`returned HTTP status ${status}`)
    },
  )

  test.each(['text/html', 'application/json', 'application/zip'])(
    'error: refuses %s',
    async (type) => {
      expect(await faultOf(publish(() => xml('<a/>', type)))).toBe('is not served as XML')
    },
  )

  test('error: refuses what is too long, packed or not', async () => {
    const plain = publish(() => xml('x'.repeat(2000)))
    expect(await faultOf(plain, { bytesMax: 1999 })).toBe('has more than 1999 bytes')
    expect((await read(plain, { bytesMax: 2000 })).text).toHaveLength(2000)
    const headers = { 'content-type': 'text/xml', 'content-encoding': 'gzip' }
    const packed = publish(() => new Response(Bun.gzipSync('x'.repeat(2000)), { headers }))
    expect(await faultOf(packed, { bytesMax: 1999 })).toBe('has more than 1999 bytes')
  })

  test('error: gives up on a publisher that drips, and on one that says nothing', async () => {
    const headers = { 'content-type': 'text/xml' }
    const drip = new Response(
      new ReadableStream({ pull: (c) => setImmediate().then(() => c.enqueue('<a/>')) }),
      { headers },
    )
    expect(
      await faultOf(
        publish(() => drip),
        { timeoutMs: 100 },
      ),
    ).toBe('did not arrive in time')
    const silent = publish(() => new Promise<Response>(() => {}))
    expect(await faultOf(silent, { timeoutMs: 100 })).toBe('did not arrive in time')
  })

  test('error: a body that is cut off is not a whole one', async () => {
    const server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 99\r\n\r\n<a/>')
        },
      },
    })
    stops.push(async () => server.stop(true))
    expect(await faultOf(`http://127.0.0.1:${server.port}/`)).toStartWith('cannot be read')
  })

  test('error: ends at an abort, also within the body', async () => {
    const stop = new AbortController()
    const body = new ReadableStream({ start: (c) => c.enqueue('<a>') })
    const url = publish(() => new Response(body, { headers: { 'content-type': 'text/xml' } }))
    const options = { clock: () => NOW_MS, signal: stop.signal }
    const { chunks } = await openListSource(url, options)
    const iterator = chunks[Symbol.asyncIterator]()
    await iterator.next()
    stop.abort()
    const end = await iterator.next().catch((error: unknown) => error)
    expect(end).toMatchObject({ kind: 'sanctions_list' })
  })

  test('error: no reason holds a secret of the URL', async () => {
    const secret = 'http://user:hunter2@127.0.0.1:1/hunter3?key=hunter4'
    expect(await faultOf(secret)).toBe('cannot be read (ECONNREFUSED)')
    expect(toPublicName(secret)).toBe('http://127.0.0.1:1')
  })
})

describe('openListSource, file', () => {
  const write = (text: string, modifiedMs: number): string => {
    const path = join(folder, `${Bun.hash(text + modifiedMs)}.xml`)
    writeFileSync(path, text)
    utimesSync(path, modifiedMs / 1000, modifiedMs / 1000)
    return path
  }

  test('default: was confirmed when it was written', async () => {
    const writtenMs = NOW_MS - 86_400_000
    expect(await read(write('<a/>', writtenMs))).toEqual({ text: '<a/>', confirmedMs: writtenMs })
  })

  test('behavior: a time to come is now', async () => {
    expect((await read(write('<a/>', NOW_MS + 86_400_000))).confirmedMs).toBe(NOW_MS)
  })

  test('error: refuses what is missing, no file, or too long', async () => {
    expect(await faultOf(join(folder, 'absent.xml'))).toBe('cannot be read (ENOENT)')
    expect(await faultOf(folder)).toBe('is not a file')
    const long = write('x'.repeat(200), NOW_MS)
    expect(await faultOf(long, { bytesMax: 100 })).toBe('has more than 100 bytes')
  })
})
