import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { toldTrades } from '../history/books.ts'
import { someLines } from '../support/snapshot-lines.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'
import {
  aGammaMarket,
  aToken,
  aTrade,
  conditionId,
  downId,
  resolved,
  startMs,
  upId,
} from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

const lines = (...values: unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

const header =
  'timestamp,date,hour_utc,minute,outcome,up_price,down_price,btc_open,btc_close,btc_change_pct'
const aTable = (outcome = 'up', startSeconds = startMs / 1000): string =>
  `${header}\n${startSeconds},2026-04-14,8,0,${outcome},1.0,0.0,72815.250,72942.17,0.1743\n`

const snapshots = () => someLines(3, { assetId: downId })

/** What a reader of the history sees of the market, and of nothing else. */
function seen(history: MarketHistory) {
  const market = history.findMarket(conditionId)
  if (market === undefined) return undefined
  const { slug, windowStartMs, winner, winnerSource, strike, finalPrice, tickSize } = market
  const { assetIds, snapshotCounts, question } = market
  const trades = toldTrades(history, { market })
  const facts = {
    slug,
    windowStartMs,
    winner,
    winnerSource,
    strike,
    finalPrice,
    tickSize,
    question,
  }
  return { ...facts, assetIds, snapshotCounts, trades, markets: history.totals().markets }
}

describe('importFiles of facts', () => {
  test('default: each kind of file is known by its content, in any order', async () => {
    const contents = {
      a: aTable(),
      b: JSON.stringify([aGammaMarket()], null, 2),
      c: lines(aTrade(), aTrade({ timestamp: '2026-04-14T08:00:09Z' })),
      d: JSON.stringify([aToken(), aToken({ outcome: 'up', assetId: upId })]),
      e: snapshots(),
    }
    const files = await Promise.all(
      Object.entries(contents).map(([name, content], index) =>
        write(`any-order-${name}`, index % 2 === 0 ? Bun.gzipSync(content) : content),
      ),
    )
    const histories = [aHistory(), aHistory()] as const
    const { report, faults } = await run(files, { history: histories[0] })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ ending: 'complete', files: 5, accepted: 3, entries: 3 })
    expect(report).toMatchObject({
      lastPrices: { accepted: 2, duplicates: 0 },
      waiting: { accepted: 0 },
    })
    expect(seen(histories[0])).toEqual({
      slug: 'btc-updown-5m-1776153600',
      windowStartMs: startMs,
      winner: 'up',
      winnerSource: 'dataset',
      strike: '72815.250',
      finalPrice: '72942.17',
      tickSize: 10_000,
      question: 'Bitcoin Up or Down - April 14, 4:00AM-4:05AM ET',
      assetIds: { up: upId, down: downId },
      snapshotCounts: { up: 0, down: 3 },
      trades: [
        { timestampMs: startMs + 9000, price: 510_000 },
        { timestampMs: startMs + 10_672, price: 510_000 },
      ],
      markets: 1,
    })
    await run(files.toReversed(), { history: histories[1] })
    expect(seen(histories[1])).toEqual(seen(histories[0]))
  })

  test('behavior: the same files again change nothing', async () => {
    const history = aHistory()
    const files = [
      await write('twice.csv', aTable()),
      await write('twice.json', JSON.stringify([aGammaMarket(), aToken()])),
      await write('twice.jsonl', snapshots() + lines(aTrade(), aToken({ winner: 'up' }))),
    ]
    await run(files, { history })
    const before = history.findMarket(conditionId)
    const { report } = await run(files, { history })
    expect(history.findMarket(conditionId)).toEqual(before)
    expect(report).toMatchObject({ accepted: 0, batchesSkipped: 1, documentsSkipped: 1 })
    expect(report).toMatchObject({ facts: { accepted: 0 }, trades: { accepted: 0 } })
  })

  test('behavior: one file may hold lines of every kind', async () => {
    const history = aHistory()
    const [first = '', ...rest] = snapshots().trimEnd().split('\n')
    const text = [lines(aTrade()), first, lines(aGammaMarket()), '', ...rest, lines(aToken())]
    const { report, faults } = await run([await write('mix.jsonl', text.join('\n'))], { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ accepted: 3, lastPrices: { accepted: 1 } })
    expect(seen(history)).toMatchObject({ tickSize: 10_000, snapshotCounts: { down: 3 } })
  })

  test('behavior: pages of the catalogue saved one after the other are read, and objects too', async () => {
    const markets = [1, 2, 3, 4].map((number) =>
      aGammaMarket({ conditionId: `0x${String(number).padStart(64, '0')}`, clobTokenIds: null }),
    )
    const [a, b, c, d] = markets
    const text = `\ufeff ${JSON.stringify([a, b])}\n[]\n${JSON.stringify(c, null, 1)}\n${JSON.stringify({ markets: [d] })}`
    const history = aHistory()
    const { report, faults } = await run([await write('pages.json', text)], { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ entries: 4, facts: { accepted: 4, duplicates: 0 } })
    expect(history.totals().markets).toBe(4)
  })

  test('behavior: a venue’s winner and prices outrank those of a data set, whichever comes first', async () => {
    const table = await write('rank.csv', aTable('down'))
    const prices = { priceToBeat: 7.5, finalPrice: 8.5 }
    const market = aGammaMarket({ ...resolved, outcomePrices: '["0","1"]', eventMetadata: prices })
    const venue = await write('rank.json', JSON.stringify([market]))
    const named = await write('named.json', JSON.stringify([aToken()]))
    for (const order of [
      [venue, table],
      [named, table, venue],
    ]) {
      const history = aHistory()
      for (const file of order) await run([file], { history })
      expect(seen(history)).toMatchObject({ winner: 'down', winnerSource: 'venue' })
      expect(seen(history)).toMatchObject({ strike: '7.5', finalPrice: '8.5' })
    }
  })

  test('behavior: rows of windows without a market are counted, and wait for it', async () => {
    const history = aHistory()
    const table = await write('early.csv', aTable())
    const first = await run([table], { history })
    expect(first.report).toMatchObject({ invalid: 0, ending: 'complete', filesRefused: [] })
    expect(first.report.waiting).toEqual({ accepted: 1, duplicates: 0 })
    expect(history.totals().markets).toBe(0)
    const again = await run([table], { history })
    expect(again.report.waiting).toEqual({ accepted: 0, duplicates: 1 })
    await run([await write('named-later.json', JSON.stringify([aToken()]))], { history })
    const held = { winner: 'up', winnerSource: 'dataset', strike: '72815.250' }
    expect(seen(history)).toMatchObject({ ...held, finalPrice: '72942.17' })
    const known = history.findMarket(conditionId)
    expect(known).toMatchObject({ strikeMs: startMs, finalPriceMs: startMs + 300_000 })
    const second = await run([table], { history })
    expect(second.report).toMatchObject({ facts: { accepted: 0, duplicates: 1 } })
    expect(second.report.waiting).toEqual({ accepted: 0, duplicates: 0 })
    expect(history.findMarket(conditionId)).toEqual(known)
  })

  test('behavior: a row counts for every market of its window, whoever makes it', async () => {
    const history = aHistory()
    const table = await write('several.csv', aTable())
    const facts = {
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs: startMs,
    } as const
    const early = `0x${'e'.repeat(62)}00`
    const late = `0x${'f'.repeat(64)}`
    await history.putMarket({ ...facts, conditionId: early, windowEndMs: startMs + 300_000 })
    await run([table], { history })
    await history.putMarket({ ...facts, conditionId: late })
    // A market whose window is known only later.
    await run([await write('several.jsonl', snapshots())], { history })
    expect(seen(history)).toMatchObject({ winner: undefined })
    await history.putMarket({ ...facts, conditionId, windowEndMs: startMs + 300_000 })
    for (const id of [early, late, conditionId])
      expect(history.findMarket(id)).toMatchObject({ winner: 'up', finalPrice: '72942.17' })
    expect([...history.verify()]).toEqual([])
  })

  test('behavior: windows that have not opened have no outcome to wait with', async () => {
    const history = aHistory()
    const text = `${header}\n${(NOW_MS + 300_000) / 1000},,,,up,,,1,2,\n`
    const { report, faults } = await run([await write('ahead.csv', text)], { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ leftOut: 1, filesRefused: [], waiting: { accepted: 0 } })
  })

  test('behavior: simulated markets do not take the outcomes of recorded ones', async () => {
    const history = aHistory()
    const tokens = await write('simulated.json', JSON.stringify([aToken()]))
    await run([tokens], { history, source: 'simulated' })
    const { report } = await run([await write('recorded.csv', aTable())], { history })
    expect(report).toMatchObject({ waiting: { accepted: 1 }, facts: { accepted: 0 } })
    expect(seen(history)).toMatchObject({ winner: undefined, strike: undefined })
  })

  test('behavior: markets that are not kept are left out with the reason, and are no failure', async () => {
    const hype = { slug: 'nocoin-updown-5m-1782287400' }
    const text = lines(aGammaMarket(hype), aTrade(hype), aToken(hype)) + snapshots()
    const history = aHistory()
    const file = await write('left-out.jsonl', text)
    const { report, faults } = await run([file], { history, isStrict: true })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ ending: 'complete', leftOut: 3, invalid: 0, accepted: 3 })
    expect([...report.leftOutReasons]).toEqual([['nocoin is not a supported coin', 3]])
    expect(history.totals().markets).toBe(1)
  })

  test('behavior: reasons of hostile files stay few', async () => {
    const text = Array.from({ length: 100 }, (_, at) =>
      lines(aTrade({ slug: `c${at}-updown-5m-1` })),
    )
    const { report } = await run([await write('reasons.jsonl', text.join(''))])
    expect(report.leftOut).toBe(100)
    expect(report.leftOutReasons.size).toBe(21)
    expect(report.leftOutReasons.get('other reasons')).toBe(80)
  })

  test('behavior: trades of a market that nobody described make it from its name', async () => {
    const history = aHistory()
    await run([await write('trades.jsonl', lines(aTrade(), aTrade()))], { history })
    expect(history.findMarket(conditionId)).toMatchObject({
      coin: 'btc',
      timeframe: '5m',
      windowEndMs: startMs + 300_000,
      isClosed: false,
    })
    expect(seen(history)?.trades).toEqual([{ timestampMs: startMs + 10_672, price: 510_000 }])
  })
})
