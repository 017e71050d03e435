/** What no client library sends, byte for byte, against the server as `serve` starts it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-socket-'))
const child = Bun.spawn([process.execPath, join(root, 'src/main.ts'), 'serve'], {
  env: {
    BOOKFEED_DATA: folder,
    BOOKFEED_PORT: '0',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_LOG: 'off',
  },
  stdout: 'pipe',
  stderr: 'pipe',
})
const port = await readPort(child.stdout)

afterAll(async () => {
  child.kill('SIGTERM')
  await child.exited
  rmSync(folder, { recursive: true, force: true })
})

/** The port that the greeting names. */
async function readPort(output: ReadableStream<Uint8Array>): Promise<number> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    const found = /listens on http:\/\/[\d.]+:(\d+)/.exec(text)
    if (found) return Number(found[1])
  }
  throw new Error(`The server did not start: ${text}`)
}

/** How long the server may take to answer, and how long we listen for a second answer. */
const ANSWER_MS = 4_000
const QUIET_MS = 250

/** Sends bytes and returns all that comes back until the server closes, or says no more. */
function exchange(bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
  socket.setTimeout(ANSWER_MS, () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    socket.setTimeout(QUIET_MS)
  })
  // A server that closes in the middle of what we send is an answer too.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => resolve(text))
  return promise
}

const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))

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
  test.each(refused)('error: refuses %s, and lives on', async (_, bytes, statuses) => {
    const answer = await exchange(bytes)
    // A refusal of the route may come before the one of the bytes behind its head.
    expect(statusesOf(answer).length).toBeGreaterThan(0)
    expect(statusesOf(answer).filter((status) => !statuses.includes(status))).toEqual([])
    // Nothing behind the refused bytes was taken for a request, and nothing of the inside is told.
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
