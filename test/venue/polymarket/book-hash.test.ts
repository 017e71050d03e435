import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import { formatMillionths } from '#src/domain/decimal.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'
import { createRandom } from '#src/platform/random.ts'
import { createBookVerifier } from '#src/venue/polymarket/book-hash.ts'

import { aSnapshot, conditionIdOf, NO_LEVELS, START_MS } from '../../history/books.ts'

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

type Rest = {
  tick?: string
  lastTradePrice?: string
  without?: readonly string[]
  minOrderSize?: string
  isNegRisk?: boolean
  version?: string | undefined
}

/** The hash as the venue makes it, or made it without some members, written the plain way. */
function hashOf(snapshot: Snapshot, rest: Rest = {}): string {
  const { tick = '0.01', lastTradePrice = '', without = [] } = rest
  const { minOrderSize = '5', isNegRisk = false } = rest
  const { conditionId, assetId, timestampMs, bids, asks } = snapshot
  const levels = ({ prices, sizes }: Ladder) =>
    prices
      .map((price, at) => ({
        price: formatMillionths(price),
        size: formatMillionths(sizes[at] ?? 0),
      }))
      .reverse()
  const book = {
    market: conditionId,
    asset_id: assetId,
    timestamp: String(timestampMs),
    hash: '',
    bids: levels(bids),
    asks: levels(asks),
    min_order_size: minOrderSize,
    tick_size: tick,
    neg_risk: isNegRisk,
    last_trade_price: lastTradePrice,
    version: rest.version,
  }
  const members = Object.entries(book).filter(([name]) => !without.includes(name))
  const json = JSON.stringify(Object.fromEntries(members))
  return new Bun.CryptoHasher('sha1').update(json).digest('hex')
}

const withHash = (snapshot: Snapshot, rest?: Rest): Snapshot => ({
  ...snapshot,
  sourceHash: hashOf(snapshot, rest),
})

const terms = ['min_order_size', 'tick_size', 'neg_risk']
const WRONG = 'f'.repeat(40)

describe('createBookVerifier', () => {
  test.each([
    {},
    { lastTradePrice: '0.001' },
    { lastTradePrice: '0.500' },
    { lastTradePrice: '0.999' },
    { tick: '0.001', lastTradePrice: '0.037' },
    { tick: '0.001' },
    { tick: '0.005', lastTradePrice: '0.515' },
    { tick: '0.0025', lastTradePrice: '0.5025' },
    { tick: '0.0025', lastTradePrice: '0.9975' },
    { tick: '0.0025', lastTradePrice: '0.510' },
    { version: 'v2' },
    { version: 'v2', lastTradePrice: '0.037' },
    { version: 'v2', tick: '0.001', lastTradePrice: '0.961' },
    { version: 'v2', tick: '0.0025', lastTradePrice: '0.5025' },
    { without: terms, lastTradePrice: '0.037' },
    { without: ['last_trade_price'], tick: '0.0025' },
    { without: [...terms, 'last_trade_price'] },
  ])('default: recognises the hash of a book, whatever goes into it besides: %j', (rest) => {
    expect(createBookVerifier().verify(withHash(aSnapshot(), rest))).toBe(true)
  })

  test('behavior: a minimum size and a kind of market that were said are hashed, and remembered', () => {
    const verifier = createBookVerifier()
    const said = { minOrderSize: '15', isNegRisk: true }
    const rest = { ...said, lastTradePrice: '0.500' }
    const row = (timestampMs: number, more: object = rest) =>
      withHash(aSnapshot({ timestampMs }), more)
    expect(verifier.verify(row(START_MS), said)).toBe(true)
    // Changes say nothing of it.
    expect(verifier.verify(row(START_MS + 1))).toBe(true)
    expect(verifier.verify(row(START_MS + 2, {}), said)).toBe(true)
    expect(verifier.verify({ ...row(START_MS + 3), sourceHash: WRONG }, said)).toBe(false)
    expect(createBookVerifier().verify(row(START_MS))).toBeUndefined()
  })

  test('behavior: a book without a hash is neither right nor wrong', () => {
    expect(createBookVerifier().verify(aSnapshot())).toBeUndefined()
  })

  test.each<[string, Partial<Snapshot>]>([
    ['time', { timestampMs: aSnapshot().timestampMs + 1 }],
    ['asset', { assetId: '1' }],
    ['market', { conditionId: `0x${'e'.repeat(64)}` }],
    ['size', { asks: { prices: [520_000], sizes: [1_000_011] } }],
    ['price', { asks: { prices: [530_000], sizes: [1_000_010] } }],
    ['empty side', { asks: NO_LEVELS }],
  ])('behavior: another %s is another book', (_, changes) => {
    const right = withHash(aSnapshot(), { lastTradePrice: '0.500' })
    const verifier = createBookVerifier()
    expect(verifier.verify(right)).toBe(true)
    expect(verifier.verify(withHash(aSnapshot(), { lastTradePrice: '0.5' }))).toBe(false)
    // Nothing is known of the hashes of another market.
    const verdict = 'conditionId' in changes ? undefined : false
    expect(verifier.verify({ ...right, ...changes })).toBe(verdict)
  })

  test('behavior: what a stream says is a hint, and no more', () => {
    const said = { tickSize: 2500, tradePrices: ['.5025'], isQuick: true }
    const unlikely = { tick: '0.0025', lastTradePrice: '0.5025' }
    const verifier = createBookVerifier()
    expect(verifier.verify(withHash(aSnapshot(), unlikely), { isQuick: true })).toBeUndefined()
    expect(verifier.verify(withHash(aSnapshot(), unlikely), said)).toBe(true)
    // Neither a wrong hint nor one that cannot be leads astray.
    for (const price of ['0.123', '', '0.12345', 'x', '1', '0']) {
      const hint = { tickSize: 7000, tradePrices: [price, price] }
      const sound = withHash(aSnapshot(), { lastTradePrice: '0.520' })
      const known = createBookVerifier()
      expect(known.verify(sound, hint)).toBe(true)
      expect(known.verify(withHash(aSnapshot(), { tick: '0.007' }), hint)).toBe(false)
    }
  })

  test('behavior: a quick look finds what was said, used before, or traded at the best prices', () => {
    const verifier = createBookVerifier()
    const look = (lastTradePrice: string, ...tradePrices: string[]) =>
      verifier.verify(withHash(aSnapshot(), { lastTradePrice }), { tradePrices, isQuick: true })
    expect(look('0.321')).toBeUndefined()
    expect(look('0.321', '0.321')).toBe(true)
    expect(look('0.480', '0.321')).toBe(true)
    // A book of before the trade may be judged after it.
    expect(look('0.321', '0.480')).toBe(true)
    expect(look('0.777', '0.480')).toBeUndefined()
    expect(look('0.777', '0.480', '0.555', '0.777')).toBe(true)
  })

  test('behavior: another recipe is searched for once, for all markets', () => {
    const verifier = createBookVerifier({ searchesMax: 1, clock: () => 0 })
    const verify = (market: number, rest: Rest) =>
      verifier.verify(withHash(aSnapshot({ conditionId: conditionIdOf(market) }), rest))
    for (const market of [1, 2, 3]) expect(verify(market, {})).toBe(true)
    const without = ['last_trade_price']
    for (const market of [1, 2, 3, 4]) expect(verify(market, { without })).toBe(true)
    expect([verify(1, {}), verify(5, {})]).toEqual([true, true])
    // The recipe of its own market does not reproduce it.
    expect(verify(4, { lastTradePrice: '0.111' })).toBe(false)
  })

  test('behavior: searches by every recipe are bounded in a second of the clock, and only they', () => {
    let nowMs = START_MS
    const verifier = createBookVerifier({ searchesMax: 2, clock: () => nowMs })
    const verify = (market: number, rest: Rest, timestampMs = START_MS) =>
      verifier.verify(
        withHash(aSnapshot({ conditionId: conditionIdOf(market), timestampMs }), rest),
      )
    const rare = { tick: '0.0025', lastTradePrice: '0.3325' }
    expect([verify(1, rare), verify(2, rare), verify(3, rare)]).toEqual([true, true, undefined])
    // Books of other seconds are no other seconds of the clock.
    expect(verify(4, rare, START_MS + 60_000)).toBeUndefined()
    // The recipe and tick of a known market, with a price that is far from all others.
    expect(verify(1, { ...rare, lastTradePrice: '0.9975' })).toBe(true)
    nowMs += 1000
    expect(verify(3, rare)).toBe(true)
  })

  test('behavior: a market is searched seldom while nothing is found, and never given up', () => {
    const verifier = createBookVerifier()
    const verify = (second: number, rest?: Rest) => {
      const row = aSnapshot({ timestampMs: START_MS + second })
      return verifier.verify(
        rest === undefined ? { ...row, sourceHash: WRONG } : withHash(row, rest),
      )
    }
    for (let second = 0; second < 40; second++) expect(verify(second)).toBeUndefined()
    const rare = { tick: '0.005', lastTradePrice: '0.335' }
    const verdicts = Array.from({ length: 256 }, (_, second) => verify(second, rare))
    expect(verdicts[0]).toBeUndefined()
    expect(verdicts.at(-1)).toBe(true)
  })

  test('behavior: a hash that nothing reproduces is false only in a market whose recipe is known', () => {
    const verifier = createBookVerifier()
    const wrong = (conditionId: string) =>
      verifier.verify({ ...aSnapshot({ conditionId }), sourceHash: WRONG })
    const [known, unknown] = [conditionIdOf(1), conditionIdOf(2)]
    expect([wrong(known), wrong(unknown)]).toEqual([undefined, undefined])
    expect(verifier.verify(withHash(aSnapshot({ conditionId: known })))).toBe(true)
    expect([wrong(known), wrong(unknown)]).toEqual([false, undefined])
    const other = { ...aSnapshot({ conditionId: unknown }), sourceHash: WRONG }
    expect(verifier.verify(other, { isProved: true })).toBe(false)
  })

  test('behavior: books of the second protocol are those of markets beside the first', () => {
    const verifier = createBookVerifier()
    for (let round = 0; round < 5; round++)
      for (const [market, version] of ['v2', undefined, 'v2', undefined].entries()) {
        const timestampMs = START_MS + round
        const row = aSnapshot({ conditionId: conditionIdOf(market), timestampMs })
        const lastTradePrice = `0.${10 + round * 7 + market}0`
        expect(verifier.verify(withHash(row, { version, lastTradePrice }))).toBe(true)
      }
  })

  test('fuzz: decimals of every length, sides of every depth', () => {
    const random = createRandom('book-hash')
    const verifier = createBookVerifier()
    const sizes = [1, 10, 999_999, 1_000_000, 12_480_060_000, 2_147_483_648_000_000]
    for (let round = 0; round < 300; round++) {
      const aLadder = (isAscending: boolean): Ladder => {
        const step = random.pick([1000, 1])
        const depth = random.integer(40)
        const prices = Array.from({ length: depth }, (_, at) => 1 + (at + 1) * step * 7)
        return {
          prices: isAscending ? prices : prices.toReversed(),
          sizes: prices.map((_, at) => sizes[(at + round) % sizes.length] ?? 1),
        }
      }
      const snapshot = aSnapshot({ bids: aLadder(false), asks: aLadder(true) })
      expect(verifier.verify(withHash(snapshot))).toBe(true)
    }
  })

  test('behavior: the largest size and a book of thousands of levels are written in full', () => {
    const prices = Array.from({ length: 2000 }, (_, at) => (at + 1) * 100)
    const sizes = prices.map((_, at) => Number.MAX_SAFE_INTEGER - at)
    const snapshot = aSnapshot({ bids: NO_LEVELS, asks: { prices, sizes } })
    expect(createBookVerifier().verify(withHash(snapshot))).toBe(true)
  })

  test('behavior: whatever was judged before, a wrong hash is wrong and a right one right', () => {
    const verifier = createBookVerifier()
    expect(verifier.verify(withHash(aSnapshot()))).toBe(true)
    for (let timestampMs = 0; timestampMs < 300; timestampMs++) {
      const verdict = verifier.verify(aSnapshot({ timestampMs, sourceHash: WRONG }))
      expect([timestampMs, verdict]).toEqual([timestampMs, false])
    }
    for (const lastTradePrice of ['', '0.500', '0.520', '0.480', '0.120']) {
      expect(verifier.verify(withHash(aSnapshot(), { lastTradePrice }))).toBe(true)
    }
    // A price that is no multiple of the market's tick is found by a search, when its turn comes.
    const verdicts = Array.from({ length: 256 }, () =>
      verifier.verify(withHash(aSnapshot(), { lastTradePrice: '0.123' })),
    )
    expect(verdicts.at(-1)).toBe(true)
  })

  test.skipIf(isAbsent)(`behavior: recorded books reproduce their hashes${reason}`, () => {
    const file = readFileSync(`${recordings}/snapshots-btc-5m-1hz-20260413-14.jsonl.gz`)
    const scanner = createSnapshotScanner()
    const verifier = createBookVerifier()
    const lines = new TextDecoder().decode(Bun.gunzipSync(file)).trimEnd().split('\n')
    const verdicts = lines.map((line) => {
      const bytes = new TextEncoder().encode(line)
      return verifier.verify(scanner.scan(bytes, 0, bytes.length))
    })
    expect(verdicts).toHaveLength(16_767)
    expect(verdicts.filter((verdict) => verdict !== true)).toEqual([])
  })
})
