import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { ManifestBody } from '#src/domain/manifest.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { cite } from '#src/extensions/trust/cite.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import { verifyManifest } from '#src/extensions/trust/verify-manifest.ts'
import { openHistory } from '#src/history/open.ts'
import { isFault } from '#src/platform/fault.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  someSnapshots,
  START_MS,
} from '../../history/books.ts'
import { createCliContext } from '../../support/cli-context.ts'
import { createHarness } from '../../support/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-manifest-'))
afterAll(() => rmSync(folder, { recursive: true }))

const conditionId = conditionIdOf(1)
const market = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
type Answer = Record<string, unknown> & { data: Record<string, unknown>[]; manifest: ManifestBody }

/** A server with three manifests: of two days, and of the first again. */
async function serve() {
  const time = { nowMs: START_MS }
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  const make = async () => await Array.fromAsync(makeManifests(history, time.nowMs))
  for (const number of [1, 2]) {
    const startMs = START_MS + (number - 1) * DAY_MS
    const window = { windowStartMs: startMs, windowEndMs: startMs + 300_000 }
    const own = { ...market, conditionId: conditionIdOf(number) }
    await history.putMarket({ ...own, ...window, winner: 'up', strike: '64000.123456789012345' })
    const rows = someSnapshots(1100).map((row, at) => ({ ...row, timestampMs: startMs + at }))
    const assets = { up: `1${number}`, down: `2${number}` }
    await appendAll(
      history,
      rows.map((row) => ({ ...row, ...own, assetId: assets[row.outcome] })),
    )
    // A trade, and a last trade price, which no route lists.
    const trades = [
      { timestampMs: startMs, price: 530_000, size: 2_500_000, outcome: 'up', side: 'buy' },
      { timestampMs: startMs + 1, price: 540_000 },
    ] as const
    await history.putTrades({ id: `${number}`, conditionId: own.conditionId, trades })
    await history.close(own.conditionId)
    time.nowMs = startMs + DAY_MS
    await make()
  }
  time.nowMs += DAY_MS
  await appendAll(history, [aSnapshot({ timestampMs: START_MS + 2, assetId: '11' }, 5)])
  await make()
  return { history, ...createHarness({ history }) }
}

/** Runs the command against a server whose answers may be changed on the way. */
async function verify(
  change: (path: string, body: Answer) => unknown = (_, body) => body,
  { path = '/', publicKey }: { path?: string; publicKey?: string } = {},
  given?: Awaited<ReturnType<typeof serve>>,
) {
  const { app, key } = given ?? (await serve())
  const apiKeyFile = join(folder, crypto.randomUUID())
  writeFileSync(apiKeyFile, key, { mode: 0o600 })
  const { context, printed } = createCliContext()
  const world = {
    async fetch(url: string, init: RequestInit) {
      const response = await app.fetch(new Request(url, init))
      const text = await response.text()
      const changed = change(new URL(url).pathname, JSON.parse(text) as Answer)
      // Untouched where nothing was changed: digests are of the text.
      return changed === undefined ? new Response(text, response) : Response.json(changed)
    },
    sleep: async () => {},
  }
  const manifest = new URL(path, 'http://books.example')
  const flags = { manifest, publicKey, apiKeyFile }
  const failure = await verifyManifest(context, flags, world).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure !== undefined && !isFault(failure, 'command', 'usage')) throw failure
  return { printed, isSound: failure === undefined }
}

const nothing = () => undefined
const when =
  (wanted: string, change: (body: Answer) => void) =>
  (path: string, body: Answer): Answer | undefined => {
    if (path !== wanted) return undefined
    change(body)
    return body
  }

describe('bookfeed verify --manifest', () => {
  test('default: a chain that is sound, and every row of the newest day', async () => {
    const { printed, isSound } = await verify(nothing)
    expect([isSound, printed[0]]).toEqual([
      true,
      'sound: 3 manifests, chained and signed; manifest 3, 2026-04-14 r2: 1 market compared with the data of the server',
    ])
    expect(printed[1]).toStartWith(
      'The key comes from the server itself. To pin it, add --public-key ',
    )
  })

  test('args: a day that the address names, and a key that is pinned', async () => {
    const server = await serve()
    const publicKey = server.history.manifests.publicKey()
    const { printed, isSound } = await verify(
      nothing,
      { path: '/v1/manifest?day=2026-04-15', publicKey },
      server,
    )
    expect([isSound, printed]).toEqual([
      true,
      [
        'sound: 3 manifests, chained and signed; manifest 2, 2026-04-15 r1: 1 market compared with the data of the server',
      ],
    ])
  })

  test('error: one row that was changed is found, and its market named', async () => {
    const change = (path: string, body: Answer) => {
      if (!path.endsWith('/snapshots') || body.data.length < 100) return undefined
      return { ...body, data: body.data.with(50, { ...body.data[50], id: '7' }) }
    }
    const { printed, isSound } = await verify(change)
    expect(isSound).toBe(false)
    expect(printed).toEqual([`market ${conditionId}: its snapshots differ`])
  })

  test('error: a row or trade that is left out, and another winner', async () => {
    const change = (path: string, body: Answer) => {
      if (path.endsWith('/trades')) return { ...body, data: [] }
      return path.endsWith(conditionId) ? { ...body, winner: 'down' } : undefined
    }
    const { printed } = await verify(change)
    // What the change made of the long number of the strike is another fact, too.
    expect(printed).toEqual([
      `market ${conditionId}: its facts differ`,
      `market ${conditionId}: 0 trades are served, not 1`,
      `market ${conditionId}: its trades differ`,
    ])
  })

  test('error: one manifest that was changed does not match its signature', async () => {
    const other = 'a'.repeat(64)
    const { printed } = await verify(
      when('/v1/manifests', ({ data }) => Object.assign(data[1] ?? {}, { digest: other })),
    )
    expect(printed).toEqual([
      'manifest 2 (2026-04-15 r1) does not match its signature',
      'manifest 3 (2026-04-14 r2) does not follow the previous one: it contains another digest',
    ])
    const inside = await verify(
      when('/v1/manifest', ({ manifest }) => {
        const [series] = manifest.series
        if (series?.markets[0]) series.markets[0].snapshots = 7
      }),
    )
    expect(inside.printed[0]).toBe(
      'manifest 3 is not the manifest of the chain: its text has another digest',
    )
  })

  test('error: a manifest that is left out, in the middle or at the end', async () => {
    const middle = await verify(when('/v1/manifests', ({ data }) => void data.splice(1, 1)))
    expect(middle.printed).toEqual([
      'manifest 2 is missing: manifest 3 (2026-04-14 r2) comes next',
      'manifest 3 (2026-04-14 r2) does not follow the previous one: it contains another digest',
    ])
    const end = await verify(when('/v1/manifests', ({ data }) => void data.pop()))
    expect(end.printed[0]).toBe('the chain does not end with its head')
  })

  test('error: a key that was swapped, of one manifest or of the server', async () => {
    const other = await serve()
    const swapped = other.history.manifests.list(0, 10)
    const one = await verify(
      when('/v1/manifests', ({ data }) => {
        const { signature, publicKey } = swapped[1] ?? {}
        Object.assign(data[1] ?? {}, { signature, publicKey })
      }),
    )
    expect(one.printed).toHaveLength(1)
    expect(one.printed[0]).toStartWith('manifest 2 (2026-04-15 r1) is signed by another key, ')
    // A server that signs all of it again convinces whoever did not keep the key.
    const pinned = (await serve()).history.manifests.publicKey()
    const all = await verify(nothing, { publicKey: pinned }, other)
    expect(all.printed.map((line) => line.split(',')[0])).toEqual([
      'manifest 1 (2026-04-14 r1) is signed by another key',
      'manifest 2 (2026-04-15 r1) is signed by another key',
      'manifest 3 (2026-04-14 r2) is signed by another key',
    ])
  })
})

describe('bookfeed cite', () => {
  const ask = async (id: string, isJson?: true) => {
    const { app } = await serve()
    const { context, printed } = createCliContext()
    const flags = { id, server: new URL('http://books.example'), json: isJson }
    await cite(context, flags, {
      fetch: async (url, init) => app.fetch(new Request(url, init)),
      sleep: async () => {},
    })
    return printed
  }

  test('default: what is cited, line by line or as JSON', async () => {
    const printed = await ask('bookfeed:btc/5m/2026-04-14')
    expect(printed[0]).toBe('citation         bookfeed:btc/5m/2026-04-14@r2')
    const [text = ''] = await ask('bookfeed:btc/5m/2026-04-14@r1', true)
    expect(JSON.parse(text)).toMatchObject({ revision: 1, newestRevision: 2, snapshots: 1100 })
  })

  test('error: one that is not known, with what the server says', async () => {
    const failure = ask('bookfeed:eth/5m/2026-04-14')
    expect(await failure.then(String, String)).toContain('responds with 404')
  })
})
