import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import {
  appendRows,
  createMarketHistory,
  type KnownMarket,
  rowsAt,
} from '../support/market-history.ts'
import {
  type PageAnswer,
  type Params,
  readPage,
  type Row,
  type Send,
  walk,
} from '../support/page-client.ts'

const rowsOf = (pages: { body: { data: Row[] } }[]) => pages.flatMap(({ body }) => body.data)

/** Time then id, as the text that sorts like it. */
const placeOf = ({ timestamp, id }: Row) => `${timestamp} ${id.padStart(20, '0')}`

function expectSorted(rows: readonly Row[], order: string) {
  const places = rows.map(placeOf)
  const sorted = places.toSorted()
  expect(places).toEqual(order === 'asc' ? sorted : sorted.reverse())
  expect(new Set(places).size).toBe(places.length)
}

describe('a walk of nextCursor', async () => {
  const { history, both, single, open, edge, empty } = await createMarketHistory()
  const { send } = createHarness({ history })
  const markets = { both, single, open, edge, empty }

  for (const [name, market] of Object.entries(markets)) {
    test(`default: gives every row of ${name} once, whatever the limits, order and filters`, async () => {
      const random = createRandom(name)
      for (let round = 0; round < 6; round++) {
        const order = random.pick(['asc', 'desc'] as const)
        const params: Params = { order, ...drawFilter(random, market) }
        const limits = Array.from(
          { length: 5 },
          () => 1 + random.integer(random.pick([3, 60, 200])),
        )
        const pages = await walk(send, market.path, { params, limits })
        const whole = await readPage(send, market.path, { ...params, limit: 1000 })
        expect(rowsOf(pages)).toEqual(whole.body.data)
        expectSorted(whole.body.data, order)
        // Only a list that is empty altogether has an empty page.
        const empties = pages.filter(({ body }) => body.data.length === 0).length
        expect(empties).toBe(whole.body.data.length === 0 ? 1 : 0)
      }
    })
  }

  test('behavior: nextCursor is null exactly at the end, also when the last page is full', async () => {
    for (const order of ['asc', 'desc']) {
      for (const [limit, pages] of [
        [110, 3],
        [330, 1],
        [329, 2],
        [165, 2],
        [1, 330],
      ] as const) {
        const params = { params: { order }, limits: [limit] }
        expect(await walk(send, both.path, params)).toHaveLength(pages)
      }
      for (const outcome of ['up', 'down']) {
        const params = { params: { order, outcome }, limits: [55] }
        expect(await walk(send, both.path, params)).toHaveLength(3)
      }
    }
  })

  test('behavior: descending is ascending from behind', async () => {
    const up = rowsOf(await walk(send, open.path, { limits: [17] }))
    const down = rowsOf(await walk(send, open.path, { params: { order: 'desc' }, limits: [23] }))
    expect(down.reverse()).toEqual(up)
  })
})

describe('a walk while rows are written', () => {
  test.each(Array.from({ length: 4 }, (_, index) => index))(
    'property: skips nothing that was there and repeats nothing (seed %d)',
    async (seed) => {
      const random = createRandom(`writers ${seed}`)
      const { history, both, open } = await createMarketHistory(openHistory(':memory:'))
      const { send } = createHarness({ history })
      const market = seed % 3 === 0 ? both : open
      const order = seed % 2 === 0 ? 'asc' : 'desc'
      const params: Params = seed % 4 < 2 ? { order } : { order, outcome: 'up' }
      const before = (await readPage(send, market.path, { ...params, limit: 1000 })).body.data
      const walked = await walkAmong({ send, market, params, random, history })
      expectSorted(walked, order)
      // A book that another one of its moment had to come before was given another id meanwhile.
      const booksOf = (rows: readonly Row[]) =>
        new Set(rows.map((row) => JSON.stringify({ ...row, id: undefined })))
      expect(booksOf(walked).isSupersetOf(booksOf(before))).toBe(true)
    },
  )

  test('property: a follower of X-Resume-Cursor sees every row once, in order', async () => {
    const random = createRandom('follower')
    const { history, open: market } = await createMarketHistory()
    const { send } = createHarness({ history })
    const seen: Row[] = []
    let place: Params = {}
    for (let step = 0; step < 150; step++) {
      if (step < 140) await appendFresh(history, market, random)
      // The last steps catch up with what is left.
      const page = await readPage(send, market.path, { ...place, limit: 1 + random.integer(99) })
      seen.push(...page.body.data)
      place = { cursor: page.resumeCursor }
    }
    expect(seen).toEqual(rowsOf(await walk(send, market.path, { limits: [1000] })))
    expect(seen).toHaveLength(market.rows.length)
  })
})

describe('a follower of steps', () => {
  const MINUTE_MS = 60_000

  /** Adds a state of both outcomes at each of the times. */
  async function appendBoth(
    history: MarketHistory,
    market: KnownMarket,
    times: readonly number[],
  ): Promise<void> {
    for (const outcome of ['up', 'down'] as const) {
      const last = market.rows.findLast((row) => row.outcome === outcome)
      const rows = rowsAt(market, times)
      await appendRows(
        history,
        market,
        rows.map((row) => ({ ...row, outcome, assetId: last?.assetId ?? '' })),
      )
    }
  }

  test.each(['own', 'consolidated'])(
    'behavior: a running step has no row until it is over, and then its last states once (%s)',
    async (view) => {
      const { history, open: market } = await createMarketHistory()
      const { send } = createHarness({ history })
      const lastMs = market.rows.at(-1)?.timestampMs ?? 0
      const endMs = Math.ceil((lastMs + 1) / MINUTE_MS) * MINUTE_MS
      const params: Params = { interval: '1m', view }
      const timesAfter = async (place: Params) => {
        const page = await readPage(send, market.path, { ...params, ...place })
        expect(page.body.nextCursor).toBeNull()
        const times = page.body.data.map(({ timestamp }) => Date.parse(timestamp))
        return { times, place: { cursor: page.resumeCursor } }
      }
      await appendBoth(history, market, [endMs - 9_000])
      const first = await timesAfter({})
      expect(first.times.every((timeMs) => timeMs <= endMs - MINUTE_MS)).toBe(true)
      await appendBoth(history, market, [endMs - 5_000, endMs])
      const second = await timesAfter(first.place)
      expect(second.times).toEqual([])
      await appendBoth(history, market, [endMs + 4_000])
      const third = await timesAfter(second.place)
      expect(third.times).toEqual([endMs, endMs])
      await history.close(market.conditionId)
      const fourth = await timesAfter(third.place)
      expect(fourth.times).toEqual([endMs + 4_000, endMs + 4_000])
      const whole = await timesAfter({})
      expect(whole.times).toEqual([...first.times, ...third.times, ...fourth.times])
    },
  )

  test.each(['own', 'consolidated'])(
    'property: sees each row of the whole once, while states come in (%s)',
    async (view) => {
      const random = createRandom(`follower of steps ${view}`)
      const { history, open: market } = await createMarketHistory()
      const { send } = createHarness({ history })
      const params: Params = { interval: '5s', view }
      const seen: Row[] = []
      let place: Params = {}
      const read = async (limit: number) => {
        const page = await readPage(send, market.path, { ...params, ...place, limit })
        seen.push(...page.body.data)
        place = { cursor: page.resumeCursor }
        return page.body.nextCursor
      }
      for (let round = 0; round < 80; round++) {
        const lastMs = market.rows.reduce((max, row) => Math.max(max, row.timestampMs), 0)
        await appendBoth(history, market, [lastMs + 1 + random.integer(4_000)])
        await read(1 + random.integer(9))
      }
      await history.close(market.conditionId)
      while ((await read(50)) !== null);
      expect(seen).toEqual(rowsOf(await walk(send, market.path, { params, limits: [1000] })))
      expect(seen.length).toBeGreaterThan(60)
    },
  )
})

function drawFilter(random: Random, { rows }: KnownMarket): Params {
  const params: Params = {}
  if (random.integer(2) === 0) params.outcome = random.pick(['up', 'down'])
  const first = rows[0]?.timestampMs ?? 1
  const span = (rows.at(-1)?.timestampMs ?? 1) - first
  const from = first + random.integer(span + 1)
  if (random.integer(2) === 0) params.from = from
  if (random.integer(2) === 0) params.to = from + 1 + random.integer(span + 2)
  return params
}

async function appendFresh(
  history: MarketHistory,
  market: KnownMarket,
  random: Random,
): Promise<void> {
  const lastMs = market.rows.reduce((max, row) => Math.max(max, row.timestampMs), 0)
  const times = Array.from({ length: random.integer(6) }, () => lastMs + random.integer(3))
  if (times.length > 0)
    await appendRows(
      history,
      market,
      rowsAt(
        market,
        times.sort((a, b) => a - b),
      ),
    )
}

async function appendLate(
  history: MarketHistory,
  market: KnownMarket,
  random: Random,
): Promise<void> {
  const times = Array.from(
    { length: 1 + random.integer(4) },
    () => random.pick(market.rows).timestampMs + random.integer(3) - 1,
  )
  await appendRows(history, market, rowsAt(market, times))
}

type Among = {
  send: Send
  market: KnownMarket
  params: Params
  random: Random
  history: MarketHistory
}

/** Walks to the end; between two pages something is written, anywhere. */
async function walkAmong({ send, market, params, random, history }: Among): Promise<Row[]> {
  const walked: Row[] = []
  let cursor: string | null = null
  let pages = 0
  do {
    const place: Params = cursor === null ? {} : { cursor }
    const limit = 1 + random.integer(40)
    const isChecked = random.integer(4) === 0
    const before = isChecked ? await readPage(send, market.path, { ...params, limit: 1000 }) : null
    const page = await readPage(send, market.path, { ...params, ...place, limit })
    const order = String(params.order)
    if (before !== null) expectNext({ before: before.body.data, page, walked, order })
    walked.push(...page.body.data)
    cursor = page.body.nextCursor
    if (pages++ > 60) continue
    if (random.integer(3) > 0) await appendFresh(history, market, random)
    if (random.integer(4) === 0) await appendLate(history, market, random)
    if (random.integer(15) === 0) await history.close(market.conditionId)
  } while (cursor !== null)
  return walked
}

type Step = { before: readonly Row[]; page: PageAnswer; walked: readonly Row[]; order: string }

/**
 * A page is what lay after the position when it was requested, and
 * `nextCursor` says if there is more.
 */
function expectNext({ before, page, walked, order }: Step): void {
  const last = walked.at(-1)
  const place = last === undefined ? '' : placeOf(last)
  const ahead = before.filter((row) => {
    const isAhead = order === 'asc' ? placeOf(row) > place : placeOf(row) < place
    return last === undefined || isAhead
  })
  const { data, nextCursor } = page.body
  expect(data).toEqual(ahead.slice(0, data.length))
  expect(nextCursor === null).toBe(ahead.length === data.length)
}
