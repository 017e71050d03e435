import { describe, expect, test } from 'bun:test'

import { marketPosition } from '#src/domain/cursor.ts'
import { createMarketFinder, parseConditionId } from '#src/domain/market.ts'

import { someLines } from '../support/snapshot-lines.ts'
import { createImportHarness } from './import-harness.ts'
import { aGammaMarket, aToken, aTrade, downId } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

/** The venue's newer markets have ids of 31 bytes. */
const shortId = `0x${'3c'.repeat(31)}`
/** One form for both that the venue uses. */
const keptId = `${shortId}00`
const wrongIds = [30, 33].map((bytes) => `0x${'3c'.repeat(bytes)}`)

describe('condition ids', () => {
  test.each([
    [shortId, keptId],
    [shortId.toUpperCase().replace('X', 'x'), keptId],
    [keptId, keptId],
    [`0x${'3c'.repeat(32)}`, `0x${'3c'.repeat(32)}`],
    [`0x${'3'.repeat(63)}`, undefined],
    [`0x${'3g'.repeat(31)}`, undefined],
    ['3c'.repeat(32), undefined],
    ...wrongIds.map((id) => [id, undefined] as const),
  ])('default: %s is read as %s', (text, id) => expect(parseConditionId(text)).toBe(id))

  test('default: a market with one of 31 bytes is imported: books, facts and trades', async () => {
    const history = aHistory()
    const changes = { conditionId: shortId }
    const objects = [aGammaMarket(changes), aToken(changes), aTrade(changes)]
    const text = objects.map((object) => `${JSON.stringify(object)}\n`).join('')
    const lines = someLines(3, { assetId: downId, ...changes })
    const { report, faults } = await run([await write('short.jsonl', lines + text)], { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ accepted: 3, lastPrices: { accepted: 1 }, invalid: 0 })
    const market = history.findMarket(keptId)
    expect(market).toMatchObject({ conditionId: keptId, snapshotCounts: { up: 0, down: 3 } })
    if (market === undefined) return
    const place = { orderMs: market.orderMs, conditionId: market.conditionId }
    expect(marketPosition.decode(marketPosition.encode(place))).toEqual(place)
  })

  test('behavior: either form names a market, also one that an earlier version stored as it came', async () => {
    const history = aHistory()
    const facts = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
    await history.putMarket({ ...facts, conditionId: keptId, slug: 'kept' })
    const before = `0x${'4d'.repeat(31)}`
    await history.putMarket({ ...facts, conditionId: before, slug: 'before' })
    const find = createMarketFinder(history)
    for (const name of [keptId, shortId, shortId.toUpperCase().replace('X', 'x')])
      expect(find(name)?.slug).toBe('kept')
    expect(find(before)?.slug).toBe('before')
  })

  test('error: any other length is refused, in a book as in a fact', async () => {
    const reason = 'conditionId: not 0x and 62 or 64 hex digits'
    for (const conditionId of wrongIds) {
      const text = `${someLines(1, { conditionId })}${JSON.stringify(aGammaMarket({ conditionId }))}\n`
      const { faults } = await run([await write('wrong.jsonl', text)])
      expect(faults).toMatchObject([
        { line: 1, reason },
        { line: 2, reason },
      ])
    }
  })
})
