/**
 * What operators copy for TLS, run: nginx and Caddy, where they are installed, in front of a real
 * server, with other ports and a certificate of their own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { findFreePort } from '../support/free-port.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { hasProxy, startTlsProxy, tlsProxies } from '../support/tls-proxy.ts'

describe.each(tlsProxies)('$file', ({ name }) => {
  if (!hasProxy(name) || Bun.which('curl') === null) {
    test.skip(`default: ${name} is installed`, () => {})
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-proxy-'))
  const port = findFreePort()
  const origin = `https://localhost:${port}`
  const tls = { rejectUnauthorized: false }
  let server: KillableServer
  let proxy: Awaited<ReturnType<typeof startTlsProxy>> | undefined
  let authorization = ''
  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(origin + path, { tls, headers: { authorization, ...headers } })

  beforeAll(async () => {
    const data = join(folder, 'data')
    mkdirSync(data)
    const ledger = openLedger(join(data, 'ledger.db'), { nowMs: NOW_MS })
    authorization = `Bearer ${addKey(ledger, 'enterprise')}`
    ledger.dispose()
    server = await startKillableServer({
      BOOKFEED_DATA: data,
      BOOKFEED_PORT: '0',
      BOOKFEED_LOG: 'off',
      BOOKFEED_PUBLIC_URL: origin,
      BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
    })
    proxy = await startTlsProxy(name, { folder, port, serverOrigin: server.origin })
  }, 300_000)
  afterAll(async () => {
    await Promise.all([proxy?.stop(), server.kill()])
    rmSync(folder, { recursive: true, force: true })
  })

  async function findMarket(): Promise<string> {
    const { data } = (await (await ask('/v1/btc/markets')).json()) as {
      data: { conditionId: string }[]
    }
    return `/v1/btc/markets/${data.at(-1)?.conditionId}`
  }

  test('default: a page is as the server made it, and is not sent twice', async () => {
    const path = `${await findMarket()}/snapshots?limit=100`
    const headers = { 'accept-encoding': 'gzip' }
    const direct = await fetch(server.origin + path, {
      headers: { authorization, ...headers },
      decompress: false,
    })
    const page = await fetch(origin + path, {
      tls,
      decompress: false,
      headers: { authorization, ...headers },
    })
    expect([page.status, page.headers.get('content-encoding')]).toEqual([200, 'gzip'])
    expect(await page.bytes()).toEqual(await direct.bytes())
    const etag = page.headers.get('etag') ?? ''
    expect(etag).toBe(direct.headers.get('etag') ?? 'none')
    expect((await ask(path, { ...headers, 'if-none-match': etag })).status).toBe(304)
  })

  test('default: server-sent events come one by one', async () => {
    const stop = new AbortController()
    const response = await fetch(`${origin}/v1/btc/live?channel=quotes`, {
      tls,
      signal: stop.signal,
      headers: { authorization },
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    // A proxy that collects sends pieces of a page of memory or more.
    let pieces = 0
    for await (const piece of response.body ?? []) {
      const isRow = /^event: ?row/m.test(new TextDecoder().decode(piece))
      if (isRow && piece.length < 4096 && ++pieces === 2) break
    }
    stop.abort()
    expect(pieces).toBe(2)
  }, 300_000)

  test('default: a WebSocket opens and is handed rows', async () => {
    const options = { tls, headers: { authorization } }
    const socket = new WebSocket(`${origin.replace('https', 'wss')}/v1/stream`, options)
    const seen = Promise.withResolvers<number>()
    let rows = 0
    socket.onerror = () => seen.reject(new Error('It does not open.'))
    socket.onopen = () =>
      socket.send(JSON.stringify({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }))
    socket.onmessage = ({ data }) => {
      if (String(data).startsWith('{"type":"row"') && ++rows === 3) seen.resolve(rows)
    }
    expect(await seen.promise).toBe(3)
    socket.close()
  }, 300_000)

  test.each(['/admin', '/admin/', '/%61dmin/api/overview', '//admin/api/overview', '/x/../admin'])(
    'error: %s is not there',
    async (path) => {
      // `fetch` would resolve the path by itself.
      const args = ['-sk', '--path-as-is', '-o', '/dev/null', '-w', '%{http_code}']
      const { stdout } = Bun.spawnSync(['curl', ...args, origin + path])
      expect(stdout.toString()).toBe('404')
    },
  )

  test('behavior: callers are told apart by address, whatever they say of themselves', () => {
    const leftOf = (address: string, says: string) => {
      const { stdout } = Bun.spawnSync([
        'curl',
        '-sk',
        '--interface',
        address,
        '-o',
        '/dev/null',
        '-D',
        '-',
        '-H',
        `X-Forwarded-For: ${says}`,
        `${origin}/v1/billing/tiers`,
      ])
      return Number(/^x-ratelimit-remaining: (\d+)/im.exec(stdout.toString())?.[1])
    }
    const first = leftOf('127.0.0.2', '198.51.100.1')
    expect(first).toBeGreaterThan(0)
    expect(leftOf('127.0.0.2', '198.51.100.2')).toBe(first - 1)
    expect(leftOf('127.0.0.3', '198.51.100.3')).toBe(first)
  })
})
