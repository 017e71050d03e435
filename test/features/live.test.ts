import { afterEach, describe, expect, test } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, createBookMaker, START_MS } from '../history/books.ts'
import { followEvents } from '../support/event-client.ts'
import {
  append,
  closeAll,
  gzip,
  plain,
  putMarket,
  startServer,
  WINDOW_MS,
} from '../support/event-server.ts'
import { addKey } from '../support/harness.ts'
import { idOf } from '../support/operation-requests.ts'
import { readProblem } from '../support/page-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const PATH = `/v1/btc/markets/${conditionIdOf(1)}`

/** States of both outcomes. */
function randomStates(random: Random): Snapshot[] {
  const makers = { up: createBookMaker(random), down: createBookMaker(random) }
  return Array.from({ length: 60 + random.integer(500) }, (_, index) => {
    const outcome: Outcome = random.integer(2) ? 'up' : 'down'
    return aSnapshot({ outcome, timestampMs: START_MS + index * 7, ...makers[outcome]() })
  })
}

/** Writes states in batches of any size, at any time. */
async function writeAll(history: MarketHistory, random: Random, states: Snapshot[]): Promise<void> {
  while (states.length > 0) {
    await append(history, states.splice(0, 1 + random.integer(40)))
    await Bun.sleep(random.integer(4))
  }
}

/** Follows from a cursor of a route, and compares with what the route has after it. */
async function walkAndFollow(random: Random, channel: string): Promise<void> {
  const { history, follow, send } = await startServer()
  const states = randomStates(random)
  const written = 1 + random.integer(states.length - 1)
  await append(history, states.splice(0, written))
  const outcome = random.pick(['', '&outcome=up', '&outcome=down'])
  const asked = random.integer(2) && channel === 'snapshots' ? `${outcome}&depth=2` : outcome
  const read = async (query: string): Promise<unknown[]> => {
    const response = await send(`${PATH}/${channel}?limit=1000&${query}${asked}`)
    return ((await response.json()) as { data: unknown[] }).data
  }
  const first = await send(`${PATH}/${channel}?limit=${1 + random.integer(written)}${asked}`)
  const cursor = first.headers.get('x-resume-cursor') ?? ''
  const headers = { ...random.pick([plain, gzip]), 'last-event-id': cursor }
  const client = await follow(`${PATH}/live?channel=${channel}${asked}`, headers)
  await writeAll(history, random, states)
  const data = await read(`cursor=${cursor}`)
  await client.until(() => client.rows().length >= data.length)
  expect(client.rows().map((each) => each.data)).toEqual(data as never)
  // The id of an event is a cursor here and there.
  const at = random.integer(data.length)
  const id = client.rows()[at]?.id ?? cursor
  const after = data.slice(at + 1)
  expect(await read(`cursor=${id}`)).toEqual(after)
  const later = await follow(`${PATH}/live?channel=${channel}&cursor=${id}${asked}`)
  await later.until(() => later.rows().length >= after.length)
  expect(later.events().map((each) => each.data)).toEqual(after as never)
}

describe('GET …/live of a market', () => {
  for (const headers of [plain, gzip]) {
    const coding = headers['accept-encoding']
    test(`default: the last rows first, then each as it is written, as the route answers it, ${coding}`, async () => {
      const { history, follow, send } = await startServer()
      await append(history, [aSnapshot({}, 10_000)])
      const client = await follow(`${PATH}/live`, headers)
      await client.until(() => client.events().length === 1)
      await append(history, [aSnapshot({ timestampMs: START_MS + 5 }, 20_000)])
      await client.until(() => client.events().length === 2)
      const { data } = (await (await send(`${PATH}/snapshots`)).json()) as { data: object[] }
      expect(client.events().map((each) => each.name)).toEqual(['snapshot', 'row'])
      expect(client.events().map((each) => each.data)).toEqual(data as never)
      expect(client.text()).toStartWith('retry:3000\n')
      expect(client.response.headers.get('content-type')).toBe('text/event-stream')
      expect(client.response.headers.get('content-encoding')).toBe(headers === gzip ? 'gzip' : null)
    })
  }

  for (const channel of ['snapshots', 'quotes', 'prices'] as const) {
    test(`behavior: from any cursor, whatever is written meanwhile, ${channel} are those of the route`, async () => {
      const random = createRandom(`live ${channel}`)
      for (let round = 0; round < 3; round++) await walkAndFollow(random, channel)
    })
  }

  test('behavior: whoever is cut off among the first snapshots gets all of them again', async () => {
    const { history, follow } = await startServer()
    await putMarket(history, 2, { timeframe: '15m', windowEndMs: START_MS + 3 * WINDOW_MS })
    const conditionId = conditionIdOf(2)
    await append(history, [aSnapshot(), aSnapshot({ outcome: 'down', timestampMs: START_MS + 5 })])
    await append(history, [aSnapshot({ conditionId, timeframe: '15m' })])
    let row = 0
    for (const headers of [plain, gzip]) {
      for (const [path, count] of [
        [`${PATH}/live`, 2],
        ['/v1/btc/live?channel=quotes', 3],
      ] as const) {
        const client = await follow(path, headers)
        await client.until(() => client.events().length === count)
        const ids = client.events().map(({ id }) => id)
        // A client continues from the last id that it has, or from nowhere.
        expect(ids).toEqual([...Array(count - 1).fill(undefined), expect.any(String)])
        await append(history, [aSnapshot({ timestampMs: START_MS + 9 + ++row }, row * 70_000)])
        const again = await follow(path, { ...headers, 'last-event-id': ids.at(-1) ?? '' })
        await again.until(() => again.events().length === 1)
        expect(again.events()[0]).toMatchObject({ name: 'row', data: { outcome: 'up' } })
      }
    }
  })

  test('behavior: trades come as they are written', async () => {
    const { history, follow } = await startServer()
    const client = await follow(`${PATH}/live?channel=trades`)
    await client.until(() => client.text() !== '')
    const trades = [1, 2].map((at) => ({
      timestampMs: START_MS + 5,
      price: 500_000,
      outcome: 'up' as const,
      size: at * 1_000_000,
      side: 'buy' as const,
    }))
    await history.putTrades({ id: 'trades', conditionId: conditionIdOf(1), trades })
    await client.until(() => client.rows().length === 2)
    expect(client.rows().map(({ data }) => data.size)).toEqual([1, 2])
    const again = await follow(`${PATH}/live?channel=trades&cursor=${client.rows()[0]?.id}`)
    await again.until(() => again.rows().length === 1)
    expect(again.rows()[0]?.data.size).toBe(2)
  })

  test('behavior: gaps and what becomes of the market are said', async () => {
    const { history, follow, time } = await startServer()
    await append(history, [aSnapshot()])
    let told = 0
    for (const headers of [plain, gzip]) {
      const client = await follow(`${PATH}/live`, headers)
      await client.until(() => client.events().length > 0)
      const gap = { outcome: 'up', fromMs: START_MS + 10, reason: 'venue_silent' } as const
      await history.putGaps(conditionIdOf(1), [{ ...gap, toMs: START_MS + 20 + told++ }])
      await client.until(() => client.events().some(({ name }) => name === 'gap'))
      expect(client.events().at(-1)?.data).toMatchObject({ reason: 'venue_silent', outcome: 'up' })
    }
    const client = await follow(`${PATH}/live`, gzip)
    await client.until(() => client.events().length > 0)
    await putMarket(history, 1, { strike: '7', strikeSource: 'simulated', strikeMs: START_MS })
    await client.until(() => client.events().at(-1)?.name === 'market_update')
    time.nowMs = START_MS + WINDOW_MS
    await client.until(() => client.events().at(-1)?.name === 'market_closed')
    await putMarket(history, 1, { winner: 'up', winnerSource: 'simulated', question: 'Über “Up”?' })
    await client.until(() => client.events().some(({ name }) => name === 'market_resolved'))
    expect(client.events().at(-1)?.data).toMatchObject({ winner: 'up', question: 'Über “Up”?' })
  })

  test.each(['snapshots', 'quotes'])(
    'behavior: gaps come between the rows, of %s',
    async (channel) => {
      const { history, follow, send } = await startServer()
      const at = (index: number) => START_MS + index * 10
      const rows = Array.from({ length: 350 }, (_, index) => index)
      await append(
        history,
        rows.map((index) => aSnapshot({ timestampMs: at(index) }, (index + 1) * 10_000)),
      )
      const gap = { outcome: 'up', reason: 'venue_silent', toMs: at(350) } as const
      await history.putGaps(
        conditionIdOf(1),
        [at(40) + 5, at(250)].map((fromMs) => ({ ...gap, fromMs })),
      )
      const first = await send(`${PATH}/${channel}?outcome=up&order=asc&limit=1`)
      const path = `${PATH}/live?channel=${channel}&outcome=up&cursor=`
      const client = await follow(path + first.headers.get('x-resume-cursor'), gzip)
      await client.until(() => client.events().length >= 351)
      const told = client
        .events()
        .map(({ name, data }) => (name === 'gap' ? data.from : data.timestamp))
      const times = [...rows.slice(1).map(at), at(40) + 5, at(250)].sort((a, b) => a - b)
      expect(told).toEqual(times.map((ms) => new Date(ms).toISOString()))
    },
  )

  test('behavior: a comment line is sent while nothing happens', async () => {
    const { follow, advance } = await startServer()
    for (const headers of [plain, gzip]) {
      const client = await follow(`${PATH}/live?heartbeat=5`, headers)
      await client.until(() => client.text() !== '')
      const before = client.text().length
      advance(5000)
      await client.until(() => client.text().length > before)
      expect(client.text().slice(before)).toMatch(/^:\n(:.\n)?\n$/)
    }
  })

  test('behavior: those who follow the same are written once', async () => {
    const { history, follow, app } = await startServer()
    await append(history, [aSnapshot(), aSnapshot({ outcome: 'down' })])
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => follow(`${PATH}/live`, gzip)))
    for (let row = 1; row < 20; row++) {
      await append(history, [aSnapshot({ timestampMs: START_MS + row }, row * 10_000)])
      if (row === 10) clients.push(await follow(`${PATH}/live`, gzip))
      await Bun.sleep(2)
    }
    await append(history, [aSnapshot({ outcome: 'down', timestampMs: START_MS + 99 }, 70_000)])
    await append(history, [aSnapshot({ timestampMs: START_MS + 99 }, 70_000)])
    const last = new Date(START_MS + 99).toISOString()
    const isLast = ({ data }: { data: Record<string, unknown> }) => data.timestamp === last
    for (const client of clients)
      await client.until(() => client.rows().filter(isLast).length === 2)
    await until(() => app.live.counts.groups === 1)
    expect(app.live.counts).toEqual({ groups: 1, subscribers: 6 })
    for (const client of clients.slice(1, 5))
      expect(client.events()).toEqual(clients[0]?.events() ?? [])
    app.drain()
    for (const client of clients) await client.ended
    // Whole: the checksum of gzip holds for each.
    for (const client of clients) expect(client.text()).toMatch(/\nretry:\d{4}\n/)
    expect(app.live.counts).toEqual({ groups: 0, subscribers: 0 })
  })

  test('behavior: who reads slowly goes on alone, gets every row, and joins the others again', async () => {
    const { history, follow, app, key } = await startServer()
    await append(history, [aSnapshot(), aSnapshot({ outcome: 'down' })])
    const fast = await follow(`${PATH}/live`, plain)
    const headers = { authorization: `Bearer ${key}` }
    const slow = await app.fetch(new Request(`http://localhost${PATH}/live`, { headers }))
    const levels = Array.from({ length: 90 }, (_, level) => (level + 1) * 10_000)
    const book = { prices: levels, sizes: levels.map((size) => size * 7) }
    const write = (row: number, outcome: Outcome = 'up') =>
      append(history, [
        aSnapshot({ outcome, asks: book, timestampMs: START_MS + row }, row * 10_000),
      ])
    for (let row = 1; row <= 200; row++) await write(row)
    await fast.until(() => fast.rows().length === 200)
    await until(() => app.live.counts.groups === 2)
    expect(app.live.counts).toEqual({ groups: 2, subscribers: 2 })
    const late = followEvents(slow)
    await late.until(() => late.rows().length === 200)
    expect(late.rows().map(({ id }) => id)).toEqual(fast.rows().map(({ id }) => id))
    await until(() => app.live.counts.groups === 1)
    await late.leave()
    await until(() => app.live.counts.subscribers === 1)
  })

  test('usage: every byte that was sent is counted within ten seconds, and the request once', async () => {
    const { history, follow, app, advance, ledger } = await startServer()
    const client = await follow(`${PATH}/live`, plain)
    const accountId = ledger.listKeys()[0]?.accountId ?? ''
    const counted = async () => {
      await app.flushUsage()
      return ledger.usageOf(accountId, '2026-01-01').map(({ requests, bytes }) => [requests, bytes])
    }
    for (let row = 1; row <= 20; row++) {
      await append(history, [aSnapshot({ timestampMs: START_MS + row }, row * 10_000)])
      await client.until(() => client.rows().length === row)
    }
    advance(10_000)
    await until(async () => (await counted())[0]?.[1] === client.text().length)
    expect(await counted()).toEqual([[1, client.text().length]])
  })

  test('error: what cannot be followed is refused as everywhere', async () => {
    const { send, sendAs, ledger, history, url, app } = await startServer()
    await append(history, [aSnapshot()])
    const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code
    expect(await codeOf(await sendAs(undefined, `${PATH}/live`))).toBe('unauthenticated')
    const free = addKey(ledger, 'free')
    expect(await codeOf(await sendAs(free, `${PATH}/live`))).toBe('tier_route')
    expect(await codeOf(await sendAs(free, `${PATH}/live?channel=quotes`))).toBe('tier_route')
    const followFree = () =>
      fetch(`${url}${PATH}/live?channel=prices`, { headers: { authorization: `Bearer ${free}` } })
    const open = await followFree()
    const refused = await followFree()
    expect([open.status, await codeOf(refused)]).toEqual([200, 'too_many_streams'])
    await open.body?.cancel()
    await until(() => app.live.counts.subscribers === 0)
    expect((await followFree()).status).toBe(200)
    expect(await codeOf(await send(`${PATH}/live?cursor=x`))).toBe('cursor_invalid')
    const inHeader = await send(`${PATH}/live`, { headers: { 'last-event-id': 'x' } })
    expect(await readProblem(inHeader)).toMatchObject({
      code: 'cursor_invalid',
      param: 'Last-Event-ID',
    })
    expect(await codeOf(await send(`${PATH}/live?channel=quotes&depth=3`))).toBe(
      'invalid_parameter',
    )
    const { headers } = await send(`${PATH}/snapshots?outcome=up`)
    const cursor = headers.get('x-resume-cursor')
    expect(await codeOf(await send(`${PATH}/live?cursor=${cursor}`))).toBe('cursor_mismatch')
  })

  test('error: a key that has ended ends its streams', async () => {
    const { ledger, url, advance, sendAs } = await startServer()
    const key = addKey(ledger, 'pro')
    const response = await fetch(`${url}${PATH}/live`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const client = followEvents(response)
    await client.until(() => client.text() !== '')
    await ledger.revokeKey(idOf(ledger, key), { actor: 'operator', nowMs: START_MS })
    advance(10_000)
    await client.ended
    expect(client.text()).toContain('retry:')
    expect((await sendAs(key, `${PATH}/live`)).status).toBe(401)
  })
})
