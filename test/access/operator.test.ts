import { describe, expect, test } from 'bun:test'

import { createHarness } from '../support/harness.ts'
import { createOperatorServer, TOKEN } from '../support/operator-server.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const server = createOperatorServer()
const { ask, key } = server
const judge = async (from: Parameters<typeof ask>[1]) => (await ask('/overview', from)).status

describe('who is the operator', () => {
  test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
    'default: whoever sits at the machine, %s',
    async (address) => expect(await judge({ address })).toBe(200),
  )

  test.each(['localhost', 'LOCALHOST', '127.0.0.1:80', '[::1]:3000'])(
    'default: by its own name, %s',
    async (host) => expect(await judge({ host })).toBe(200),
  )

  test('default: a page of its own, and the address that somebody types', async () => {
    const origin = 'http://127.0.0.1:3000'
    expect(await judge({ headers: { origin, 'sec-fetch-site': 'same-origin' } })).toBe(200)
    expect(await judge({ headers: { 'sec-fetch-site': 'none' } })).toBe(200)
  })

  test.each(['10.0.0.7', '192.0.2.1', '::2', '::ffff:10.0.0.7', '', 'nonsense'])(
    'error: another address, %p',
    async (address) => expect(await judge({ address })).toBe(403),
  )

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.7', null])(
    'error: a name that somebody else made lead here, %p',
    async (host) => expect(await judge({ host })).toBe(403),
  )

  test.each([
    'forwarded',
    'x-forwarded-for',
    'X-Forwarded-Host',
    'x-forwarded-proto',
    'x-forwarded-server',
    'x-original-forwarded-for',
    'cloudfront-forwarded-proto',
    'x-real-ip',
    'via',
    'cf-connecting-ip',
    'cf-connecting-ipv6',
    'cf-ray',
    'true-client-ip',
    'x-client-ip',
    'Fly-Client-IP',
    'Fastly-Client-IP',
    'X-Cluster-Client-IP',
    'X-Envoy-External-Address',
    'X-Azure-ClientIP',
    'x-azure-socketip',
    'CDN-Loop',
    'Ali-Cdn-Real-Ip',
    'x-appengine-user-ip',
    'x-nf-client-connection-ip',
    'x-originating-ip',
    'wl-proxy-client-ip',
    'X-Original-URL',
    'X-Original-Host',
    'X-Rewrite-URL',
    'X-Envoy-Original-Path',
    'X-Amzn-Trace-Id',
    'CloudFront-Viewer-Address',
    'Fastly-FF',
    'X-Varnish',
    'X-Arr-Log-Id',
    'Akamai-Origin-Hop',
    'Tailscale-User-Login',
    'X-Cloud-Trace-Context',
    'X-AppGW-Trace-Id',
    'CDN-RequestId',
    'X-Vercel-Id',
  ])('error: a request that was passed on, by %s', async (name) =>
    expect(await judge({ headers: { [name]: '127.0.0.1' } })).toBe(403),
  )

  test('default: a browser and a command line tool add no such header', async () => {
    const browser = {
      'user-agent': 'Mozilla/5.0',
      accept: '*/*',
      'accept-language': 'en-US',
      'accept-encoding': 'gzip, br',
      referer: 'http://127.0.0.1:3000/admin',
      'sec-fetch-mode': 'cors',
      'sec-fetch-dest': 'empty',
      'sec-ch-ua-platform': '"Linux"',
      'upgrade-insecure-requests': '1',
      'x-requested-with': 'fetch',
      dnt: '1',
    }
    expect(await judge({ headers: browser })).toBe(200)
    expect(await judge({ headers: { 'user-agent': 'curl/8.5.0', accept: '*/*' } })).toBe(200)
  })

  test.each([
    { origin: 'https://evil.example' },
    { origin: 'http://localhost' },
    { origin: 'http://127.0.0.1:8080' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('error: a page of another origin, %j', async (headers) => {
    expect(await judge({ headers: { ...headers } })).toBe(403)
  })

  test('default: HEAD is asked by whom GET is', async () => {
    expect((await ask('/overview', { method: 'HEAD' })).status).toBe(200)
    expect((await ask('/overview', { method: 'HEAD', address: '192.0.2.1' })).status).toBe(403)
  })

  test('behavior: a page names its own to the operator alone', async () => {
    const isNamed = async (from: Parameters<typeof ask>[1]) =>
      (await (await server.open('/', from)).text()).includes('"operator":"open"')
    expect(await isNamed({})).toBe(true)
    expect(await isNamed({ address: '192.0.2.1' })).toBe(false)
    expect(await isNamed({ headers: { 'x-forwarded-for': '127.0.0.1' } })).toBe(false)
  })

  test('default: whoever sends the token, from anywhere', async () => {
    const headers = { ...bearer(TOKEN), 'x-forwarded-for': '1.2.3.4' }
    expect(await judge({ address: '192.0.2.1', host: 'books.example', headers })).toBe(200)
  })

  test('error: a wrong token, also at the machine itself; a key is none', async () => {
    for (const token of [`${TOKEN.slice(0, -1)}w`, TOKEN.slice(0, -1), `${TOKEN}v`, key, 'sample'])
      expect(await judge({ address: '127.0.0.9', headers: bearer(token) })).toBe(403)
  })

  test('error: without a token set none is right', async () => {
    const bare = createOperatorServer({ access: { token: '' } })
    for (const token of ['', ' ', TOKEN])
      expect(
        (await bare.ask('/overview', { address: '192.0.2.1', headers: bearer(token) })).status,
      ).toBe(403)
  })

  test('behavior: after ten wrong tokens an address waits, with the right one too', async () => {
    const one = createOperatorServer()
    const from = (token: string, address = '192.0.2.1') =>
      one.ask('/overview', { address, headers: bearer(token) })
    for (let count = 0; count < 10; count++) expect((await from('wrong')).status).toBe(403)
    const limited = await from(TOKEN)
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await from(TOKEN, '192.0.2.2')).status).toBe(200)
    one.advance(60_000)
    expect((await from(TOKEN)).status).toBe(200)
  })

  test('behavior: where the token alone counts, the machine itself does not', async () => {
    const strict = createOperatorServer({ access: { trustsLoopback: false } })
    expect((await strict.ask('/overview')).status).toBe(403)
    expect((await strict.ask('/overview', { headers: bearer(TOKEN) })).status).toBe(200)
  })

  test('behavior: it is asked before anything else, and says nothing to other origins', async () => {
    const paths = Object.entries(await pathsOf())
    expect(paths.length).toBeGreaterThan(10)
    for (const [path, operations] of paths) {
      for (const method of Object.keys(operations)) {
        const at = path.replace('/admin/api', '').replace('{id}', 'pay_x')
        const headers = { origin: 'https://evil.example' }
        const answer = await ask(at, {
          headers,
          method: method.toUpperCase(),
          ...(method === 'post' ? { body: {} } : {}),
        })
        expect([path, answer.status]).toEqual([path, 403])
        expect([...answer.headers.keys()].join()).not.toContain('access-control')
        expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin')
      }
    }
    const headers = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    }
    const preflight = await ask('/keys', { method: 'OPTIONS', headers })
    expect([...preflight.headers.keys()].join()).not.toContain('access-control')
  })

  test('behavior: customers see none of it, and nothing is there where it is off', async () => {
    const { send } = createHarness()
    expect(await (await send('/swagger/json')).text()).not.toContain('/admin')
    expect(await (await server.send('/swagger/json')).text()).not.toContain('/admin')
    expect((await send('/admin/api/overview')).status).toBe(404)
  })
})

const pathsOf = async () =>
  ((await (await ask('/openapi.json')).json()) as { paths: Record<string, object> }).paths
