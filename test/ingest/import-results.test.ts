/** Results as the venue's second protocol and its socket state them. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { parseConditionId } from '#src/domain/market.ts'

import { createImportHarness } from './import-harness.ts'
import { aGammaMarket, aToken, conditionId, downId, upId } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

async function importLines(...lines: object[]) {
  const history = aHistory()
  const files: string[] = []
  for (const own of Map.groupBy(lines, (line) => 'event_type' in line).values()) {
    const text = own.map((line) => JSON.stringify(line)).join('\n')
    files.push(await write(`${crypto.randomUUID()}.jsonl`, text))
  }
  const { report, faults } = await run(files, { history })
  return { market: history.findMarket(conditionId), report, faults }
}

const tokens = [
  aToken({ assetId: upId, outcome: 'up' }),
  aToken({ assetId: downId, outcome: 'down' }),
]
const resolution = {
  event_type: 'market_resolved',
  market: conditionId,
  assets_ids: [upId, downId],
  winning_asset_id: upId,
  winning_outcome: 'Up',
  timestamp: '1776154000000',
}

describe('importFiles of results', () => {
  test('default: a message that a market was resolved names its winner', async () => {
    const { market, faults } = await importLines(...tokens, resolution)
    expect(faults).toEqual([])
    expect(market).toMatchObject({ winner: 'up', winnerSource: 'venue' })
  })

  test('behavior: one of another market, or without a winner, says nothing', async () => {
    const { market, faults } = await importLines(
      ...tokens,
      { ...resolution, market: `0x${'9'.repeat(64)}` },
      { ...resolution, winning_asset_id: '7' },
      { ...resolution, winning_asset_id: '' },
    )
    expect(faults).toEqual([])
    expect(market?.winner).toBeUndefined()
  })

  test('default: a market of the second protocol is won when its resolutionStatus says so', async () => {
    const { market, report } = await importLines(
      aGammaMarket({
        version: 'v2',
        clobTokenIds: null,
        positionIds: [upId, downId],
        closed: true,
        resolutionStatus: 'resolved',
        outcomePrices: '["0", "1"]',
      }),
    )
    expect(market).toMatchObject({ winner: 'down', winnerSource: 'venue' })
    expect(report.withoutVersion).toBe(0)
  })

  test('behavior: a market that states no version is counted, with ids of the second alone too', async () => {
    for (const version of [undefined, '']) {
      const positions = { version, clobTokenIds: null, positionIds: [upId, downId] }
      const { market, report } = await importLines(aGammaMarket(positions))
      expect(market?.assetIds).toEqual({})
      expect(report.withoutVersion).toBe(1)
    }
  })

  const path = '../shared/cases/turn4/in/m2.gamma-v2-resolved.json'
  test.skipIf(!existsSync(path))('default: so is the market of the cases', async () => {
    const history = aHistory()
    await run([path], { history })
    const id = '0x0107c3622f4f711393fc6ff0f0f3d1bc8f0000000000000000000000000000'
    const market = history.findMarket(parseConditionId(id) ?? '')
    expect(market).toMatchObject({ winner: 'up', winnerSource: 'venue' })
  })
})
