/**
 * Files that engines of backtests load, read back by `read_engine_files.py`, which shares no code with
 * this server. Those tests are skipped, and say so, without python3.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { engineRuns, type EngineStep } from '#src/tables/engine-steps.ts'
import type { Progress } from '#src/tables/ndjson.ts'
import { npzPieces } from '#src/tables/npz.ts'
import { tardisPieces } from '#src/tables/tardis.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  getMarket,
  simulatedSnapshots,
  START_MS,
} from '../history/books.ts'
import { createImportHarness } from '../ingest/import-harness.ts'
import { askDuckDb } from '../support/duckdb.ts'
import { createHarness } from '../support/harness.ts'
import { hasPython, runPython } from '../support/python.ts'

const recordings = '../shared/data/polymarket'
const withoutPython = hasPython ? '' : ' (skipped: python3 is not here)'
const withoutData = existsSync(recordings)
  ? withoutPython
  : ' (skipped: ../shared/data is not here)'
const importing = createImportHarness()
const MINUTES = 60_000
// biome-ignore lint/style/noProcessEnv: how much is tested is not for the product's settings.
const isLong = process.env.CONFORM === 'all'

/** Runs the program against all markets; returns what it counted. */
async function readAll(history: MarketHistory) {
  const { app, key } = createHarness({ history })
  await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
  const program = join(import.meta.dir, 'read_engine_files.py')
  const text = await runPython(program, [server.url.origin, key])
  return JSON.parse(text) as { events: number; rows: number; trades: number }
}

/** Reads all files of imported recordings. */
async function readRecorded(files: string[]) {
  const history = importing.aHistory()
  await importing.run(files, { history })
  return await readAll(history)
}

const PATH = `/v1/btc/markets/${conditionIdOf(1)}/export`

/** A market with a gap, times of receipt out of order, and trades at the times of states. */
async function aMarket() {
  const history = openHistory(':memory:')
  const snapshots = simulatedSnapshots('engines', 300).map((snapshot, index) => ({
    ...snapshot,
    conditionId: conditionIdOf(1),
    timestampMs: START_MS + index * 400 + (index > 150 ? 20_000 : 0),
    receivedMs: START_MS + index * 400 + (index > 150 ? 20_000 : 0) + ((index * 37) % 90) - 10,
  }))
  await appendAll(history, snapshots)
  const trades = snapshots.flatMap(({ timestampMs, outcome }, index) =>
    index % 7 > 1
      ? []
      : [
          {
            timestampMs: timestampMs + (index % 7),
            outcome,
            price: 500_000 + index * 1000,
            size: 1_500_000 + index,
            side: (['buy', 'sell', undefined] as const)[index % 3],
          },
        ],
  )
  await history.putTrades({ id: 'trades', conditionId: conditionIdOf(1), trades })
  return { history, trades }
}

describe('GET …/export for engines', () => {
  test.skipIf(!hasPython)(
    `default: their readers have the quotes of the server, through gaps${withoutPython}`,
    async () => {
      const { history, trades } = await aMarket()
      const counts = await readAll(history)
      expect(counts.trades).toBe(trades.length)
      expect(counts.events).toBeGreaterThan(1000)
      expect(counts.rows).toBeGreaterThan(1000)
    },
  )

  test.skipIf(withoutData !== '')(
    `default: recorded books${withoutData}`,
    async () => {
      const states = `${recordings}/snapshots-btc-5m-1hz-20260413-14.jsonl.gz`
      const { events } = await readRecorded([
        await importing.writeStart(states, 4000),
        `${recordings}/wire-book-frames-btc-5m.jsonl.gz`,
      ])
      expect(events).toBeGreaterThan(50_000)
    },
    10 * MINUTES,
  )

  test.skipIf(withoutData !== '' || !isLong)(
    `default: two days at their full rate${withoutData || (isLong ? '' : ' (skipped: CONFORM=all runs it)')}`,
    async () => {
      const { events } = await readRecorded([
        `${recordings}/snapshots-btc-5m-20260413.jsonl.gz`,
        `${recordings}/snapshots-btc-5m-20260414.jsonl.gz`,
      ])
      expect(events).toBeGreaterThan(1_000_000)
    },
    60 * MINUTES,
  )

  test('behavior: the same data makes the same bytes, of each outcome', async () => {
    const { history } = await aMarket()
    const { send } = createHarness({ history })
    const bytes = async (query: string) => {
      const response = await send(`${PATH}?${query}`)
      expect(response.status).toBe(200)
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      return [name, new Bun.SHA256().update(await response.arrayBuffer()).digest('hex')]
    }
    const up = await bytes('format=npz')
    expect(up[0]).toBe(`${conditionIdOf(1)}-up.npz`)
    expect(await bytes('format=npz&outcome=up')).toEqual(up)
    expect(await bytes('format=npz&outcome=down')).not.toEqual(up)
    expect((await bytes('format=tardis&kind=trades&outcome=down'))[0]).toBe(
      `${conditionIdOf(1)}-down-trades.csv`,
    )
  })

  test('behavior: events that are too many to be kept are read again, and make the same bytes', async () => {
    const { history } = await aMarket()
    const market = getMarket(history)
    const bytesOf = async (keptBytesMax?: number) => {
      const read = (counted: Progress) => engineRuns(history, { market, outcome: 'up' }, counted)
      const progress = { snapshots: 0 }
      const pieces = await Array.fromAsync(npzPieces(read, progress, keptBytesMax))
      return [progress.snapshots, Buffer.concat(pieces).toString('hex')]
    }
    expect(await bytesOf(100)).toEqual(await bytesOf())
  })

  test('behavior: a file of Tardis does not end with a snapshot, even if that is all', async () => {
    const history = openHistory(':memory:')
    await appendAll(history, [aSnapshot()])
    const { send } = createHarness({ history })
    const text = await (await send(`${PATH}?format=tardis`)).text()
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((row) => row.split(',').slice(4).join()),
    ).toEqual([
      'is_snapshot,side,price,amount',
      'true,bid,0.5,1',
      'true,bid,0.49,12.34',
      'true,ask,0.52,1.00001',
      'false,ask,0.52,1.00001',
    ])
  })

  test('behavior: runs without rows of a Tardis file make no pieces, besides the last', async () => {
    async function* runs(): AsyncGenerator<EngineStep[]> {
      for (let run = 0; run < 3; run++) yield []
    }
    const pieces = await Array.fromAsync(tardisPieces(runs(), 'trades', 'asset'))
    const lines = pieces.map((piece) => new TextDecoder().decode(piece))
    expect(lines).toEqual(['exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n', ''])
  })

  test('default: PMXT has a message per row', async () => {
    const { history } = await aMarket()
    const { send } = createHarness({ history })
    const response = await send(`${PATH}?format=pmxt`)
    const name = response.headers.get('content-disposition')
    expect(name).toContain('polymarket_orderbook_2026-04-14T08.parquet')
    const path = await importing.write('pmxt.parquet', new Uint8Array(await response.arrayBuffer()))
    const rows = await askDuckDb(
      `select event_type, count(*)::int n, count(bids)::int books, count(price)::int prices from '${path}' group by 1 order by 1`,
    )
    const whole = (await (
      await send(`${PATH.replace('export', 'changes')}?limit=1000`)
    ).json()) as {
      data: { snapshot: boolean; bids: object[]; asks: object[] }[]
    }
    const books = whole.data.filter(({ snapshot }) => snapshot).length
    const levels = whole.data
      .filter(({ snapshot }) => !snapshot)
      .reduce((sum, { bids, asks }) => sum + bids.length + asks.length, 0)
    const trades = history.trades({ market: getMarket(history), isTrade: true }).length
    expect(rows).toEqual([
      { event_type: 'book', n: books, books, prices: 0 },
      { event_type: 'last_trade_price', n: trades, books: 0, prices: trades },
      { event_type: 'price_change', n: levels, books: 0, prices: levels },
    ])
  })

  test('behavior: an import of PMXT has the same books and trades', async () => {
    const { history } = await aMarket()
    const response = await createHarness({ history }).send(`${PATH}?format=pmxt`)
    const path = await importing.write(
      'again.parquet',
      new Uint8Array(await response.arrayBuffer()),
    )
    const market = getMarket(history)
    const again = importing.aHistory()
    const { coin, timeframe, source, windowStartMs, windowEndMs, assetIds } = market
    const window = { windowStartMs, windowEndMs }
    await again.putMarket({
      conditionId: conditionIdOf(1),
      coin,
      timeframe,
      source,
      ...window,
      assetIds,
    })
    const { report, faults } = await importing.run([path], { history: again, source })
    expect([faults, report.invalid]).toEqual([[], 0])
    const booksOf = async (held: MarketHistory) => {
      const { send } = createHarness({ history: held })
      const path = PATH.replace('export', 'snapshots?limit=1000&fields=timestamp,outcome,bids,asks')
      return ((await (await send(path)).json()) as { data: object[] }).data
    }
    expect(await booksOf(again)).toEqual(await booksOf(history))
    expect(again.trades({ market: getMarket(again), isTrade: true })).toHaveLength(
      history.trades({ market, isTrade: true }).length,
    )
  })

  test.each([
    ['format=npz&shape=levels', 'shape'],
    ['format=tardis&depth=5', 'depth'],
    ['format=npz&include=receivedAt', 'include'],
    ['format=tardis&after=1', 'after'],
    ['format=npz&kind=book', 'kind'],
    ['format=csv&kind=book', 'kind'],
  ])('error: %s', async (query, param) => {
    const history = openHistory(':memory:')
    await appendAll(history, [aSnapshot()])
    const { send } = createHarness({ history })
    const answer = await send(`${PATH}?${query}`)
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { code: 'invalid_parameter', param },
    ])
  })
})
