import { describe, expect, test } from 'bun:test'

import { type Outcome, outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import {
  appendRows,
  createMarketHistory,
  type KnownMarket,
  rowsAt,
} from '../support/market-history.ts'
import { type Params, readProblem, withParams } from '../support/page-client.ts'
import { readKnown, rowAt, toConsolidated, toCutText } from '../support/snapshot-views.ts'
import { stableHeaders } from '../support/stable-headers.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory()
const { send } = createHarness({ history })
const markets = { both, single, open, edge }

const pathOf = ({ path }: KnownMarket) => `${path}/at`
const ask = (market: KnownMarket, params: Params, init?: RequestInit) =>
  send(withParams(pathOf(market), params), init)

async function read(market: KnownMarket, params: Params) {
  const response = await ask(market, params)
  const text = await response.text()
  expect([response.status, text]).toEqual([200, text])
  return { text, headers: response.headers }
}

const toIso = (timeMs: number) => new Date(timeMs).toISOString()
const problemOf = async (market: KnownMarket, params: Params) =>
  readProblem(await ask(market, params))

type Wish = { outcome?: Outcome; depth?: number; fields?: string[] }

/**
 * What is in force of each outcome asked for, as it is to be printed; empty where there is nothing.
 */
function expectedTexts(rows: readonly StoredSnapshot[], tsMs: number, { outcome, ...wish }: Wish) {
  const asked = outcome === undefined ? outcomes : [outcome]
  return asked.flatMap((each) => {
    const row = rowAt(rows, each, tsMs)
    if (row === undefined) return []
    return [`${toCutText(row, wish).slice(0, -1)},"ageMs":${tsMs - row.timestampMs}}`]
  })
}

function drawWish(random: Random): Wish {
  const wish: Wish = {}
  if (random.integer(2) === 0) wish.outcome = random.pick(outcomes)
  if (random.integer(2) === 0) wish.depth = 1 + random.integer(4)
  if (random.integer(2) === 0) wish.fields = ['timestamp', 'asks']
  return wish
}

describe('GET /v1/{coin}/markets/{conditionId}/snapshots/at', () => {
  for (const [name, market] of Object.entries(markets)) {
    test(`property: of ${name} the last row at or before the moment, byte for byte`, async () => {
      const rows = await readKnown(send, market)
      const random = createRandom(`at ${name}`)
      for (let round = 0; round < 150; round++) {
        const tsMs = random.pick(rows).timestampMs + random.integer(3) - 1
        const { fields, ...more } = drawWish(random)
        const texts = expectedTexts(rows, tsMs, { ...more, ...(fields && { fields }) })
        const params: Params = { ts: tsMs, ...more, ...(fields && { fields: fields.join(',') }) }
        const answer = await (await ask(market, params)).text()
        const found = `{"ts":"${toIso(tsMs)}","data":[${texts.join(',')}]}`
        if (texts.length > 0) expect(answer).toBe(found)
        else expect(JSON.parse(answer).code).toBe('no_snapshot')
      }
    })

    test(`property: of ${name} the consolidated ladder is that of both rows in force`, async () => {
      const rows = await readKnown(send, market)
      const random = createRandom(`consolidated at ${name}`)
      for (let round = 0; round < 60; round++) {
        const tsMs = random.pick(rows).timestampMs + random.integer(2)
        const depth = 1 + random.integer(30)
        const { text } = await read(market, { ts: tsMs, depth, view: 'consolidated' })
        const data = outcomes.map((outcome) => {
          const whole = toConsolidated(rows, { outcome, timeMs: tsMs }, depth)
          return { ...whole, ageMs: tsMs - Date.parse(whole?.timestamp ?? '') }
        })
        expect(JSON.parse(text)).toEqual({ ts: toIso(tsMs), data })
      }
    })
  }

  test('default: is exact to the millisecond, at the moment and not after it', async () => {
    const rows = await readKnown(send, both)
    const up = rows.filter(({ outcome }) => outcome === 'up')
    const before = up[40]
    const row = up[41]
    if (before === undefined || row === undefined) throw new Error('The market has rows.')
    const idAt = async (ts: number) => {
      const { data } = JSON.parse((await read(both, { ts, outcome: 'up' })).text)
      return [Number(data[0].id), data[0].ageMs]
    }
    expect(await idAt(row.timestampMs)).toEqual([row.id, 0])
    expect(await idAt(row.timestampMs + 1)).toEqual([row.id, 1])
    expect(await idAt(row.timestampMs - 1)).toEqual([
      before.id,
      row.timestampMs - 1 - before.timestampMs,
    ])
  })

  test('behavior: of rows of one moment the last one accepted is in force', async () => {
    const rows = await readKnown(send, edge)
    const startMs = rows[0]?.timestampMs ?? 0
    const { data } = JSON.parse((await read(edge, { ts: startMs })).text)
    const lastOf = (outcome: Outcome) => rowAt(rows, outcome, startMs)?.id
    expect(data.map(({ id }: { id: string }) => Number(id))).toEqual([lastOf('up'), lastOf('down')])
  })

  test('behavior: long after the last row that one is in force, with its age', async () => {
    const rows = await readKnown(send, both)
    const tsMs = 253_402_300_799_999
    const { data } = JSON.parse((await read(both, { ts: tsMs, fields: 'id' })).text)
    const last = rowAt(rows, 'up', tsMs)
    expect(data[0]).toEqual({
      id: String(last?.id),
      ageMs: tsMs - (last?.timestampMs ?? 0),
    })
  })

  test('behavior: seconds and milliseconds of one moment are one', async () => {
    const seconds = Math.ceil((both.rows[100]?.timestampMs ?? 0) / 1000)
    const { text } = await read(both, { ts: seconds })
    expect((await read(both, { ts: seconds * 1000 })).text).toBe(text)
  })
})

describe('maxAgeMs', () => {
  test('default: leaves out the outcome whose state is older, and keeps one that is exactly as old', async () => {
    const fresh = await createMarketHistory()
    const { send: sendFresh } = createHarness({ history: fresh.history })
    const lastMs = fresh.open.rows.at(-1)?.timestampMs ?? 0
    // One outcome goes on alone; before, both changed at the same times.
    await appendRows(fresh.history, fresh.open, rowsAt(fresh.open, [lastMs + 40]))
    const tsMs = lastMs + 100
    const agesAt = async (maxAgeMs: number) => {
      const path = withParams(pathOf(fresh.open), { ts: tsMs, maxAgeMs, fields: 'id' })
      const { data } = (await (await sendFresh(path)).json()) as { data: { ageMs: number }[] }
      return data.map(({ ageMs }) => ageMs).sort((a, b) => a - b)
    }
    expect(await agesAt(100)).toEqual([60, 100])
    expect(await agesAt(99)).toEqual([60])
    expect(await agesAt(60)).toEqual([60])
  })

  test('error: nothing recent enough is stale, and the age of the newest is named', async () => {
    const rows = await readKnown(send, both)
    const tsMs = (rows.at(-1)?.timestampMs ?? 0) + 5000
    for (const view of ['own', 'consolidated']) {
      const problem = await problemOf(both, { ts: tsMs, maxAgeMs: 4999, view })
      expect([problem.code, problem.param, problem.status]).toEqual(['stale', 'maxAgeMs', 404])
      expect(problem.detail).toContain('is 5000 ms old, and `maxAgeMs` is 4999')
      expect((await ask(both, { ts: tsMs, maxAgeMs: 5000, view })).status).toBe(200)
    }
  })
})

describe('nothing recorded by then', () => {
  test('error: is no_snapshot, and the first one is named', async () => {
    const firstMs = both.rows[0]?.timestampMs ?? 0
    for (const view of ['own', 'consolidated']) {
      const problem = await problemOf(both, { ts: firstMs - 1, view })
      expect([problem.code, problem.param, problem.status]).toEqual(['no_snapshot', 'ts', 404])
      expect(problem.detail).toEndWith(`The first is from ${toIso(firstMs)}.`)
    }
    const down = both.rows.find(({ outcome }) => outcome === 'down')
    const ofDown = await problemOf(both, { ts: 0, outcome: 'down' })
    expect(ofDown.detail).toEndWith(`The first is from ${toIso(down?.timestampMs ?? 0)}.`)
  })

  test('error: a market or an outcome without any says so', async () => {
    const lonely: [KnownMarket, Params][] = [
      [empty, {}],
      [empty, { view: 'consolidated' }],
      [single, { outcome: 'down' }],
    ]
    for (const [market, params] of lonely) {
      const { code, detail } = await problemOf(market, { ts: 253_402_300_799_999, ...params })
      expect(code).toBe('no_snapshot')
      expect(detail).toEndWith('None is recorded.')
    }
  })
})

describe('what is refused', () => {
  test.each([
    ['ts', '-1'],
    ['ts', '1.5'],
    ['ts', '2026-02-30'],
    ['ts', '253402300800000'],
    ['ts', ''],
    ['outcome', 'yes'],
    ['depth', '0'],
    ['fields', 'ageMs'],
    ['fields', 'bids,bids'],
    ['fields', 'sources'],
    ['view', 'mirror'],
    ['maxAgeMs', '-1'],
    ['maxAgeMs', '1s'],
    ['interval', '1s'],
    ['limit', '1'],
    ['cursor', 'x'],
  ])('error: %s cannot be "%s"', async (name, value) => {
    const { code, param } = await problemOf(both, { ts: 1, [name]: value })
    expect([code, param]).toEqual(['invalid_parameter', name])
  })

  test('error: a moment must be named', async () => {
    const { code, param } = await readProblem(await send(pathOf(both)))
    expect([code, param]).toEqual(['invalid_parameter', 'ts'])
  })
})

describe('HTTP of a moment', () => {
  const tsMs = (both.rows[100]?.timestampMs ?? 0) + 1
  const gzip = { 'accept-encoding': 'gzip' }

  test('behavior: gzip holds the same bytes', async () => {
    const { text } = await read(both, { ts: tsMs })
    const response = await ask(both, { ts: tsMs }, { headers: gzip })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(new TextDecoder().decode(Bun.gunzipSync(await response.arrayBuffer()))).toBe(text)
  })

  test('behavior: an ETag is of what was asked for, and sent back it is answered with 304', async () => {
    const tags = new Set<string>()
    const variants: Params[] = [{}, { outcome: 'up' }, { depth: 1 }, { fields: 'bids' }]
    variants.push({ view: 'consolidated' }, { ts: tsMs + 1 })
    for (const variant of variants) {
      for (const headers of [{}, gzip]) {
        const first = await ask(both, { ts: tsMs, ...variant }, { headers })
        const tag = first.headers.get('etag') ?? ''
        tags.add(tag)
        const again = await ask(
          both,
          { ts: tsMs, ...variant },
          { headers: { ...headers, 'if-none-match': tag } },
        )
        expect([again.status, await again.text()]).toEqual([304, ''])
      }
    }
    // Both names of a level fit into less than what is worth compressing.
    expect(tags.size).toBeGreaterThanOrEqual(variants.length * 2 - 2)
  })

  test('behavior: a closed market may be kept a minute, an open one must be asked for', async () => {
    const headers = await Promise.all(
      [both, open].map(async (market) => {
        const ts = market.rows.at(-1)?.timestampMs ?? 0
        return (await read(market, { ts })).headers.get('cache-control')
      }),
    )
    expect(headers).toEqual(['private, max-age=60, immutable', 'private, no-cache'])
  })

  test('behavior: HEAD has the headers of GET', async () => {
    const init = { headers: { ...gzip, 'x-request-id': 'same' } }
    const get = await ask(both, { ts: tsMs }, init)
    const head = await ask(both, { ts: tsMs }, { ...init, method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(stableHeaders(head)).toEqual(stableHeaders(get))
  })

  test('behavior: X-Coverage is of the moment', async () => {
    const of = async (market: KnownMarket, params: Params) =>
      (await read(market, params)).headers.get('x-coverage')
    expect(await of(both, { ts: tsMs })).toBe('full')
    const ts = single.rows[20]?.timestampMs ?? 0
    expect(await of(single, { ts, outcome: 'up' })).toBe('full')
    expect(await of(single, { ts })).toStartWith('partial;covered=0.5;gaps=1;')
    const endMs = both.rows.at(-1)?.timestampMs ?? 0
    expect(await of(both, { ts: endMs + 86_400_000 })).toStartWith('none;')
  })

  test('behavior: a state that is recorded later but lies before is in force from then on', async () => {
    const fresh = await createMarketHistory()
    const { send: sendFresh } = createHarness({ history: fresh.history })
    const path = withParams(pathOf(fresh.both), { ts: tsMs, outcome: 'up', fields: 'id,bids' })
    const before = await sendFresh(path)
    const row = rowAt(await readKnown(sendFresh, fresh.both), 'up', tsMs)
    if (row === undefined) throw new Error('The market has rows.')
    const late = { ...row, timestampMs: tsMs, bids: { prices: [10_000], sizes: [10_000] } }
    const { history: live } = fresh
    await live.append({
      id: 'late',
      source: 'simulated',
      snapshots: [{ ...late, sourceHash: undefined }],
    })
    const after = await sendFresh(path)
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
    expect(await after.text()).toContain('"bids":[{"price":0.01,"size":0.01}],"ageMs":0')
  })
})
