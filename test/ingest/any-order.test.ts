/** Whatever is imported in whatever order, split and repetition, the routes answer the same. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/lib/random.ts'

import { createHarness } from '../support/harness.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

const SEEDS = ['a', 'b', 'c', 'd']
const START_MS = Date.UTC(2026, 3, 14, 8)
const slug = `btc-updown-5m-${START_MS / 1000}`
const conditionId = `0x${'b'.repeat(64)}`
const tokens = { up: '111', down: '222' }

type Level = { price: string; size: string }

const levels = (cents: readonly number[], size: number): Level[] =>
  cents.map((each) => ({ price: (each / 100).toFixed(2), size: String(size) }))

/** A book of the venue with its own hash of it; each moment has another one. */
function aBook(ms: number) {
  const book = {
    market: conditionId,
    asset_id: tokens.up,
    timestamp: String(START_MS + ms),
    hash: '',
    bids: levels([48, 49], 1 + (ms % 977)),
    asks: levels([53, 52], 1 + (ms % 499)),
    min_order_size: '5',
    tick_size: '0.01',
    neg_risk: false,
    last_trade_price: '0.500',
  }
  const hash = createHash('sha1').update(JSON.stringify(book)).digest('hex')
  return { ...book, hash }
}

const aLine = (ms: number): string => {
  const { bids, asks, hash } = aBook(ms)
  const names = { id: hash, assetId: tokens.up, conditionId, symbol: 'btc', timeframe: '5m' }
  const timestamp = new Date(START_MS + ms).toISOString()
  return JSON.stringify({ ...names, outcome: 'up', timestamp, bids, asks })
}

const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

const aTrade = (second: number, size: number, number: number | undefined) =>
  JSON.stringify({
    ...{ side: 'BUY', asset: tokens.up, conditionId, size, price: 0.5, slug, outcome: 'Up' },
    timestamp: START_MS / 1000 + second,
    ...(number === undefined ? {} : { transactionHash: hashOf(number) }),
  })

/** Books of the socket, every 200 ms; after those of some moments comes one that cannot be right. */
function someMessages(random: Random): string[] {
  const wrongMs = new Set(
    [random.integer(20), 20 + random.integer(15), 42 + random.integer(5)].map((at) => at * 200),
  )
  return Array.from({ length: 50 }, (_, at) => at * 200).flatMap((ms) => {
    const message = { event_type: 'book', ...aBook(ms), _recv: START_MS + ms + 7 }
    const wrong = {
      event_type: 'price_change',
      market: conditionId,
      timestamp: String(START_MS + ms + 50),
      price_changes: [
        { asset_id: tokens.up, price: '0.47', size: '7', side: 'BUY', hash: 'e'.repeat(40) },
      ],
      _recv: START_MS + ms + 57,
    }
    const trade = {
      event_type: 'last_trade_price',
      ...{ market: conditionId, asset_id: tokens.up, price: '0.5', size: '3', side: 'BUY' },
      ...{ timestamp: String(START_MS + ms), _recv: START_MS + ms + 9 },
      ...(ms % 400 === 0 ? { transaction_hash: hashOf(ms) } : {}),
    }
    const all = [message, ...(ms % 1000 === 0 ? [trade] : []), ...(wrongMs.has(ms) ? [wrong] : [])]
    return all.map((each) => JSON.stringify(each))
  })
}

/** What is imported: texts of files, of which the lists may be split anywhere. */
const someMaterial = (random: Random) => {
  const names = Object.entries(tokens).map(([outcome, assetId]) =>
    JSON.stringify({ slug, conditionId, assetId, outcome }),
  )
  const gamma = JSON.stringify({
    ...{ id: '1', slug, conditionId, question: 'Up or down?', closed: true },
    ...{ outcomes: '["Up","Down"]', clobTokenIds: JSON.stringify([tokens.up, tokens.down]) },
    ...{ outcomePrices: '["1","0"]', umaResolutionStatus: 'resolved' },
    ...{ eventStartTime: new Date(START_MS).toISOString() },
    endDate: new Date(START_MS + 300_000).toISOString(),
    orderPriceMinTickSize: 0.01,
  })
  const trades = Array.from({ length: 30 }, () => {
    const number = random.integer(3)
    return aTrade(random.integer(5), 1 + random.integer(2), number === 0 ? undefined : number)
  })
  const lastPrices = Array.from({ length: 12 }, (_, at) =>
    JSON.stringify({
      ...{ conditionId, slug, lastTradePrice: `0.4${at % 5}` },
      timestamp: new Date(START_MS + 1000 * Math.floor(at / 3)).toISOString(),
    }),
  )
  const lines = Array.from({ length: 80 }, (_, at) => aLine(at * 100))
  return { names, gamma, trades, lastPrices, lines, messages: someMessages(random) }
}

async function answersOf(history: MarketHistory): Promise<string[]> {
  const { send, time } = createHarness({ history })
  time.nowMs = NOW_MS
  const base = `/v1/btc/markets/${conditionId}`
  const paths = [
    ...['', '/coverage', '/snapshots?limit=1000', '/quotes?limit=1000', '/trades'],
    ...['/prices?limit=1000', '/prices?interval=1s', '/export?include=receivedAt'],
  ].map((path) => base + path)
  paths.push('/v1/btc/markets', '/v1/btc/panel?timeframe=5m&offsets=-295s,-60s')
  return Promise.all(
    paths.map(async (path) =>
      // Ids and revisions number what was written; cursors are signed by each store.
      (await (await send(path)).text())
        .replaceAll(/"nextCursor":"[^"]*"/g, '')
        .replaceAll(/"(id|revision)":"?\d+"?/g, ''),
    ),
  )
}

const shuffled = <T>(random: Random, all: readonly T[]): T[] =>
  all
    .map((each) => ({ each, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ each }) => each)

describe('importFiles of mixed material', () => {
  test.each(SEEDS)(
    'property: any order, split and repetition gives the same answers (seed %s)',
    async (seed) => {
      const random = createRandom(`any order ${seed}`)
      const { names, gamma, trades, lastPrices, lines, messages } = someMaterial(random)
      const split = (all: readonly string[]): string[] => {
        const at = random.integer(all.length)
        return [all.slice(0, at), all.slice(at)]
          .filter((part) => part.length > 0)
          .map((part) => part.join('\n'))
      }
      let reference: string[] | undefined
      for (let round = 0; round < 4; round++) {
        const history = aHistory()
        const texts = [
          ...split(shuffled(random, trades)),
          ...split(shuffled(random, lastPrices)),
          ...split(names),
          gamma,
          lines.join('\n'),
          messages.join('\n'),
        ]
        // What names the tokens comes first; the rest in any order, some of it again.
        const files = await Promise.all(
          [names.join('\n'), ...shuffled(random, [...texts, ...texts.slice(round)])].map(
            (text, at) => write(`${seed}-${round}-${at}.jsonl`, `${text}\n`),
          ),
        )
        for (const file of files) {
          const { faults } = await run([file], { history })
          expect(faults).toEqual([])
        }
        const answers = await answersOf(history)
        expect([...history.verify()]).toEqual([])
        reference ??= answers
        for (const [at, answer] of answers.entries()) expect(answer).toBe(reference[at] ?? '')
      }
      expect(reference?.[1]).toContain('hash_mismatch')
    },
    60_000,
  )
})
