import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { ErrorCode } from '#src/domain/errors.ts'
import type { MarketFacts, Outcome } from '#src/domain/market.ts'
import { MarketBody, MarketList } from '#src/features/markets/schema.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { createHarness, NOW_MS } from '../support/harness.ts'
import {
  appendRows,
  conditionIdOf,
  createMarketHistory,
  rowsAt,
} from '../support/market-history.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory()
const { send } = createHarness({ history })

async function readMarket(sender: Send, coin: string, conditionId: string): Promise<MarketBody> {
  const response = await sender(`/v1/${coin}/markets/${conditionId}`)
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(MarketBody, body)]).toEqual([200])
  return body as MarketBody
}

async function readList(sender: Send, coin: string, params = {}): Promise<MarketList> {
  const response = await sender(withParams(`/v1/${coin}/markets`, params))
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(MarketList, body)]).toEqual([200])
  return body as MarketList
}

async function walkList(sender: Send, coin: string, limit: number): Promise<MarketList[]> {
  const pages: MarketList[] = []
  let cursor: string | null = null
  do {
    const page = await readList(sender, coin, cursor === null ? { limit } : { limit, cursor })
    pages.push(page)
    cursor = page.nextCursor
  } while (cursor !== null && pages.length < 1000)
  return pages
}

/** An outcome of `both` as its rows tell it. */
function expectedOutcome({ outcome, assetId }: { outcome: Outcome; assetId: string }) {
  const times = both.rows
    .filter((row) => row.outcome === outcome)
    .map(({ timestampMs }) => timestampMs)
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? time))
  return {
    outcome,
    assetId,
    snapshots: 165,
    verifiedSnapshots: 0,
    firstSnapshot: new Date(Math.min(...times)).toISOString(),
    lastSnapshot: new Date(Math.max(...times)).toISOString(),
    coverage: {
      covered: expect.any(Number),
      gaps: expect.any(Number),
      longestSilenceMs: Math.max(...pauses),
      verified: 0,
    },
  }
}

const idOf = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`

/** Markets of windows a minute apart, put in a random order; every third shares its start. */
async function createManyMarkets(count: number) {
  const many = openHistory(':memory:')
  const random = createRandom('many')
  const facts = Array.from({ length: count }, (_, index): MarketFacts => ({
    conditionId: idOf(random.integer(2 ** 32)),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: 60_000 * (index - (index % 3)),
  }))
  for (const fact of facts.toSorted((a, b) => (a.conditionId < b.conditionId ? -1 : 1))) {
    await many.putMarket(fact)
  }
  const expected = facts
    .toSorted(
      (a, b) =>
        (b.windowStartMs ?? 0) - (a.windowStartMs ?? 0) || (a.conditionId < b.conditionId ? 1 : -1),
    )
    .map(({ conditionId }) => conditionId)
  return { many, expected }
}

describe('GET /v1/{coin}/markets', () => {
  test('default: the markets of the coin and no other, newest window first', async () => {
    const { data, nextCursor } = await readList(send, 'btc')
    expect(data.map(({ conditionId }) => conditionId)).toEqual([open.conditionId, both.conditionId])
    expect(nextCursor).toBeNull()
    for (const [coin, market] of [
      ['eth', single],
      ['sol', empty],
      ['xrp', edge],
    ] as const) {
      const list = await readList(send, coin.toUpperCase())
      expect(list.data.map(({ conditionId }) => conditionId)).toEqual([market.conditionId])
    }
  })

  test('behavior: must be asked for each time, and says what its schema says', async () => {
    const response = await send('/v1/btc/markets')
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(response.headers.get('content-type')).toBe('application/json')
    const text = await response.text()
    expect(Object.keys(JSON.parse(text))).toEqual(['data', 'nextCursor'])
    expect(Object.keys(JSON.parse(text).data[0])).toEqual(Object.keys(MarketBody.properties))
  })

  test('behavior: a coin without markets has an empty list', async () => {
    const { send: sendNone } = createHarness({ history: openHistory(':memory:') })
    expect(await readList(sendNone, 'btc')).toEqual({ data: [], nextCursor: null })
  })

  test('behavior: by default a hundred; a walk gives each once, with no empty page', async () => {
    const { many, expected } = await createManyMarkets(240)
    const { send: sendMany } = createHarness({ history: many })
    expect((await readList(sendMany, 'btc')).data).toHaveLength(100)
    for (const limit of [1, 7, 80, 120, 239, 240, 241, 1000]) {
      const pages = await walkList(sendMany, 'btc', limit)
      const ids = pages.flatMap(({ data }) => data.map(({ conditionId }) => conditionId))
      expect(ids).toEqual(expected)
      expect(pages).toHaveLength(Math.ceil(240 / limit))
    }
  })

  test('behavior: `withBooks` leaves out markets without a snapshot, on every page', async () => {
    const { many, expected } = await createManyMarkets(130)
    const held = expected.filter((_, index) => index % 13 === 5)
    for (const [index, conditionId] of held.entries()) {
      const timestampMs = (many.findMarket(conditionId)?.windowStartMs ?? 0) + 1_000
      const snapshots = both.rows
        .slice(0, 1)
        .map((row) => ({ ...row, conditionId, timestampMs, sourceHash: undefined }))
      await many.append({ id: `held ${index}`, source: 'recorded', snapshots })
    }
    const { send: sendMany } = createHarness({ history: many })
    const walk = async (params: object) => {
      const ids: string[] = []
      let cursor: string | null | undefined
      do {
        const page = await readList(sendMany, 'btc', { ...params, ...(cursor ? { cursor } : {}) })
        ids.push(...page.data.map(({ conditionId }) => conditionId))
        cursor = page.nextCursor
      } while (cursor !== null && ids.length < 1000)
      return ids
    }
    for (const limit of [1, 3, 100]) {
      expect(await walk({ limit, withBooks: true })).toEqual(held)
      expect(await walk({ limit, withBooks: true, order: 'asc' })).toEqual(held.toReversed())
    }
    expect(await walk({ withBooks: false })).toEqual(expected)
    const refused = await sendMany('/v1/btc/markets?withBooks=1')
    expect((await readProblem(refused)).param).toBe('withBooks')
    const beside = await sendMany('/v1/btc/markets?slug=a&withBooks=true')
    expect((await readProblem(beside)).param).toBe('withBooks')
  })

  test('behavior: a walk is not disturbed by newer markets and by rows of those listed', async () => {
    const { history: live, open: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const first = await readList(sendLive, 'btc', { limit: 1 })
    await live.putMarket({
      conditionId: conditionIdOf('f'),
      coin: 'btc',
      timeframe: '1h',
      source: 'simulated',
      windowStartMs: NOW_MS,
    })
    await appendRows(live, market, rowsAt(market, [NOW_MS]))
    const second = await readList(sendLive, 'btc', { cursor: first.nextCursor })
    expect(second.data.map(({ conditionId }) => conditionId)).toEqual([both.conditionId])
  })

  test.each(['limit=0', 'limit=1001', 'limit=', 'limit=1e3', 'limit=%2B5', 'cursor='])(
    'error: %s is refused by name',
    async (query) => {
      const { status, code, param } = await readProblem(await send(`/v1/btc/markets?${query}`))
      expect([status, code, param]).toEqual([400, 'invalid_parameter', query.split('=')[0] ?? ''])
    },
  )

  test.each(['limit=1&limit=1', 'offset=1', 'Limit=1', 'limit=%', 'status=unheard'])(
    'error: %s is refused',
    async (query) => {
      const problem = await readProblem(await send(`/v1/btc/markets?${query}`))
      expect([problem.status, problem.code]).toEqual([400, 'invalid_parameter'])
    },
  )

  test('error: a cursor that was cut, changed or made up is invalid', async () => {
    const { nextCursor } = await readList(send, 'btc', { limit: 1 })
    const cursor = nextCursor ?? ''
    const bytes = Buffer.from(cursor, 'base64url')
    const flipped = Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const changed = bytes.map((byte, index) =>
        index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte,
      )
      return Buffer.from(changed).toString('base64url')
    })
    const cut = Array.from({ length: cursor.length - 1 }, (_, length) =>
      cursor.slice(0, length + 1),
    )
    for (const text of [...flipped, ...cut, `${cursor}A`, `${cursor}=`, 'A'.repeat(10_240)]) {
      const response = await send(withParams('/v1/btc/markets', { cursor: text }))
      expect([text, (await readProblem(response)).code]).toEqual([text, 'cursor_invalid'])
    }
  })

  test('error: the cursor of another coin is a mismatch', async () => {
    const { nextCursor } = await readList(send, 'btc', { limit: 1 })
    const response = await send(withParams('/v1/eth/markets', { cursor: nextCursor ?? '' }))
    expect((await readProblem(response)).code).toBe('cursor_mismatch')
  })

  test.each(['nocoin', 'btc%20', '%00', 'undefined'])('error: %s is no coin', async (coin) => {
    const { status, code, param } = await readProblem(await send(`/v1/${coin}/markets?limit=0`))
    expect([status, code, param]).toEqual([404, 'unknown_coin', 'coin'])
  })
})

describe('GET /v1/{coin}/markets/{conditionId}', () => {
  test('default: what is known and how much is held, marked as simulated', async () => {
    const body = await readMarket(send, 'btc', both.conditionId)
    const times = both.rows.map(({ timestampMs }) => timestampMs)
    const up = both.rows[0]?.assetId ?? ''
    const down = both.rows[1]?.assetId ?? ''
    const held = history.findMarket(both.conditionId)
    expect(body).toEqual({
      conditionId: both.conditionId,
      symbol: 'btc',
      timeframe: '5m',
      source: 'simulated',
      status: 'resolved',
      slug: 'sim-btc-updown-5m-1767225600',
      question: 'Bitcoin Up or Down - December 31, 7:00PM-7:05PM ET',
      windowStart: '2026-01-01T00:00:00.000Z',
      windowEnd: '2026-01-01T00:05:00.000Z',
      tickSize: held?.tickSize === undefined ? null : held.tickSize / 1_000_000,
      strike: held?.strike === undefined ? null : Number(held.strike),
      finalPrice: held?.finalPrice === undefined ? null : Number(held.finalPrice),
      settlementRule: null,
      strikeSource: null,
      strikeTime: null,
      finalPriceSource: null,
      finalPriceTime: null,
      takerDelayMs: null,
      orderAgeMs: null,
      feeSchedule: null,
      spot: null,
      result: expect.stringMatching(/^(up|down)$/),
      winner: expect.stringMatching(/^(up|down)$/),
      winnerSource: 'simulated',
      outcomes: [
        expectedOutcome({ outcome: 'up', assetId: up }),
        expectedOutcome({ outcome: 'down', assetId: down }),
      ],
      snapshots: 330,
      firstSnapshot: new Date(Math.min(...times)).toISOString(),
      lastSnapshot: new Date(Math.max(...times)).toISOString(),
      revision: expect.any(Number),
    })
  })

  test('behavior: what is not known is null, and nothing held is zero', async () => {
    expect(await readMarket(send, 'sol', empty.conditionId)).toMatchObject({
      source: 'recorded',
      slug: null,
      question: null,
      winner: null,
      tickSize: null,
      strike: null,
      finalPrice: null,
      winnerSource: null,
      outcomes: (['up', 'down'] as const).map((outcome) => ({
        outcome,
        assetId: null,
        snapshots: 0,
        verifiedSnapshots: 0,
        firstSnapshot: null,
        lastSnapshot: null,
        coverage: { covered: 0, gaps: 1, longestSilenceMs: null, verified: null },
      })),
      snapshots: 0,
      firstSnapshot: null,
      lastSnapshot: null,
    })
    const { windowStart, windowEnd, status } = await readMarket(send, 'xrp', edge.conditionId)
    expect([windowStart, windowEnd, status]).toEqual([null, null, 'open'])
    expect((await readMarket(send, 'eth', single.conditionId)).outcomes[1]?.snapshots).toBe(0)
  })

  test('behavior: is the entry of the list, in any spelling of its path', async () => {
    const { data } = await readList(send, 'btc')
    for (const market of [open, both]) {
      const upper = market.conditionId.toUpperCase().replace('0X', '0x')
      expect(data).toContainEqual(await readMarket(send, 'BTC', upper))
    }
  })

  test.each<[MarketBody['status'], Partial<MarketFacts>]>([
    ['upcoming', { windowStartMs: NOW_MS + 1, windowEndMs: NOW_MS + 300_001 }],
    ['open', { windowStartMs: NOW_MS, windowEndMs: NOW_MS + 300_000 }],
    ['open', { windowStartMs: NOW_MS - 299_999, windowEndMs: NOW_MS + 1 }],
    ['closed', { windowStartMs: NOW_MS - 300_000, windowEndMs: NOW_MS }],
    ['closed', { windowStartMs: NOW_MS - 300_001, windowEndMs: NOW_MS - 1 }],
    ['resolved', { windowStartMs: NOW_MS - 300_000, windowEndMs: NOW_MS, winner: 'down' }],
    ['resolved', { windowStartMs: NOW_MS - 1, windowEndMs: NOW_MS + 1, winner: 'up' }],
    ['upcoming', { windowStartMs: NOW_MS + 1 }],
    ['open', { windowStartMs: NOW_MS - 1 }],
    ['closed', { windowEndMs: NOW_MS }],
  ])('behavior: is %s at this moment of its window: %o', async (status, facts) => {
    const fresh = openHistory(':memory:')
    const { send: sendFresh } = createHarness({ history: fresh })
    const conditionId = idOf(1)
    await fresh.putMarket({
      conditionId,
      coin: 'eth',
      timeframe: '5m',
      source: 'recorded',
      ...facts,
    })
    expect((await readMarket(sendFresh, 'eth', conditionId)).status).toBe(status)
    expect((await readList(sendFresh, 'eth')).data[0]?.status).toBe(status)
  })

  test('behavior: a market whose history is final is closed, whatever its window', async () => {
    const { history: live, empty: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    expect((await readMarket(sendLive, 'sol', market.conditionId)).status).toBe('open')
    await live.close(market.conditionId)
    expect((await readMarket(sendLive, 'sol', market.conditionId)).status).toBe('closed')
  })

  test('behavior: the revision rises with rows, backfills and facts, and only then', async () => {
    const { history: live, both: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const revision = async () => (await readMarket(sendLive, 'btc', market.conditionId)).revision
    const before = await revision()
    await live.append({ id: 'known', source: 'simulated', snapshots: market.rows.slice(0, 9) })
    expect(await revision()).toBe(before)
    await appendRows(live, market, rowsAt(market, [market.rows[9]?.timestampMs ?? 0]))
    const backfilled = await revision()
    expect(backfilled).toBeGreaterThan(before)
    const { conditionId } = market
    const facts = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const
    await live.putMarket({ ...facts, question: 'Another?' })
    expect(await revision()).toBeGreaterThan(backfilled)
  })

  test.each(['x=1', 'limit=1', 'cursor=x', '=', '__proto__=1'])(
    'error: %s is refused: the route has no parameters',
    async (query) => {
      const response = await send(`/v1/btc/markets/${both.conditionId}?${query}`)
      const { code, detail } = await readProblem(response)
      expect([code, detail]).toEqual([
        'invalid_parameter',
        expect.stringContaining('This route has no parameters.'),
      ])
    },
  )

  test.each<[string, ErrorCode, number]>([
    ['btc/markets/0x0', 'invalid_parameter', 400],
    [`btc/markets/${idOf(1)}`, 'unknown_market', 404],
    [`eth/markets/${both.conditionId}`, 'unknown_market', 404],
    [`nocoin/markets/${both.conditionId}`, 'unknown_coin', 404],
  ])('error: /v1/%s is %s', async (path, code, status) => {
    const problem = await readProblem(await send(`/v1/${path}`))
    expect([problem.status, problem.code]).toEqual([status, code])
  })
})
