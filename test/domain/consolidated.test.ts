import { describe, expect, test } from 'bun:test'

import { consolidate, mirrorOf, SKEW_MS_MAX, type TaggedLadder } from '#src/domain/consolidated.ts'
import type { Ladder, StoredSnapshot } from '#src/domain/snapshot.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, createBookMaker, NO_LEVELS, START_MS } from '../history/books.ts'

const ladder = (...levels: [price: number, size: number][]): Ladder => ({
  prices: levels.map(([price]) => price),
  sizes: levels.map(([, size]) => size),
})

type Sides = { bids?: Ladder; asks?: Ladder }

/** A state so many milliseconds after the start. */
const state = (id: number, afterMs: number, { bids, asks }: Sides): StoredSnapshot => ({
  ...aSnapshot({
    timestampMs: START_MS + afterMs,
    bids: bids ?? NO_LEVELS,
    asks: asks ?? NO_LEVELS,
  }),
  id,
})

type Level = [price: number, size: number | undefined, source: string | undefined]

const levelsOf = ({ prices, sizes, sources }: TaggedLadder): Level[] =>
  prices.map((price, index) => [price, sizes[index], sources[index]])

describe('consolidate', () => {
  const own = state(1, 0, { bids: ladder([500_000, 10]), asks: ladder([520_000, 20]) })

  test('default: one book that shows an order twice is one level, not two', () => {
    const mirror = state(2, 0, { bids: ladder([480_000, 20]), asks: ladder([500_000, 10]) })
    const book = consolidate(own, mirror)
    expect(book && levelsOf(book.bids)).toEqual([[500_000, 10, 'both']])
    expect(book && levelsOf(book.asks)).toEqual([[520_000, 20, 'both']])
    expect(book).toMatchObject({
      own: { id: 1, timestampMs: START_MS },
      mirror: { id: 2, timestampMs: START_MS },
      skewMs: 0,
    })
  })

  test('behavior: an ask of the other outcome at p is a bid at 1 - p, and a bid an ask', () => {
    const mirror = state(2, 0, {
      bids: ladder([470_000, 3], [460_001, 4]),
      asks: ladder([510_000, 5], [999_999, 6]),
    })
    const book = consolidate(undefined, mirror)
    expect(book && levelsOf(book.bids)).toEqual([
      [490_000, 5, 'mirror'],
      [1, 6, 'mirror'],
    ])
    expect(book && levelsOf(book.asks)).toEqual([
      [530_000, 3, 'mirror'],
      [539_999, 4, 'mirror'],
    ])
    expect(book?.own).toBeUndefined()
    expect(book?.skewMs).toBeUndefined()
  })

  test('behavior: where sizes differ the newer state counts, and at the same time the own', () => {
    const sizes = (mirrorAfterMs: number) => {
      const mirror = state(2, mirrorAfterMs, { asks: ladder([500_000, 99]) })
      const book = consolidate(own, mirror)
      return book && levelsOf(book.bids)
    }
    expect(sizes(1)).toEqual([[500_000, 99, 'mirror']])
    expect(sizes(0)).toEqual([[500_000, 10, 'own']])
    expect(sizes(-1)).toEqual([[500_000, 10, 'own']])
  })

  test('behavior: a level that one book lacks is kept with its source, in its place', () => {
    const mirror = state(2, 0, {
      bids: ladder([470_000, 7], [400_000, 8]),
      asks: ladder([495_000, 1], [505_000, 2], [510_000, 3]),
    })
    const book = consolidate(own, mirror)
    expect(book && levelsOf(book.bids)).toEqual([
      [505_000, 1, 'mirror'],
      [500_000, 10, 'own'],
      [495_000, 2, 'mirror'],
      [490_000, 3, 'mirror'],
    ])
    expect(book && levelsOf(book.asks)).toEqual([
      [520_000, 20, 'own'],
      [530_000, 7, 'mirror'],
      [600_000, 8, 'mirror'],
    ])
    expect(book?.skewMs).toBe(0)
  })

  test('behavior: of the same moment too, what would cross is left out', () => {
    const other = state(2, 0, {
      bids: ladder([500_000, 1], [499_999, 2]),
      asks: ladder([480_000, 3], [480_001, 4]),
    })
    const book = consolidate(own, other)
    // As bids here 0.52 and 0.519999, as asks 0.5 and 0.500001: the first of each would trade.
    expect(book && levelsOf(book.bids)).toEqual([
      [519_999, 4, 'mirror'],
      [500_000, 10, 'own'],
    ])
    expect(book && levelsOf(book.asks)).toEqual([
      [500_001, 2, 'mirror'],
      [520_000, 20, 'own'],
    ])
  })

  test('behavior: what a newer state does not show is gone, whatever the older one shows', () => {
    const older = state(2, -5, { bids: ladder([470_000, 7]), asks: ladder([505_000, 2]) })
    const book = consolidate(own, older)
    expect(book && levelsOf(book.bids)).toEqual([[500_000, 10, 'own']])
    expect(book && levelsOf(book.asks)).toEqual([[520_000, 20, 'own']])
    expect(book?.skewMs).toBe(5)
  })

  test('behavior: of states more than a second apart only the newer one counts', () => {
    const late = (afterMs: number) => state(2, afterMs, { bids: ladder([400_000, 7]) })
    const within = consolidate(own, late(-SKEW_MS_MAX))
    expect(within).toMatchObject({ skewMs: SKEW_MS_MAX, mirror: { id: 2 }, own: { id: 1 } })
    const older = consolidate(own, late(-SKEW_MS_MAX - 1))
    expect(older).toEqual({
      bids: { ...own.bids, sources: ['own'] },
      asks: { ...own.asks, sources: ['own'] },
      own: { id: 1, timestampMs: START_MS },
    })
    const newer = consolidate(own, late(SKEW_MS_MAX + 1))
    expect(newer && levelsOf(newer.asks)).toEqual([[600_000, 7, 'mirror']])
    expect(newer?.own).toBeUndefined()
  })

  test('behavior: without a state there is no book; an empty state is an empty book', () => {
    expect(consolidate(undefined, undefined)).toBeUndefined()
    expect(consolidate(state(1, 0, {}), undefined)).toMatchObject({ bids: { prices: [] } })
  })

  test('behavior: on random books it is what a list of all prices says, and crossed only where one is', () => {
    const random = createRandom('consolidated')
    let compared = 0
    let crossed = 0
    for (const [one, other] of randomPairs(random, 400)) {
      const book = consolidate(one, other)
      if (book === undefined) throw new Error('There are two states.')
      expect(levelsOf(book.bids)).toEqual(plainSide(one, other, 'bids'))
      expect(levelsOf(book.asks)).toEqual(plainSide(one, other, 'asks'))
      const isCrossed = ({ bids, asks }: Sides) =>
        (bids?.prices[0] ?? 0) >= (asks?.prices[0] ?? Number.POSITIVE_INFINITY)
      compared++
      if (!isCrossed(book)) continue
      crossed++
      expect(isCrossed(one) || isCrossed(other)).toBe(true)
    }
    expect(compared).toBe(400)
    expect(crossed).toBeGreaterThan(0)
  })

  test('behavior: looked at from the other outcome it is the same ladder in its prices', () => {
    const random = createRandom('both ways')
    for (const [one, other] of randomPairs(random, 100)) {
      if (one.timestampMs === other.timestampMs) continue
      const here = consolidate(one, other)
      const there = consolidate(other, one)
      expect(here?.bids.prices).toEqual(there?.asks.prices.map((price) => 1_000_000 - price) ?? [])
      expect(here?.asks.sizes).toEqual(there?.bids.sizes ?? [])
    }
  })
})

/**
 * Most pairs share prices, a third a moment; some are crossed by themselves, some are far apart.
 */
function randomPairs(random: Random, count: number): [StoredSnapshot, StoredSnapshot][] {
  const make = createBookMaker(random)
  return Array.from({ length: count }, (_, index) => {
    const afterMs = random.integer(1500)
    const one = state(2 * index, afterMs, make())
    const twin = mirrorOf({ ...one, ...make() })
    const other = state(2 * index + 1, index % 3 === 0 ? afterMs : random.integer(1500), twin)
    return [one, other]
  })
}

const levelsBy = ({ prices, sizes }: Ladder) =>
  new Map(prices.map((price, index) => [price, sizes[index]]))

/** The same by looking each price up in maps. */
function plainSide(own: StoredSnapshot, other: StoredSnapshot, side: 'bids' | 'asks') {
  const isOwnNewer = own.timestampMs >= other.timestampMs
  const mirrored = mirrorOf(other)
  const [newer, older] = isOwnNewer ? [own, mirrored] : [mirrored, own]
  const [newerName, olderName] = isOwnNewer ? ['own', 'mirror'] : ['mirror', 'own']
  const isApart = newer.timestampMs - older.timestampMs > 1000
  const fresh = levelsBy(newer[side])
  const old = levelsBy(isApart ? NO_LEVELS : older[side])
  const [best] = newer[side === 'bids' ? 'asks' : 'bids'].prices
  const wouldCross = (price: number) =>
    best !== undefined && (side === 'bids' ? price >= best : price <= best)
  const found = [...fresh].map(([price, size]): Level => {
    return [price, size, old.get(price) === size ? 'both' : newerName]
  })
  for (const [price, size] of newer.timestampMs > older.timestampMs ? [] : old) {
    if (!fresh.has(price) && !wouldCross(price)) found.push([price, size, olderName])
  }
  return found.sort(([a], [b]) => (a - b) * (side === 'bids' ? -1 : 1))
}
