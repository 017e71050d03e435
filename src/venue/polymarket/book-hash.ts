/**
 * Checks a book against the venue's own hash of it: the SHA-1 of the book as compact JSON, best
 * level last on both sides, with the market's minimum size, tick and last trade price after it.
 * Where these are unknown, guesses are tried: the prefix is hashed once, and each guess costs one
 * more block.
 */

import { createHash } from 'node:crypto'

import { parseMillionths } from '#src/domain/decimal.ts'
import { shortConditionId } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { createCache } from '#src/platform/cache.ts'

import type { BookTerms, BookVerifier } from '../venue.ts'
import { createBookText } from './book-text.ts'

/**
 * Which members follow the levels. The venue added members over time and may add more: the first
 * recipe is that of 2026, and the others are tried where it fails.
 */
const recipes = [
  { hasTerms: true, hasTrade: true },
  { hasTerms: true, hasTrade: false },
  { hasTerms: false, hasTrade: true },
  { hasTerms: false, hasTrade: false },
] as const

/** Ticks, the usual ones first; `tradeStep` is that of trade prices in units of `PRICE_UNIT`. */
const ticks = [
  { text: '0.01', millionths: 10_000, tradeStep: 10 },
  { text: '0.001', millionths: 1000, tradeStep: 10 },
  { text: '0.005', millionths: 5000, tradeStep: 10 },
  { text: '0.0025', millionths: 2500, tradeStep: 5 },
] as const

/** Millionths in the unit of trade prices, which are 1 to 9,999; 0 is no trade so far. */
const PRICE_UNIT = 100
const PRICES = 10_000
const NO_TRADE = 0

/**
 * What goes into a hash beside the levels: indexes of `recipes`, `ticks` and the terms of markets,
 * and a trade price.
 */
type Guess = Readonly<Record<'recipe' | 'tick' | 'price' | 'terms', number>>
const USUAL: Guess = { recipe: 0, tick: 0, price: NO_TRADE, terms: 0 }

const toTradeStep = ({ tick }: Guess): number => ticks[tick]?.tradeStep ?? PRICES

/** Guesses remembered of each market: trade prices alternate between few. */
const RECENT_MAX = 4
/** A book that is this much older than the last begins a new second of the limit. */
const BACK_SECONDS_MAX = 60
/** Markets remembered, more than are live at once; the longest unused are forgotten first. */
const MARKETS_MAX = 512

/** What is expected of a market's next book. */
type Memory = {
  /** What was right, the last first. */
  recent: readonly Guess[]
  /** What the stream said by then. */
  saidTick: number | undefined
  saidPrice: number | undefined
  /** Whether the venue hashes the id of 31 bytes of this market. */
  hasShortId: boolean
}

/**
 * Creates a verifier that remembers markets from row to row; best fed in order of time. A book that
 * does not reproduce its hash costs 5,300 tries of a block or two, where searches are not limited.
 */
export function createBookVerifier({
  searchesMax = Infinity,
}: { searchesMax?: number | undefined } = {}): BookVerifier {
  const text = createBookText()
  const terms = createMarketTerms()
  const toTail = createTails(terms.findTerms)
  const memories = createCache<string, Memory>(MARKETS_MAX)
  /** The recipe that was right last, of any market: all change at once. */
  let lastRecipe = USUAL.recipe
  let second = -1
  let searchesLeft = searchesMax

  /** Whether another search fits into the limit of the book's second. */
  function takeSearch(timestampMs: number): boolean {
    const now = Math.floor(timestampMs / 1000)
    // Books may come a little out of order; one that is much older is of another recording.
    if (now > second || now < second - BACK_SECONDS_MAX) {
      second = now
      searchesLeft = searchesMax
    }
    return searchesLeft-- > 0
  }

  /** Returns the guess that reproduces the hash, with the market's id in one form. */
  function find(
    snapshot: Snapshot,
    marketId: string | undefined,
    said: BookTerms,
    memory: Memory,
    hint: Guess,
    last: Guess,
  ): Guess | undefined {
    const { sourceHash, timestampMs } = snapshot
    text.write(snapshot, marketId)
    // The hint settles nearly every book of a stream, so its text is hashed in one piece.
    if (said.tradePrices !== undefined && text.hashWith(toTail(hint)) === sourceHash) return hint
    const prefix = createHash('sha1').update(text.bytes())
    const fits = (guess: Guess): boolean =>
      guess.price % toTradeStep(guess) === 0 &&
      prefix.copy().update(toTail(guess)).digest('hex') === sourceHash
    if (fits(hint)) return hint
    const { recent, saidTick = last.tick } = memory
    const prices = new Set([
      ...(said.tradePrices ?? []).map((price) => toTradePrice(price) ?? NO_TRADE),
      ...bestPrices(snapshot),
      ...recent.map(({ price }) => price),
      NO_TRADE,
    ])
    // Servers of the venue may change their recipe one after the other.
    for (const recipe of new Set([last.recipe, lastRecipe, ...recent.map((each) => each.recipe)]))
      for (const tick of new Set([hint.tick, last.tick, saidTick]))
        for (const price of prices) {
          const guess = { recipe, tick, price, terms: last.terms }
          if (!isSame(guess, hint) && fits(guess)) return guess
        }
    return said.isQuick || !takeSearch(timestampMs) ? undefined : search(last, fits)
  }

  return {
    verify(snapshot, said = {}) {
      const { sourceHash, conditionId } = snapshot
      if (sourceHash === undefined) return undefined
      const memory = memories.get(conditionId) ?? {
        recent: [],
        saidTick: undefined,
        saidPrice: undefined,
        hasShortId: false,
      }
      const [last = USUAL] = memory.recent
      const hint = toHint(said, memory, last)
      const shortId = shortConditionId(conditionId)
      const usualId = memory.hasShortId ? shortId : conditionId
      const otherId = memory.hasShortId ? conditionId : shortId
      let found: Guess | undefined
      for (const index of new Set([terms.indexOf(said, last.terms), last.terms, USUAL.terms])) {
        const ownHint = { ...hint, terms: index }
        const ownLast = { ...last, terms: index }
        found = find(snapshot, usualId, said, memory, ownHint, ownLast)
        if (found === undefined && otherId !== undefined) {
          found = find(snapshot, otherId, said, memory, ownHint, ownLast)
          if (found !== undefined) memory.hasShortId = otherId === shortId
        }
        if (found !== undefined) break
      }
      if (found === undefined) return false
      lastRecipe = found.recipe
      if (memory.recent.length === 0) memories.set(conditionId, memory, { size: 1 })
      const right = found
      if (memory.recent[0] === undefined || !isSame(memory.recent[0], right)) {
        const others = memory.recent.filter((guess) => !isSame(guess, right))
        memory.recent = [right, ...others].slice(0, RECENT_MAX)
      }
      return true
    },
  }
}

/**
 * What is tried first: what was right last, unless the stream said something else since. It is only
 * a hint, so that the verdict is the same without the stream.
 */
function toHint(said: BookTerms, memory: Memory, last: Guess): Guess {
  const tick = ticks.findIndex(({ millionths }) => millionths === said.tickSize)
  const saidTick = tick < 0 ? undefined : tick
  const saidPrice = toTradePrice(said.tradePrices?.[0])
  const isTickNews = saidTick !== undefined && saidTick !== memory.saidTick
  const isPriceNews = saidPrice !== undefined && saidPrice !== memory.saidPrice
  if (!isTickNews && !isPriceNews) return last
  memory.saidTick = saidTick
  memory.saidPrice = saidPrice
  const hint = {
    recipe: last.recipe,
    tick: isTickNews ? saidTick : last.tick,
    price: isPriceNews ? saidPrice : last.price,
    terms: last.terms,
  }
  return hint.price % toTradeStep(hint) === 0 ? hint : last
}

/** Reads a trade price as the venue prints it; undefined where it is not one to try. */
function toTradePrice(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === '') return NO_TRADE
  const price = (parseMillionths(text) ?? 0) / PRICE_UNIT
  return Number.isInteger(price) && price > 0 && price < PRICES ? price : undefined
}

const isSame = (a: Guess, b: Guess): boolean =>
  a.recipe === b.recipe && a.tick === b.tick && a.price === b.price && a.terms === b.terms

/** Tries every recipe, tick and price, those of the last guess first. */
function search(last: Guess, fits: (guess: Guess) => boolean): Guess | undefined {
  for (const recipe of new Set([last.recipe, ...recipes.keys()])) {
    const { hasTerms = true, hasTrade = true } = recipes[recipe] ?? {}
    for (const tick of hasTerms ? new Set([last.tick, ...ticks.keys()]) : [0]) {
      const guess = { ...last, recipe, tick }
      const found = hasTrade ? searchPrices(guess, fits) : undefined
      if (found !== undefined) return found
      const untraded = { ...guess, price: NO_TRADE }
      if (fits(untraded)) return untraded
    }
  }
  return undefined
}

/** Tries all prices outwards from that of a guess. */
function searchPrices(start: Guess, fits: (guess: Guess) => boolean): Guess | undefined {
  const step = toTradeStep(start)
  const middle = start.price === NO_TRADE ? PRICES / 2 : start.price - (start.price % step)
  for (let distance = 0; distance < PRICES; distance += step) {
    for (const price of distance === 0 ? [middle] : [middle - distance, middle + distance]) {
      if (price <= NO_TRADE || price >= PRICES) continue
      const guess = { ...start, price }
      if (fits(guess)) return guess
    }
  }
  return undefined
}

/** Where trades happen: at the best prices of this outcome's book or of the other's, its mirror. */
function bestPrices({ bids, asks }: Snapshot): number[] {
  const best = [bids.prices[0], asks.prices[0]].flatMap((price) =>
    price === undefined || price % PRICE_UNIT !== 0 ? [] : [price / PRICE_UNIT],
  )
  return [...best, ...best.map((price) => PRICES - price)]
}

/** What a book says of its market, which its hash covers. */
const USUAL_TERMS = { minOrderSize: '5', isNegRisk: false }
/** The most terms remembered: recordings of others may name any number of them. */
const TERMS_MAX = 64

function createMarketTerms() {
  const all = [USUAL_TERMS]
  const findTerms = (index: number) => all[index] ?? USUAL_TERMS
  return {
    findTerms,
    /** The index of the terms that a book says; those that it does not say are as in `usual`. */
    indexOf({ minOrderSize, isNegRisk }: BookTerms, usual: number): number {
      if (minOrderSize === undefined && isNegRisk === undefined) return usual
      const known = findTerms(usual)
      const said = {
        minOrderSize: minOrderSize ?? known.minOrderSize,
        isNegRisk: isNegRisk ?? known.isNegRisk,
      }
      const index = all.findIndex(
        (each) => each.minOrderSize === said.minOrderSize && each.isNegRisk === said.isNegRisk,
      )
      if (index >= 0 || all.length === TERMS_MAX) return Math.max(index, 0)
      return all.push(said) - 1
    },
  }
}

const encoder = new TextEncoder()

/** Returns the function that prints what follows the levels; each text is made once. */
function createTails(findTerms: ReturnType<typeof createMarketTerms>['findTerms']) {
  const made = new Map<number, Uint8Array>()
  return ({ recipe, tick, price, terms }: Guess): Uint8Array => {
    const key = ((terms * recipes.length + recipe) * ticks.length + tick) * PRICES + price
    const known = made.get(key)
    if (known !== undefined) return known
    const { hasTerms = true, hasTrade = true } = recipes[recipe] ?? {}
    const { minOrderSize, isNegRisk } = findTerms(terms)
    const market = `,"min_order_size":"${minOrderSize}","tick_size":"${ticks[tick]?.text}","neg_risk":${isNegRisk}`
    const text = price === NO_TRADE ? '' : `0.${String(price).padStart(4, '0').replace(/0$/, '')}`
    const trade = `,"last_trade_price":"${text}"`
    const tail = encoder.encode(`${hasTerms ? market : ''}${hasTrade ? trade : ''}}`)
    made.set(key, tail)
    return tail
  }
}
