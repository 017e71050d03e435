import { describe, expect, test } from 'bun:test'

import { silenceMs } from '#src/domain/coverage.ts'
import type { Outcome } from '#src/domain/market.ts'
import { intervalMs } from '#src/domain/series.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, NO_LEVELS, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { type Params, readPage, readProblem, withParams } from '../support/page-client.ts'
import { rowTexts, walkSeries } from '../support/series-client.ts'
import {
  changesOf,
  fill,
  inRange,
  iso,
  quoteKey,
  quoteRow,
  randomBooks,
} from '../support/series-model.ts'

type Asked = { outcome?: Outcome; from?: number; to?: number }
const outcomes = ['up', 'down'] as const
const SILENCE_MS = silenceMs('5m')

function drawAsked(random: Random, rows: readonly StoredSnapshot[]): Asked {
  const from = random.pick(rows).timestampMs - random.integer(1_500)
  return {
    ...(random.integer(2) === 0 ? { outcome: random.pick(outcomes) } : {}),
    ...(random.integer(2) === 0 ? { from } : {}),
    ...(random.integer(2) === 0 ? { to: from + 1 + random.integer(60_000) } : {}),
  }
}

async function createFilled(seed: string, count: number, isClosed = true) {
  const history = openHistory(':memory:')
  const filled = await fill(history, { books: randomBooks(createRandom(seed), count) })
  if (isClosed) await history.close(conditionIdOf(1))
  // A test may replace the verb of `history`.
  const { send } = createHarness({ history: { ...history, tops: (query) => history.tops(query) } })
  return { history, send, ...filled, path: `${filled.base}/quotes` }
}

const changeTexts = (rows: readonly StoredSnapshot[], asked: Asked): string[] =>
  changesOf(inRange(rows, asked), quoteKey).map((row) => `{${quoteRow(row)}}`)

const CLOSE_MS = START_MS + 300_000

/**
 * The last moment at which the last state of an outcome is known: the
 * close, or what is held after it.
 */
function knownEndMs(rows: readonly StoredSnapshot[], lastMs: number): number {
  const heldMs = rows.at(-1)?.timestampMs ?? 0
  const isSilent = Math.max(heldMs, CLOSE_MS - 1) - lastMs > SILENCE_MS
  return isSilent ? lastMs : Math.max(heldMs, CLOSE_MS)
}

/** The last state at or before a step, where no pause around it is a gap. */
function stepText(rows: readonly StoredSnapshot[], timeMs: number, outcome: Outcome): string[] {
  const own = rows.filter((row) => row.outcome === outcome)
  const state = own.findLast((row) => row.timestampMs <= timeMs)
  if (state === undefined) return []
  const nextMs = own.find((row) => row.timestampMs > timeMs)?.timestampMs
  const ageMs = timeMs - state.timestampMs
  const isPause = nextMs !== undefined && nextMs - state.timestampMs > SILENCE_MS
  if (isPause && ageMs > 0) return []
  if (nextMs === undefined && timeMs > knownEndMs(rows, state.timestampMs)) return []
  return [`{"time":"${iso(timeMs)}","ageMs":${ageMs},${quoteRow(state)}}`]
}

/** Each step by itself. */
function stepTexts(rows: readonly StoredSnapshot[], stepMs: number, asked: Asked): string[] {
  const { outcome, from = 0, to = Number.POSITIVE_INFINITY } = asked
  const endMs = Math.max(rows.at(-1)?.timestampMs ?? 0, CLOSE_MS) + stepMs
  const own = outcomes.filter((each) => (outcome ?? each) === each)
  const texts: string[] = []
  const firstMs = Math.floor(START_MS / stepMs) * stepMs
  for (let timeMs = firstMs; timeMs < Math.min(endMs, to); timeMs += stepMs) {
    if (timeMs >= from) texts.push(...own.flatMap((each) => stepText(rows, timeMs, each)))
  }
  return texts
}

describe('GET /v1/{coin}/markets/{conditionId}/quotes', async () => {
  const up = { prices: [530_000, 520_000], sizes: [12_480_060_000, 1] }
  const asks = { prices: [540_001], sizes: [96_500_000] }
  const books = [
    aSnapshot({ bids: up, asks }),
    aSnapshot({ bids: up, asks, outcome: 'down' }),
    // Another book, but not at its top.
    aSnapshot({ bids: { ...up, sizes: [12_480_060_000, 2] }, asks, timestampMs: START_MS + 1_500 }),
    aSnapshot({ bids: NO_LEVELS, asks, timestampMs: START_MS + 2_500 }),
    aSnapshot({ bids: asks, asks: up, timestampMs: START_MS + 3_000, outcome: 'down' }),
    aSnapshot({ bids: NO_LEVELS, asks: NO_LEVELS, timestampMs: START_MS + 3_600 }),
  ]
  const history = openHistory(':memory:')
  const { base } = await fill(history, { books })
  await history.close(conditionIdOf(1))
  const { send } = createHarness({ history })
  const path = `${base}/quotes`
  const both =
    '"bid":0.53,"bidSize":12480.06,"ask":0.540001,"askSize":96.5,"mid":0.5350005,"spread":0.010001,"imbalance":0.984654}'
  const none = '"mid":null,"spread":null,"imbalance":null}'

  test('default: is every change of the best levels, as exact decimals', async () => {
    const { text, headers } = await readPage(send, path)
    expect(text).toBe(
      `{"data":[${[
        `{"id":"1","outcome":"up","timestamp":"${iso(START_MS)}",${both}`,
        `{"id":"2","outcome":"down","timestamp":"${iso(START_MS)}",${both}`,
        `{"id":"4","outcome":"up","timestamp":"${iso(START_MS + 2_500)}","bid":null,"bidSize":null,"ask":0.540001,"askSize":96.5,${none}`,
        `{"id":"5","outcome":"down","timestamp":"${iso(START_MS + 3_000)}","bid":0.540001,"bidSize":96.5,"ask":0.53,"askSize":12480.06,"mid":0.5350005,"spread":-0.010001,"imbalance":-0.984654}`,
        `{"id":"6","outcome":"up","timestamp":"${iso(START_MS + 3_600)}","bid":null,"bidSize":null,"ask":null,"askSize":null,${none}`,
      ].join(',')}],"nextCursor":null}`,
    )
    expect(headers.get('x-coverage')).toStartWith('partial;covered=')
  })

  test('behavior: with an interval, is the state in force at each step', async () => {
    const { text } = await readPage(send, path, {
      interval: '1s',
      outcome: 'up',
      from: START_MS + 1,
    })
    const stepAt = (second: number) => `{"time":"${iso(START_MS + second * 1_000)}"`
    expect(rowTexts(text)).toEqual([
      `${stepAt(1)},"ageMs":1000,"id":"1","outcome":"up","timestamp":"${iso(START_MS)}",${both}`,
      `${stepAt(2)},"ageMs":500,"id":"3","outcome":"up","timestamp":"${iso(START_MS + 1_500)}",${both}`,
      `${stepAt(3)},"ageMs":500,"id":"4","outcome":"up","timestamp":"${iso(START_MS + 2_500)}","bid":null,"bidSize":null,"ask":0.540001,"askSize":96.5,${none}`,
    ])
  })

  test('behavior: a range can be used alone: its first state of an outcome is a row', async () => {
    const { text } = await readPage(send, path, { from: START_MS + 1_000, to: START_MS + 2_000 })
    expect(rowTexts(text)).toEqual([
      `{"id":"3","outcome":"up","timestamp":"${iso(START_MS + 1_500)}",${both}`,
    ])
  })

  test('behavior: a market without a state, and a range without one, are empty pages', async () => {
    const empty = openHistory(':memory:')
    await fill(empty, { books: [] })
    const server = createHarness({ history: empty })
    for (const params of [{}, { interval: '1s' }, { order: 'desc' }] as Params[]) {
      const page = await readPage(server.send, path, params)
      expect([page.text, page.headers.get('x-coverage')]).toEqual([
        '{"data":[],"nextCursor":null}',
        expect.stringMatching(/^none;/),
      ])
      expect(page.resumeCursor).not.toBe('')
    }
    const later = { from: START_MS + 200_000, to: START_MS + 210_000 }
    for (const params of [later, { ...later, interval: '1s' }] as Params[]) {
      const page = await readPage(send, path, params)
      expect([page.body.data, page.headers.get('x-coverage')]).toEqual([
        [],
        expect.stringMatching(/^none;/),
      ])
    }
  })

  test.each([
    ['interval=7s', 'interval'],
    ['interval=0s', 'interval'],
    ['interval=-1s', 'interval'],
    ['interval=1S', 'interval'],
    ['interval=1000', 'interval'],
    ['interval=', 'interval'],
    ['interval=1s&interval=1s', 'interval'],
    ['limit=0', 'limit'],
    ['limit=10001', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['from=-1', 'from'],
    ['from=2026-04-31', 'from'],
    ['to=1e12', 'to'],
    ['from=1776153610&to=1776153610', 'to'],
    ['from=1776153610000&to=1776153609', 'to'],
    ['order=up', 'order'],
    ['outcome=yes', 'outcome'],
    ['cursor=', 'cursor'],
    ['depth=5', 'depth'],
    ['fields=bids', 'fields'],
  ])('error: %s is refused, naming what to change', async (query, param) => {
    const problem = await readProblem(await send(`${path}?${query}`))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', param])
  })

  test('error: a cursor of other filters, of another route or of nobody is refused', async () => {
    const { resumeCursor: cursor } = await readPage(send, path, { limit: 1 })
    const others: Params[] = [
      { interval: '1s' },
      { outcome: 'up' },
      { order: 'desc' },
      { from: START_MS },
      { to: START_MS + 9_000 },
    ]
    for (const params of others) {
      const problem = await readProblem(await send(withParams(path, { ...params, cursor })))
      expect([params, problem.code]).toEqual([params, 'cursor_mismatch'])
    }
    for (const route of ['prices', 'snapshots']) {
      const problem = await readProblem(await send(withParams(`${base}/${route}`, { cursor })))
      expect([route, problem.code]).toEqual([route, 'cursor_mismatch'])
    }
    const forged = await readProblem(await send(withParams(path, { cursor: `${cursor}A` })))
    expect(forged.code).toBe('cursor_invalid')
  })
})

describe('a walk of quotes', () => {
  test.each(Array.from({ length: 4 }, (_, index) => index))(
    'property: at any limits and in either order gives every change once (seed %d)',
    async (seed) => {
      const random = createRandom(`walk ${seed}`)
      const { send, path, rows } = await createFilled(`quotes ${seed}`, 20 + random.integer(300))
      for (let round = 0; round < 4; round++) {
        const asked = drawAsked(random, rows)
        const expected = changeTexts(rows, asked)
        const limitOf = () => 1 + random.integer(random.pick([2, 30, 400]))
        const up = await walkSeries(send, path, { params: { ...asked }, limitOf })
        expect(up.texts).toEqual(expected)
        const down = await walkSeries(send, path, { params: { ...asked, order: 'desc' }, limitOf })
        expect(down.texts).toEqual(expected.reverse())
      }
    },
  )

  test.each(Array.from({ length: 4 }, (_, index) => index))(
    'property: of steps gives the state in force at each, and nothing in a gap (seed %d)',
    async (seed) => {
      const random = createRandom(`steps ${seed}`)
      const { send, path, rows } = await createFilled(`steps ${seed}`, 20 + random.integer(200))
      for (const interval of ['1s', '5s', '15m'] as const) {
        const asked = drawAsked(random, rows)
        const expected = stepTexts(rows, intervalMs[interval], asked)
        const limitOf = () => 1 + random.integer(random.pick([2, 30, 400]))
        const params = { ...asked, interval }
        const up = await walkSeries(send, path, { params, limitOf })
        expect(up.texts).toEqual(expected)
        const down = await walkSeries(send, path, { params: { ...params, order: 'desc' }, limitOf })
        expect(down.texts).toEqual(expected.reverse())
      }
    },
  )

  test('behavior: goes across the blocks in which states are read', async () => {
    const { send, path, rows } = await createFilled('long', 6_000)
    const expected = changeTexts(rows, {})
    expect(expected.length).toBeGreaterThan(4_096)
    const whole = await readPage(send, path, { limit: 10_000 })
    expect(rowTexts(whole.text)).toEqual(expected)
    const walked = await walkSeries(send, path, { limitOf: () => 999 })
    expect(walked.texts).toEqual(expected)
  })
})

describe('a follower of X-Resume-Cursor', () => {
  for (const params of [{}, { interval: '1s' }] as Params[]) {
    test(`property: sees each row once while states come in (${JSON.stringify(params)})`, async () => {
      const random = createRandom('follower')
      // A feed numbers its states of one moment.
      const books = randomBooks(random, 400).map((book, sequence) => ({ ...book, sequence }))
      const { history, send, path } = await createFilled('none', 0, false)
      const seen: string[] = []
      let place: Params = {}
      const read = async (limit: number) => {
        const page = await readPage(send, path, { ...params, ...place, limit })
        seen.push(...rowTexts(page.text))
        place = { cursor: page.resumeCursor }
        return page.body.nextCursor
      }
      for (let at = 0; at < books.length;) {
        const count = 1 + random.integer(12)
        const snapshots = books.slice(at, at + count)
        await history.record({ source: 'simulated', snapshots, trades: [], gaps: [] })
        at += count
        await read(1 + random.integer(20))
      }
      await history.close(conditionIdOf(1))
      let next: string | null
      do next = await read(100)
      while (next !== null)
      const whole = await walkSeries(send, path, { params, limitOf: () => 10_000 })
      expect(seen).toEqual(whole.texts)
      expect(seen.length).toBeGreaterThan(100)
    })
  }
})

describe('caching of quotes', () => {
  test('default: a closed market may be kept, and is told to be unchanged unread', async () => {
    const { history, send, path } = await createFilled('caching', 50)
    const first = await send(path)
    const etag = first.headers.get('etag') ?? ''
    expect(first.headers.get('cache-control')).toBe('private, max-age=60, immutable')
    const tops = history.tops
    history.tops = () => {
      throw new Error('Nothing is to be read.')
    }
    const unchanged = await send(path, { headers: { 'if-none-match': etag } })
    expect([unchanged.status, await unchanged.text()]).toEqual([304, ''])
    history.tops = tops
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 700 }, 77_000_000)])
    const later = await send(path, { headers: { 'if-none-match': etag } })
    expect(later.status).toBe(200)
    expect(later.headers.get('etag')).not.toBe(etag)
  })

  test('behavior: what was written while a page was made is in no tag of what was before', async () => {
    const { history, send, path } = await createFilled('race', 50)
    const etag = (await send(path)).headers.get('etag')
    const tops = history.tops
    history.tops = (query) => {
      history.tops = tops
      void appendAll(history, [aSnapshot({ timestampMs: START_MS + 700 }, 77_000_000)])
      return tops(query)
    }
    const during = await send(path)
    expect(await during.text()).toContain('"bidSize":77,')
    const after = await send(path)
    expect(new Set([etag, during.headers.get('etag'), after.headers.get('etag')]).size).toBe(3)
  })

  test('behavior: what is asked for again is read no third time, until it changes', async () => {
    const { history, send, path } = await createFilled('kept', 2_000)
    const { tops } = history
    let reads = 0
    history.tops = (query) => {
      reads++
      return tops(query)
    }
    for (const encoding of ['identity', 'gzip']) {
      const read = async () => {
        const answer = await send(path, { headers: { 'accept-encoding': encoding } })
        const headers = [...answer.headers].filter(
          ([name]) => !/^(x-request|x?-?ratelimit)/.test(name),
        )
        return { headers, body: Buffer.from(await answer.arrayBuffer()).toString('hex') }
      }
      const first = await read()
      expect(await read()).toEqual(first)
      reads = 0
      expect(await read()).toEqual(first)
      expect(reads).toBe(0)
      await appendAll(history, [
        aSnapshot({ timestampMs: START_MS + 700 + encoding.length }, 77_000_000),
      ])
      expect(await read()).not.toEqual(first)
      expect(reads).toBeGreaterThan(0)
    }
  })

  test('behavior: an open market is asked for again each time', async () => {
    const { send, path } = await createFilled('open', 10, false)
    expect((await send(path)).headers.get('cache-control')).toBe('private, no-cache')
  })

  test('behavior: gzip is of the same bytes, of small pages and large ones', async () => {
    const { send, path } = await createFilled('gzip', 2_000)
    for (const limit of [1, 20, 10_000]) {
      const address = withParams(path, { limit })
      const plain = new Uint8Array(await (await send(address)).arrayBuffer())
      const packed = await send(address, { headers: { 'accept-encoding': 'gzip' } })
      const bytes = new Uint8Array(await packed.arrayBuffer())
      expect(packed.headers.get('content-encoding')).toBe('gzip')
      expect(Bun.gunzipSync(bytes)).toEqual(plain)
      expect(packed.headers.get('content-length')).toBe(String(bytes.length))
      expect(packed.headers.get('etag')).not.toBe((await send(address)).headers.get('etag'))
    }
  })
})
