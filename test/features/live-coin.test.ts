import { afterEach, describe, expect, test } from 'bun:test'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import {
  append,
  closeAll,
  gzip,
  plain,
  putMarket,
  startServer,
  WINDOW_MS,
} from '../support/event-server.ts'

afterEach(closeAll)

describe('GET …/live of a coin', () => {
  for (const headers of [plain, gzip]) {
    const coding = headers['accept-encoding']
    test(`behavior: rows of every market, also of those that open, whoever connects again, ${coding}`, async () => {
      const { history, follow, time } = await startServer()
      await putMarket(history, 2, { timeframe: '15m', windowEndMs: START_MS + 3 * WINDOW_MS })
      const inMarket = (number: number, timestampMs: number, size: number) => {
        const timeframe = number === 2 ? ('15m' as const) : ('5m' as const)
        return aSnapshot({ conditionId: conditionIdOf(number), timeframe, timestampMs }, size)
      }
      await append(history, [inMarket(1, START_MS, 10_000), inMarket(2, START_MS, 10_000)])
      const client = await follow('/v1/btc/live', headers)
      await client.until(() => client.events().length === 2)
      for (let row = 1; row <= 30; row++)
        await append(history, [inMarket(1 + (row % 2), START_MS + row, row * 10_000)])
      await client.until(() => client.rows().length === 30)
      const seen = client.rows()[9]?.id ?? ''
      await client.leave()
      // One ends, another one opens, and both go on while nobody is there.
      await putMarket(history, 1, { winner: 'up', winnerSource: 'simulated' })
      await append(history, [inMarket(1, START_MS + 50, 70_000)])
      time.nowMs = START_MS + WINDOW_MS
      const windowStartMs = START_MS + WINDOW_MS
      await putMarket(history, 3, { windowStartMs, windowEndMs: windowStartMs + WINDOW_MS })
      await append(history, [inMarket(3, windowStartMs, 10_000)])
      const again = await follow('/v1/btc/live', { ...headers, 'last-event-id': seen })
      await again.until(() => again.rows().length === 22)
      await putMarket(history, 4, { windowStartMs, windowEndMs: windowStartMs + WINDOW_MS })
      await append(history, [inMarket(4, windowStartMs + 1, 10_000)])
      time.nowMs += 500
      await again.until(() => again.events().some(({ name }) => name === 'snapshot'))
      await append(history, [inMarket(4, windowStartMs + 2, 20_000)])
      await again.until(() => again.rows().length === 23)
      const idsOf = (number: number, events: typeof client.events) =>
        events()
          .filter(({ data, name }) => name === 'row' && data.conditionId === conditionIdOf(number))
          .map(({ data }) => data.timestamp)
      const first = client.rows().slice(0, 10)
      for (const number of [1, 2]) {
        const all = [...idsOf(number, () => first), ...idsOf(number, again.events)]
        const more = number === 1 ? 16 : 15
        expect([number, all.length, new Set(all).size]).toEqual([number, more, more])
      }
      expect([idsOf(3, again.events).length, idsOf(4, again.events).length]).toEqual([1, 1])
      expect(again.events().map(({ name }) => name)).toContainValues([
        'market_resolved',
        'market_open',
      ])
    })
  }

  test.each([plain, gzip])(
    'behavior: one that opens begins with its last rows and goes on from there, in %o',
    async (headers) => {
      const { history, follow, time } = await startServer()
      const windowStartMs = START_MS + WINDOW_MS
      const conditionId = conditionIdOf(2)
      await putMarket(history, 2, { windowStartMs, windowEndMs: windowStartMs + WINDOW_MS })
      const write = (afterMs: number, outcome: 'up' | 'down' = 'up') =>
        append(history, [
          aSnapshot({ conditionId, outcome, timestampMs: windowStartMs + afterMs }, 10_000),
        ])
      const client = await follow('/v1/btc/live', headers)
      await client.until(() => client.text() !== '')
      // It is recorded before its window begins, and so is a gap that has ended.
      for (let row = 20; row > 0; row--) await write(-row * 1000, row % 2 ? 'up' : 'down')
      const gap = { outcome: 'up', reason: 'venue_silent' } as const
      const ended = { ...gap, fromMs: windowStartMs - 9500, toMs: windowStartMs - 9400 }
      await history.putGaps(conditionId, [ended])
      time.nowMs = windowStartMs
      const ofIt = () => client.events().filter(({ data }) => data.conditionId === conditionId)
      await client.until(() => ofIt().length === 3)
      await write(5)
      await client.until(() => client.rows().length === 1)
      expect(ofIt().map(({ name }) => name)).toEqual(['market_open', 'snapshot', 'snapshot', 'row'])
      const times = ofIt().map(({ data }) => Date.parse(String(data.timestamp)) - windowStartMs)
      expect(times.slice(1)).toEqual([-2000, -1000, 5])
      // Whoever has the last of them goes on after it; before, the market is sent from its start.
      const [, part, last] = ofIt()
      expect(part?.id).toBeUndefined()
      await client.leave()
      const again = await follow('/v1/btc/live', { ...headers, 'last-event-id': last?.id ?? '' })
      await again.until(() => again.rows().length === 1)
      expect(again.rows()[0]?.data).toEqual(ofIt()[3]?.data ?? {})
    },
  )

  test('behavior: who comes back is told what opened, and gets all of what was resolved', async () => {
    const { history, follow, time } = await startServer()
    await append(history, [aSnapshot()])
    const client = await follow('/v1/btc/live')
    await client.until(() => client.events().length === 1)
    const seen = client.events()[0]?.id ?? ''
    await client.leave()
    // The second and the third open; the second is resolved, and the third has no row yet.
    for (const number of [2, 3]) {
      const windowStartMs = START_MS + (number - 1) * WINDOW_MS
      const ending = { winner: 'up', winnerSource: 'simulated' } as const
      const windowEndMs = windowStartMs + WINDOW_MS
      await putMarket(history, number, { windowStartMs, windowEndMs, ...(number === 2 && ending) })
    }
    const conditionId = conditionIdOf(2)
    const timesMs = [START_MS + WINDOW_MS - 1, START_MS + WINDOW_MS, START_MS + WINDOW_MS + 5]
    await append(
      history,
      timesMs.map((timestampMs) => aSnapshot({ conditionId, timestampMs }, 10_000)),
    )
    await putMarket(history, 1, { winner: 'up', winnerSource: 'simulated' })
    time.nowMs = START_MS + 2 * WINDOW_MS
    const again = await follow('/v1/btc/live', { ...plain, 'last-event-id': seen })
    await again.until(() => again.events().length === 7)
    const told = again.events().map(({ name, data }) => [name, data.conditionId])
    expect(told).toEqual([
      ...[2, 3].map((number) => ['market_open', conditionIdOf(number)]),
      ['market_resolved', conditionIdOf(1)],
      ...timesMs.map(() => ['row', conditionId]),
      ['market_resolved', conditionId],
    ])
  })

  test('behavior: only markets of a timeframe', async () => {
    const { history, follow } = await startServer()
    await putMarket(history, 2, { timeframe: '15m', windowEndMs: START_MS + 3 * WINDOW_MS })
    const conditionId = conditionIdOf(2)
    await append(history, [aSnapshot(), aSnapshot({ conditionId, timeframe: '15m' })])
    const client = await follow('/v1/btc/live?timeframe=15m&channel=quotes')
    await client.until(() => client.events().length === 1)
    expect(client.events()[0]?.data).toMatchObject({ outcome: 'up' })
  })

  for (const channel of ['quotes', 'prices', 'trades']) {
    test.each([plain, gzip])(
      `behavior: each row of ${channel} names its market, made once for all, in %o`,
      async (headers) => {
        const { history, follow, send, app } = await startServer()
        await putMarket(history, 2)
        const ids = [1, 2].map(conditionIdOf)
        async function write(row: number): Promise<void> {
          const timestampMs = START_MS + row
          const trade = { timestampMs, price: row * 10_000, outcome: 'up' as const }
          for (const conditionId of ids) {
            await history.putTrades({ id: `${row} ${conditionId}`, conditionId, trades: [trade] })
            await append(history, [aSnapshot({ conditionId, timestampMs }, row * 10_000)])
          }
        }
        await write(1)
        const path = `/v1/btc/live?channel=${channel}`
        const clients = await Promise.all([1, 2, 3].map(() => follow(path, headers)))
        for (const client of clients) await client.until(() => client.text() !== '')
        for (let row = 2; row < 6; row++) await write(row)
        const listed = await Promise.all(
          ids.map(async (conditionId) => {
            const response = await send(`/v1/btc/markets/${conditionId}/${channel}`)
            const { data } = (await response.json()) as { data: object[] }
            return data.map((row) => JSON.stringify({ conditionId, ...row }))
          }),
        )
        for (const { events, until: wait } of clients) {
          const rows = () => events().filter(({ name }) => /^(row|snapshot)$/.test(name))
          await wait(() => rows().length >= listed.flat().length)
          const got = rows().map(({ data }) => data)
          const own = ids.map((id) => got.filter(({ conditionId }) => conditionId === id))
          expect(own.map((each) => each.map((row) => JSON.stringify(row)))).toEqual(listed)
        }
        expect(listed.map(({ length }) => length)).toEqual([5, 5])
        expect(app.live.counts).toEqual({ groups: 1, subscribers: 3 })
      },
    )
  }
})
