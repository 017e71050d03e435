import { describe, expect, test } from 'bun:test'

import {
  type MarketFacts,
  type MarketStatus,
  marketStatuses,
  outcomes,
  type Timeframe,
} from '#src/domain/market.ts'
import type { MarketBody, MarketList } from '#src/features/markets/schema.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem, withParams } from '../support/page-client.ts'

const PATH = '/v1/btc/markets'
const idOf = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`

type Known = MarketFacts & { windowStartMs: number; windowEndMs: number; status: MarketStatus }
type Filters = {
  timeframe?: Timeframe
  status?: MarketStatus
  from?: number
  to?: number
  outcome?: 'up' | 'down'
}

const timeframes: Timeframe[] = ['5m', '15m', '1h']
const random = createRandom('filters')
const pick = <T>(list: readonly [T, ...T[]]): T => list[random.integer(list.length)] ?? list[0]

/** Windows a minute apart around now, some at one moment, a third of them won. */
function aKnown(index: number): Known {
  const windowStartMs = NOW_MS + 60_000 * (index - (index % 2) - 60)
  const windowEndMs = windowStartMs + 300_000
  const winner = random.integer(3) === 0 ? pick(['up', 'down'] as const) : undefined
  const timed = NOW_MS < windowEndMs ? 'open' : 'closed'
  const byTime = NOW_MS < windowStartMs ? 'upcoming' : timed
  return {
    conditionId: idOf(1 + ((index * 7919) % 100_003)),
    coin: 'btc',
    timeframe: pick(['5m', '15m', '1h']),
    source: 'recorded',
    slug: `btc-updown-${index}`,
    windowStartMs,
    windowEndMs,
    winner,
    winnerSource: winner === undefined ? undefined : 'venue',
    status: winner === undefined ? byTime : 'resolved',
  }
}

const known = Array.from({ length: 120 }, (_, index) => aKnown(index))
const history = openHistory(':memory:')
for (const { status: _, ...facts } of known) await history.putMarket(facts)
await history.putMarket({
  conditionId: idOf(9),
  coin: 'eth',
  timeframe: '5m',
  source: 'recorded',
  slug: 'eth-1',
})
const { send } = createHarness({ history })

function expected(filters: Filters, order: 'asc' | 'desc'): string[] {
  const { timeframe, status, outcome, from = 0, to = Number.POSITIVE_INFINITY } = filters
  const found = known
    .filter((each) => timeframe === undefined || each.timeframe === timeframe)
    .filter((each) => status === undefined || each.status === status)
    .filter((each) => outcome === undefined || each.winner === outcome)
    .filter(({ windowStartMs }) => windowStartMs >= from && windowStartMs < to)
    .sort((a, b) => a.windowStartMs - b.windowStartMs || (a.conditionId < b.conditionId ? -1 : 1))
    .map(({ conditionId }) => conditionId)
  return order === 'asc' ? found : found.reverse()
}

async function read(params: object): Promise<{ list: MarketList; headers: Headers }> {
  const response = await send(withParams(PATH, { ...params }))
  expect([params, response.status]).toEqual([params, 200])
  return { list: (await response.json()) as MarketList, headers: response.headers }
}

const idsOf = (list: MarketList): string[] => list.data.map(({ conditionId }) => conditionId)

function someFilters(): Filters {
  const from = NOW_MS + 60_000 * (random.integer(120) - 60)
  return {
    ...(random.integer(2) === 0 ? { timeframe: pick(['5m', '15m', '1h']) } : {}),
    ...(random.integer(2) === 0 ? { status: pick(marketStatuses) } : {}),
    ...(random.integer(3) === 0 ? { outcome: pick(outcomes) } : {}),
    ...(random.integer(2) === 0 ? { from } : {}),
    ...(random.integer(2) === 0 ? { to: from + 60_000 * (1 + random.integer(60)) } : {}),
  }
}

describe('GET /v1/{coin}/markets, filtered', () => {
  test.each<[string, Filters]>([
    ...timeframes.map((timeframe): [string, Filters] => [timeframe, { timeframe }]),
    ...marketStatuses.map((status): [string, Filters] => [status, { status }]),
    ...outcomes.map((outcome): [string, Filters] => [`won by ${outcome}`, { outcome }]),
    ['from, inclusive', { from: NOW_MS }],
    ['to, exclusive', { to: NOW_MS }],
    ['nothing in the range', { from: 5, to: 6 }],
  ])('default: %s, in both directions', async (_, filters) => {
    for (const order of ['asc', 'desc'] as const) {
      const { list } = await read({ ...filters, order, limit: 1000 })
      expect(idsOf(list)).toEqual(expected(filters, order))
      expect(list.nextCursor).toBeNull()
    }
  })

  test('behavior: seconds mean what milliseconds mean', async () => {
    const seconds = Math.ceil(NOW_MS / 1000)
    const { list } = await read({ from: seconds, limit: 1000 })
    expect(idsOf(list)).toEqual(expected({ from: seconds * 1000 }, 'desc'))
  })

  test('behavior: a walk with any filters gives each once, whatever its limits', async () => {
    for (let round = 0; round < 40; round++) {
      const filters = someFilters()
      const order = pick(['asc', 'desc'] as const)
      const ids: string[] = []
      let place: { cursor?: string } = {}
      for (;;) {
        const limit = 1 + random.integer(9)
        const { list } = await read({ ...filters, order, limit, ...place })
        ids.push(...idsOf(list))
        if (list.nextCursor === null) break
        expect(list.data).toHaveLength(limit)
        place = { cursor: list.nextCursor }
      }
      expect([filters, ids]).toEqual([filters, expected(filters, order)])
    }
  })

  test('behavior: X-Resume-Cursor leads to the markets that came later', async () => {
    const live = openHistory(':memory:')
    const { send: sendLive } = createHarness({ history: live })
    const facts = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
    const path = `${PATH}?order=asc`
    const first = await sendLive(path)
    await live.putMarket({ ...facts, conditionId: idOf(5), windowStartMs: 1000 })
    const cursor = first.headers.get('x-resume-cursor') ?? ''
    const second = await sendLive(withParams(PATH, { order: 'asc', cursor }))
    expect(idsOf((await second.json()) as MarketList)).toEqual([idOf(5)])
    const third = await sendLive(
      withParams(PATH, { order: 'asc', cursor: second.headers.get('x-resume-cursor') ?? '' }),
    )
    expect(await third.json()).toEqual({ data: [], nextCursor: null })
  })

  test.each<[string, object, object]>([
    ['timeframe', { timeframe: '5m' }, { timeframe: '15m' }],
    ['status', { status: 'closed' }, { status: 'resolved' }],
    ['from', { from: 1000 }, { from: 2000 }],
    ['to', {}, { to: NOW_MS * 2 }],
    ['outcome', { outcome: 'up' }, {}],
    ['order', { order: 'asc' }, { order: 'desc' }],
    ['from and to', { from: 0, to: NOW_MS * 2 }, { from: 0 }],
  ])('error: a cursor of other filters is a mismatch: %s', async (_, one, other) => {
    const { headers } = await read({ ...one, limit: 1 })
    const cursor = headers.get('x-resume-cursor') ?? ''
    await read({ ...one, limit: 2, cursor })
    const problem = await readProblem(await send(withParams(PATH, { ...other, cursor })))
    expect([problem.status, problem.code]).toEqual([400, 'cursor_mismatch'])
  })

  test.each([
    ['timeframe', 'timeframe=7m'],
    ['status', 'status=OPEN'],
    ['from', 'from=-1'],
    ['from', 'from=2026-02-30'],
    ['to', 'from=5&to=5'],
    ['to', 'from=9&to=5'],
    ['outcome', 'outcome=sideways'],
    ['order', 'order=newest'],
    ['slug', 'slug='],
    ['slug', `slug=${'a'.repeat(201)}`],
  ])('error: `%s` is refused by name: %s', async (name, query) => {
    const { status, code, param } = await readProblem(await send(`${PATH}?${query}`))
    expect([status, code, param]).toEqual([400, 'invalid_parameter', name])
  })
})

describe('GET /v1/{coin}/markets?slug=', () => {
  test('default: a list of the one market of that name', async () => {
    const { list, headers } = await read({ slug: 'btc-updown-17' })
    expect(list.data.map(({ slug }) => slug)).toEqual(['btc-updown-17'])
    expect(list.nextCursor).toBeNull()
    expect(headers.has('x-resume-cursor')).toBe(false)
  })

  test('behavior: unknown names, and those of another coin, are an empty list', async () => {
    for (const slug of ['btc-updown', 'eth-1', "' OR 1=1 --", '%']) {
      expect((await read({ slug })).list).toEqual({ data: [], nextCursor: null })
    }
  })

  test.each(['timeframe=5m', 'status=open', 'from=1', 'to=5', 'outcome=up', 'cursor=x'])(
    'error: with %s beside it one of the two is wrong',
    async (other) => {
      const problem = await readProblem(await send(`${PATH}?slug=btc-updown-17&${other}`))
      const name = other.split('=')[0] ?? ''
      expect([problem.code, problem.param]).toEqual(['invalid_parameter', name])
      expect(problem.detail).toContain('`slug` identifies one market')
    },
  )
})

describe('a market', () => {
  const windowStartMs = Date.UTC(2025, 3, 14, 8)
  const facts: MarketFacts = {
    conditionId: idOf(1),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    slug: 'btc-updown-5m-1776153600',
    windowStartMs,
    windowEndMs: windowStartMs + 300_000,
  }

  async function createMarket() {
    const own = openHistory(':memory:')
    await own.putMarket(facts)
    const times = [0, 1, 2, 3, 293, 296, 299]
    const snapshots = times.map((second, index) =>
      aSnapshot(
        {
          conditionId: facts.conditionId,
          timestampMs: windowStartMs + second * 1000,
          isVerified: index < 3 ? true : undefined,
        },
        1_000_000 + index,
      ),
    )
    await own.append({ id: 'rows', source: 'recorded', snapshots })
    return own
  }

  test('behavior: figures of the coin are printed with every digit of their source', async () => {
    const own = await createMarket()
    const server = createHarness({ history: own })
    await own.putMarket({
      ...facts,
      tickSize: 1_000,
      strike: '74212.10500000000000000001',
      finalPrice: '0.30000000000000004',
      winner: 'down',
      winnerSource: 'dataset',
      assetIds: { down: '2'.repeat(77) },
    })
    const text = await (await server.send(`${PATH}/${facts.conditionId}`)).text()
    expect(text).toContain(
      '"tickSize":0.001,"strike":74212.10500000000000000001,"finalPrice":0.30000000000000004,"winner":"down","winnerSource":"dataset"',
    )
    expect((JSON.parse(text) as MarketBody).outcomes[1]?.assetId).toBe('2'.repeat(77))
  })

  test('behavior: says how complete and how sure each outcome is', async () => {
    const { send: sendOwn } = createHarness({ history: await createMarket() })
    const response = await sendOwn(`${PATH}/${facts.conditionId}`)
    const { outcomes: told } = (await response.json()) as MarketBody
    const [up, down] = told
    // Silent behind 3 s, up to 293 s of 300 s: it holds 10.001 s of 300, and 3 of 7 are verified.
    expect(up?.coverage).toEqual({
      covered: 0.033336,
      gaps: 1,
      longestSilenceMs: 290_000,
      verified: 0.428571,
    })
    expect([up?.snapshots, up?.verifiedSnapshots]).toEqual([7, 3])
    expect(down?.coverage).toEqual({
      covered: 0,
      gaps: 1,
      longestSilenceMs: null,
      verified: null,
    })
  })

  test('behavior: may be kept once closed, and not before; answers 304 while it is the same', async () => {
    const own = await createMarket()
    const { send: sendOwn } = createHarness({ history: own })
    const path = `${PATH}/${facts.conditionId}`
    const open = await sendOwn(path)
    expect(open.headers.get('cache-control')).toBe('private, no-cache')
    await own.close(facts.conditionId)
    const closed = await sendOwn(path)
    expect(closed.headers.get('cache-control')).toBe('private, max-age=60, immutable')
    const headers = { 'if-none-match': closed.headers.get('etag') ?? '' }
    expect((await sendOwn(path, { headers })).status).toBe(304)
    await own.putMarket({ ...facts, question: 'Another?' })
    expect((await sendOwn(path, { headers })).status).toBe(200)
  })

  test('behavior: lists answer 304 too, in gzip where the caller takes it', async () => {
    const { send: sendOwn } = createHarness({ history: await createMarket() })
    const headers = { 'accept-encoding': 'gzip' }
    const list = await sendOwn(PATH, { headers })
    expect(list.headers.get('content-encoding')).toBe('gzip')
    const text = new TextDecoder().decode(Bun.gunzipSync(await list.arrayBuffer()))
    expect(idsOf(JSON.parse(text) as MarketList)).toEqual([facts.conditionId])
    const etag = list.headers.get('etag') ?? ''
    const again = await sendOwn(PATH, { headers: { ...headers, 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })
})

test('behavior: where few markets match, no read looks at more than 500 of them', async () => {
  const many = openHistory(':memory:')
  const count = 1_100
  for (let index = 1; index <= count; index++) {
    const windowStartMs = NOW_MS - 300_000 * (count - index + 2)
    await many.putMarket({
      conditionId: idOf(index),
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs,
      windowEndMs: windowStartMs + 300_000,
      winner: index === 1 ? 'down' : 'up',
      winnerSource: 'venue',
    })
  }
  const lookedAt: number[] = []
  const { send } = createHarness({
    history: {
      ...many,
      listMarkets(query) {
        const { coin, order, after, upTo, fromMs, toMs } = query
        const range = { coin, order, after, upTo, fromMs, toMs }
        const listed = many.listMarkets(query)
        const end = listed.length === query.limit ? listed.at(-1) : upTo
        lookedAt.push(many.listMarkets({ ...range, upTo: end, limit: count }).length)
        return listed
      },
    },
  })
  const list = (await (await send(`${PATH}?outcome=down`)).json()) as MarketList
  expect(list.data.map(({ conditionId }) => conditionId)).toEqual([idOf(1)])
  expect(list.nextCursor).toBeNull()
  expect(Math.max(...lookedAt)).toBeLessThanOrEqual(500)
  many.dispose()
})
