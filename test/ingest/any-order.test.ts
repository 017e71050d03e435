/** Whatever is imported in whatever order, split and repetition, the routes answer the same. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

const SEEDS = ['a', 'b', 'c', 'd']
const START_MS = Date.UTC(2026, 3, 14, 8)
const slug = `btc-updown-5m-${START_MS / 1000}`
const conditionId = `0x${'b'.repeat(64)}`
const tokens = { up: '111', down: '222' }
const NEXT_MS = START_MS + 300_000
/** The window after it: what recorders kept is of this one. */
const next = {
  slug: `btc-updown-5m-${NEXT_MS / 1000}`,
  conditionId: `0x${'c'.repeat(64)}`,
  tokens: { up: '333', down: '444' },
}

type Level = { price: string; size: string }

const levels = (cents: readonly number[], size: number): Level[] =>
  cents.map((each) => ({ price: (each / 100).toFixed(2), size: String(size) }))

/** A book of the venue with its own hash of it; each moment has another one. */
function aBook(ms: number) {
  const isNext = ms >= NEXT_MS - START_MS
  const book = {
    market: isNext ? next.conditionId : conditionId,
    asset_id: isNext ? next.tokens.up : tokens.up,
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
  const { bids, asks, hash, market, asset_id: assetId } = aBook(ms)
  const names = { id: hash, assetId, conditionId: market, symbol: 'btc', timeframe: '5m' }
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
  // Only of the market that is named first: a table adds to markets that are held.
  const outcomes = [
    'timestamp,outcome,btc_open,btc_close',
    `${START_MS / 1000},up,84000.5,84001.25`,
  ].join('\n')
  const lines = Array.from({ length: 80 }, (_, at) => aLine(at * 100))
  return { names, gamma, trades, lastPrices, outcomes, lines, messages: someMessages(random) }
}

const heard = (ms: number, said: object): string =>
  JSON.stringify({ _recv: START_MS + ms, ...said })

/** Prices of the coin, three series at each time, as a recorder kept them; none was missed. */
const somePrices = (random: Random): string[] =>
  Array.from({ length: 8 }, (_, at) =>
    ['chainlink', 'binance', 'coinbase'].map((source, series) => {
      const payload = {
        symbol: 'btcusd',
        window_seconds: 60,
        source,
        value: `${84000 + series}.${at}`,
      }
      const ts = START_MS + at * 1000
      const frame = { channel: 'price.crypto.twap', seq: 1 + at, ts, payload }
      return `{"_recv":${ts + random.integer(50)},"spot":"live","frame":${JSON.stringify(frame)}}`
    }),
  ).flat()

/** What a recorder kept of the next window while it was connected; times are of that window. */
function aRecording({ beganMs, endedMs, lagMs }: Record<'beganMs' | 'endedMs' | 'lagMs', number>) {
  const { slug: name, conditionId: id, tokens: assetIds } = next
  const facts = {
    ...{ conditionId: id, coin: 'btc', timeframe: '5m', slug: name, question: 'Up or down?' },
    ...{ windowStartMs: NEXT_MS, windowEndMs: NEXT_MS + 300_000, tickSize: 10_000, assetIds },
  }
  const fromMs = NEXT_MS - START_MS + beganMs
  const toMs = NEXT_MS - START_MS + endedMs
  const messages = Array.from({ length: (toMs - fromMs) / 250 }, (_, at) => {
    const ms = fromMs + at * 250
    const frame = JSON.stringify({ event_type: 'book', ...aBook(ms) })
    return `{"_recv":${START_MS + ms + lagMs},"connection":1,"frame":${frame}}`
  })
  return [
    heard(fromMs, { heard: 'started' }),
    heard(fromMs, { heard: 'market', facts }),
    heard(fromMs, { heard: 'opened', connection: 1, markets: [id] }),
    ...messages,
    heard(toMs, { heard: 'dropped', connection: 1, reason: 'recorder_down' }),
    heard(toMs, { heard: 'stored' }),
  ].join('\n')
}

async function answersOf(history: MarketHistory): Promise<string[]> {
  const { send, time } = createHarness({ history })
  time.nowMs = NOW_MS
  const ofMarket = [
    ...['', '/coverage', '/snapshots?limit=1000', '/quotes?limit=1000', '/trades'],
    ...['/prices?limit=1000', '/prices?interval=1s', '/export?include=receivedAt'],
  ]
  const paths = [conditionId, next.conditionId].flatMap((id) =>
    ofMarket.map((path) => `/v1/btc/markets/${id}${path}`),
  )
  paths.push('/v1/btc/markets', '/v1/btc/panel?timeframe=5m&offsets=-295s,-60s')
  const ask = async (path: string): Promise<string> => {
    const response = await send(path)
    expect(response.status).toBe(200)
    // Ids and revisions number what was written; cursors are signed by each store.
    return (await response.text())
      .replaceAll(/"nextCursor":"[^"]*"/g, '')
      .replaceAll(/"(id|revision)":"?\d+"?/g, '')
  }
  // Prices of one millisecond are listed in the order in which they were accepted.
  const prices = (await ask('/v1/btc/spot?limit=1000')).match(/\{[^{}]*\}/g) ?? []
  return [...(await Promise.all(paths.map(ask))), prices.sort().join('\n')]
}

const shuffled = <T>(random: Random, all: readonly T[]): T[] =>
  all
    .map((each) => ({ each, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ each }) => each)

/**
 * In two files that give as much as one: each has the book from its first message to its last, and
 * the books of `lines` reach from one into the other.
 */
function splitMessages(random: Random, all: readonly string[]): string[] {
  const isBook = (at: number): boolean => all[at]?.includes('"event_type":"book"') === true
  const end = all.findIndex((text) => text.includes(`"_recv":${START_MS + 7800 + 7}}`))
  const places = [...all.keys()].filter((at) => at > 0 && at < end && isBook(at) && isBook(at - 1))
  const at = places[random.integer(places.length)]
  return [all.slice(0, at), all.slice(at)].map((part) => part.join('\n'))
}

describe('importFiles of mixed material', () => {
  test('behavior: what a recorder missed is a gap, though books came before the window was known', async () => {
    const lines = Array.from({ length: 50 }, (_, at) => aLine(NEXT_MS - START_MS + at * 100))
    const early = aRecording({ beganMs: 500, endedMs: 6000, lagMs: 3 })
    const late = aRecording({ beganMs: 10_000, endedMs: 11_000, lagMs: 4 })
    for (const order of [
      [lines.join('\n'), late, early],
      [early, late, lines.join('\n')],
    ]) {
      const history = aHistory()
      for (const text of order)
        await run([await write(`${crypto.randomUUID()}.jsonl`, `${text}\n`)], { history })
      const market = history.findMarket(next.conditionId)
      const gaps = market === undefined ? [] : history.gaps(market)
      const missed = { fromMs: NEXT_MS + 5751, toMs: NEXT_MS + 10_000 }
      expect(gaps).toContainEqual({ outcome: 'up', reason: 'recorder_down', ...missed })
    }
  })

  test.each(SEEDS)(
    'property: any order, split and repetition gives the same answers (seed %s)',
    async (seed) => {
      const random = createRandom(`any order ${seed}`)
      const { names, gamma, trades, lastPrices, outcomes, lines, messages } = someMaterial(random)
      const prices = somePrices(random)
      const nextLines = Array.from({ length: 50 }, (_, at) => aLine(NEXT_MS - START_MS + at * 100))
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
          ...splitMessages(random, messages),
          outcomes,
          ...split(prices),
          aRecording({ beganMs: 500, endedMs: 6000, lagMs: 3 }),
          aRecording({ beganMs: 4000, endedMs: 9000, lagMs: 5 }),
          aRecording({ beganMs: 10_000, endedMs: 11_000, lagMs: 4 }),
          nextLines.join('\n'),
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
      expect(reference?.[9]).toContain('recorder_down')
      expect(reference?.at(-1)).toContain('coinbase')
    },
    60_000,
  )
})
