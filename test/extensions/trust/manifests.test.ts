import { describe, expect, test } from 'bun:test'

import { canonicalJson, isSigned, sha256, type SignedStatement } from '#src/domain/manifest.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import { openHistory } from '#src/history/open.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  someSnapshots,
  START_MS,
} from '../../history/books.ts'
import { createHarness } from '../../support/harness.ts'
import { readProblem } from '../../support/page-client.ts'

const MADE_MS = START_MS + DAY_MS
const conditionId = conditionIdOf(1)

/** The day of one market, digested twice, because of a row that came late. */
async function serve() {
  const time = { nowMs: START_MS }
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  const window = { windowStartMs: START_MS, windowEndMs: START_MS + 300_000 }
  const names = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
  await history.putMarket({ ...names, ...window, winner: 'up' })
  await appendAll(history, someSnapshots(30))
  await history.close(conditionId)
  for (time.nowMs = MADE_MS; time.nowMs <= MADE_MS + DAY_MS; time.nowMs += DAY_MS) {
    for await (const _ of makeManifests(history, time.nowMs));
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 500 }, 77)])
  }
  const { sendAs } = createHarness({ history })
  const send = (path: string, init?: RequestInit) => sendAs(undefined, path, init)
  const get = async (path: string) => (await (await send(path)).json()) as Record<string, unknown>
  return { history, send, get }
}

describe('manifests', () => {
  test('default: without a key, signed by the key of /.well-known/bookfeed.json', async () => {
    const { get } = await serve()
    const { manifest, ...signed } = (await get('/v1/manifest')) as SignedStatement & {
      manifest: Record<string, unknown>
    }
    expect(isSigned(signed)).toBe(true)
    expect(sha256(canonicalJson(manifest))).toBe(signed.digest)
    const key = await get('/.well-known/bookfeed.json')
    expect(key).toMatchObject({
      algorithm: 'ed25519',
      publicKey: signed.publicKey,
      newest: { sequence: 2, digest: signed.digest },
    })
    expect(key.publicKeyPem).toStartWith('-----BEGIN PUBLIC KEY-----\nMCowBQYDK2Vw')
  })

  test('args: a place in the chain, or a day; what there is not is named', async () => {
    const { get, send } = await serve()
    expect(await get('/v1/manifest?sequence=1')).toMatchObject({ sequence: 1, revision: 1 })
    expect(await get('/v1/manifest?day=2026-04-14')).toMatchObject({ sequence: 2, revision: 2 })
    const moment = await get(`/v1/manifest?day=${Date.UTC(2026, 3, 14, 23, 59)}`)
    expect(moment).toMatchObject({ sequence: 2, revision: 2 })
    for (const query of ['sequence=3', 'day=2026-04-15'])
      expect(await readProblem(await send(`/v1/manifest?${query}`))).toMatchObject({
        code: 'not_found',
      })
    for (const query of ['sequence=1&day=2026-04-14', 'day=14.4.2026'])
      expect(await readProblem(await send(`/v1/manifest?${query}`))).toMatchObject({
        code: 'invalid_parameter',
        param: 'day',
      })
  })

  test('default: the chain in pages, with a cursor for what comes, and as CSV', async () => {
    const { get, send } = await serve()
    const first = await get('/v1/manifests?limit=1')
    const second = await get(`/v1/manifests?limit=1&cursor=${first.nextCursor}`)
    const chain = [first, second].flatMap(({ data }) => data as SignedStatement[])
    expect(chain.map(({ sequence }) => sequence)).toEqual([1, 2])
    expect(chain[1]?.previous).toBe(chain[0]?.digest ?? '')
    expect(second.nextCursor).toBeNull()
    const csv = await (await send('/v1/manifests?format=csv')).text()
    expect(csv).toStartWith(
      'sequence,day,revision,digest,previous,signature,public_key,made_at\n1,',
    )
  })

  test('behavior: a manifest of a place in the chain may be kept, the newest may not', async () => {
    const { send } = await serve()
    const controlOf = async (path: string) => (await send(path)).headers.get('cache-control')
    expect(await controlOf('/v1/manifest?sequence=1')).toBe('private, max-age=60, immutable')
    expect(await controlOf('/v1/manifest')).toBe('private, no-cache')
  })
})

describe('GET /v1/cite', () => {
  test('default: a citation stays what it was, and says what is newer', async () => {
    const { get } = await serve()
    const first = await get('/v1/cite?id=bookfeed:btc/5m/2026-04-14@r1')
    expect(first).toEqual({
      citation: 'bookfeed:btc/5m/2026-04-14@r1',
      symbol: 'btc',
      timeframe: '5m',
      day: '2026-04-14',
      revision: 1,
      newestRevision: 2,
      isCurrent: false,
      markets: 1,
      snapshots: 30,
      sha256: first.sha256,
      asOf: new Date(MADE_MS).toISOString(),
      sequence: 1,
      manifest: '/v1/manifest?sequence=1',
      data: `/v1/btc/markets?timeframe=5m&from=${Date.UTC(2026, 3, 14)}&to=${Date.UTC(2026, 3, 15)}`,
    })
    const newest = await get('/v1/cite?id=bookfeed:btc/5m/2026-04-14')
    expect(newest).toMatchObject({
      citation: 'bookfeed:btc/5m/2026-04-14@r2',
      snapshots: 31,
      sequence: 2,
    })
    expect(newest.sha256).not.toBe(first.sha256)
  })

  test('behavior: a revision that a late import has overtaken is not current, until the next is signed', async () => {
    const { history, get } = await serve()
    const cite = () => get('/v1/cite?id=bookfeed:btc/5m/2026-04-14')
    for await (const _ of makeManifests(history, MADE_MS + 2 * DAY_MS));
    expect(await cite()).toMatchObject({ revision: 2, isCurrent: true })
    // A gap is not digested.
    const gap = { outcome: 'up', fromMs: START_MS + 600, toMs: START_MS + 601 } as const
    await history.record({
      source: 'simulated',
      snapshots: [],
      trades: [],
      gaps: [{ kind: 'opened', conditionId, gap: { ...gap, reason: 'import' } }],
    })
    expect(await cite()).toMatchObject({ revision: 2, isCurrent: true })
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 700 }, 78)])
    expect(await cite()).toMatchObject({ revision: 2, newestRevision: 2, isCurrent: false })
    for await (const _ of makeManifests(history, MADE_MS + 3 * DAY_MS));
    expect(await cite()).toMatchObject({ revision: 3, newestRevision: 3, isCurrent: true })
  })

  test('error: what is no citation, and what is not known', async () => {
    const { send } = await serve()
    for (const id of ['btc/5m/2026-04-14', 'bookfeed:btc/5m/2026-04-14@3', 'bookfeed:'])
      expect(await readProblem(await send(`/v1/cite?id=${id}`))).toMatchObject({
        code: 'invalid_parameter',
        param: 'id',
      })
    for (const id of ['btc/5m/2026-04-14@r3', 'eth/5m/2026-04-14', 'btc/5m/2026-04-15'])
      expect(await readProblem(await send(`/v1/cite?id=bookfeed:${id}`))).toMatchObject({
        code: 'not_found',
      })
  })
})
