import { describe, expect, test } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'
import { type Interval, intervalMs } from '#src/domain/series.ts'
import { snapshotFields, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import {
  appendRows,
  createMarketHistory,
  type KnownMarket,
  rowsAt,
} from '../support/market-history.ts'
import { type Params, readPage, readProblem, walk, withParams } from '../support/page-client.ts'
import {
  decidedOf,
  lastInSteps,
  readKnown,
  toConsolidated,
  toCutText,
} from '../support/snapshot-views.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory()
const { send } = createHarness({ history })
const markets = { both, single, open, edge, empty }
const ownFields = snapshotFields

type Drawn = {
  params: Params
  outcome?: Outcome
  order: 'asc' | 'desc'
  depth?: number
  fields?: string[]
  interval?: Interval
  fromMs: number
  toMs: number
}

/** Draws any parameters of a page; those of the range are often times of rows. */
function draw(random: Random, rows: readonly StoredSnapshot[]): Drawn {
  const drawn: Drawn = {
    params: {},
    order: random.pick(['asc', 'desc']),
    fromMs: 0,
    toMs: Infinity,
  }
  if (random.integer(2) === 0) drawn.outcome = random.pick(['up', 'down'])
  if (random.integer(2) === 0) drawn.depth = 1 + random.integer(random.pick([3, 500]))
  if (random.integer(2) === 0) drawn.interval = random.pick(['1s', '5s', '30s', '1m', '1d'])
  const names = ownFields.filter(() => random.integer(2) === 0)
  if (random.integer(2) === 0 && names.length > 0) drawn.fields = names
  const first = rows[0]?.timestampMs ?? 0
  const last = rows.at(-1)?.timestampMs ?? 0
  const somewhere = first + random.integer(last - first + 1)
  if (random.integer(3) === 0) drawn.fromMs = somewhere
  if (random.integer(3) === 0) drawn.toMs = somewhere + 1 + random.integer(last - first + 2)
  const { fromMs, toMs, fields, params, ...rest } = drawn
  Object.assign(params, rest)
  if (fields !== undefined) params.fields = fields.toReversed().join(',')
  if (fromMs > 0) params.from = fromMs
  if (toMs < Infinity) params.to = toMs
  return drawn
}

const inRange = (rows: readonly StoredSnapshot[], { fromMs, toMs }: Drawn) =>
  rows.filter(({ timestampMs }) => timestampMs >= fromMs && timestampMs < toMs)

/** All rows of a market, of which an open one may get more. */
type Known = { rows: readonly StoredSnapshot[]; isOpen: boolean }

const knownOf = async (market: KnownMarket): Promise<Known> => ({
  rows: await readKnown(send, market),
  isOpen: market === open || market === edge,
})

/** Of rows in their order those that steps keep; `isAny` as of `lastInSteps`. */
function stepsOf({ rows, isOpen }: Known, drawn: Drawn, isAny: boolean): StoredSnapshot[] {
  const { outcome, interval, toMs } = drawn
  const found = inRange(rows, drawn).filter(
    (row) => isAny || (outcome ?? row.outcome) === row.outcome,
  )
  if (interval === undefined) return found
  const stepMs = intervalMs[interval]
  const kept = lastInSteps(found, stepMs, isAny && outcome !== undefined)
  return isOpen
    ? decidedOf(kept, rows, { stepMs, outcome: isAny ? undefined : outcome, toMs })
    : kept
}

/** The rows that a query should find, in its order. */
function expectedOwn(known: Known, drawn: Drawn): StoredSnapshot[] {
  const kept = stepsOf(known, drawn, false)
  return drawn.order === 'asc' ? kept : kept.toReversed()
}

/** What a page of consolidated rows should be. */
function expectedConsolidated(known: Known, drawn: Drawn) {
  const { outcome, order, depth, fields } = drawn
  const { rows } = known
  const data = stepsOf(known, drawn, true).map((row) => {
    const shown = { outcome: outcome ?? row.outcome, timeMs: row.timestampMs, row }
    const whole = Object.entries(toConsolidated(rows, shown, depth) ?? {})
    return Object.fromEntries(whole.filter(([name]) => fields?.includes(name) !== false))
  })
  return order === 'asc' ? data : data.reverse()
}

const textOf = (known: Known, drawn: Drawn): string =>
  expectedOwn(known, drawn)
    .map((row) => toCutText(row, drawn))
    .join(',')

describe('depth, fields and interval', () => {
  for (const [name, market] of Object.entries(markets)) {
    test(`property: a page of ${name} is the bytes of its rows without what is not wanted`, async () => {
      const known = await knownOf(market)
      const random = createRandom(`cut ${name}`)
      for (let round = 0; round < 16; round++) {
        const drawn = draw(random, known.rows)
        const { text } = await readPage(send, market.path, { ...drawn.params, limit: 1000 })
        expect(text).toBe(`{"data":[${textOf(known, drawn)}],"nextCursor":null}`)
      }
    })
  }

  test('behavior: gzip holds the same bytes, also the second and the third time', async () => {
    const known = await knownOf(both)
    const random = createRandom('cut gzip')
    for (let round = 0; round < 6; round++) {
      const drawn = draw(random, known.rows)
      const path = withParams(both.path, { ...drawn.params, limit: 1000 })
      for (let time = 0; time < 3; time++) {
        const response = await send(path, { headers: { 'accept-encoding': 'gzip' } })
        expect(response.headers.get('content-encoding')).toBe('gzip')
        const bytes = Bun.gunzipSync(await response.arrayBuffer())
        const text = new TextDecoder().decode(bytes)
        expect(text).toBe(`{"data":[${textOf(known, drawn)}],"nextCursor":null}`)
      }
    }
  })

  test('behavior: the order of names changes nothing', async () => {
    const one = await readPage(send, both.path, { fields: 'asks,id' })
    const other = await readPage(send, both.path, { fields: 'id,asks' })
    expect(Object.keys(one.body.data[0] ?? {})).toEqual(['id', 'asks'])
    expect(other.text).toBe(one.text)
    expect(other.headers.get('etag')).toBe(one.headers.get('etag') ?? '')
  })

  test('behavior: an interval finer than the states leaves all of them', async () => {
    const rows = await readKnown(send, single)
    const seconds = rows.map(({ timestampMs }) => Math.ceil(timestampMs / 1000))
    const distinct = new Set(seconds).size
    const page = await readPage(send, single.path, { interval: '1s', limit: 1000 })
    expect(page.body.data).toHaveLength(distinct)
  })
})

describe('view=consolidated', () => {
  for (const [name, market] of Object.entries(markets)) {
    test(`property: each row of ${name} is what is in force of both books at its time`, async () => {
      const known = await knownOf(market)
      const random = createRandom(`consolidated ${name}`)
      for (let round = 0; round < 10; round++) {
        const drawn = draw(random, known.rows)
        const params = { ...drawn.params, view: 'consolidated', limit: 1000 }
        const { body } = await readPage(send, market.path, params)
        expect<unknown>(body.data).toEqual(expectedConsolidated(known, drawn))
        expect(body.nextCursor).toBeNull()
      }
    })
  }

  test('behavior: numbers are exact decimals', async () => {
    const { text } = await readPage(send, edge.path, { view: 'consolidated', outcome: 'up' })
    for (const part of [
      '"asks":[{"price":0.100001,"size":9007199254.740991,"source":"own"},{"price":0.9,"size":0.1,"source":"mirror"},',
      '{"price":0.52001,"size":100000000,"source":"own"}]',
      '"skewMs":1',
    ]) {
      expect(text).toContain(part)
    }
  })

  test('behavior: another view is another ETag, and 304 holds for it', async () => {
    const path = withParams(both.path, { view: 'consolidated', limit: 20 })
    const etag = (await send(path)).headers.get('etag') ?? ''
    expect((await send(path)).headers.get('etag')).toBe(etag)
    const plain = await send(withParams(both.path, { limit: 20 }))
    expect(plain.headers.get('etag')).not.toBe(etag)
    const again = await send(path, { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('behavior: a state that comes while the page is made gives it no wrong ETag', async () => {
    const fresh = await createMarketHistory()
    const { send: sendFresh } = createHarness({ history: fresh.history })
    const path = withParams(fresh.open.path, { view: 'consolidated', limit: 1000 })
    const before = await sendFresh(path)
    const between = sendFresh(path)
    // The page is made in slices; this comes between two of them.
    const lastMs = fresh.open.rows.at(-1)?.timestampMs ?? 0
    await appendRows(fresh.history, fresh.open, rowsAt(fresh.open, [lastMs + 1]))
    const texts = new Map<string, string>()
    for (const response of [before, await between, await sendFresh(path)]) {
      const tag = response.headers.get('etag') ?? ''
      const text = await response.text()
      expect(texts.get(tag) ?? text).toBe(text)
      texts.set(tag, text)
    }
    expect(new Set(texts.values()).size).toBe(2)
    const tag = (await between).headers.get('etag') ?? ''
    const again = await sendFresh(path, { headers: { 'if-none-match': tag } })
    expect(again.status).toBe(200)
  })
})

describe('a walk', () => {
  test.each(['own', 'consolidated'])(
    'property: gives the rows of the whole once, whatever the limits (%s)',
    async (view) => {
      const random = createRandom(`walk ${view}`)
      for (let round = 0; round < 10; round++) {
        const market = random.pick([both, single, open, edge])
        const { params } = draw(random, await readKnown(send, market))
        const asked = { ...params, view }
        const limits = Array.from({ length: 4 }, () => 1 + random.integer(random.pick([3, 120])))
        const pages = await walk(send, market.path, { params: asked, limits })
        const whole = await readPage(send, market.path, { ...asked, limit: 1000 })
        expect(pages.flatMap(({ body }) => body.data)).toEqual(whole.body.data)
        const empties = pages.filter(({ body }) => body.data.length === 0).length
        expect(empties).toBe(whole.body.data.length === 0 ? 1 : 0)
      }
    },
  )

  const variants: Params[] = [
    {},
    { depth: 1 },
    { depth: 2 },
    { interval: '1s' },
    { interval: '5s' },
    { fields: 'id' },
    { fields: 'id,bids' },
    { view: 'consolidated' },
    { view: 'consolidated', depth: 1 },
  ]

  test('behavior: every parameter tells pages apart, and binds the cursor', async () => {
    const tags = new Set<string>()
    for (const variant of variants) {
      const page = await readPage(send, both.path, { ...variant, limit: 5 })
      tags.add(page.headers.get('etag') ?? '')
      for (const other of variants) {
        const path = withParams(both.path, { ...other, cursor: page.resumeCursor })
        if (other === variant) expect((await send(path)).status).toBe(200)
        else expect((await readProblem(await send(path))).code).toBe('cursor_mismatch')
      }
    }
    expect(tags.size).toBe(variants.length)
  })

  test('behavior: own view and both sides asked for by name are the plain page', async () => {
    const plain = await readPage(send, both.path)
    const named = await readPage(send, both.path, { view: 'own', cursor: plain.resumeCursor })
    const next = await readPage(send, both.path, { cursor: plain.resumeCursor })
    expect(named.text).toBe(next.text)
    expect(named.headers.get('etag')).toBe(next.headers.get('etag') ?? '')
  })
})

describe('what is refused', () => {
  test.each([
    ['depth', '0'],
    ['depth', '501'],
    ['depth', '1.5'],
    ['depth', ''],
    ['interval', '2s'],
    ['interval', '1S'],
    ['interval', '0'],
    ['interval', ''],
    ['fields', ''],
    ['fields', 'id,'],
    ['fields', ',id'],
    ['fields', 'id,id'],
    ['fields', 'id, bids'],
    ['fields', 'ID'],
    ['fields', 'price'],
    ['fields', 'ageMs'],
    ['fields', '__proto__'],
    ['fields', 'sources'],
    ['view', 'both'],
    ['view', ''],
  ])('error: %s cannot be "%s"', async (name, value) => {
    const response = await send(withParams(both.path, { [name]: value }))
    const { code, param } = await readProblem(response)
    expect([code, param]).toEqual(['invalid_parameter', name])
  })

  test('error: what is unknown among fields is named, and the known ones are listed', async () => {
    const { detail } = await readProblem(await send(`${both.path}?fields=id,bid`))
    expect(detail).toStartWith('`fields` has "bid", which is none of `id`, `assetId`')
    const twice = await readProblem(await send(`${both.path}?fields=id,bids,id`))
    expect(twice.detail).toBe('`fields` has `id` twice. Send each name once.')
  })
})

describe('X-Coverage', () => {
  const coverageOf = async (market: KnownMarket, params: Params) =>
    (await readPage(send, market.path, params)).headers.get('x-coverage') ?? ''

  test('default: says whether the range that was asked for is recorded, not that of the page', async () => {
    const from = both.rows[20]?.timestampMs ?? 0
    const range = { from, to: from + 10_000 }
    expect(await coverageOf(both, range)).toBe('full')
    expect(await coverageOf(both, { ...range, limit: 1 })).toBe('full')
    expect(await coverageOf(empty, {})).toStartWith('none;')
    expect(await coverageOf(both, { to: 1_000_000 })).toStartWith('none;covered=0.0;gaps=2')
  })

  test('behavior: follows the outcome, which a consolidated ladder has both of', async () => {
    // No two of the states behind this one are far apart.
    const from = single.rows[25]?.timestampMs ?? 0
    const range = { from, to: from + 10_000 }
    expect(await coverageOf(single, { ...range, outcome: 'up' })).toBe('full')
    expect(await coverageOf(single, { ...range, outcome: 'down' })).toStartWith('none;')
    expect(await coverageOf(single, { ...range, outcome: 'up', view: 'consolidated' })).toStartWith(
      'partial;covered=0.5;',
    )
  })

  test('behavior: is the same on HEAD, 304 and the second time', async () => {
    const first = await send(both.path)
    const tag = first.headers.get('etag') ?? ''
    for (const init of [{}, { method: 'HEAD' }, { headers: { 'if-none-match': tag } }]) {
      const { headers } = await send(both.path, init)
      expect(headers.get('x-coverage')).toBe(first.headers.get('x-coverage'))
    }
  })
})
