/** Whatever is imported in whatever order, split and repetition, the routes answer the same. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import { type Outcome, outcomes } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { createHarness } from '../support/harness.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

/** More of them by hand: `ANY_ORDER_SEEDS=300 bun test --timeout 600000 test/ingest/any-order.test.ts`. */
// biome-ignore lint/style/noProcessEnv: how much is drawn is not for the product's settings.
const { ANY_ORDER_SEEDS = '2' } = process.env
const SEEDS = Array.from({ length: Number(ANY_ORDER_SEEDS) }, (_, at) => `seed ${at}`)
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

/** Another market of the first window, with no books. */
const twinId = `0x${'d'.repeat(64)}`

type Level = { price: string; size: string }

const levels = (cents: readonly number[], size: number): Level[] =>
  cents.map((each) => ({ price: (each / 100).toFixed(2), size: String(size) }))

/** A book of the venue with its own hash of it; each moment has another one. */
function aBook(ms: number, outcome: Outcome = 'up') {
  const isNext = ms >= NEXT_MS - START_MS
  const book = {
    market: isNext ? next.conditionId : conditionId,
    asset_id: (isNext ? next.tokens : tokens)[outcome],
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

/** A book with its hash, without one, or with one that is not its own. */
const aLine = (ms: number, outcome: Outcome = 'up', id = aBook(ms, outcome).hash): string => {
  const { bids, asks, market, asset_id: assetId } = aBook(ms, outcome)
  const names = { id, assetId, conditionId: market, symbol: 'btc', timeframe: '5m' }
  const timestamp = new Date(START_MS + ms).toISOString()
  return JSON.stringify({ ...names, outcome, timestamp, bids, asks })
}

const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

const aTrade = (second: number, size: number, number: number | undefined) =>
  JSON.stringify({
    side: 'BUY',
    asset: tokens.up,
    conditionId,
    size,
    price: 0.5,
    slug,
    outcome: 'Up',
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
      market: conditionId,
      asset_id: tokens.up,
      price: '0.5',
      size: '3',
      side: 'BUY',
      timestamp: String(START_MS + ms),
      _recv: START_MS + ms + 9,
      ...(ms % 400 === 0 ? { transaction_hash: hashOf(ms) } : {}),
    }
    const all = [message, ...(ms % 1000 === 0 ? [trade] : []), ...(wrongMs.has(ms) ? [wrong] : [])]
    return all.map((each) => JSON.stringify(each))
  })
}

/** Lines of a window from one time to another, every 100 ms; some are not proved, some wrong. */
function someLines(
  random: Random,
  fromMs: number,
  toMs: number,
  outcome: Outcome = 'up',
): string[] {
  return Array.from({ length: (toMs - fromMs) / 100 }, (_, at) => {
    const ms = fromMs + at * 100
    if (random.integer(12) === 0) return aLine(ms + 30, outcome, '7')
    return random.integer(40) === 0 ? aLine(ms + 60, outcome, 'f'.repeat(40)) : aLine(ms, outcome)
  })
}

/** What is imported: texts of files, of which the lists may be split anywhere. */
const someMaterial = (random: Random) => {
  const names = Object.entries(tokens).map(([outcome, assetId]) =>
    JSON.stringify({ slug, conditionId, assetId, outcome }),
  )
  const gamma = JSON.stringify({
    id: '1',
    slug,
    conditionId,
    question: 'Up or down?',
    closed: true,
    outcomes: '["Up","Down"]',
    clobTokenIds: JSON.stringify([tokens.up, tokens.down]),
    outcomePrices: '["1","0"]',
    umaResolutionStatus: 'resolved',
    eventStartTime: new Date(START_MS).toISOString(),
    endDate: new Date(START_MS + 300_000).toISOString(),
    orderPriceMinTickSize: 0.01,
  })
  const trades = Array.from({ length: 30 }, () => {
    const number = random.integer(3)
    return aTrade(random.integer(5), 1 + random.integer(2), number === 0 ? undefined : number)
  })
  const lastPrices = Array.from({ length: 12 }, (_, at) =>
    JSON.stringify({
      conditionId,
      slug,
      lastTradePrice: `0.4${at % 5}`,
      timestamp: new Date(START_MS + 1000 * Math.floor(at / 3)).toISOString(),
    }),
  )
  const twin = JSON.stringify({ slug, conditionId: twinId, assetId: '555', outcome: 'up' })
  // Tables contradict each other, and the venue.
  const outcomes = Array.from({ length: 6 }, () => {
    const startMs = START_MS + 300_000 * random.integer(3)
    const winner = random.integer(4) === 0 ? 'down' : 'up'
    const strike = random.integer(3) === 0 ? '' : `8400${random.integer(3)}.5`
    return `${startMs / 1000},${winner},${strike},8401${random.integer(3)}.25`
  })
  return {
    names,
    gamma,
    trades,
    lastPrices,
    outcomes,
    twin,
    lines: [...someLines(random, 0, 7800), ...someLines(random, 11_000, 15_500)],
    nextLines: someLines(random, NEXT_MS - START_MS, NEXT_MS - START_MS + 5000),
    // In the milliseconds of the other outcome, in files of their own.
    downLines: someLines(random, 0, 12_000, 'down'),
    nextDownLines: someLines(random, NEXT_MS - START_MS, NEXT_MS - START_MS + 5000, 'down'),
    messages: someMessages(random),
  }
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

/** What a recorder kept of a window while it was connected; times are of that window. */
function aRecording({
  of = next,
  beganMs,
  endedMs,
  lagMs,
}: Record<'beganMs' | 'endedMs' | 'lagMs', number> & { of?: typeof next }) {
  const { slug: name, conditionId: id, tokens: assetIds } = of
  const windowStartMs = of === next ? NEXT_MS : START_MS
  const facts = {
    conditionId: id,
    coin: 'btc',
    timeframe: '5m',
    slug: name,
    question: 'Up or down?',
    windowStartMs,
    windowEndMs: windowStartMs + 300_000,
    tickSize: 10_000,
    assetIds,
  }
  const fromMs = windowStartMs - START_MS + beganMs
  const toMs = windowStartMs - START_MS + endedMs
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

/** Recorders of a window that were connected for some seconds each. */
const someRecordings = (random: Random, of: typeof next) =>
  Array.from({ length: 3 }, (_, at) => {
    const beganMs = 250 * random.integer(60)
    const endedMs = beganMs + 250 * (1 + random.integer(16))
    return aRecording({ of, beganMs, endedMs, lagMs: 3 + at })
  })

async function answersOf(history: MarketHistory): Promise<string[]> {
  const { send, time } = createHarness({ history })
  time.nowMs = NOW_MS
  const ofMarket = [
    '',
    '/coverage',
    '/snapshots?limit=1000',
    '/quotes?limit=1000',
    '/trades',
    '/prices?limit=1000',
    '/prices?interval=1s',
    '/export?include=receivedAt',
    '/export?format=csv',
    '/quotes?interval=1s&limit=1000',
    '/heatmap?outcome=up&timeBins=50&priceBins=20',
    ...[0, 4321, 9999].flatMap((ms) =>
      outcomes.flatMap((outcome) => [
        `/snapshots/at?outcome=${outcome}&ts=${START_MS + ms}`,
        `/fill?outcome=${outcome}&side=buy&size=5&ts=${START_MS + ms}`,
      ]),
    ),
    '/snapshots?view=consolidated&limit=1000',
  ]
  const paths = [conditionId, next.conditionId, twinId].flatMap((id) =>
    ofMarket.map((path) => `/v1/btc/markets/${id}${path}`),
  )
  paths.push(
    ...['/v1/btc/markets', '/v1/coins', '/v1/btc/panel?timeframe=5m&offsets=-295s,-290s,-60s'],
    ...['/v1/btc/coverage', '/v1/btc/export?day=2026-04-14&timeframe=5m', '/v1/btc/prices'],
  )
  const ask = async (path: string): Promise<string> => {
    const response = await send(path)
    const coverage = response.headers.get('x-coverage') ?? ''
    // Ids and revisions number what was written; cursors are signed by each store.
    const text = (await response.text())
      .replaceAll(/"nextCursor":"[^"]*"/g, '')
      .replaceAll(/"(id|revision)":"?\d+"?/g, '')
      .replaceAll(/"(instance|requestId)":"[^"]*"/g, '')
    return `${path} ${response.status} ${coverage} ${withoutIds(path, text)}`
  }
  paths.push(
    '/v1/btc/spot?interval=1s',
    '/v1/btc/spot?limit=1000&order=desc',
    '/v1/btc/spot?limit=1000',
  )
  return [await digestsOf(history), ...(await Promise.all(paths.map(ask)))]
}

function withoutIds(path: string, text: string): string {
  if (!path.includes('format=csv')) return text
  const [names = '', ...rows] = text.split('\n')
  const at = names.split(',').indexOf('id')
  return [names, ...rows.map((row) => row.split(',').toSpliced(at, 1).join(','))].join('\n')
}

/** What manifests say of the markets, but for what has ids and revisions in it. */
async function digestsOf(history: MarketHistory): Promise<string> {
  for await (const _ of makeManifests(history, NOW_MS + 5 * DAY_MS));
  const body: unknown = JSON.parse(history.manifests.ofDay('2026-04-14')?.body ?? '')
  return JSON.stringify(body, (name, value) =>
    /^(?:revision|sha256|snapshotsSha256)$/.test(name) ? 0 : value,
  )
}

const shuffled = <T>(random: Random, all: readonly T[]): T[] =>
  all
    .map((each) => ({ each, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ each }) => each)

/** In one to three files, cut anywhere. */
function split(random: Random, all: readonly string[]): string[] {
  const cuts = Array.from({ length: random.integer(3) }, () => random.integer(all.length + 1))
  const ends = [...cuts.sort((a, b) => a - b), all.length]
  return ends
    .map((end, at) => all.slice(ends[at - 1] ?? 0, end))
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
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
      const { names, gamma, trades, lastPrices, outcomes, twin, ...books } = someMaterial(random)
      const prices = somePrices(random)
      const recordings = [
        ...someRecordings(random, { slug, conditionId, tokens }),
        ...someRecordings(random, next),
      ]
      let reference: string[] | undefined
      for (let round = 0; round < 4; round++) {
        const history = aHistory()
        const texts = [
          shuffled(random, trades),
          shuffled(random, lastPrices),
          names,
          prices,
          books.lines,
          books.nextLines,
          books.messages,
          books.downLines,
          books.nextDownLines,
        ].flatMap((all) => split(random, all))
        texts.push(gamma, twin, ...recordings)
        const tables = split(random, shuffled(random, outcomes)).map(
          (rows) => `timestamp,outcome,btc_open,btc_close\n${rows}`,
        )
        const rest = [...texts, ...texts.slice(round), ...tables, ...tables.slice(round)]
        // What names the tokens comes before books; the rest in any order, some of it again.
        const order = shuffled(random, [names.join('\n'), ...tables])
        order.push(...shuffled(random, rest))
        const files = await Promise.all(
          order.map((text, at) => write(`${seed}-${round}-${at}.jsonl`, `${text}\n`)),
        )
        for (const file of files) {
          const { faults } = await run([file], { history })
          const others = faults.filter(({ reason }) => !/ known to be won by /.test(reason))
          expect(others).toEqual([])
        }
        const answers = await answersOf(history)
        expect([...history.verify()]).toEqual([])
        reference ??= answers
        for (const [at, answer] of answers.entries()) expect(answer).toBe(reference[at] ?? '')
      }
      expect(reference?.join('\n')).toContain('recorder_down')
      expect(reference?.at(-1)).toContain('coinbase')
    },
    180_000,
  )
})
