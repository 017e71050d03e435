import { describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { GapChange, MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

type Body = {
  data: Record<string, unknown>[]
  nextCursor?: string | null
  detail?: string
  requestId?: string
}

const conditionId = conditionIdOf(1)
const market = `/v1/btc/markets/${conditionId}`
const MOMENT_MS = START_MS + 150_000
const END_MS = START_MS + 300_000
const fill = `${market}/fill?ts=${MOMENT_MS}&side=buy&size=1`
const panel = '/v1/btc/panel?timeframe=5m&offsets=-200s,-60s,-1s'
/** What is asked without and with `knownAt`. */
const questions = [
  `${market}/snapshots?limit=1000`,
  `${market}/snapshots?limit=1000&order=desc&outcome=up`,
  `${market}/snapshots?limit=1000&depth=1&fields=id,bids,receivedAt&from=${START_MS + 50_000}`,
  `${market}/snapshots?limit=1000&view=consolidated`,
  `${market}/snapshots?limit=20&interval=5s`,
  `${market}/snapshots?limit=1000&interval=10s&order=desc&fields=id,receivedAt`,
  `${market}/snapshots?limit=1000&interval=10s&view=consolidated&outcome=up`,
  `${market}/quotes?limit=10000`,
  `${market}/quotes?limit=10000&order=desc&fields=id,bid,receivedAt&to=${MOMENT_MS}`,
  `${market}/quotes?limit=10000&interval=1s`,
  `${market}/quotes?limit=50&interval=5s&order=desc&outcome=down`,
  `${market}/prices?limit=10000`,
  `${market}/prices?limit=10000&interval=10s`,
  `${market}/prices?limit=10&interval=15s&order=desc&outcome=up`,
  `${market}/trades?limit=10000`,
  `${market}/trades?limit=5&order=desc`,
  `${market}/trades?limit=4&outcome=up`,
  `${market}/snapshots/at?ts=${MOMENT_MS}&fields=id,receivedAt`,
  `${market}/snapshots/at?ts=${MOMENT_MS}&outcome=down&view=consolidated`,
  `${fill}&outcome=up`,
  `${fill}&outcome=down&view=own&maxAgeMs=20000`,
  panel,
  `${panel}&maxAgeMs=15000&from=${START_MS}&to=${END_MS}`,
]

/** A server whose clock, of history and app, is moved by the test. */
function serve() {
  const time = { nowMs: START_MS + 600_500 }
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  const { send } = createHarness({ history, clock: () => time.nowMs })
  const ask = async (path: string) => (await (await send(path)).json()) as Body
  /** All that a caller sees but where to go on, which names the question. */
  const see = async (path: string) => {
    const response = await send(path)
    const { nextCursor, requestId: _, ...body } = (await response.json()) as Body
    const coverage = response.headers.get('x-coverage')
    return { status: response.status, coverage, hasMore: typeof nextCursor === 'string', body }
  }
  return { time, history, send, ask, see }
}

/** Batches of a recording, and of imports that come late in any place. */
function batches(seed: string): Snapshot[][] {
  const random = createRandom(seed)
  const used = new Set<number>()
  return Array.from({ length: 12 }, (_, batch) =>
    Array.from({ length: 30 }, (_row, at) => {
      let second = batch % 3 === 2 ? random.integer(280) : batch * 20 + at
      while (used.has(second)) second++
      used.add(second)
      const outcome = random.integer(2) === 0 ? 'up' : 'down'
      const timestampMs = START_MS + second * 1000
      const receivedMs = random.integer(3) === 0 ? undefined : timestampMs + random.integer(500)
      const size = 1_000_000 + batch * 1000 + at
      return aSnapshot({ outcome, timestampMs, receivedMs }, size)
    }),
  )
}

const paths = [
  'snapshots?',
  'quotes?',
  'prices?',
  'trades?',
  'prices?interval=1s',
  'quotes?interval=1s',
  `snapshots/at?ts=${START_MS}`,
  `fill?ts=${START_MS}&side=buy&outcome=up&size=1`,
]

const facts = { conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const

/** What is written besides books, in the order in which it comes. */
function besides(history: MarketHistory, seed: string): (() => void)[] {
  const random = createRandom(`${seed} besides`)
  const momentOf = () => START_MS + random.integer(300) * 1000
  const trades = (count: number) =>
    Array.from({ length: count }, () => ({
      timestampMs: momentOf(),
      price: random.integer(1000) * 1000,
      outcome: (['up', 'down', undefined] as const)[random.integer(3)],
    }))
  let batch = 0
  const putTrades = () =>
    void history.putTrades({ id: `${seed} ${batch++}`, conditionId, trades: trades(9) })
  const putSpot = () =>
    void history.putSpot(
      Array.from({ length: 9 }, () => ({
        ...({
          coin: 'btc',
          source: 'simulated',
          windowSeconds: 0,
          timestampMs: momentOf(),
        } as const),
        price: String(70_000 + random.integer(1000)),
      })),
    )
  const record = (gaps: readonly GapChange[]) =>
    void history.record({ source: 'simulated', snapshots: [], trades: [], gaps })
  const span = (fromMs: number, ms: number) => ({ fromMs, toMs: fromMs + ms })
  const gap = { outcome: 'up', reason: 'recorder_down' } as const
  const open = { ...gap, fromMs: START_MS + 250_000, toMs: Number.MAX_SAFE_INTEGER }
  return [
    () => history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs: END_MS }),
    putTrades,
    () => record([{ conditionId, kind: 'opened', gap: open }]),
    putSpot,
    () => record([{ conditionId, kind: 'ended', outcome: 'up', atMs: START_MS + 260_000 }]),
    () => history.putGaps(conditionId, [{ ...gap, ...span(START_MS + 30_000, 40_000) }]),
    () => history.putMarket({ ...facts, strike: '70500.5' }),
    putTrades,
    () =>
      history.record({
        source: 'simulated',
        isImport: true,
        snapshots: [],
        trades: [],
        gaps: [
          {
            conditionId,
            kind: 'said',
            outcome: 'up',
            statement: { kind: 'known', ...span(START_MS + 40_000, 5000) },
          },
        ],
      }),
    () => history.close(conditionId),
    () => history.putMarket({ ...facts, winner: 'down', finalPrice: '70400' }),
    () => [putSpot(), putTrades()],
  ]
}

describe('knownAt', () => {
  test.each(['a', 'b', 'c'])(
    'default: the answer is the one that was given at that moment, whatever came later (%s)',
    async (seed) => {
      const { time, history, see } = serve()
      const given: { knownAt: number; answers: unknown[] }[] = []
      const others = besides(history, seed)
      for (const [at, snapshots] of batches(seed).entries()) {
        time.nowMs += 2000
        appendAll(history, snapshots)
        others[at]?.()
        const answers = []
        for (const question of questions) answers.push(await see(question))
        given.push({ knownAt: time.nowMs + 1000, answers })
      }
      time.nowMs += 5000
      expect([...history.verify()]).toEqual([])
      for (const { knownAt, answers } of given) {
        for (const [at, question] of questions.entries()) {
          const seen = await see(`${question}&knownAt=${knownAt}`)
          expect({ question, ...seen }).toEqual({ question, ...(answers[at] as typeof seen) })
        }
      }
    },
    60_000,
  )

  test('behavior: pages with a step join to the whole, in both directions', async () => {
    const { time, history, ask } = serve()
    const all = batches('steps')
    for (const snapshots of all.slice(0, 6)) appendAll(history, snapshots)
    history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs: END_MS })
    const knownAt = time.nowMs + 1000
    const views = ['own', 'consolidated'].flatMap((view) =>
      ['asc', 'desc'].map((order) => `&interval=5s&view=${view}&order=${order}&fields=id,outcome`),
    )
    const wholes = await Promise.all(
      views.map((view) => ask(`${market}/snapshots?limit=1000${view}`)),
    )
    time.nowMs += 2000
    for (const snapshots of all.slice(6)) appendAll(history, snapshots)
    for (const [at, view] of views.entries()) {
      const rows: unknown[] = []
      let cursor = ''
      for (let pages = 0; pages < 99; pages++) {
        const page = await ask(`${market}/snapshots?limit=7&knownAt=${knownAt}${view}${cursor}`)
        rows.push(...page.data)
        cursor = `&cursor=${page.nextCursor}`
        if (page.nextCursor === null) break
      }
      expect({ view, rows }).toEqual({ view, rows: wholes[at]?.data ?? [] })
    }
    expect(wholes.every(({ data }) => data.length > 7)).toBe(true)
  })

  test('behavior: a walk in pages gives each row once, and nothing was known at first', async () => {
    const { time, history, ask, send } = serve()
    const all = batches('walk')
    for (const snapshots of all.slice(0, 6)) appendAll(history, snapshots)
    const knownAt = time.nowMs + 1000
    const whole = await ask(`${market}/snapshots?limit=1000`)
    time.nowMs += 2000
    for (const snapshots of all.slice(6)) appendAll(history, snapshots)
    const rows: unknown[] = []
    for (let cursor = '', pages = 0; pages < 99; pages++) {
      const page = await ask(`${market}/snapshots?limit=7&knownAt=${knownAt}${cursor}`)
      rows.push(...page.data)
      cursor = `&cursor=${page.nextCursor}`
      if (page.nextCursor === null) break
    }
    expect(rows).toEqual(whole.data)
    const zipped = await send(`${market}/snapshots?limit=1000&knownAt=${knownAt}`, {
      headers: { 'accept-encoding': 'gzip' },
    })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    const { data } = JSON.parse(
      new TextDecoder().decode(Bun.gunzipSync(await zipped.arrayBuffer())),
    ) as Body
    expect(data).toEqual(whole.data)
    const early = `knownAt=${START_MS + 601_000}`
    expect((await ask(`${market}/snapshots?${early}`)).data).not.toHaveLength(0)
    const other = { ...(all[0]?.[0] as Snapshot), conditionId: conditionIdOf(2), assetId: '72' }
    time.nowMs += 2000
    appendAll(history, [other])
    const none = market.replace(conditionIdOf(1), conditionIdOf(2))
    expect(await ask(`${none}/snapshots?${early}`)).toEqual({ data: [], nextCursor: null })
    expect((await ask(`${none}/quotes?${early}`)).data).toEqual([])
    const at = await send(`${none}/snapshots/at?ts=${MOMENT_MS}&${early}`)
    expect(await readProblem(at)).toMatchObject({ code: 'no_snapshot' })
  })

  test('error: a moment before changes were noted, or rows replaced, names the first one', async () => {
    const { time, history, send } = serve()
    const plain = aSnapshot()
    appendAll(history, [plain])
    const ask = async (knownAt: number, path = 'snapshots?') => {
      const response = await send(`${market}/${path}&knownAt=${knownAt}`)
      return response.status === 200 ? 'answered' : await readProblem(response)
    }
    const first = START_MS + 601_000
    const refusal = { code: 'invalid_parameter', param: 'knownAt' }
    const named = (ms: number) => expect.stringContaining(new Date(ms).toISOString())
    time.nowMs += 10_000
    for (const path of paths) {
      expect(await ask(first - 1, path)).toMatchObject({ ...refusal, detail: named(first) })
      expect(await ask(first, path)).toBe('answered')
      expect(await ask(time.nowMs + 1, path)).toMatchObject(refusal)
    }
    appendAll(history, [{ ...plain, sourceHash: 'a'.repeat(40), isVerified: true }])
    const replacedMs = time.nowMs
    time.nowMs += 10_000
    expect(await ask(replacedMs)).toMatchObject({ ...refusal, detail: named(replacedMs + 500) })
    expect(await ask(replacedMs + 500)).toBe('answered')
  })

  test('error: a time of receipt that was replaced since is refused, and the rest is not', async () => {
    const { time, history, send } = serve()
    const row = aSnapshot({ receivedMs: START_MS + 900 })
    appendAll(history, [row])
    const knownAt = `knownAt=${time.nowMs + 1000}`
    time.nowMs += 10_000
    appendAll(history, [{ ...row, receivedMs: START_MS + 100 }])
    time.nowMs += 10_000
    for (const path of ['snapshots?fields=id', 'quotes?fields=id', `snapshots/at?ts=${START_MS}`]) {
      expect((await send(`${market}/${path}&${knownAt}`)).status).toBe(200)
      const wanted = path.includes('fields') ? `${path},receivedAt` : `${path}&fields=receivedAt`
      expect(await readProblem(await send(`${market}/${wanted}&${knownAt}`))).toMatchObject({
        code: 'invalid_parameter',
        param: 'knownAt',
        detail: expect.stringContaining(new Date(START_MS + 611_000).toISOString()),
      })
      const later = await send(`${market}/${wanted}&knownAt=${time.nowMs}`)
      expect(await later.text()).toContain(new Date(START_MS + 100).toISOString())
    }
  })

  test('behavior: before gaps were noted, coverage is unknown, and what needs them is refused', async () => {
    const { time, history } = serve()
    appendAll(history, [aSnapshot()])
    const since = time.nowMs + 20_000
    const revisions = { ...history.revisions, eventsSinceMs: () => since }
    time.nowMs += 60_000
    const older = createHarness({ history: { ...history, revisions }, clock: () => time.nowMs })
    const early = `knownAt=${time.nowMs - 50_000}`
    for (const path of paths) {
      const response = await older.send(`${market}/${path}&${early}`)
      const needsThem = /^(prices|trades)|interval/.test(path)
      expect([path, response.status]).toEqual([path, needsThem ? 400 : 200])
      if (!needsThem) expect(response.headers.get('x-coverage')).toBe('unknown')
      const later = await older.send(`${market}/${path}&knownAt=${time.nowMs}`)
      expect([path, later.status]).toEqual([path, 200])
      expect(later.headers.get('x-coverage')).not.toBe('unknown')
    }
    expect(await readProblem(await older.send(`${panel}&${early}`))).toMatchObject({
      code: 'invalid_parameter',
      param: 'knownAt',
    })
  })

  test('behavior: cursors and tags are of one moment', async () => {
    const { time, history, send } = serve()
    history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs: END_MS })
    const other = { ...facts, conditionId: conditionIdOf(2) }
    const next = { windowStartMs: END_MS, windowEndMs: END_MS + 300_000 }
    history.putMarket({ ...other, ...next })
    appendAll(history, batches('tags')[0] ?? [])
    const trade = { timestampMs: START_MS, price: 500_000 }
    const two = [trade, { ...trade, price: 510_000 }]
    history.putTrades({ id: 'tags', conditionId, trades: two })
    time.nowMs += 10_000
    const early = time.nowMs - 5000
    const late = time.nowMs
    for (const question of [
      ...['snapshots', 'quotes', 'prices', 'trades'].map((name) => `${market}/${name}?limit=1`),
      `${panel}&limit=1`,
    ]) {
      const first = await send(`${question}&knownAt=${early}`)
      const { nextCursor } = (await first.json()) as Body
      expect([question, typeof nextCursor]).toEqual([question, 'string'])
      const refused = await send(`${question}&knownAt=${late}&cursor=${nextCursor}`)
      expect(await readProblem(refused)).toMatchObject({ code: 'cursor_mismatch' })
      expect(await readProblem(await send(`${question}&cursor=${nextCursor}`))).toMatchObject({
        code: 'cursor_mismatch',
      })
      const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
      const again = await send(`${question}&knownAt=${early}`, { headers })
      expect([question, again.status]).toEqual([question, 304])
    }
  })

  test('behavior: ids of trades that were deleted are not given again', async () => {
    const { time, history, ask } = serve()
    const old = { ...facts, conditionId: conditionIdOf(2) }
    const before = START_MS - 86_400_000
    history.putMarket({ ...old, windowStartMs: before, windowEndMs: before + 300_000 })
    history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs: END_MS })
    const trade = { timestampMs: START_MS, price: 500_000 }
    history.putTrades({ id: 'kept', conditionId, trades: [trade] })
    const known = await ask(`${market}/trades`)
    const many = (from: number) =>
      Array.from({ length: 9 }, (_, at) => ({ timestampMs: before + from + at, price: 1 }))
    time.nowMs += 2000
    history.putTrades({ id: 'gone', conditionId: old.conditionId, trades: many(0) })
    time.nowMs += 2000
    const knownAt = time.nowMs
    history.putTrades({ id: 'gone too', conditionId: old.conditionId, trades: many(9) })
    for (let steps = 0; steps < 99 && history.deleteOldest(START_MS); steps++);
    expect(history.findMarket(old.conditionId)).toBeUndefined()
    time.nowMs += 2000
    history.putTrades({ id: 'late', conditionId, trades: [{ ...trade, price: 510_000 }] })
    time.nowMs += 2000
    expect((await ask(`${market}/trades`)).data).toHaveLength(2)
    expect((await ask(`${market}/trades?knownAt=${knownAt}`)).data).toEqual(known.data)
    expect([...history.verify()]).toEqual([])
  })
})
