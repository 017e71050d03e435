import { describe, expect, test } from 'bun:test'

import { createSample, createSampleChoice } from '#src/access/sample.ts'
import type { Market } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'

import { asRecorded } from '../support/as-recorded.ts'
import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'

const GUEST = 'sample'

/** `isRecorded`: of what is there, nothing is simulated. */
async function createGround(choice = 'auto', isRecorded = false) {
  const history = openHistory(':memory:')
  const ground = await createMarketHistory(isRecorded ? asRecorded(history) : history)
  const config = readConfig({ BOOKFEED_SAMPLE_MARKET: choice })
  const harness = createHarness({ history: ground.history, config })
  const ask = (path: string, init?: RequestInit) => harness.sendAs(GUEST, path, init)
  const statusOf = async (path: string, init?: RequestInit) => (await ask(path, init)).status
  return { ...ground, ...harness, ask, statusOf }
}

describe('Authorization: Bearer sample', () => {
  test('default: reads what Free includes, and all of one market that is over', async () => {
    const { ask, statusOf, both, open } = await createGround()
    const sample = await (await ask('/v1/sample')).json()
    expect(sample).toMatchObject({
      coins: ['btc', 'eth'],
      routes: ['markets', 'prices'],
      requestsPerMinute: 120,
      market: { symbol: 'btc', conditionId: both.conditionId },
    })
    const whole = `/v1/btc/markets/${both.conditionId}`
    for (const path of ['', '/snapshots', '/quotes', '/prices', '/coverage', '/export'])
      expect([path, await statusOf(whole + path)]).toEqual([path, 200])
    expect(await statusOf(whole, { method: 'HEAD' })).toBe(200)
    expect(await statusOf('/v1/btc/markets')).toBe(200)
    expect(await statusOf(`/v1/btc/markets/${open.conditionId}/prices`)).toBe(200)
  })

  test('behavior: by any of its names', async () => {
    const { history, ask, statusOf, both } = await createGround()
    const market = history.findMarket(both.conditionId)
    await ask('/v1/sample')
    for (const name of [market?.slug, market?.assetIds.up, both.conditionId.toUpperCase()])
      expect([name, await statusOf(`/v1/BTC/markets/${name}/quotes`)]).toEqual([name, 200])
  })

  test('behavior: reads simulated markets whole, of any coin, also open ones', async () => {
    const { ask, statusOf, single, open } = await createGround()
    expect(await (await ask('/v1/sample')).json()).toMatchObject({ sources: ['simulated'] })
    for (const { coin, conditionId } of [single, open]) {
      const path = `/v1/${coin}/markets/${conditionId}`
      for (const part of ['', '/snapshots', '/heatmap', '/quotes', '/trades'])
        expect([path, part, await statusOf(path + part)]).toEqual([path, part, 200])
    }
    const live = await ask(`/v1/btc/markets/${open.conditionId}/live`)
    expect(live.status).toBe(200)
    await live.body?.cancel()
    expect(await statusOf(`/v1/sol/markets/${open.conditionId}/snapshots`)).toBe(401)
  })

  test('behavior: lists a coin of which nothing is recorded, until something is', async () => {
    const { history, ask, statusOf, advance } = await createGround()
    for (const path of ['/v1/eth/markets', '/v1/eth/prices', '/v1/eth/spot'])
      expect([path, await statusOf(path)]).toEqual([path, 200])
    // Of Solana a recorded market is known; the lists need more than the sample has.
    for (const path of ['/v1/sol/markets', '/v1/eth/panel?offsets=0'])
      expect([path, await statusOf(path)]).toEqual([path, 401])
    const conditionId = conditionIdOf('9')
    await history.putMarket({ conditionId, coin: 'eth', timeframe: '5m', source: 'recorded' })
    advance(1_000)
    expect(await statusOf('/v1/eth/markets')).toBe(401)
    expect(await (await ask('/v1/sample')).json()).toMatchObject({ coins: ['btc'] })
  })

  test('error: everything else is 401, and says where the sample is described', async () => {
    const { ask, both, single, open } = await createGround('auto', true)
    const paths = [
      `/v1/btc/markets/${open.conditionId}/snapshots`,
      `/v1/eth/markets/${single.conditionId}`,
      `/v1/eth/markets/${both.conditionId}/snapshots`,
      `/v1/eth/markets/${conditionIdOf('f')}/snapshots`,
      '/v1/btc/panel?offsets=0',
      '/v1/keys',
      '/v1/usage',
      '/v1/exports',
    ]
    for (const path of paths) {
      const problem = await readProblem(await ask(path))
      expect([path, problem.status, problem.code]).toEqual([path, 401, 'unauthenticated'])
      expect(problem.detail).toContain('/v1/sample')
    }
    const posted = await ask('/v1/btc/snapshots/at', { method: 'POST', body: '{"requests":[]}' })
    expect(posted.status).toBe(401)
  })

  test('behavior: without it nothing is read, as before', async () => {
    const { sendAs, both } = await createGround()
    const answer = await sendAs(undefined, `/v1/btc/markets/${both.conditionId}`)
    expect(answer.status).toBe(401)
  })

  test('behavior: has a window of its own', async () => {
    const { ask, sendAs } = await createGround()
    const answer = await ask('/v1/btc/markets')
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('119')
    for (let left = 119; left > 0; left--) await ask('/v1/sample')
    expect((await ask('/v1/sample')).status).toBe(429)
    expect((await sendAs(undefined, '/v1/coins')).headers.get('x-ratelimit-remaining')).toBe('9')
  })

  test('behavior: the operator names the market, or has none', async () => {
    const named = await createGround((await createMarketHistory()).single.conditionId, true)
    expect(await named.statusOf(`/v1/eth/markets/${named.single.conditionId}/snapshots`)).toBe(200)
    expect(await named.statusOf(`/v1/btc/markets/${named.both.conditionId}/snapshots`)).toBe(401)
    const none = await createGround('off')
    expect(await (await none.ask('/v1/sample')).json()).toMatchObject({ market: null, sources: [] })
    expect(await none.statusOf(`/v1/btc/markets/${none.both.conditionId}/snapshots`)).toBe(401)
  })

  test('behavior: a recorded market that is not over is no sample', async () => {
    const ground = await createGround((await createMarketHistory()).open.conditionId, true)
    expect(await ground.statusOf(`/v1/btc/markets/${ground.open.conditionId}/snapshots`)).toBe(401)
  })
})

describe('createSample', () => {
  const aMarket = (conditionId: string, source: Market['source']): Market => ({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source,
    id: 1,
    revision: 1,
    layout: 1,
    assetIds: {},
    snapshotCounts: { up: 1, down: 1 },
    verifiedCounts: { up: 0, down: 0 },
    spans: {},
    longestSilenceMs: {},
    isClosed: true,
    orderMs: 0,
  })

  test('behavior: becomes a recorded market once there is one, then one that is covered well, and no other', () => {
    const markets = new Map<string, Market>()
    let example: Market | undefined
    let nowMs = 0
    const sample = createSample({
      choice: 'auto',
      listTiers: () => [],
      findMarket: (name) => markets.get(name),
      sourcesOf: () => [],
      findExample: () => example,
      isWellCovered: ({ conditionId }) => conditionId.includes('good'),
      chosen: createSampleChoice(),
      timer: () => nowMs,
    })
    const add = (id: string, source: Market['source']) => {
      example = aMarket(id, source)
      markets.set(id, example)
    }
    const shown = () => sample.market()?.conditionId
    expect(shown()).toBeUndefined()
    add('made', 'simulated')
    expect(shown()).toBe('made')
    add('poor', 'recorded')
    expect(shown()).toBe('made')
    nowMs += 60_000
    expect(shown()).toBe('poor')
    add('poorer', 'recorded')
    nowMs += 60_000
    expect(shown()).toBe('poor')
    add('good', 'recorded')
    nowMs += 60_000
    expect(shown()).toBe('good')
    add('good, too', 'recorded')
    nowMs += 60_000
    expect(shown()).toBe('good')
    markets.delete('good')
    expect(shown()).toBe('good, too')
  })

  test('behavior: threads that share a choice have one market, also where each would choose another', () => {
    const markets = new Map(
      ['first', 'second', 'good'].map((id) => [id, aMarket(id, 'recorded')] as const),
    )
    const chosen = createSampleChoice()
    let nowMs = 0
    const open = (example: string) => {
      const found = { example }
      const sample = createSample({
        choice: 'auto',
        listTiers: () => [],
        findMarket: (name) => markets.get(name),
        sourcesOf: () => [],
        findExample: () => markets.get(found.example),
        isWellCovered: ({ conditionId }) => conditionId === 'good',
        chosen,
        timer: () => nowMs,
      })
      return { found, shown: () => sample.market()?.conditionId }
    }
    const one = open('first')
    const other = open('second')
    expect([one.shown(), other.shown()]).toEqual(['first', 'first'])
    other.found.example = 'good'
    nowMs += 60_000
    expect([other.shown(), one.shown()]).toEqual(['good', 'good'])
    markets.delete('good')
    expect([one.shown(), other.shown()]).toEqual(['first', 'first'])
  })
})
