import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

import type { MarketHistory } from '#src/history/history.ts'
import type { StoredMarket } from '#src/history/tables/market-table.ts'
import { createRandom } from '#src/platform/random.ts'

import { toldTrades } from '../history/books.ts'
import { aRecord, someLines } from '../support/snapshot-lines.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'
import {
  aGammaMarket,
  aToken,
  aTrade,
  conditionId,
  downId,
  resolved,
  slug,
  startMs,
  upId,
} from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

const data = new URL('../../../shared/data/polymarket/', import.meta.url).pathname
const hasData = existsSync(data)

const toLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** A market as the catalogue prints one that has traded, flat: its event is in it. */
const aTradedMarket = (changes: Record<string, unknown> = {}) =>
  aGammaMarket({
    ...resolved,
    outcomePrices: '["1", "0"]',
    questionID: `0x${'79'.repeat(32)}`,
    liquidity: '1654.53',
    volume: '98123.416241',
    volumeNum: 98123.416241,
    lastTradePrice: 0.99,
    bestBid: 0.98,
    bestAsk: 1,
    spread: 0.02,
    oneDayPriceChange: 0.49,
    orderMinSize: 5,
    feeSchedule: { exponent: 1, rate: 0.07, takerOnly: true, rebateRate: 0.2 },
    closedTime: '2026-04-14 08:05:21+00',
    umaResolutionStatuses: '["proposed", "resolved"]',
    events: [{ id: '625005', slug, eventMetadata: { priceToBeat: 1e5, finalPrice: 100012.5 } }],
    ...changes,
  })

/** Books that also carry members that make other things of other objects. */
const someBooks = (): Record<string, unknown>[] =>
  someLines(12, { assetId: downId, slug, lastTradePrice: '0.510', question: 'Up?', market: 'x' })
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** All that a reader sees of the market. */
function seen(history: MarketHistory) {
  const market = history.findMarket(conditionId)
  if (market === undefined) return undefined
  // The sums hold the ids of rows, which follow the order of their acceptance.
  const { revision, id, layout, isClosed, tradeSum, gapSum, ...facts } = market as StoredMarket
  const rows = [...snapshotRuns(history, { market })].flat().map(({ id: _, ...row }) => row)
  return { facts, rows, trades: toldTrades(history, { market }), markets: history.totals().markets }
}

describe('the kind of an object', () => {
  test.each([
    ['an array', (text: string) => `[${text}]`],
    ['an object over several lines', (text: string) => JSON.stringify(JSON.parse(text), null, 2)],
    ['a line', (text: string) => `${text}\n`],
    ['a line after a trade', (text: string) => `${toLines([aTrade()])}${text}\n`],
    ['a line after a book', (text: string) => `${someLines(1, { assetId: downId })}${text}\n`],
  ])('default: a market that has traded is a market as %s', async (form, print) => {
    const history = aHistory()
    const file = await write(`traded-${form}`, print(JSON.stringify(aTradedMarket())))
    const { report, faults } = await run([file], { history })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ facts: { accepted: 1 }, invalid: 0, filesRefused: [] })
    expect(history.findMarket(conditionId)).toMatchObject({
      assetIds: { up: upId, down: downId },
      winner: 'up',
      winnerSource: 'venue',
      strike: '100000',
      finalPrice: '100012.5',
      tickSize: 10_000,
    })
  })

  test.skipIf(!hasData)(
    'default: a market of the venue is one, with what it has once it traded',
    async () => {
      const fixture: Record<string, unknown> = await Bun.file(
        `${data}fixture-gamma_market_updown.json`,
      ).json()
      const market = {
        ...fixture,
        slug: 'btc-updown-5m-1782287400',
        lastTradePrice: 0.52,
        volume: '12.5',
        timestamp: '2026-06-24T07:51:00.000Z',
      }
      const history = aHistory()
      const file = await write('fixture.json', JSON.stringify(market, null, 2))
      const { faults } = await run([file], { history })
      expect(faults).toEqual([])
      expect(history.findMarket(String(fixture.conditionId))).toMatchObject({
        windowStartMs: Date.UTC(2026, 5, 24, 7, 50),
        tickSize: 10_000,
      })
    },
  )

  test('default: a book is a book, whatever else it carries and whatever was before it', async () => {
    const histories = [aHistory(), aHistory(), aHistory()] as const
    const contents = [
      toLines(someBooks()),
      toLines([aTrade(), ...someBooks()]),
      toLines(someBooks().flatMap((book) => [aToken(), book, aTradedMarket(), aTrade()])),
    ]
    for (const [index, content] of contents.entries()) {
      const history = histories[index] ?? aHistory()
      const { report, faults } = await run([await write(`books-${index}`, content)], { history })
      expect(faults).toEqual([])
      expect(report).toMatchObject({ accepted: 12, invalid: 0 })
      expect(report.lastPrices.accepted).toBe(index === 0 ? 0 : 1)
    }
    expect(seen(histories[1])?.rows).toEqual(seen(histories[0])?.rows as never)
    expect(seen(histories[2])?.rows).toEqual(seen(histories[0])?.rows as never)
  })

  test('behavior: mixed lines say the same in every order', async () => {
    const random = createRandom('orders of lines')
    const trades = Array.from({ length: 12 }, (_, index) =>
      aTrade({ timestamp: startMs + index * 1000, lastTradePrice: `0.5${index}` }),
    )
    const faulty = [
      {},
      { bids: [] },
      { ...aRecord(), clobTokenIds: '[]' },
      { text: 'text' },
      aToken({ outcome: 1 }),
    ]
    const mixed = [...someBooks(), ...trades, aTradedMarket(), aToken(), ...faulty]
    const lines = mixed.map((value) => JSON.stringify(value))
    const first = aHistory()
    const { faults } = await run([await write('order', lines.join('\n'))], { history: first })
    const reasonOf = (line: string, found: typeof faults, order: readonly string[]) =>
      found.find(({ line: number }) => order[(number ?? 0) - 1] === line)?.reason
    expect(faults).toHaveLength(faulty.length)
    for (let round = 0; round < 30; round++) {
      const order = lines
        .map((line) => ({ line, place: random.uniform() }))
        .sort((a, b) => a.place - b.place)
        .map(({ line }) => line)
      const history = aHistory()
      const file = await write(`order-${round}`, order.join('\n'))
      const { faults: found } = await run([file], { history })
      expect(seen(history)).toEqual(seen(first) as never)
      for (const line of lines) {
        expect(reasonOf(line, found, order)).toBe(reasonOf(line, faults, lines) as never)
      }
    }
  })

  test.each<[unknown, string]>([
    [{}, 'is none of: '],
    [{ lastTradePrice: '0.5' }, 'is none of: '],
    [aTrade({ timestamp: undefined }), 'is none of: '],
    [aTrade({ bids: [] }), 'is none of: '],
    [aToken({ assetId: undefined }), 'is none of: '],
    [{ market: 'x', price: '0.5' }, 'is none of: '],
    [{ ...aRecord(), ...aTradedMarket() }, 'fits both a snapshot (bids, asks) and the venue'],
    [{ ...aRecord(), markets: [] }, "fits both a snapshot (bids, asks) and the venue's event"],
    [{ ...aTradedMarket(), markets: [] }, "fits both the venue's event (markets) and the venue"],
    [aToken({ outcomePrices: '["1","0"]' }), "fits both the venue's market ("],
    [{ markets: 'none' }, 'markets: not an array'],
  ])('error: %j is named as a line and as an entry', async (value, reason) => {
    const text = JSON.stringify(value)
    const name = String(Bun.hash(text))
    const good = JSON.stringify(aToken())
    const files = [
      await write(`${name}.jsonl`, `${text}\n`),
      await write(`${name}-after.jsonl`, `${good}\n${text}\n`),
      await write(`${name}-book.jsonl`, `${someLines(1)}${text}\n`),
      await write(`${name}.json`, `[${text}]`),
    ]
    for (const file of files) {
      const { report, faults } = await run([file])
      expect(faults).toHaveLength(1)
      expect(faults[0]?.reason).toStartWith(reason)
      const isAlone = !file.endsWith('-after.jsonl') && !file.endsWith('-book.jsonl')
      expect(report).toMatchObject({ invalid: 1, filesRefused: isAlone ? [file] : [] })
    }
  })

  test('behavior: how a key is written changes nothing', async () => {
    const escaped = JSON.stringify(aRecord({ clobTokenIds: '[]' })).replace('clobT', 'clob\\u0054')
    for (const before of ['', toLines([aTrade()])]) {
      const { faults, report } = await run([
        await write(`escaped${before.length}`, before + escaped),
      ])
      expect(report.accepted).toBe(0)
      expect(faults[0]?.reason).toStartWith('fits both a snapshot')
    }
  })

  test.skipIf(!hasData)(
    'behavior: recorded books between trades are all kept, as without these',
    async () => {
      const text = gunzipSync(readFileSync(`${data}snapshots-btc-5m-1hz-20260413-14.jsonl.gz`))
      const books = text.toString().split('\n', 200)
      const plain = aHistory()
      const mixed = aHistory()
      await run([await write('recorded', books.join('\n'))], { history: plain })
      const among = books.flatMap((book) => [JSON.stringify(aTrade()), book])
      const { report } = await run([await write('among', among.join('\n'))], { history: mixed })
      expect(report).toMatchObject({ accepted: 200, invalid: 0 })
      expect(mixed.totals().snapshots).toBe(plain.totals().snapshots)
    },
  )
})
