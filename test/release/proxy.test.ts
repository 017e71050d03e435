/**
 * What operators copy for TLS, run: nginx and Caddy, where they are installed, in front of a real
 * server, with other ports and a certificate of their own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { findFreePort } from '../support/free-port.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'

const root = new URL('../..', import.meta.url).pathname
const hasTools = Bun.which('openssl') !== null && Bun.which('curl') !== null

type Place = { folder: string; port: number; serverPort: string }
type Proxy = { name: string; file: string; toConfig: (text: string, place: Place) => string }
const proxies: (Proxy & { command: (config: string) => string[] })[] = [
  {
    name: 'nginx',
    file: 'deploy/nginx.conf',
    command: (config) => ['nginx', '-g', 'daemon off;', '-c', config],
    toConfig: (text, { folder, port, serverPort }) => {
      const site = text
        .replace('127.0.0.1:3000', `127.0.0.1:${serverPort}`)
        .replace(/listen \[.*\n/g, '')
        .replace('listen 80;', `listen 127.0.0.1:${findFreePort()};`)
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replace(/\/etc\/.*\/(fullchain|privkey)\.pem/g, `${folder}/$1.pem`)
      const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const folders = parts.map((part) => `${part}_temp_path ${folder}/${part};`)
      return `pid ${folder}/pid; error_log ${folder}/errors; events {} http { access_log off; ${folders.join(' ')}\n${site}\n}`
    },
  },
  {
    name: 'caddy',
    file: 'deploy/Caddyfile',
    command: (config) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', config],
    toConfig: (text, { folder, port, serverPort }) => {
      const tls = `tls ${folder}/fullchain.pem ${folder}/privkey.pem`
      const site = text
        .replace('reverse_proxy 127.0.0.1:3000', `reverse_proxy 127.0.0.1:${serverPort}`)
        .replace(/^books\.example\.com \{/m, `https://localhost:${port} {\n\t${tls}`)
      return `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n${site}`
    },
  },
]

describe.each(proxies)('$file', ({ name, file, command, toConfig }) => {
  if (Bun.which(name) === null || !hasTools) {
    test.skip(`default: ${name} is installed`, () => {})
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-proxy-'))
  const port = findFreePort()
  const origin = `https://localhost:${port}`
  const tls = { rejectUnauthorized: false }
  let server: KillableServer
  let proxy: Bun.Subprocess | undefined
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
    const key = join(folder, 'privkey.pem')
    const chain = join(folder, 'fullchain.pem')
    const own = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const made = ['-keyout', key, '-out', chain, '-subj', '/CN=localhost', '-days', '1']
    const named = ['-addext', 'subjectAltName=DNS:localhost']
    expect(Bun.spawnSync(['openssl', ...own, ...made, ...named]).exitCode).toBe(0)
    const config = join(folder, 'config')
    const text = await Bun.file(join(root, file)).text()
    const place = { folder, port, serverPort: new URL(server.origin).port }
    writeFileSync(config, toConfig(text, place))
    const env = { PATH: '/usr/sbin:/usr/bin:/bin', HOME: folder }
    const output = Bun.file(join(folder, 'output'))
    proxy = Bun.spawn(command(config), { env, cwd: folder, stdout: output, stderr: output })
    const isUp = () =>
      ask('/healthz').then(
        ({ ok }) => ok,
        () => false,
      )
    while (!(await isUp())) {
      if (proxy.exitCode !== null) throw new Error(await Bun.file(join(folder, 'output')).text())
      await Bun.sleep(50)
    }
  }, 60_000)
  afterAll(async () => {
    proxy?.kill()
    await Promise.all([proxy?.exited, server.kill()])
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
    const times: number[] = []
    for await (const piece of response.body ?? []) {
      if (/^event: ?row/m.test(new TextDecoder().decode(piece))) times.push(performance.now())
      if ((times.at(-1) ?? 0) - (times[0] ?? 0) > 1500) break
    }
    stop.abort()
    // The market of the sample moves five times a second, not always at the top.
    const pauses = times.filter((time, at) => at > 0 && time - (times[at - 1] ?? 0) > 50)
    expect(pauses.length).toBeGreaterThan(1)
  }, 20_000)

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
  }, 20_000)

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
