/** What a tier no longer has, or never had: on live connections, in files and in the panel. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { digestOf } from '#src/domain/selling/api-key.ts'
import { defaultTiers, type Tier, type TierRoute, tierRoutes } from '#src/domain/selling/tier.ts'
import { createFileStore, type FileKind, fileKinds } from '#src/extensions/day-files/store.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { followEvents } from '../support/event-client.ts'
import * as events from '../support/event-server.ts'
import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { append, closeAll, connect, putMarket, startLiveServer } from '../support/live-client.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readProblem, withParams } from '../support/page-client.ts'
import { PANEL_PATH, readPanel } from '../support/panel-client.ts'

afterEach(async () => {
  closeAll()
  await events.closeAll()
})

const tierOf = (terms: Partial<Tier> = {}): Tier => {
  const pro = defaultTiers.find(({ tierId }) => tierId === 'pro')
  if (pro === undefined) throw new Error('There is no Pro tier.')
  return { ...pro, tierId: 'changing', name: 'Changing', rank: 10, ...terms }
}

/** An account whose grant follows the catalogue. */
function addChanging(ledger: Ledger): {
  key: string
  change: (terms: Partial<Tier>) => Promise<void>
} {
  const key = addKey(ledger, tierOf())
  return {
    key,
    change: (terms) => ledger.putTier(tierOf(terms), { actor: 'operator', nowMs: NOW_MS }),
  }
}

describe('a live connection whose tier changes', () => {
  test('behavior: ends what the tier does not include any more, says why, and keeps the rest', async () => {
    const { url, ledger, history, advance } = startLiveServer()
    await putMarket(history)
    const { key, change } = addChanging(ledger)
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'kept', channel: 'quotes', coin: 'btc' })
    await client.send({ op: 'subscribe', id: 'ended', channel: 'markets', coin: 'eth' })
    await client.send({ op: 'subscribe', id: 'spot', channel: 'spot', coin: 'btc' })
    await client.until(({ type, id }) => type === 'subscribed' && id === 'spot')
    await change({ coins: ['btc'], routes: ['markets', 'quotes'] })
    advance(5_000)
    const ended = await client.until(({ type, id }) => type === 'unsubscribed' && id === 'spot')
    expect(ended.filter(({ type }) => type === 'error')).toEqual([
      {
        type: 'error',
        id: 'ended',
        code: 'tier_coin',
        detail: expect.stringContaining('The subscription has ended. The Changing tier'),
        requiredTier: 'starter',
      },
      {
        type: 'error',
        id: 'spot',
        code: 'tier_route',
        detail: expect.stringContaining('does not include prices'),
        requiredTier: 'free',
      },
    ])
    await append(history, [aSnapshot({ timestampMs: START_MS + 1 })])
    expect((await client.untilType('row')).at(-1)).toMatchObject({ id: 'kept' })
    // The names are free again, and the tier is the one of now.
    await client.send({ op: 'subscribe', id: 'ended', channel: 'quotes', coin: 'eth' })
    expect((await client.untilType('error')).at(-1)).toMatchObject({ code: 'tier_coin' })
  })

  test.each([
    { op: 'seek', to: START_MS },
    { op: 'resume' },
    { op: 'speed', speed: 0 },
    { op: 'snapshot' },
  ])('error: %j of a replay that the tier lost plays nothing', async (operation) => {
    const { url, ledger, history } = startLiveServer()
    await putMarket(history)
    await append(history, [aSnapshot({ timestampMs: START_MS + 1 })])
    const { key, change } = addChanging(ledger)
    const client = connect(url, key)
    const replay = { op: 'replay', id: 'r', channel: 'snapshots', coin: 'btc', speed: 0 }
    await client.send({ ...replay, conditionId: conditionIdOf(1) })
    await client.untilType('replay_end')
    await change({ routes: ['markets'] })
    await client.send({ ...operation, id: 'r' })
    const answer = await client.untilType('unsubscribed')
    expect(answer.map(({ type, code }) => [type, code])).toEqual([
      ['error', 'tier_route'],
      ['unsubscribed', undefined],
    ])
    expect((await client.untilType('error')).at(-1)).toMatchObject({ id: 'r', param: 'id' })
  })

  test('behavior: a replay with prices of the coin ends with the prices', async () => {
    const { url, ledger, history, advance } = startLiveServer()
    await putMarket(history)
    const { key, change } = addChanging(ledger)
    const client = connect(url, key)
    const range = { from: START_MS, to: START_MS + 1000 }
    const replay = { op: 'replay', id: 'r', channel: 'quotes', coin: 'btc', speed: 0, ...range }
    await client.send({ ...replay, with: 'spot' })
    await client.untilType('subscribed')
    await change({ routes: ['markets', 'quotes', 'snapshots'] })
    advance(5_000)
    await client.untilType('unsubscribed')
  })

  test('behavior: what a period gave ends with the period', async () => {
    const { url, ledger, history, advance, time } = startLiveServer()
    await putMarket(history)
    const key = addKey(ledger, undefined)
    const { accountId = '' } = ledger.findKeyByDigest(digestOf(key)) ?? {}
    const subscription = { id: 'sub_1', accountId, tierId: 'pro', startMs: 0 }
    const endMs = time.nowMs + 60_000
    await ledger.addSubscription({ ...subscription, endMs }, { actor: 'operator', nowMs: NOW_MS })
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    await client.untilType('subscribed')
    advance(65_000)
    const ended = await client.untilType('unsubscribed')
    expect(ended.find(({ type }) => type === 'error')).toMatchObject({ code: 'tier_route' })
  })

  test('behavior: another key of the account is held to the same at once', async () => {
    const { url, ledger, history } = startLiveServer()
    await putMarket(history)
    const { key, change } = addChanging(ledger)
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    await client.untilType('subscribed')
    await change({ routes: ['markets'] })
    await client.send({ op: 'auth', key })
    await client.untilType('unsubscribed')
  })

  test('behavior: server-sent events end with an event that says why', async () => {
    const { ledger, url, advance } = await events.startServer()
    const { key, change } = addChanging(ledger)
    const path = `${url}/v1/btc/markets/${conditionIdOf(1)}/live?channel=trades`
    const client = followEvents(
      await fetch(path, {
        headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
      }),
    )
    await client.until(() => client.text() !== '')
    await change({ routes: ['markets', 'quotes', 'snapshots'] })
    advance(10_000)
    await client.ended
    const [, data = ''] = /event:end\ndata:(.*)\n/.exec(client.text()) ?? []
    expect(JSON.parse(data)).toEqual({
      code: 'tier_route',
      detail: expect.stringContaining('does not include prices'),
      requiredTier: 'free',
    })
  })
})

describe('a tier without a route', () => {
  /** Which of the kinds a tier with some routes may read. */
  const readable: [routes: TierRoute[], kinds: FileKind[]][] = [
    [[...tierRoutes], [...fileKinds]],
    [['snapshots'], ['snapshots', 'levels', 'changes']],
    [
      ['snapshots', 'quotes'],
      ['snapshots', 'levels', 'quotes', 'changes'],
    ],
    [
      ['snapshots', 'prices'],
      ['snapshots', 'levels', 'trades', 'panel', 'changes'],
    ],
    [['markets', 'prices', 'quotes'], []],
  ]

  test('error: reads no file whose data its routes would refuse', async () => {
    const root = mkdtempSync(join(tmpdir(), 'bookfeed-entitled-'))
    const files = createFileStore(root)
    const place = { coin: 'btc', timeframe: '5m', day: '2026-02-03' } as const
    const made = fileKinds.map((kind) => {
      const name = `btc-5m-2026-02-03-${kind}-double-r1.parquet`
      const draft = { ...place, kind, numbers: 'double', revision: 1, markets: 1, rows: 1 } as const
      const written = files.write(place, name, [Buffer.from(`PAR1 ${kind}`)])
      return { ...draft, name, ...written, madeMs: NOW_MS }
    })
    files.putList(place, { source: '', files: made })
    const { ledger, sendAs } = createHarness({ files })
    const everything = addKey(ledger, tierOf({ tierId: 'all' }))
    for (const [index, [routes, kinds]] of readable.entries()) {
      const key = addKey(ledger, tierOf({ tierId: `tier-${index}`, rank: 20 + index, routes }))
      for (const { kind, name } of made) {
        // Also once another caller has the file in memory.
        await sendAs(everything, `/v1/btc/files/${name}`)
        for (const init of [{}, { headers: { range: 'bytes=0-3' } }]) {
          const response = await sendAs(key, `/v1/btc/files/${name}`, init)
          const code = response.ok ? undefined : (await readProblem(response)).code
          const expected = kinds.includes(kind) ? undefined : 'tier_route'
          expect([routes, kind, code]).toEqual([routes, kind, expected])
        }
      }
    }
    rmSync(root, { recursive: true })
  })

  test('behavior: the panel of a tier without prices has neither trades nor prices of the coin', async () => {
    const { history } = await createMarketHistory()
    const { ledger, sendAs, send } = createHarness({ history })
    const key = addKey(ledger, tierOf({ routes: ['markets', 'snapshots', 'quotes'] }))
    const sendWithout: typeof send = (path, init) => sendAs(key, path, init)
    const all = await readPanel(send, {})
    const some = await readPanel(sendWithout, {})
    expect(some.data.length).toBe(all.data.length)
    expect(some.data.length).toBeGreaterThan(0)
    const cut = all.data.map(({ lastTrade: _, spot: __, ...row }) => row)
    expect(some.data as unknown[]).toEqual(cut)
    const csv = withParams(PANEL_PATH, { timeframe: '5m', offsets: '-60s', format: 'csv' })
    const columnsOf = async (text: Promise<Response>) =>
      (await (await text).text()).split('\n')[0]?.split(',') ?? []
    const columns = await columnsOf(send(csv))
    expect(columns).toContain('last_trade_price')
    expect(await columnsOf(sendWithout(csv))).toEqual(
      columns.filter((name) => !/^(last_trade|spot)/.test(name)),
    )
    // The cursors are the same: a higher tier goes on where the lower one was.
    expect(some.headers.get('x-resume-cursor')).toBe(all.headers.get('x-resume-cursor') ?? '')
    expect(some.headers.get('etag')).not.toBe(all.headers.get('etag'))
  })
})
