/** Links to files: for whom they are valid, and how they are counted and shown. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makeDayFiles } from '#src/extensions/day-files/maker.ts'
import { createFileStore } from '#src/extensions/day-files/store.ts'

import { readConfig } from '../../support/config.ts'
import { addKey, createHarness, NOW_MS } from '../../support/harness.ts'
import { createMarketHistory } from '../../support/market-history.ts'
import { idOf } from '../../support/operation-requests.ts'
import { readProblem } from '../../support/page-client.ts'
import { settled } from '../../support/settled.ts'

const HOUR_MS = 3_600_000
const LATER_MS = NOW_MS + 120 * HOUR_MS
const by = { actor: 'operator', nowMs: NOW_MS } as const

const { history, both, open } = await createMarketHistory()
await history.close(open.conditionId)
const root = mkdtempSync(join(tmpdir(), 'bookfeed-links-'))
const files = createFileStore(root)
const makeFiles = () =>
  makeDayFiles({ history, store: files, nowMs: LATER_MS, assertMayWrite: () => {} })
makeFiles()
afterAll(() => rmSync(root, { recursive: true }))

type File = { name: string; url: string; kind: string; link?: string; linkExpires?: string }

/** A server, whose clock begins at the same moment for each test. */
function serve(env: Record<string, string> = {}) {
  const config = readConfig({ BOOKFEED_LOG: 'json', ...env })
  const server = createHarness({ history, files, config })
  const list = async (query = 'links=1h', token: string | undefined = server.key) => {
    const answer = await server.sendAs(token, `/v1/btc/files?numbers=double&${query}`)
    return ((await answer.json()) as { data: File[] }).data
  }
  const follow = (link = '', init: RequestInit = {}) =>
    server.sendAs(undefined, link.replace('http://localhost', ''), init)
  const quotes = async (token?: string) => (await list('kind=quotes&links=1h', token))[0]
  return { ...server, list, follow, quotes }
}

describe('a link', () => {
  test('default: gives the file without a header, whole, in parts, and as HEAD', async () => {
    const { list, follow, send } = serve()
    expect((await list('kind=quotes'))[0]).not.toHaveProperty('link')
    const all = await list()
    expect(all).toHaveLength(6)
    for (const { name, url, link } of all) {
      expect(link).toMatch(/^http:\/\/localhost\/v1\/btc\/links\/bf_link_[\w-]+\/btc-5m-.*parquet$/)
      expect(link?.endsWith(`/${name}`)).toBe(true)
      const [own, linked] = [await send(url), await follow(link)]
      expect(linked.status).toBe(200)
      const bytes = await own.bytes()
      expect(Bun.hash(await linked.bytes())).toBe(Bun.hash(bytes))
      expect(linked.headers.get('etag')).toBe(own.headers.get('etag'))
      const head = await follow(link, { method: 'HEAD' })
      expect(head.headers.get('content-length')).toBe(String(bytes.length))
      const part = await follow(link, { headers: { range: 'bytes=-8' } })
      expect([part.status, await part.bytes()]).toEqual([206, bytes.slice(-8)])
      const etag = own.headers.get('etag') ?? ''
      const unchanged = await follow(link, { headers: { 'if-none-match': etag } })
      expect(unchanged.status).toBe(304)
    }
  })

  test('default: is valid for the time that was asked for, and then 403', async () => {
    const { quotes, follow, advance } = serve()
    const file = await quotes()
    const endMs = Date.parse(file?.linkExpires ?? '')
    // The end of the minute, so that lists of one minute are the same.
    expect(endMs).toBe(Math.ceil((NOW_MS + HOUR_MS) / 60_000) * 60_000)
    advance(endMs - NOW_MS - 1)
    expect((await follow(file?.link)).status).toBe(200)
    advance(1)
    const ended = await follow(file?.link)
    expect([ended.status, ended.headers.get('location')]).toEqual([403, null])
    expect(await readProblem(ended)).toMatchObject({ code: 'link_invalid', param: 'link' })
  })

  test('error: with one character changed, or for another file or coin, it is 403', async () => {
    const { list, follow, advance } = serve()
    const [first, second] = await list('links=7d')
    const { link = '', name = '' } = first ?? {}
    const changed = [
      link.replace(name, second?.name ?? ''),
      link.replace('/v1/btc/', '/v1/eth/'),
      ...Array.from({ length: link.indexOf(`/${name}`) }, (_, at) => at)
        .filter((at) => at >= link.indexOf('bf_link_') + 'bf_link_'.length)
        .map((at) => `${link.slice(0, at)}${link[at] === 'A' ? 'B' : 'A'}${link.slice(at + 1)}`),
    ]
    for (const each of changed) {
      // A link of nobody counts to the network address.
      advance(60_000)
      const answer = await follow(each)
      expect([each, answer.status]).toEqual([each, 403])
      expect((await readProblem(answer)).code).toBe('link_invalid')
    }
  })

  test('error: a link of a revoked key is 403 from the next request on', async () => {
    const { quotes, follow, ledger } = serve()
    const token = addKey(ledger, 'pro')
    const file = await quotes(token)
    expect((await follow(file?.link)).status).toBe(200)
    settled(ledger.revokeKey(idOf(ledger, token), by))
    const answer = await follow(file?.link)
    expect((await readProblem(answer)).code).toBe('link_invalid')
    expect(answer.status).toBe(403)
  })

  test('error: the tier of its key is asked when the link is used', async () => {
    const { quotes, follow, ledger } = serve()
    const tier = { tierId: 'own', name: 'Own', rank: 77, requestsPerMinute: 10, isForSale: false }
    const routes = ['snapshots', 'quotes'] as const
    const token = addKey(ledger, { ...tier, coins: ['btc'], routes: [...routes] })
    const file = await quotes(token)
    expect((await follow(file?.link)).status).toBe(200)
    settled(ledger.putTier({ ...tier, coins: ['btc'], routes: ['snapshots'] }, by))
    expect((await readProblem(await follow(file?.link))).code).toBe('tier_route')
    settled(ledger.putTier({ ...tier, coins: ['eth'], routes: [...routes] }, by))
    expect((await readProblem(await follow(file?.link))).code).toBe('tier_coin')
  })

  test('default: is counted to its account, in a window of its own', async () => {
    const { quotes, follow, ledger, app, sendAs } = serve()
    const token = addKey(ledger, 'pro')
    const file = await quotes(token)
    const { headers } = await follow(file?.link)
    expect(headers.get('x-ratelimit-limit')).toBe('3000')
    expect(headers.get('x-ratelimit-remaining')).toBe('2999')
    const other = await sendAs(token, '/v1/btc/files')
    expect(other.headers.get('x-ratelimit-remaining')).toBe('298')
    await app.flushUsage()
    const accountId = ledger.findKey(idOf(ledger, token))?.accountId ?? ''
    const used = ledger.usageOf(accountId, '2020-01-01').filter(({ route }) => route === 'open')
    expect(used).toMatchObject([{ requests: 1, bytes: Number(headers.get('content-length')) }])
    // In every spelling that is answered.
    for (const spell of [
      (link: string) => link.replace('/bf_link_', '/%62f_link_'),
      (link: string) => link.replace('.parquet', '%2Eparquet'),
      (link: string) => `${link}?`,
      (link: string) => link.replace('/btc/', '/BTC/'),
    ]) {
      const answer = await follow(spell(file?.link ?? ''))
      expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '3000'])
    }
  })

  test('default: no line of the log has what opens a file', async () => {
    const { quotes, follow, lines } = serve()
    const { link = '', name = '' } = (await quotes()) ?? {}
    await follow(link)
    await follow(link.replace('bf_link_', '%62f_link_'))
    await follow(`/v1/nowhere?x=${link}`)
    const secret = link.split('/').at(-2)?.slice('bf_link_'.length) ?? 'none'
    expect(lines.join('')).not.toContain(secret.slice(0, 8))
    expect(lines.join('')).toContain(`"path":"/v1/btc/links/bf_link_…/${name}"`)
  })

  test('error: to a file that a revision replaced it is 410, with a link to that', async () => {
    const { quotes, list, follow, send } = serve()
    const before = await quotes()
    await history.putMarket({
      conditionId: both.conditionId,
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      strike: '64126.5',
    })
    makeFiles()
    const answer = await follow(before?.link)
    const { code, ...problem } = await readProblem(answer)
    expect([answer.status, code]).toEqual([410, 'file_replaced'])
    const { replacedBy } = problem as { replacedBy?: string }
    expect(replacedBy).toEndWith('-quotes-double-r2.parquet')
    expect((await follow(replacedBy)).status).toBe(200)
    expect((await send(before?.url ?? '')).status).toBe(200)
    const linked = (await list('kind=quotes&links=1h')).filter(({ link }) => link !== undefined)
    expect(linked.map(({ name }) => name)).toEqual([expect.stringContaining('-r2.')])
  })

  test('behavior: other servers of the same history accept it', async () => {
    const one = serve()
    const file = await one.quotes()
    const two = createHarness({ history, files, ledger: one.ledger, key: one.key })
    const path = file?.link?.replace('http://localhost', '') ?? ''
    expect((await two.sendAs(undefined, path)).status).toBe(200)
  })
})

describe('files without a key', () => {
  test('default: are those of the newest simulated day, each with a link', async () => {
    const { sendAs, follow } = serve()
    const answer = await sendAs(undefined, '/v1/sample/files')
    const { data } = (await answer.json()) as { data: File[] }
    expect(new Set(data.map(({ kind }) => kind)).size).toBe(6)
    // Markets of XRP were recorded on that day.
    expect(new Set(data.map(({ name }) => name.slice(0, 3)))).toEqual(new Set(['btc', 'eth']))
    for (const { link } of data) {
      const linked = await follow(link, { headers: { range: 'bytes=0-3' } })
      expect([linked.status, await linked.text()]).toEqual([206, 'PAR1'])
      expect(linked.headers.get('x-ratelimit-limit')).toBe('120')
    }
  })

  test('behavior: the operator opens a day, or none', async () => {
    const opened = serve({ BOOKFEED_SAMPLE_DAY: '2026-01-01' })
    const list = async ({ sendAs }: typeof opened) =>
      (await (await sendAs(undefined, '/v1/sample/files')).json()) as { data: File[] }
    const { data } = await list(opened)
    expect(new Set(data.map(({ kind }) => kind)).size).toBe(6)
    expect((await opened.follow(data[0]?.link)).status).toBe(200)
    expect((await list(serve({ BOOKFEED_SAMPLE_DAY: 'off' }))).data).toEqual([])
    expect((await list(serve({ BOOKFEED_SAMPLE_MARKET: 'off' }))).data).toEqual([])
  })
})
