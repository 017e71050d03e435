import { describe, expect, test } from 'bun:test'

import { MOMENT_MS_MAX } from '#src/domain/time.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import {
  conditionIdOf,
  createMarketHistory,
  expectedRows,
  type KnownMarket,
  pathOf,
  toText,
} from '../support/market-history.ts'
import { type Params, readPage, readProblem } from '../support/page-client.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory()
const { send } = createHarness({ history })

/** The bytes of a page whose rows are known but for their ids, which the page itself tells. */
async function expectExactly(path: string, params: Params, rows: KnownMarket['rows']) {
  const { text, body } = await readPage(send, path, params)
  const ids = body.data.map(({ id }) => id)
  const texts = rows.map((row, index) => toText(row, ids[index] ?? '?'))
  const nextCursor = JSON.stringify(body.nextCursor)
  expect(text).toBe(`{"data":[${texts.join(',')}],"nextCursor":${nextCursor}}`)
}

const timeOf = ({ rows }: KnownMarket, index: number): number => rows[index]?.timestampMs ?? 0

describe('GET /v1/{coin}/markets/{conditionId}/snapshots', () => {
  test('default: the first hundred rows, ascending, byte for byte as the API promises them', async () => {
    const page = await readPage(send, both.path)
    expect(page.headers.get('content-type')).toBe('application/json')
    expect(page.body.data).toHaveLength(100)
    expect(page.body.nextCursor).toBe(page.resumeCursor)
    await expectExactly(both.path, {}, expectedRows(both).slice(0, 100))
  })

  test.each([
    ['two outcomes', both],
    ['one outcome', single],
    ['an unfinished run', open],
    ['rare numbers and empty sides', edge],
    ['nothing', empty],
  ])('behavior: a market with %s comes whole and exact in both orders', async (_, market) => {
    for (const order of ['asc', 'desc'] as const) {
      await expectExactly(market.path, { limit: 1000, order }, expectedRows(market, { order }))
    }
  })

  test('behavior: it is JSON only, so a page has one tag whatever a request accepts', async () => {
    const json = await send(both.path)
    const tag = json.headers.get('etag') ?? ''
    for (const accept of ['text/csv', 'application/vnd.apache.parquet', '*/*']) {
      const other = await send(both.path, { headers: { accept } })
      expect([other.status, other.headers.get('etag')]).toEqual([200, tag])
      const known = await send(both.path, { headers: { accept, 'if-none-match': tag } })
      expect(known.status).toBe(304)
    }
  })

  test('behavior: numbers are exact decimals, never an exponent, a float or a padded zero', async () => {
    const { text } = await readPage(send, edge.path)
    for (const part of [
      '"bids":[],"asks":[]',
      '"bids":[{"price":0.1,"size":0.1},{"price":0.000001,"size":0.000001}]',
      '"asks":[{"price":0.100001,"size":9007199254.740991},{"price":0.999999,"size":1}]',
      '"bids":[{"price":0.3,"size":10}],"asks":[{"price":0.7,"size":0.3}]',
      '{"price":0.53,"size":12480.06},{"price":0.52001,"size":100000000}',
    ]) {
      expect(text).toContain(part)
    }
  })

  test('behavior: bids descend, asks ascend', async () => {
    const { text } = await readPage(send, both.path, { limit: 1000 })
    const { data } = JSON.parse(text) as {
      data: Record<'bids' | 'asks', { price: number; size: number }[]>[]
    }
    for (const { bids, asks } of data) {
      expect(bids).toEqual(bids.toSorted((a, b) => b.price - a.price))
      expect(asks).toEqual(asks.toSorted((a, b) => a.price - b.price))
      expect(bids[0]?.price ?? 0).toBeLessThan(asks[0]?.price ?? 1)
    }
  })

  test('behavior: ids are digits that rise in the order of acceptance, over all markets', async () => {
    const ids: bigint[] = []
    for (const market of [both, single, open, edge]) {
      const { body } = await readPage(send, market.path, { limit: 1000 })
      for (const { id } of body.data) expect(id).toMatch(/^[1-9]\d*$/)
      ids.push(...body.data.map(({ id }) => BigInt(id)))
    }
    expect(ids).toEqual(ids.toSorted((a, b) => Number(a - b)))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(['up', 'down'] as const)(
    'behavior: outcome=%s filters, in both orders',
    async (outcome) => {
      for (const market of [both, single, open, edge, empty]) {
        for (const order of ['asc', 'desc'] as const) {
          const params = { limit: 1000, outcome, order }
          await expectExactly(market.path, params, expectedRows(market, { outcome, order }))
        }
      }
    },
  )
})

describe('from and to', () => {
  test('behavior: from is inclusive and to exclusive at stored timestamps and one off', async () => {
    const random = createRandom('bounds')
    for (let round = 0; round < 60; round++) {
      const market = random.pick([both, single, open, edge])
      const nearby = () =>
        timeOf(market, random.integer(market.rows.length)) + random.integer(3) - 1
      const fromMs = nearby()
      const toMs = nearby()
      if (toMs <= fromMs) continue
      const order = random.pick(['asc', 'desc'] as const)
      const outcome = random.pick(['up', 'down', undefined] as const)
      const filter = outcome === undefined ? {} : { outcome }
      const rows = expectedRows(market, { fromMs, toMs, order, ...filter })
      const params = { from: fromMs, to: toMs, order, limit: 1000, ...filter }
      await expectExactly(market.path, params, rows)
    }
  })

  test('behavior: adjacent windows tile', async () => {
    const cut = timeOf(both, 150)
    const before = await readPage(send, both.path, { to: cut, limit: 1000 })
    const after = await readPage(send, both.path, { from: cut, limit: 1000 })
    const whole = await readPage(send, both.path, { limit: 1000 })
    expect([...before.body.data, ...after.body.data]).toEqual(whole.body.data)
  })

  test('behavior: 99999999999 is seconds, 100000000000 is milliseconds, and 0 is both', async () => {
    const ids = async (params: Params) => (await readPage(send, single.path, params)).body.data
    const all = await ids({})
    expect(await ids({ from: 0 })).toEqual(all)
    expect(await ids({ to: 99_999_999_999 })).toEqual(all)
    expect(await ids({ to: 100_000_000_000 })).toEqual([])
    expect(await ids({ from: 99_999_999_999 })).toEqual([])
    expect(await ids({ from: 100_000_000_000 })).toEqual(all)
    expect(await ids({ to: 0 })).toEqual([])
  })

  test('behavior: a moment as Python and pandas print it is that moment', async () => {
    const ms = timeOf(both, 100)
    const iso = new Date(ms).toISOString()
    const expected = await readPage(send, both.path, { from: ms })
    for (const from of [
      iso.replace('Z', '000+00:00'),
      iso.replace('T', ' ').replace('Z', '000+00:00'),
    ]) {
      expect((await readPage(send, both.path, { from })).text).toBe(expected.text)
      const plain = await send(`${both.path}?from=${from.replaceAll(' ', '%20')}`)
      expect(await plain.text()).toBe(expected.text)
    }
  })

  test('behavior: seconds and milliseconds of one moment give the same page', async () => {
    const seconds = Math.ceil(timeOf(both, 100) / 1000)
    const inSeconds = await readPage(send, both.path, { from: seconds, to: seconds + 20 })
    const mixed = await readPage(send, both.path, { from: seconds * 1000, to: seconds + 20 })
    expect(inSeconds.body.data.length).toBeGreaterThan(0)
    expect(mixed.text).toBe(inSeconds.text)
  })

  test.each([
    { from: 5, to: 5 },
    { from: 1_767_225_600_000, to: 1_767_225_599_999 },
    { from: 1_767_225_600, to: 1_767_225_600_000 },
    { from: 99_999_999_999, to: 100_000_000_000 },
    { from: 0, to: 0 },
  ])('error: %p is refused, naming `to`', async (params) => {
    const url = `${both.path}?from=${params.from}&to=${params.to}`
    const { code, param } = await readProblem(await send(url))
    expect([code, param]).toEqual(['invalid_parameter', 'to'])
  })

  test('behavior: the largest times are an empty page in both orders, which can be gone on from', async () => {
    const from = MOMENT_MS_MAX - 1
    for (const order of ['asc', 'desc']) {
      const params = { from, to: from + 1, order }
      const page = await readPage(send, both.path, params)
      const again = await readPage(send, both.path, { ...params, cursor: page.resumeCursor })
      expect([page.text, again.text]).toEqual(Array(2).fill('{"data":[],"nextCursor":null}'))
    }
  })
})

describe('parameters', () => {
  test('behavior: limit from 1 to 1000, by default 100', async () => {
    const counts = []
    for (const limit of [1, 99, 101, 330, 331, 1000]) {
      counts.push((await readPage(send, both.path, { limit })).body.data.length)
    }
    expect(counts).toEqual([1, 99, 101, 330, 330, 330])
  })

  const badIntegers = [
    '',
    '-1',
    '1e3',
    '5.0',
    '%2B5',
    '+5',
    '0x10',
    '%205',
    '5%20',
    '０',
    '５',
    '05',
  ]
  const bad: Record<string, string[]> = {
    limit: [...badIntegers, '0', '1001', '9007199254740992', 'null', '5%00', '5,6'],
    from: [
      ...badIntegers,
      '9007199254740992',
      '1'.repeat(400),
      '2026-02-30',
      '2026-1-1',
      '2026-02-30T00:00:00Z',
      'now',
    ],
    to: [...badIntegers, '9007199254740992', '-0', 'NaN', 'Infinity', 'true'],
    outcome: ['', 'UP', 'both', 'up%20', 'up,down', 'up%00', 'ｕｐ', '0'],
    order: ['', 'ASC', 'ascending', '-1', 'asc%0A', 'random'],
    cursor: [''],
  }
  for (const [name, values] of Object.entries(bad)) {
    test(`error: ${name} is refused by name outside what it may be`, async () => {
      const urls = [...values.map((value) => `${name}=${value}`), name]
      for (const query of [...urls, `${name}=1&${name}=1`, `${name}=%`, `${name}=%C3%28`]) {
        const { status, code, param } = await readProblem(await send(`${both.path}?${query}`))
        expect([query, status, code, param]).toEqual([query, 400, 'invalid_parameter', name])
      }
    })
  }

  test.each([
    'from=1&from=1',
    'outcome=up&outcome=up',
    'order=asc&order=desc',
    'limit=1&%6Cimit=2',
  ])('error: %s is repeated', async (query) => {
    const { code, detail } = await readProblem(await send(`${both.path}?${query}`))
    expect([code, detail]).toEqual(['invalid_parameter', expect.stringContaining('repeated')])
  })

  test.each(['Limit=5', 'limits=5', 'before=1', '__proto__=1', 'toString=1', 'x', '=1', '%00=1'])(
    'error: %s is no parameter of the route',
    async (query) => {
      const problem = await readProblem(await send(`${both.path}?${query}`))
      expect(problem.code).toBe('invalid_parameter')
      expect(problem.detail).toContain('`outcome`')
    },
  )

  test('behavior: an empty query and empty pairs are nothing', async () => {
    const { text } = await readPage(send, both.path)
    for (const query of ['?', '?&', '?&&limit=100&']) {
      expect(await (await send(both.path + query)).text()).toBe(text)
    }
  })
})

describe('path', () => {
  const id = both.conditionId
  const digits = id.slice(2)

  test.each(['btc', 'BTC', 'bTc', '%42tc'])('behavior: coin %s is btc', async (coin) => {
    expect((await readPage(send, pathOf(coin, id), { limit: 1 })).body.data).toHaveLength(1)
  })

  // DESIGN §2 has "`0x` and hex, any case"; the prefix is taken to be included in that.
  test.each([`0x${digits.toUpperCase()}`, `0X${digits}`, `0X${digits.toUpperCase()}`])(
    'behavior: conditionId %s is the market, and comes back in lower case',
    async (spelling) => {
      const { text } = await readPage(send, pathOf('btc', spelling), { limit: 1 })
      expect(text).toContain(`"conditionId":"${id}"`)
    },
  )

  test.each([
    digits,
    `0x${digits.slice(1)}`,
    `${id}0`,
    `0x${digits.slice(1)}g`,
    `0x${digits.slice(1)}１`,
    `0x${digits}%0A`,
    `%20${id}`,
    `${id}%00`,
    `00${digits}`,
    '0x',
    'x'.repeat(5000),
    '..%2f..%2fetc%2fpasswd',
  ])('error: conditionId %s is malformed', async (spelling) => {
    const problem = await readProblem(await send(pathOf('btc', spelling)))
    expect([problem.status, problem.param]).toEqual([400, 'conditionId'])
    expect(problem.detail).toContain('must be a condition id (`0x` and 62 or 64 hex digits')
    expect(problem.detail.length).toBeLessThan(230)
  })

  test('behavior: a slug or an asset id is the market too, and the answer is the same', async () => {
    const own = openHistory(':memory:')
    const conditionId = conditionIdOf('abc').slice(0, 64)
    const assetIds = { up: '9'.repeat(78), down: '8' }
    await own.putMarket({
      conditionId,
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      slug: 'btc-updown-5m-1767323100',
      assetIds,
      windowStartMs: 1_767_323_100_000,
    })
    const { send: ask } = createHarness({ history: own })
    const read = async (name: string) => (await ask(pathOf('btc', name))).text()
    const expected = await read(conditionId)
    expect(JSON.parse(expected)).toEqual({ data: [], nextCursor: null })
    const slug = 'btc-updown-5m-1767323100'
    for (const name of [slug, slug.toUpperCase(), assetIds.up, assetIds.down]) {
      expect([name, await read(name)]).toEqual([name, expected])
      expect(await read(name)).toBe(expected)
    }
    for (const name of ['btc-updown-5m-1', '7']) {
      expect((await readProblem(await ask(pathOf('btc', name)))).code).toBe('unknown_market')
    }
    expect((await ask(pathOf('eth', '8'))).status).toBe(404)
  })

  test('behavior: a time may be RFC 3339, and nothing of the answer depends on the form', async () => {
    const fromMs = both.rows[3]?.timestampMs ?? 0
    const iso = new Date(fromMs).toISOString()
    const offset = iso.replace('Z', '+00:00')
    const forms = [`${fromMs}`, iso, iso.toLowerCase(), offset, encodeURIComponent(offset)]
    const answers = await Promise.all(
      forms.map(async (form) => {
        const response = await send(`${both.path}?limit=2&from=${form}`)
        return [response.status, response.headers.get('etag'), await response.text()]
      }),
    )
    expect(answers[0]?.[0]).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0] ?? [])
    const { detail } = await readProblem(await send(`${both.path}?from=yesterday`))
    expect(detail).toContain('1776153610000')
    expect(detail).toContain('2026-04-14T08:00:10Z')
  })

  test.each([
    ['btc', conditionIdOf('0')],
    ['eth', both.conditionId],
    ['btc', single.conditionId],
  ])('error: /%s/ has no market %s', async (coin, conditionId) => {
    const problem = await readProblem(await send(pathOf(coin, conditionId)))
    expect([problem.status, problem.code]).toEqual([404, 'unknown_market'])
  })

  test.each(['nocoin', 'btc%00', 'ｂｔｃ', 'b', '%F0%9F%92%A9', 'constructor'])(
    'error: %s is no coin, whatever the market',
    async (coin) => {
      for (const conditionId of [id, 'nonsense']) {
        const problem = await readProblem(await send(pathOf(coin, conditionId)))
        expect([problem.status, problem.code]).toEqual([404, 'unknown_coin'])
      }
    },
  )
})
