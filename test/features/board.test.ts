import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { MarketFacts } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Board } from '#src/features/board/board.ts'
import { createBoardStream } from '#src/features/board/stream.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Silences } from '#src/history/reads/with-downtime.ts'

import { aSnapshot, conditionIdOf, NO_LEVELS, START_MS } from '../history/books.ts'
import type { followEvents } from '../support/event-client.ts'
import { append, closeAll, putMarket, startServer, WINDOW_MS } from '../support/event-server.ts'
import { addKey, createHarness } from '../support/harness.ts'
import { idOf } from '../support/operation-requests.ts'
import { readProblem } from '../support/page-client.ts'
import { createSilences } from '../support/silences.ts'

afterEach(closeAll)

const PATH = '/v1/board'
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

type Row = Record<string, unknown> & {
  conditionId: string
  average: { price: number; from: string; to: string; isSettlement: boolean } | null
  needed: { price: number; from: string } | null
  recording: Record<string, unknown>
  history: { from: string; stepMs: number; mid: unknown[]; spot: unknown[]; average: unknown[] }
}
type Body = { data: Row[]; nextCursor: null }

const factsOf = (number: number, facts: Partial<MarketFacts> = {}): MarketFacts => ({
  conditionId: conditionIdOf(number),
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: START_MS,
  windowEndMs: START_MS + WINDOW_MS,
  ...facts,
})

let batches = 0

/** As a recorder does. */
const record = (history: MarketHistory, snapshots: readonly Snapshot[]) =>
  history.append({
    id: `board-${++batches}`,
    source: 'recorded',
    snapshots,
    gapReason: 'recorder_down',
  })

/** The time is a minute after the start of the window. */
async function createServer(markets: MarketFacts[] = [factsOf(1)], silences?: Silences) {
  const history = openHistory(':memory:', { lagMs: 0 })
  for (const facts of markets) await history.putMarket(facts)
  const server = createHarness({ history, silences })
  server.time.nowMs = START_MS + 60_000
  const read = async (path = PATH, token = server.key) => {
    const response = await server.sendAs(token, path)
    expect(response.status).toBe(200)
    const text = await response.clone().text()
    return { text, data: ((await response.json()) as Body).data, response }
  }
  const row = async () => (await read()).data[0] as Row
  return { history, ...server, read, row }
}

const ticksOf = (
  prices: readonly [second: number, price: string][],
  series: Partial<SpotTick> = {},
): SpotTick[] =>
  prices.map(([second, price]) => ({
    coin: 'btc',
    source: 'chainlink',
    windowSeconds: 0,
    timestampMs: START_MS + second * 1000,
    price,
    ...series,
  }))

describe('GET /v1/board', () => {
  test('default: is every open window with its book, depth near the mid, price and trades', async () => {
    const { history, read } = await createServer([factsOf(1, { slug: 'btc-1', strike: '64100.5' })])
    const conditionId = conditionIdOf(1)
    const bids = { prices: [530_000, 515_000, 514_000], sizes: [1_500_000, 2_000_000, 9_000_000] }
    const asks = { prices: [540_000, 555_000, 556_000], sizes: [3_000_000, 250_000, 9_000_000] }
    await record(history, [aSnapshot({ timestampMs: START_MS + 100, bids, asks })])
    const trade = { price: 531_000, outcome: 'down', timestampMs: START_MS + 1_000 } as const
    await history.putTrades({
      id: 'trades',
      conditionId,
      trades: [
        { ...trade, size: 2_500_000 },
        { ...trade, timestampMs: START_MS + 59_000, size: 1_000_000 },
        // Ahead of our clock.
        { ...trade, timestampMs: START_MS + 61_000, size: 1_000_000 },
      ],
    })
    await history.putSpot(ticksOf([[59, '64120.25']]))
    const { text, response } = await read()
    const window = `"windowStart":"${iso(START_MS)}","windowEnd":"${iso(START_MS + WINDOW_MS)}"`
    const spot = `{"price":64120.25,"source":"chainlink","windowSeconds":0,"timestamp":"${iso(START_MS + 59_000)}"}`
    const book = `"bookOf":"up","timestamp":"${iso(START_MS + 100)}","bid":0.53,"ask":0.54,"mid":0.535,"spread":0.01,"bidDepth":3.5,"askDepth":3.25`
    expect(text).toContain(
      `{"data":[{"conditionId":"${conditionId}","symbol":"btc","timeframe":"5m","source":"recorded","slug":"btc-1",${window},"settlementRule":null,"strike":64100.5,"spot":${spot},"average":null,"needed":null,${book},"volume":3.5,"trades":2,"recording":{`,
    )
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
    expect(response.headers.get('x-coverage')).toStartWith('partial;')
  })

  test('behavior: a book of down alone is shown as orders for up', async () => {
    const { history, row } = await createServer()
    const bids = { prices: [400_000, 390_000], sizes: [1_000_000, 2_000_000] }
    const asks = { prices: [410_000], sizes: [5_000_000] }
    await record(history, [aSnapshot({ outcome: 'down', timestampMs: START_MS + 5, bids, asks })])
    const { bookOf, bid, ask, mid, bidDepth, askDepth } = await row()
    expect([bookOf, bid, ask, mid]).toEqual(['down', 0.59, 0.6, 0.595])
    expect([bidDepth, askDepth]).toEqual([5, 3])
  })

  test('behavior: without a side there is no mid, spread or depth; a crossed book has a negative spread', async () => {
    const { history, row, advance } = await createServer()
    await record(history, [aSnapshot({ timestampMs: START_MS, asks: NO_LEVELS })])
    expect(await row()).toMatchObject({ ask: null, mid: null, spread: null, bidDepth: null })
    const asks = { prices: [495_000], sizes: [1_000_000] }
    await record(history, [aSnapshot({ timestampMs: START_MS + 1, asks })])
    advance(250)
    expect(await row()).toMatchObject({ spread: -0.005, mid: 0.4975 })
  })

  test('behavior: has the coins of the tier, and of one length where that is asked for', async () => {
    const { history, ledger, read, sendAs } = await createServer([
      factsOf(1),
      factsOf(2, { timeframe: '15m', windowEndMs: START_MS + 900_000 }),
      factsOf(3, { coin: 'eth' }),
      factsOf(4, { coin: 'sol', windowEndMs: START_MS + 10_000 }),
    ])
    const listed = async (path?: string, token?: string) =>
      (await read(path, token)).data.map(({ conditionId }) => conditionId)
    const [five, fifteen, eth] = [conditionIdOf(1), conditionIdOf(2), conditionIdOf(3)]
    expect(await listed()).toEqual([five, fifteen, eth])
    expect(await listed(PATH, addKey(ledger, 'free'))).toEqual([five, fifteen])
    expect(await listed(PATH, 'sample')).toEqual([five, fifteen])
    expect(await listed(`${PATH}?timeframe=15m`)).toEqual([fifteen])
    expect((await sendAs(undefined, PATH)).status).toBe(401)
    await history.close(five)
  })

  test('behavior: is read again after a quarter of a second, whoever asks', async () => {
    const { history, read, ledger, advance, send } = await createServer()
    await record(history, [aSnapshot({ timestampMs: START_MS })])
    const other = addKey(ledger, 'free')
    const first = await read()
    await record(history, [aSnapshot({ timestampMs: START_MS + 1, asks: NO_LEVELS })])
    await putMarket(history, 2, { source: 'recorded' })
    advance(249)
    expect((await read(PATH, other)).text).toBe(first.text)
    const etag = first.response.headers.get('etag') ?? ''
    expect((await send(PATH, { headers: { 'if-none-match': etag } })).status).toBe(304)
    advance(1)
    const next = await read(PATH, other)
    expect(next.data).toHaveLength(2)
    expect(next.data[0]).toMatchObject({ ask: null })
    expect((await send(PATH, { headers: { 'if-none-match': etag } })).status).toBe(200)
  })

  test('behavior: trades that come late are counted, each once', async () => {
    const { history, row, advance } = await createServer()
    await record(history, [aSnapshot({ timestampMs: START_MS })])
    const put = (id: string, seconds: number[]) =>
      history.putTrades({
        id,
        conditionId: conditionIdOf(1),
        trades: seconds.map((second) => ({
          timestampMs: START_MS + second * 1000,
          price: 500_000,
          size: second * 1_000_000,
        })),
      })
    await put('a', [10, 58])
    expect(await row()).toMatchObject({ trades: 2, volume: 68 })
    await put('b', [57])
    advance(1_000)
    expect(await row()).toMatchObject({ trades: 3, volume: 125 })
    for (let passed = 0; passed < 20; passed++) {
      await put(`c${passed}`, [61 + passed])
      advance(1_000)
      await row()
    }
    expect(await row()).toMatchObject({ trades: 23, volume: 125 + 1410 })
  })

  test('behavior: without a size there is no volume', async () => {
    const { history, row } = await createServer()
    const trade = { timestampMs: START_MS + 1, price: 500_000, outcome: 'up' } as const
    // A last trade price is no trade.
    const trades = [trade, { timestampMs: START_MS + 2, price: 500_000 }]
    await history.putTrades({ id: 'a', conditionId: conditionIdOf(1), trades })
    expect(await row()).toMatchObject({ trades: 1, volume: null })
  })
})

describe('what led to it', () => {
  test('default: sixty points of a window, each as of its moment, up to now', async () => {
    const { history, row, advance } = await createServer()
    await record(
      history,
      [0, 4_999, 5_001, 9_000].map((ms, index) =>
        aSnapshot({
          timestampMs: START_MS + ms,
          bids: { prices: [100_000 * (index + 1)], sizes: [1] },
          asks: { prices: [100_000 * (index + 1) + 10_000], sizes: [1] },
        }),
      ),
    )
    // A state each second, so that there is no gap.
    await record(
      history,
      Array.from({ length: 50 }, (_, index) =>
        aSnapshot({ timestampMs: START_MS + 12_000 + index * 1000 }, index + 1),
      ),
    )
    await history.putSpot(
      ticksOf([
        [0, '64000.00'],
        [10, '64010.00'],
        [11, '1.00'],
      ]),
    )
    const { history: points } = await row()
    expect([points.from, points.stepMs]).toEqual([iso(START_MS), 5_000])
    // That of a minute may still change.
    expect(points.mid).toHaveLength(12)
    expect(points.mid.slice(0, 4)).toEqual([0.105, 0.205, 0.405, 0.51])
    expect(points.spot.slice(0, 4)).toEqual([64_000, 64_000, 64_010, 1])
    advance(2_000)
    expect((await row()).history.mid).toHaveLength(13)
    advance(240_000 - 2_001)
    expect((await row()).history.mid).toHaveLength(60)
  })

  test('behavior: in a gap, and where the price is old, there is no point', async () => {
    const { history, row, time, advance } = await createServer()
    await record(history, [
      aSnapshot({ timestampMs: START_MS }),
      aSnapshot({ timestampMs: START_MS + 30_000 }, 7),
    ])
    await history.putSpot(ticksOf([[0, '64000.00']]))
    time.nowMs = START_MS + 72_500
    advance(250)
    const { mid, spot } = (await row()).history
    expect(mid).toEqual([0.51, null, null, null, null, null, 0.51, ...Array(8).fill(null)])
    expect(spot).toEqual([...Array(13).fill(64_000), null, null])
  })
})

describe('the state of the recording', () => {
  test('default: is recorded, in a gap with its reason and start, or not recorded', async () => {
    const { history, row, advance } = await createServer([factsOf(1, { source: 'simulated' })])
    expect((await row()).recording).toEqual({
      state: 'none',
      reason: null,
      since: null,
      covered: 0,
    })
    for (let second = 0; second < 60; second++)
      for (const outcome of ['up', 'down'] as const)
        await append(history, [
          aSnapshot({ outcome, timestampMs: START_MS + second * 1000 }, second + 1),
        ])
    advance(250)
    expect((await row()).recording).toEqual({
      state: 'recorded',
      reason: null,
      since: null,
      covered: 1,
    })
    advance(10_000)
    expect((await row()).recording).toMatchObject({
      state: 'gap',
      reason: 'venue_silent',
      since: iso(START_MS + 59_001),
      covered: 0.839,
    })
  })
})

describe('damage', () => {
  const opened: { history: MarketHistory; folder: string }[] = []
  afterEach(async () => {
    await closeAll()
    for (const { history, folder } of opened.splice(0)) {
      history.dispose()
      rmSync(folder, { recursive: true })
    }
  })

  /** Market 1 has a sealed chunk, 2 and 3 an unfinished run; 3 is of Ether. */
  async function openDamaged(statement: string): Promise<MarketHistory> {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-board-'))
    const path = join(folder, 'history.db')
    const history = openHistory(path)
    for (const [number, rows] of [
      [1, 100],
      [2, 3],
      [3, 3],
    ] as const) {
      const coin = number === 3 ? 'eth' : 'btc'
      await history.putMarket(
        factsOf(number, { coin, slug: `window-${number}`, strike: '64100.5' }),
      )
      const named = { conditionId: conditionIdOf(number), coin } as const
      await record(
        history,
        Array.from({ length: rows }, (_, at) =>
          aSnapshot({ ...named, timestampMs: START_MS + 100 + at }),
        ),
      )
    }
    await history.putSpot(ticksOf([[59, '64120.25']]))
    await history.putSpot(ticksOf([[59, '3120.25']], { coin: 'eth' }))
    history.dispose()
    const db = openDatabase(path)
    db.run(statement)
    db.close()
    const damaged = openHistory(path, { lagMs: 0 })
    opened.push({ history: damaged, folder })
    return damaged
  }

  const statesOf = (rows: readonly Row[]) =>
    rows.map(({ conditionId, recording }) => [conditionId, recording.state])

  for (const [what, statement, damaged] of [
    ['chunk', 'UPDATE chunk SET rows = zeroblob(length(rows))', [1]],
    [
      'unfinished row',
      "UPDATE tail SET frame = zeroblob(length(frame)) WHERE market_id = (SELECT id FROM market WHERE slug = 'window-2')",
      [2],
    ],
    [
      'price',
      "UPDATE spot SET price = '1' WHERE rowid = (SELECT rowid FROM spot ORDER BY rowid LIMIT 1)",
      [1, 2],
    ],
  ] as const) {
    test(`error: a damaged ${what} leaves the other windows, and its own says so`, async () => {
      const history = await openDamaged(statement)
      const { time, key, sendAs } = createHarness({ history })
      time.nowMs = START_MS + 60_000
      const response = await sendAs(key, PATH)
      expect(response.status).toBe(200)
      const { data } = (await response.json()) as Body
      expect(statesOf(data)).toEqual(
        [1, 2, 3].map((number) => [
          conditionIdOf(number),
          damaged.some((each) => each === number) ? 'damaged' : 'gap',
        ]),
      )
      const [number] = damaged
      expect(data[number - 1]).toMatchObject({
        slug: `window-${number}`,
        windowStart: iso(START_MS),
        strike: 64_100.5,
        spot: null,
        average: null,
        needed: null,
        bookOf: null,
        mid: null,
        volume: null,
        trades: null,
        recording: { state: 'damaged', reason: null, since: null, covered: null },
        history: null,
      } as never)
      expect(data[2]).toMatchObject({ mid: 0.51, spot: { price: 3120.25 }, trades: 0 } as never)
      // Of the windows that are shown, each with three gaps.
      expect(response.headers.get('x-coverage')).toContain(`gaps=${3 * (3 - damaged.length)};`)
    })
  }

  test('error: a follower gets the other windows, and the damaged one says so', async () => {
    const history = await openDamaged('UPDATE chunk SET rows = zeroblob(length(rows))')
    const { follow } = await startServer({ history, timer: () => performance.now() })
    const client = await follow('/v1/board/live')
    await client.until(() => client.events().some(({ name }) => name === 'board'))
    const [first] = client.events().filter(({ name }) => name === 'board')
    expect(statesOf((first?.data as Change | undefined)?.data ?? [])).toEqual([
      [conditionIdOf(1), 'damaged'],
      [conditionIdOf(2), 'gap'],
      [conditionIdOf(3), 'gap'],
    ])
  })
})

describe('the settlement average so far', () => {
  const rule = { settlementRule: 'twap60' } as const
  const seconds = (from: number, to: number, price: (second: number) => number) =>
    Array.from({ length: to - from + 1 }, (_, at): [number, string] => [
      from + at,
      price(from + at).toFixed(2),
    ])

  test('default: before the settlement it is what the feed publishes', async () => {
    const { history, row } = await createServer([factsOf(1, rule)])
    await history.putSpot(ticksOf([[58, '64050.125']], { windowSeconds: 60 }))
    await history.putSpot(ticksOf([[59, '1.00']]))
    expect((await row()).average).toEqual({
      price: 64_050.125,
      from: iso(START_MS - 2_000),
      to: iso(START_MS + 58_000),
      source: 'chainlink',
      isSettlement: false,
    } as never)
  })

  test('behavior: without such a feed it is made of prices, each of which holds until the next', async () => {
    const { history, row } = await createServer([factsOf(1, rule)])
    await history.putSpot(ticksOf(seconds(0, 60, (second) => (second < 30 ? 100 : 200))))
    await history.putSpot(
      ticksOf(
        seconds(0, 60, () => 1),
        { source: 'binance' },
      ),
    )
    expect((await row()).average).toMatchObject({ price: 150, source: 'chainlink' })
  })

  test('default: in the last minute what is published decides', async () => {
    const { history, row, time } = await createServer([factsOf(1, rule)])
    time.nowMs = START_MS + 260_000
    await history.putSpot(ticksOf(seconds(190, 260, (second) => 64_000 + second)))
    await history.putSpot(ticksOf([[259, '9.00']], { windowSeconds: 60 }))
    await history.putSpot(ticksOf([[260, '8.00']], { windowSeconds: 60, source: 'pyth' }))
    expect((await row()).average).toEqual({
      price: 9,
      from: iso(START_MS + 199_000),
      to: iso(START_MS + 259_000),
      source: 'chainlink',
      isSettlement: true,
    } as never)
  })

  test.each(['pyth', 'binance', 'venue'])(
    'behavior: what %s says is no settlement',
    async (source) => {
      const { history, row, time } = await createServer([factsOf(1, rule)])
      time.nowMs = START_MS + 260_000
      await history.putSpot(
        ticksOf(
          seconds(190, 260, () => 100),
          { source },
        ),
      )
      await history.putSpot(ticksOf([[260, '9.00']], { windowSeconds: 60, source }))
      expect((await row()).average).toBeNull()
    },
  )

  test('behavior: without what is published it is of the prices since the last minute began', async () => {
    const { history, row, time } = await createServer([factsOf(1, rule)])
    time.nowMs = START_MS + 260_000
    await history.putSpot(
      ticksOf(seconds(190, 260, (second) => (second < 240 ? 1 : 64_000 + second))),
    )
    const { average } = await row()
    // 240 to 259, each for a second.
    expect(average).toMatchObject({
      price: 64_249.5,
      from: iso(START_MS + 240_000),
      to: iso(START_MS + 260_000),
      isSettlement: true,
    })
  })

  test('behavior: is of half a minute by that rule', async () => {
    const { history, row } = await createServer([factsOf(1, { settlementRule: 'twap30' })])
    await history.putSpot(ticksOf(seconds(0, 60, (second) => (second < 30 ? 100 : 200))))
    expect((await row()).average).toMatchObject({ price: 200, from: iso(START_MS + 30_000) })
  })

  test('behavior: is null while the copy is behind, because prices of it may be missing', async () => {
    const { since, silences } = createSilences()
    const { history, row, time } = await createServer([factsOf(1, rule)], silences)
    await history.putSpot(ticksOf(seconds(0, 60, () => 100)))
    expect((await row()).average).toMatchObject({ price: 100 })
    since.copy = time.nowMs - 3000
    time.timerMs += 1000
    expect((await row()).average).toBeNull()
    since.copy = undefined
    time.timerMs += 1000
    expect((await row()).average).toMatchObject({ price: 100 })
  })

  test('behavior: is null where prices are missing, and where no average settles', async () => {
    const { history, row } = await createServer([factsOf(1, rule)])
    await history.putSpot(ticksOf(seconds(0, 40, () => 100)))
    expect((await row()).average).toBeNull()
    const candle = await createServer([factsOf(1, { settlementRule: 'binance-1h' })])
    await candle.history.putSpot(ticksOf(seconds(0, 60, () => 100)))
    expect((await candle.row()).average).toBeNull()
  })

  test('default: what the rest must be makes the average the strike, and a cent less does not', async () => {
    const end = WINDOW_MS / 1000
    const swing = (second: number) => 64_000 + 7 * Math.sin(second)
    for (const strike of [64_003.17, 63_990, 64_000.005]) {
      for (const now of [241, 260, 273, 299]) {
        const { history, row, time } = await createServer([
          factsOf(1, { ...rule, strike: String(strike) }),
          // It ends at the same time, and has another strike.
          factsOf(2, { ...rule, strike: '1.00', timeframe: '15m' }),
        ])
        time.nowMs = START_MS + now * 1000
        await history.putSpot(ticksOf(seconds(239, now, swing)))
        const { needed } = await row()
        expect(needed?.from).toBe(iso(time.nowMs))
        const digits = strike === 64_000.005 ? 3 : 2
        const step = 10 ** -digits
        const averageWith = (rest: number): number => {
          const prices = seconds(240, end - 1, (second) => (second < now ? swing(second) : rest))
          // The price at the beginning of each second holds for it.
          return (
            prices.reduce(
              (sum, [second, price]) => sum + (second < now ? Number(price) : rest),
              0,
            ) / 60
          )
        }
        const price = needed?.price ?? 0
        expect(averageWith(price)).toBeGreaterThanOrEqual(strike - 1e-9)
        expect(averageWith(price - step)).toBeLessThan(strike)
      }
    }
  })

  test('behavior: nothing is needed before the last minute, without a strike, or without prices', async () => {
    const strike = '64000.00'
    const { history, row, time } = await createServer([factsOf(1, { ...rule, strike })])
    time.nowMs = START_MS + 240_000
    await history.putSpot(ticksOf(seconds(180, 240, () => 64_000)))
    expect((await row()).needed).toBeNull()
    time.nowMs = START_MS + 260_000
    time.timerMs += 1_000
    expect((await row()).needed).toBeNull()
    const without = await createServer([factsOf(1, rule)])
    without.time.nowMs = START_MS + 260_000
    await without.history.putSpot(ticksOf(seconds(230, 260, () => 64_000)))
    expect((await without.row()).needed).toBeNull()
  })

  test('behavior: simulated prices are for simulated windows alone', async () => {
    const simulated = { source: 'simulated' } as const
    const { history, row } = await createServer([factsOf(1, { ...rule, ...simulated })])
    await history.putSpot(ticksOf(seconds(0, 60, () => 100)))
    expect((await row()).average).toBeNull()
    const other = await createServer([factsOf(1, { ...rule, ...simulated })])
    await other.history.putSpot(
      ticksOf(
        seconds(0, 60, () => 100),
        simulated,
      ),
    )
    expect((await other.row()).average).toMatchObject({ price: 100 })
  })
})

type Change = { time: string; data: Row[]; closed: string[] }

describe('GET /v1/board/live', () => {
  async function live() {
    let skippedMs = 0
    const server = await startServer({ timer: () => performance.now() + skippedMs })
    const skip = (ms: number) => {
      server.time.nowMs += ms
      skippedMs += ms
    }
    return { ...server, skip }
  }
  const changesOf = (client: Pick<ReturnType<typeof followEvents>, 'events'>) =>
    client
      .events()
      .filter(({ name }) => name === 'board')
      .map(({ data }) => data as Change)

  test('default: all rows first, then those that changed, and windows that closed', async () => {
    const { history, follow, time } = await live()
    await putMarket(history, 2)
    await append(history, [aSnapshot({ timestampMs: START_MS })])
    const client = await follow('/v1/board/live')
    expect(client.response.headers.get('content-type')).toBe('text/event-stream')
    await client.until(() => changesOf(client).length > 0)
    const [first] = changesOf(client)
    expect(first?.data.map(({ conditionId }) => conditionId)).toEqual([
      conditionIdOf(1),
      conditionIdOf(2),
    ])
    expect(first?.closed).toEqual([])
    expect(first?.data[0]).not.toHaveProperty('history')
    await append(history, [aSnapshot({ timestampMs: START_MS + 1, asks: NO_LEVELS })])
    await client.until(() => changesOf(client).length > 1)
    expect(changesOf(client)[1]).toMatchObject({
      data: [{ conditionId: conditionIdOf(1), ask: null }],
      closed: [],
    })
    expect(changesOf(client)[1]?.data).toHaveLength(1)
    time.nowMs = START_MS + WINDOW_MS
    await client.until(() => changesOf(client).some(({ closed }) => closed.length > 0))
    expect(changesOf(client).at(-1)).toEqual({
      time: iso(START_MS + WINDOW_MS),
      data: [],
      closed: expect.arrayContaining([conditionIdOf(1), conditionIdOf(2)]),
    })
  })

  test('behavior: a window that opens comes by itself, of the coins and the length that are followed', async () => {
    const { history, follow } = await live()
    const client = await follow('/v1/board/live?timeframe=15m')
    await client.until(() => changesOf(client).length > 0)
    expect(changesOf(client)).toEqual([{ time: iso(START_MS + 60_000), data: [], closed: [] }])
    await putMarket(history, 3)
    await putMarket(history, 2, { timeframe: '15m' })
    await client.until(() => changesOf(client).length > 1)
    expect(changesOf(client)[1]?.data.map(({ conditionId }) => conditionId)).toEqual([
      conditionIdOf(2),
    ])
  })

  test('behavior: a stream that begins later has the rows as they are then, and gets each change after', async () => {
    const { history, follow, send } = await live()
    await append(history, [aSnapshot({ timestampMs: START_MS })])
    const first = await follow('/v1/board/live')
    await first.until(() => changesOf(first).length > 0)
    await append(history, [aSnapshot({ timestampMs: START_MS + 1 }, 2_000_000)])
    await first.until(() => changesOf(first).length > 1)
    const second = await follow('/v1/board/live')
    await second.until(() => changesOf(second).length > 0)
    await append(history, [aSnapshot({ timestampMs: START_MS + 2, asks: NO_LEVELS })])
    // Read for a page, between two rounds of the stream.
    await Bun.sleep(260)
    await send('/v1/board')
    const third = await follow('/v1/board/live')
    for (const client of [third, second, first]) {
      await client.until(() => changesOf(client).at(-1)?.data[0]?.ask === null)
      expect(changesOf(client).at(-1)?.data).toMatchObject([{ ask: null }])
    }
  }, 300_000)

  test('behavior: when nothing changes, an event says which moment that is', async () => {
    const { follow, skip } = await live()
    const client = await follow('/v1/board/live')
    await client.until(() => changesOf(client).length > 0)
    skip(5_000)
    await client.until(() => changesOf(client).length > 1)
    expect(changesOf(client).at(-1)).toEqual({
      time: iso(START_MS + 65_000),
      data: [],
      closed: [],
    })
  }, 300_000)

  test('behavior: is read twice a second, however long reading takes', async () => {
    let nowMs = 0
    const begunMs: number[] = []
    let end: { atMs: number; resolve: () => void } | undefined
    const board = {
      version: 0,
      refresh() {
        begunMs.push(nowMs)
        const { promise, resolve } = Promise.withResolvers<void>()
        end = { atMs: nowMs + 200, resolve }
        return promise
      },
      printChanges: () => undefined,
    } as unknown as Board
    const timer = () => nowMs
    const stream = createBoardStream({ board, timer, clock: timer })
    stream.open({ timeframe: undefined, coins: () => ['btc'], leave: () => undefined }, ['btc'])
    for (; nowMs < 5_000; nowMs += 4) {
      stream.tick()
      if (end !== undefined && nowMs >= end.atMs) end.resolve()
      await Promise.resolve()
    }
    expect(begunMs.length).toBeGreaterThanOrEqual(10)
    expect(Math.max(...begunMs.slice(1).map((ms, at) => ms - (begunMs[at] ?? 0)))).toBeLessThan(520)
  })

  test('behavior: ends when the key does, and takes a place among the streams of the account', async () => {
    const { ledger, follow, send, time, skip } = await live()
    const key = addKey(ledger, 'free')
    const headers = { authorization: `Bearer ${key}` }
    const client = await follow('/v1/board/live', headers)
    await client.until(() => changesOf(client).length > 0)
    const second = await send('/v1/board/live', { headers })
    expect(await readProblem(second)).toMatchObject({
      status: 429,
      code: 'too_many_streams',
      title: 'Too many streams at once',
      detail: expect.stringContaining('1 live connection of this account is running'),
    })
    await ledger.revokeKey(idOf(ledger, key), { actor: 'operator', nowMs: time.nowMs })
    skip(5_000)
    await client.ended
    expect(client.events().at(-1)).toMatchObject({ name: 'end', data: { code: 'unauthenticated' } })
    const again = await send('/v1/board/live')
    expect(again.status).toBe(200)
  }, 300_000)

  test('behavior: the sample follows its coins, and a server that stops ends the stream', async () => {
    const { history, app, follow } = await live()
    await putMarket(history, 2, { coin: 'eth', source: 'recorded' })
    const client = await follow('/v1/board/live', { authorization: 'Bearer sample' })
    await client.until(() => changesOf(client).length > 0)
    expect(changesOf(client)[0]?.data.map(({ symbol }) => symbol)).toEqual(['btc'])
    app.drain()
    await client.ended
    expect(client.text()).toStartWith('retry:3000\n\n')
    expect(client.events().map(({ name }) => name)).not.toContain('end')
  })

  test('behavior: a window of which the copy knows nothing new says so, and closes by the clock', async () => {
    const { since, silences } = createSilences()
    const { history, follow, time } = await startServer({
      timer: () => performance.now(),
      silences,
    })
    await append(history, [aSnapshot({ timestampMs: START_MS })])
    const client = await follow('/v1/board/live')
    await client.until(() => changesOf(client).length > 0)
    since.copy = time.nowMs
    time.nowMs += 5000
    const reasons = () =>
      changesOf(client).flatMap(({ data }) => data.map(({ recording }) => recording.reason))
    await client.until(() => reasons().includes('replica_behind'))
    time.nowMs += 1_000_000
    await client.until(() => changesOf(client).some(({ closed }) => closed.length > 0))
  })
})
