import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()
const { history, both, edge } = await createMarketHistory()
const { send } = createHarness({ history })

const clock = () => Date.UTC(2027, 0, 1)

/** What a history holds of a market, but for ids. */
function held(of: MarketHistory, conditionId: string) {
  const market = of.findMarket(conditionId)
  if (market === undefined) return undefined
  const { source, slug, winner, assetIds, windowStartMs, timeframe } = market
  const rows = [...snapshotRuns(of, { market })].flat()
  return {
    facts: { source, slug, winner, assetIds, windowStartMs, timeframe },
    rows: rows.map(({ timestampMs, outcome, assetId, bids, asks, receivedMs }) => ({
      timestampMs,
      outcome,
      assetId,
      bids,
      asks,
      receivedMs,
    })),
  }
}

async function download(name: string, address: string) {
  const response = await send(address)
  expect(response.status).toBe(200)
  return await write(name, new Uint8Array(await response.arrayBuffer()))
}

describe('importFiles of our exports', () => {
  test.each([
    ['ndjson', both],
    ['csv', both],
    ['parquet', both],
    ['ndjson', edge],
    ['csv', edge],
    ['parquet', edge],
  ] as const)('default: %s becomes the same rows, with their source', async (format, market) => {
    const { conditionId, path } = market
    const base = path.replace(/\/snapshots$/, '')
    const name = `${conditionId.slice(2, 6)}-${format}`
    const files = [
      await download(`${name}.${format}`, `${base}/export?format=${format}&include=receivedAt`),
      await download(`${name}.json`, base),
    ]
    const target = aHistory()
    const { report, faults } = await run(files, { history: target, clock })
    expect(faults).toEqual([])
    expect(report.accepted).toBe(market.rows.length)
    expect(held(target, conditionId)).toEqual(held(history, conditionId))
    const again = await run(files, { history: target, clock })
    expect([again.faults, again.report.accepted]).toEqual([[], 0])
  })

  test('behavior: a day of several markets, from their list', async () => {
    const day = new Date(history.findMarket(both.conditionId)?.windowStartMs ?? 0)
      .toISOString()
      .slice(0, 10)
    for (const format of ['ndjson', 'csv', 'parquet']) {
      const target = openHistory(':memory:', { chunkCacheBytes: 0, lagMs: 0 })
      const files = [
        await download(`day.${format}`, `/v1/btc/export?day=${day}&format=${format}`),
        await download('markets.json', '/v1/btc/markets'),
      ]
      const { faults } = await run(files, { history: target, clock })
      expect(faults).toEqual([])
      expect(held(target, both.conditionId)).toEqual(held(history, both.conditionId))
    }
  })

  test('error: without its market a table is refused, and says what is missing', async () => {
    const base = both.path.replace(/\/snapshots$/, '')
    const file = await download('alone.csv', `${base}/export?format=csv`)
    const { report, faults } = await run([file], { clock })
    expect(report).toMatchObject({ accepted: 0, filesRefused: [file] })
    expect(faults[0]?.reason).toContain('import its market too')
  })
})
