/** What no client library sends, byte for byte, against the server as `serve` starts it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startKillableServer } from '../support/killable-server.ts'
import { exchange as exchangeWith, statusesOf } from '../support/raw-socket.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-socket-'))
const server = await startKillableServer({
  BOOKFEED_DATA: folder,
  BOOKFEED_PORT: '0',
  BOOKFEED_RECORD: 'off',
  BOOKFEED_SAMPLE: 'off',
  BOOKFEED_LOG: 'off',
  BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
})
const port = Number(new URL(server.origin).port)
const exchange = (bytes: string) => exchangeWith(port, bytes)

afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

const healthy = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

async function expectAlive() {
  const answer = await exchange(healthy)
  expect(statusesOf(answer)).toEqual([200])
  expect(answer).toContain('"status":"ok"')
}

const post = 'POST /healthz HTTP/1.1\r\nHost: a\r\n'
const get = 'GET /healthz HTTP/1.1\r\n'
const hidden = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n'

const refused: [name: string, bytes: string, statuses: number[]][] = [
  [
    'both Content-Length and Transfer-Encoding',
    `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    [400],
  ],
  [
    'two different Content-Lengths',
    `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    [400],
  ],
  ['a negative Content-Length', `${post}Content-Length: -1\r\n\r\n`, [400]],
  [
    'an unknown Transfer-Encoding',
    `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    [400, 501],
  ],
  [
    'a chunk size that is no number',
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n${hidden}`,
    [400, 405],
  ],
  ['a bare line feed in the request line', 'GET /healthz HTTP/1.1\nHost: a\n\n', [400, 505]],
  ['a bare line feed in a header', `${get}Host: a\nX-A: b\r\n\r\n`, [400]],
  ['no Host', `${get}\r\n`, [400]],
  ['a space before a colon', `${get}Host: a\r\nX-A : b\r\n\r\n`, [400]],
  ['a folded header', `${get}Host: a\r\nX-A: b\r\n c\r\n\r\n`, [400]],
  ['a NUL in the address', 'GET /v1/btc\0/markets HTTP/1.1\r\nHost: a\r\n\r\n', [400, 404, 505]],
  ['a NUL in a header', `${get}Host: a\r\nX-A: b\0c\r\n\r\n`, [400]],
  ['an address of 64 kB', `GET /${'a'.repeat(65_536)} HTTP/1.1\r\nHost: a\r\n\r\n`, [414, 431]],
  ['a header of 20 kB', `${get}Host: a\r\nX-A: ${'a'.repeat(20_480)}\r\n\r\n`, [431]],
  ['200 headers', `${get}Host: a\r\n${'X-A: b\r\n'.repeat(200)}\r\n`, [431]],
  ['a body of 70 kB', `${post}Content-Length: 70000\r\n\r\n${'a'.repeat(70_000)}`, [413]],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', [400]],
  ['HTTP of another version', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n', [400, 505]],
]

describe('a listening server', () => {
  test('behavior: `Upgrade` opens a WebSocket in any case of its letters', async () => {
    const close = '\x88\x80\0\0\0\0'
    for (const protocol of ['websocket', 'WebSocket']) {
      const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\n`
      const nonce = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
      const head = `GET /v1/stream HTTP/1.1\r\nHost: a\r\n${upgrade}${nonce}\r\n`
      expect([protocol, statusesOf(await exchange(head + close))]).toEqual([protocol, [101]])
    }
  })

  test.each(refused)('error: refuses %s, and lives on', async (_, bytes, statuses) => {
    const answer = await exchange(bytes)
    // A refusal of the route may come before the one of the bytes behind its head.
    expect(statusesOf(answer).length).toBeGreaterThan(0)
    expect(statusesOf(answer).filter((status) => !statuses.includes(status))).toEqual([])
    // Nothing after the refused bytes was taken for a request, and nothing internal is revealed.
    expect(answer).not.toMatch(/\/hidden|\.ts:|node_modules|\bat \//)
    await expectAlive()
  })

  test('error: cuts off a body of 70 kB in chunks, and lives on', async () => {
    const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`
    const bytes = `${post}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(18)}0\r\n\r\n`
    for (const status of statusesOf(await exchange(bytes))) expect([405, 413]).toContain(status)
    await expectAlive()
  })

  test('behavior: two requests in one piece are answered in order', async () => {
    const both = healthy.replace('Connection: close\r\n', '') + healthy.replace('/healthz', '/nope')
    const text = await exchange(both)
    expect(statusesOf(text)).toEqual([200, 404])
  })

  test('behavior: a client that leaves in the middle is no harm', async () => {
    for (let round = 0; round < 20; round++) {
      const socket = connect(port, '127.0.0.1')
      await new Promise<void>((resolve) => socket.on('connect', () => resolve()))
      socket.write('GET /swagger HTTP/1.1\r\nHos')
      socket.destroy()
    }
    await expectAlive()
  })
})

const CODED = 'HTTP/1.1 400 Bad Request'
const coins = '/v1/coins'
const ask = (target: string, host = 'Host: a', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\n${host === '' ? '' : `${host}\r\n`}`

/** Whatever the spelling: who reaches a route of `/v1` is counted, and nothing is 500. */
const spellings: [name: string, head: string, status: number, isCounted: boolean][] = [
  ['the usual one', ask(coins), 200, true],
  ['a slash at its end', ask(`${coins}/`), 200, true],
  ['the absolute form', ask(`http://x${coins}`), 200, true],
  ['the absolute form of another scheme', ask(`https://x:1${coins}`), 200, true],
  ['the absolute form without a host', ask(`http://${coins}`), 200, true],
  ['a step back', ask(`/healthz/..${coins}`), 400, true],
  ['an encoded step back', ask(`/healthz/%2e%2E${coins}`), 400, true],
  ['a step above the root', ask(`/..${coins}`), 400, true],
  ['a step to the same place', ask(`/.${coins}`), 400, true],
  ['an encoded step to the same place', ask('/v1/%2E/coins'), 400, true],
  ['a step at the end', ask(`${coins}/.`), 400, true],
  ['a step in the absolute form', ask(`http://x/.${coins}`), 400, true],
  ['backslashes', ask('/v1\\coins'), 400, true],
  ['a backslash after a dot', ask('/.\\v1/coins'), 400, true],
  ['a backslash after a dot, with a slash at the end', ask('/.\\v1/coins/'), 400, true],
  ['a backslash in the absolute form', ask('http://x/.\\v1/coins'), 400, true],
  ['an encoded backslash', ask('/v1%5ccoins'), 400, false],
  ['a step back hidden by two slashes', ask(`/a//../..${coins}`), 400, true],
  [
    'twenty segments and as many steps back',
    ask(`${'/a'.repeat(20)}${'/..'.repeat(20)}${coins}`),
    400,
    true,
  ],
  ['a step back as an id', ask('/v1/btc/markets/../snapshots'), 400, true],
  ['a step to the same place as an id', ask('/v1/btc/markets/./snapshots/at'), 400, true],
  ['an encoded step back as a coin', ask('/v1/%2E./markets/0xab/snapshots'), 400, false],
  ['backslashes around an id', ask('/v1/btc/markets/a\\..\\0xab/snapshots'), 400, true],
  ['backslashes around a coin', ask('/v1/a\\..\\btc/markets/0xab/snapshots/'), 400, true],
  [
    'backslashes out of a page',
    ask(`/v1/btc/markets/${'..\\'.repeat(4)}v1/coins/snapshots`),
    400,
    true,
  ],
  ['steps in a query', ask('/healthz?a=/../.\\b//'), 200, false],
  ['a query that looks like a path', ask('/healthz?/v1/coins'), 200, false],
  ['a path that looks like a port', ask(`/:80${coins}`), 404, false],
  ['two slashes at the start', ask(`/${coins}`), 400, false],
  ['two slashes within', ask('/v1//coins'), 400, true],
  ['two slashes at the end', ask(`${coins}//`), 400, true],
  ['an encoded slash', ask('/v1%2fcoins'), 404, false],
  ['an encoded letter', ask('/v1/%63oins'), 404, true],
  ['an encoded version', ask('/%76%31/coins'), 404, false],
  ['upper case', ask('/V1/COINS'), 404, false],
  ['a dot at its end', ask(`${coins}.`), 404, true],
  ['a fragment', ask(`${coins}#top`), 404, true],
  ['a semicolon', ask('/v1;a=b/coins'), 404, false],
  ['a step out of it', ask('/v1/../healthz'), 400, false],
  ['a malformed escape', ask(`${coins}%zz`), 400, true],
  ['a host with a space', ask(coins, 'Host: a b'), 400, true],
  ['an empty host', ask(coins, 'Host:'), 400, true],
  ['two hosts', ask(coins, 'Host: a\r\nHost: b'), 400, true],
  ['the same host twice', ask(coins, 'Host: a\r\nHost: a'), 400, true],
  ['two hosts and nothing of ours', ask('/healthz', 'Host: a\r\nHost: b'), 400, false],
  ['no host, in HTTP/1.0', `GET ${coins} HTTP/1.0\r\n`, 400, true],
  ['no host and nothing of ours', 'GET /healthz HTTP/1.0\r\n', 400, false],
  ['a host with a path', ask(coins, 'Host: a/healthz?'), 400, true],
  ['a host with a user', ask(coins, 'Host: u@a'), 400, true],
  ['a host with a port out of range', ask(coins, 'Host: a:99999'), 400, true],
  ['a host with half an address', ask(coins, 'Host: [::1'), 400, true],
  ['a host with an escape', ask(coins, 'Host: a%00'), 400, true],
  ['a host that is no number of four bytes', ask(coins, 'Host: 256.256.256.256'), 400, true],
  ['a host of other letters', ask(coins, 'Host: \u00e9'), 400, true],
  ['HEAD of such a host', ask(coins, 'Host: [::1', 'HEAD'), 400, true],
  ['HEAD with a host with a space', ask(coins, 'Host: a b', 'HEAD'), 400, true],
  ['a preflight of such a host', ask(coins, 'Host: a b', 'OPTIONS'), 400, true],
  ['CONNECT of a host', ask('a:443', 'Host: a:443', 'CONNECT'), 400, false],
  ['CONNECT of a path', ask(coins, 'Host: a', 'CONNECT'), 405, true],
  ['TRACE', ask(coins, 'Host: a', 'TRACE'), 405, true],
  ["a method that is no web page's", ask(coins, 'Host: a', 'PROPFIND'), 405, true],
]

/** What Bun refuses by itself, without a word. */
const bare: [name: string, head: string][] = [
  ['OPTIONS of everything', ask('*', 'Host: a', 'OPTIONS')],
  ['a path without a slash', ask('v1/coins')],
  ['another scheme', ask('ftp://x/v1/coins')],
]

describe('a request target', () => {
  test.each(spellings)('behavior: %s', async (_, head, ...expected) => {
    const [status, isCounted] = expected
    // Each from an address of its own: what is left says whether the request was counted.
    const from = `198.51.100.${1 + spellings.findIndex((each) => each[1] === head)}`
    const answer = await exchange(`${head}X-Forwarded-For: ${from}\r\nConnection: close\r\n\r\n`)
    expect(statusesOf(answer)).toEqual([status])
    expect(answer).toContain(`X-RateLimit-Remaining: ${isCounted ? 9 : 10}\r\n`)
    expect(answer).toMatch(/\r\nX-Request-Id: req_\w+\r\n/)
    if (status >= 400) expect(answer).toContain('\r\nContent-Type: application/problem+json')
    expect(server.errors()).toBe('')
  })

  test.each([
    ['a route', 'PROPFIND', coins, 'GET, HEAD, OPTIONS'],
    ['a route of another method', 'QUERY', '/v1/keys/challenge', 'DELETE, OPTIONS, PATCH, POST'],
    ['a page', 'PURGE', '/swagger', 'GET, HEAD, OPTIONS'],
    ['the stream', 'MKCOL', '/v1/stream', 'GET, OPTIONS'],
    ['the stream, for HEAD', 'HEAD', '/v1/stream', 'GET, OPTIONS'],
  ])('error: a method that %s does not have is 405, with those that it has', async (_, ...rest) => {
    const [method, target, allow] = rest
    const answer = await exchange(`${ask(target, 'Host: a', method)}Connection: close\r\n\r\n`)
    expect(statusesOf(answer)).toEqual([405])
    expect(answer).toContain(`\r\nAllow: ${allow}\r\n`)
    expect(answer).toContain('\r\nX-RateLimit-Limit: ')
  })

  // As docs/errors.md says of them: should the runtime answer one day, so do the documents.
  test.each(['BREW', 'get'])(
    'error: the runtime closes a connection that asks %s',
    async (method) => {
      expect(await exchange(`${ask(coins, 'Host: a', method)}\r\n`)).toBe('')
      await expectAlive()
    },
  )

  test.each([
    ['413', `${post}Content-Length: 2000000\r\n\r\n`],
    ['431', `${get}Host: a\r\nX-A: ${'a'.repeat(20_480)}\r\n\r\n`],
    ['505', 'GET /healthz HTTP/2.9\r\nHost: a\r\n\r\n'],
  ])('error: a %s of the runtime is without our headers', async (status, bytes) => {
    const answer = await exchange(bytes)
    expect(answer).toStartWith(`HTTP/1.1 ${status} `)
    expect(answer).not.toContain('RateLimit')
  })

  test.each(bare)('error: refuses %s bare', async (_, head) => {
    expect(await exchange(`${head}\r\n`)).toStartWith(CODED)
    await expectAlive()
  })
})
