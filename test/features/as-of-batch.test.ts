import { describe, expect, test } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'
import { createRandom } from '#src/platform/random.ts'

import { addKey, createHarness } from '../support/harness.ts'
import {
  appendRows,
  conditionIdOf,
  createMarketHistory,
  type KnownMarket,
} from '../support/market-history.ts'
import { readProblem, withParams } from '../support/page-client.ts'
import { asJson } from '../support/signup-client.ts'
import { readKnown, rowAt, toConsolidated, toCutText } from '../support/snapshot-views.ts'

const { history, both, open, edge } = await createMarketHistory()
const server = createHarness({ history })
const { send } = server
const PATH = '/v1/btc/snapshots/at'

type Moment = { conditionId: string; outcome: Outcome; ts: number }

const post = (body: unknown, headers: Record<string, string> = {}) =>
  send(PATH, asJson(body, headers))

async function readAnswers(body: object): Promise<{ text: string; data: unknown[] }> {
  const response = await post(body)
  const text = await response.text()
  expect([response.status, text]).toEqual([200, text])
  return { text, data: (JSON.parse(text) as { data: unknown[] }).data }
}

const momentOf = ({ conditionId }: KnownMarket, outcome: Outcome, ts: number): Moment => ({
  conditionId,
  outcome,
  ts,
})
const timeOf = ({ rows }: KnownMarket, index: number) => rows.at(index)?.timestampMs ?? 0

/** Moments of two markets in no order, often at the time of a row or one beside it. */
function drawMoments(seed: string, count: number): { market: KnownMarket; moment: Moment }[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => {
    const market = random.pick([both, open])
    const ts = random.pick(market.rows).timestampMs + random.integer(3) - 1
    return { market, moment: momentOf(market, random.pick(['up', 'down']), ts) }
  })
}

describe('POST /v1/{coin}/snapshots/at', () => {
  test('default: 500 moments are answered in their order, byte for byte', async () => {
    const drawn = drawMoments('batch', 500)
    const rowsOf = new Map([
      [both, await readKnown(send, both)],
      [open, await readKnown(send, open)],
    ])
    const { text } = await readAnswers({ requests: drawn.map(({ moment }) => moment), depth: 3 })
    const expected = drawn.map(({ market, moment: { outcome, ts } }) => {
      const row = rowAt(rowsOf.get(market) ?? [], outcome, ts)
      const head = `"conditionId":"${market.conditionId}","outcome":"${outcome}","ts":"${new Date(ts).toISOString()}"`
      return row === undefined
        ? `{${head},"snapshot":null,"ageMs":null,"error":"no_snapshot"}`
        : `{${head},"snapshot":${toCutText(row, { depth: 3 })},"ageMs":${ts - row.timestampMs},"error":null}`
    })
    expect(text).toBe(`{"data":[${expected.join(',')}]}`)
  })

  test('behavior: each is what GET …/at says of it', async () => {
    const drawn = drawMoments('like get', 40)
    for (const view of ['own', 'consolidated']) {
      const requests = drawn.map(({ moment }) => moment)
      const { data } = await readAnswers({ requests, view })
      for (const [index, { market, moment }] of drawn.entries()) {
        const query = `ts=${moment.ts}&outcome=${moment.outcome}&view=${view}`
        const response = await send(`${market.path}/at?${query}`)
        const body = (await response.json()) as { code?: string; data?: object[] }
        const { snapshot, ageMs, error } = data[index] as Record<string, unknown>
        const found = snapshot === null ? undefined : [{ ...Object(snapshot), ageMs }]
        expect<unknown>([found, error]).toEqual([body.data, body.code ?? null])
      }
    }
  })

  const lastMs = timeOf(both, -1)
  const firstMs = timeOf(both, 0)

  test.each([
    [
      'before the first state',
      { conditionId: both.conditionId, ts: firstMs - 1, error: 'no_snapshot' },
    ],
    ['before any window', { conditionId: both.conditionId, ts: 0, error: 'no_snapshot' }],
    ['in the window', { conditionId: both.conditionId, ts: timeOf(both, 100), error: null }],
    ['in a gap', { conditionId: both.conditionId, ts: lastMs + 10_000, error: null }],
    [
      'in a gap, too old',
      { conditionId: both.conditionId, ts: lastMs + 10_000, maxAgeMs: 9_999, error: 'stale' },
    ],
    [
      'behind every window',
      { conditionId: both.conditionId, ts: lastMs + 86_400_000, error: null },
    ],
    [
      'behind it, too old',
      { conditionId: both.conditionId, ts: lastMs + 86_400_000, maxAgeMs: 1, error: 'stale' },
    ],
    ['of no market', { conditionId: conditionIdOf('0'), ts: firstMs, error: 'unknown_market' }],
    ['of another coin', { conditionId: edge.conditionId, ts: firstMs, error: 'unknown_market' }],
  ])(
    'behavior: of a moment %s, GET and POST say the same',
    async (_where, { conditionId, ts, error, ...asked }) => {
      const terms = { maxAgeMs: 1e12, ...asked }
      for (const view of ['own', 'consolidated']) {
        const params = { ...terms, ts, view, outcome: 'down' }
        const get = await send(withParams(`/v1/btc/markets/${conditionId}/snapshots/at`, params))
        const batch = await post({
          requests: [{ conditionId, ts, outcome: 'down' }],
          view,
          ...terms,
        })
        const { data } = (await batch.json()) as { data: [{ snapshot: object; ageMs: number }] }
        const [{ snapshot, ageMs }] = data
        expect(data).toMatchObject([{ error, snapshot: error === null ? {} : null }])
        if (error !== null) {
          expect<string>((await readProblem(get)).code).toBe(error)
          continue
        }
        expect(await get.json()).toMatchObject({ data: [{ ...snapshot, ageMs }] })
        expect(batch.headers.get('x-coverage')).toBe(get.headers.get('x-coverage') ?? '')
      }
    },
  )

  test('behavior: one that has no answer says why and fails no other', async () => {
    const ts = timeOf(both, -1) + 60_000
    const requests = [
      momentOf(both, 'up', ts),
      { conditionId: conditionIdOf('0'), outcome: 'up', ts },
      momentOf(edge, 'up', ts),
      momentOf(both, 'down', 0),
      momentOf(both, 'up', timeOf(both, 100)),
      {
        ...momentOf(both, 'up', timeOf(both, 100)),
        conditionId: both.conditionId.toUpperCase().replace('0X', '0x'),
      },
    ]
    const { data } = await readAnswers({ requests, maxAgeMs: 30_000, fields: 'outcome' })
    const none = { snapshot: null, ageMs: null }
    const found = { conditionId: both.conditionId, snapshot: { outcome: 'up' }, error: null }
    expect(data).toMatchObject([
      { conditionId: both.conditionId, snapshot: null, ageMs: expect.any(Number), error: 'stale' },
      { conditionId: conditionIdOf('0'), ...none, error: 'unknown_market' },
      // Of another coin than the one in the path.
      { conditionId: edge.conditionId, ...none, error: 'unknown_market' },
      { conditionId: both.conditionId, ...none, error: 'no_snapshot' },
      found,
      found,
    ])
  })

  test('behavior: depth, fields and view are of every entry', async () => {
    const ts = timeOf(both, 100)
    const rows = await readKnown(send, both)
    const requests = [momentOf(both, 'up', ts), momentOf(both, 'down', ts)]
    const { data } = await readAnswers({ requests, view: 'consolidated', depth: 2 })
    expect(data).toMatchObject(
      (['up', 'down'] as const).map((outcome) => ({
        outcome,
        snapshot: toConsolidated(rows, { outcome, timeMs: ts }, 2),
      })),
    )
    const { data: cut } = await readAnswers({ requests, fields: 'asks,id' })
    for (const answer of cut as { snapshot: object }[]) {
      expect(Object.keys(answer.snapshot)).toEqual(['id', 'asks'])
    }
  })

  test('behavior: a moment that is asked for twice is answered twice, seconds and milliseconds alike', async () => {
    const seconds = Math.ceil(timeOf(both, 100) / 1000)
    const moments = [seconds, seconds * 1000, seconds].map((ts) => momentOf(both, 'up', ts))
    const { data } = await readAnswers({ requests: moments })
    expect(data[1]).toEqual(data[0])
    expect(data[2]).toEqual(data[0])
  })

  test('behavior: gzip holds the same bytes, and nobody may keep them', async () => {
    const requests = drawMoments('gzip', 100).map(({ moment }) => moment)
    const { text } = await readAnswers({ requests })
    const response = await post({ requests }, { 'accept-encoding': 'gzip' })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('etag')).toBeNull()
    const bytes = await response.arrayBuffer()
    expect(response.headers.get('content-length')).toBe(String(bytes.byteLength))
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(text)
  })

  test('behavior: is one request of the allowance, however many moments', async () => {
    const token = addKey(server.ledger, 'starter')
    const requests = drawMoments('allowance', 500).map(({ moment }) => moment)
    const response = await server.sendAs(token, PATH, asJson({ requests }))
    expect(response.headers.get('x-ratelimit-remaining')).toBe('59')
  })

  test('behavior: X-Coverage is of all moments together', async () => {
    const coverageOf = async (...requests: Moment[]) =>
      (await post({ requests })).headers.get('x-coverage')
    const held = momentOf(both, 'up', timeOf(both, 100))
    const late = momentOf(both, 'up', timeOf(both, -1) + 86_400_000)
    expect(await coverageOf(held, held)).toBe('full')
    expect(await coverageOf(held, late)).toStartWith('partial;covered=0.5;gaps=1;')
    expect(await coverageOf(late)).toStartWith('none;')
    expect(await coverageOf({ ...held, conditionId: conditionIdOf('0') })).toStartWith('none;')
  })

  test('behavior: a market that grows meanwhile is read as it is at each entry', async () => {
    const fresh = await createMarketHistory()
    const { send: sendFresh } = createHarness({ history: fresh.history })
    const last = fresh.open.rows.at(-1)
    if (last === undefined) throw new Error('The market has rows.')
    const ts = last.timestampMs + 10
    const body = { requests: [momentOf(fresh.open, last.outcome, ts)], fields: 'timestamp' }
    const agesOf = async () => {
      const answer = (await (await sendFresh(PATH, asJson(body))).json()) as {
        data: { ageMs: number }[]
      }
      return answer.data.map(({ ageMs }) => ageMs)
    }
    expect(await agesOf()).toEqual([10])
    const bids = { prices: [10_000], sizes: [10_000] }
    const row = { ...last, timestampMs: ts, bids, sourceHash: undefined }
    await appendRows(fresh.history, fresh.open, [row])
    expect(await agesOf()).toEqual([0])
  })
})

describe('what a batch refuses', () => {
  const sound = momentOf(both, 'up', 1_767_225_600_000)
  const around = (moment: unknown) => ({ requests: [sound, sound, sound, moment] })

  const many = Array.from({ length: 501 }, () => sound)

  test.each([
    ['an empty list', 'requests', { requests: [] }],
    ['501 entries', 'requests', { requests: many }],
    ['no list', 'requests', {}],
    ['an entry alone', 'requests', { requests: sound }],
    ['null', 'requests[3]', around(null)],
    ['a list in it', 'requests[3]', around([])],
    ['a missing moment', 'requests[3].ts', around({ ...sound, ts: undefined })],
    ['a negative moment', 'requests[3].ts', around({ ...sound, ts: -1 })],
    ['half a millisecond', 'requests[3].ts', around({ ...sound, ts: 1.5 })],
    ['a moment as text', 'requests[3].ts', around({ ...sound, ts: '1767225600000' })],
    ['a moment too late', 'requests[3].ts', around({ ...sound, ts: 253_402_300_800_000 })],
    ['a short conditionId', 'requests[3].conditionId', around({ ...sound, conditionId: '0x0' })],
    ['a number for a market', 'requests[3].conditionId', around({ ...sound, conditionId: 1 })],
    ['a shouted outcome', 'requests[3].outcome', around({ ...sound, outcome: 'Up' })],
    ['no outcome', 'requests[3].outcome', around({ conditionId: sound.conditionId, ts: 1 })],
    ['a depth of its own', 'requests[3].depth', around({ ...sound, depth: 1 })],
    ['a depth of 0', 'depth', { requests: [sound], depth: 0 }],
    ['a depth as text', 'depth', { requests: [sound], depth: '1' }],
    ['an unknown field', 'fields', { requests: [sound], fields: 'bids,bid' }],
    ['sources of one book', 'fields', { requests: [sound], fields: 'sources' }],
    ['fields as a list', 'fields', { requests: [sound], fields: ['bids'] }],
    ['an unknown view', 'view', { requests: [sound], view: 'both' }],
    ['a negative age', 'maxAgeMs', { requests: [sound], maxAgeMs: -1 }],
    ['an unknown member', 'ts', { requests: [sound], ts: 1 }],
  ])('error: %s is refused, naming %s', async (_why, expected, body) => {
    const { code, param } = await readProblem(await post(body))
    expect([code, param]).toEqual(['invalid_parameter', expected])
  })

  test('error: what is no JSON object, or not said to be one', async () => {
    const init = asJson({ requests: [sound] })
    const codeOf = async (change: RequestInit) =>
      (await readProblem(await send(PATH, { ...init, ...change }))).code
    expect(await codeOf({ body: '{"requests":[' })).toBe('invalid_request')
    expect(await codeOf({ body: '[]' })).toBe('invalid_request')
    expect(await codeOf({ headers: { 'content-type': 'text/plain' } })).toBe(
      'unsupported_media_type',
    )
    const padded = `{"requests":[${' '.repeat(65_536)}]}`
    expect(await codeOf({ body: padded })).toBe('payload_too_large')
  })

  test('error: a parameter in the query, or an unknown coin', async () => {
    const ask = async (path: string) => readProblem(await send(path, asJson({ requests: [sound] })))
    expect((await ask(`${PATH}?depth=1`)).param).toBe('depth')
    expect((await ask('/v1/nocoin/snapshots/at')).code).toBe('unknown_coin')
  })

  test('behavior: 500 entries fit into a body, also with spaces between members', () => {
    const longest = { conditionId: both.conditionId, outcome: 'down', ts: 1_776_153_611_000 }
    const body = JSON.stringify({ requests: Array.from({ length: 500 }, () => longest) })
    const spaced = body.replaceAll(',', ', ').replaceAll(':', ': ')
    expect(spaced.length).toBeLessThan(65_536)
  })
})
