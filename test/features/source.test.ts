/** Recorded and simulated markets of one coin are never mixed, unless that is asked for. */
import { describe, expect, test } from 'bun:test'

import type { Source } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { askDuckDb } from '../support/duckdb.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { conditionIdOf } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'

const WINDOW_MS = 300_000
const START_MS = Math.floor((NOW_MS - 4 * WINDOW_MS) / WINDOW_MS) * WINDOW_MS
const DAY = new Date(START_MS).toISOString().slice(0, 10)
const slug = `btc-updown-5m-${START_MS / 1000}`
const recordedId = conditionIdOf('a')

/** A coin with a simulated market, and where `isRecorded` one of the venue for the same window. */
async function aServer(isRecorded: boolean) {
  const history = openHistory(':memory:')
  const [first] = simulate({
    seed: 'source',
    coins: ['btc'],
    timeframes: ['5m'],
    markets: 1,
    startMs: START_MS,
    statesPerSecond: 0.2,
  })
  const facts = first?.facts ?? []
  for (const fact of facts) await history.putMarket(fact)
  await history.append({ id: 's', source: 'simulated', snapshots: first?.snapshots ?? [] })
  const simulatedId = facts[0]?.conditionId ?? ''
  await history.close(simulatedId)
  if (isRecorded) {
    await history.putMarket({
      conditionId: recordedId,
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      slug,
      windowStartMs: START_MS,
      windowEndMs: START_MS + WINDOW_MS,
    })
    const snapshot: Snapshot = {
      coin: 'btc',
      conditionId: recordedId,
      timeframe: '5m',
      assetId: '7',
      outcome: 'up',
      timestampMs: START_MS + 5000,
      bids: { prices: [490_000], sizes: [10_000_000] },
      asks: { prices: [510_000], sizes: [10_000_000] },
    }
    await history.append({ id: 'r', source: 'recorded', snapshots: [snapshot] })
    await history.close(recordedId)
  }
  return { history, simulatedId, ...createHarness({ history }) }
}

type Row = { source: Source; conditionId: string; slug: string | null }
const panelPath = '/v1/btc/panel?timeframe=5m&offsets=-60s'

describe('source', async () => {
  const mixed = await aServer(true)
  const alone = await aServer(false)
  const rowsOf = async (
    { send }: Awaited<ReturnType<typeof aServer>>,
    path: string,
  ): Promise<Row[]> => {
    const response = await send(path)
    expect(response.status).toBe(200)
    return ((await response.json()) as { data: Row[] }).data
  }

  test.each(['/v1/btc/markets?order=asc', panelPath])(
    'default: %s has recorded markets as soon as there is one, and says what each is',
    async (path) => {
      const sourcesOf = async (server: Awaited<ReturnType<typeof aServer>>, more = '') =>
        (await rowsOf(server, path + more)).map(({ source }) => source)
      expect(await sourcesOf(alone)).toEqual(['simulated'])
      expect(await sourcesOf(mixed)).toEqual(['recorded'])
      expect(await sourcesOf(mixed, '&source=recorded')).toEqual(['recorded'])
      expect(await sourcesOf(mixed, '&source=simulated')).toEqual(['simulated'])
      expect((await sourcesOf(mixed, '&source=all')).sort()).toEqual(['recorded', 'simulated'])
      expect(await sourcesOf(alone, '&source=recorded')).toEqual([])
      const { status, param } = await readProblem(await mixed.send(`${path}&source=real`))
      expect([status, param]).toEqual([400, 'source'])
    },
  )

  test('default: days of coverage count the markets of one source', async () => {
    const countOf = async (more: string) => {
      const response = await mixed.send(
        `/v1/btc/coverage?from=${START_MS}&to=${START_MS + 1}${more}`,
      )
      const { data } = (await response.json()) as {
        data: { markets: number; snapshots: { up: number } }[]
      }
      return data.map(({ markets, snapshots }) => [markets, snapshots.up > 1])
    }
    expect(await countOf('')).toEqual([[1, false]])
    expect(await countOf('&source=simulated')).toEqual([[1, true]])
    expect(await countOf('&source=all')).toEqual([[2, true]])
  })

  test('default: an export of a day has the markets of one source', async () => {
    const idsIn = async (more: string) => {
      const response = await mixed.send(`/v1/btc/export?day=${DAY}${more}`)
      expect(response.status).toBe(200)
      const lines = (await response.text()).trimEnd().split('\n')
      return [...new Set(lines.map((line) => (JSON.parse(line) as Row).conditionId))].sort()
    }
    expect(await idsIn('')).toEqual([recordedId])
    expect(await idsIn('&source=simulated')).toEqual([mixed.simulatedId])
    expect(await idsIn('&source=all')).toEqual([mixed.simulatedId, recordedId].sort())
  })

  test('behavior: tables of the panel have a column that says it', async () => {
    const csv = await (await mixed.send(`${panelPath}&source=all&format=csv`)).text()
    const [head = '', ...rows] = csv.trimEnd().split('\n')
    const at = head.trimEnd().split(',').indexOf('source')
    expect(rows.map((row) => row.split(',')[at]).sort()).toEqual(['recorded', 'simulated'])
    const parquet = await (await mixed.send(`${panelPath}&source=all&format=parquet`)).bytes()
    const file = `/tmp/bookfeed-source-${crypto.randomUUID()}.parquet`
    await Bun.write(file, parquet)
    const found = await askDuckDb(`SELECT source FROM '${file}' ORDER BY source`)
    await Bun.file(file).delete()
    expect(JSON.stringify(found)).toMatch(/recorded.*simulated/)
  })

  test('default: a name of the venue’s is never a simulated market, whose own begins with sim-', async () => {
    for (const server of [alone, mixed]) {
      const [simulated] = await rowsOf(server, '/v1/btc/markets?source=simulated')
      expect(simulated?.slug).toBe(`sim-${slug}`)
      expect(await rowsOf(server, `/v1/btc/markets?slug=sim-${slug}`)).toMatchObject([
        { source: 'simulated' },
      ])
      expect((await server.send(`/v1/btc/markets/sim-${slug}`)).status).toBe(200)
    }
    expect((await alone.send(`/v1/btc/markets/${slug}`)).status).toBe(404)
    expect(await rowsOf(mixed, `/v1/btc/markets?slug=${slug}`)).toMatchObject([
      { source: 'recorded', conditionId: recordedId },
    ])
  })

  test('behavior: ids of simulated markets and tokens have a space of their own', () => {
    const market = alone.history.findMarket(alone.simulatedId)
    const start = '73696d756c61746564'
    const hexOf = (assetId = '') => BigInt(assetId).toString(16)
    expect(alone.simulatedId).toStartWith(`0x${start}00000000000000`)
    expect(hexOf(market?.assetIds.up)).toStartWith(start)
    expect(hexOf(market?.assetIds.down)).toStartWith(start)
    expect(market?.assetIds.up).not.toBe(market?.assetIds.down)
  })
})
