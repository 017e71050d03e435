/**
 * Checks a book against the venue's own hash of it: the SHA-1 of the book as compact JSON, best
 * level last on both sides, with the market's minimum size, tick and last trade price after it.
 * What is not said of these is found by trying: the prefix is hashed once, and each guess costs one
 * more block.
 */
import { createHash } from 'node:crypto'

import { parseMillionths } from '#src/domain/decimal.ts'
import { shortConditionId } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { createCache } from '#src/platform/cache.ts'

import type { BookTerms, BookVerifier, VerifierLimits } from '../venue.ts'
import { createBookText } from './book-text.ts'

/**
 * What follows the levels. The venue added members over time and may again: the first of these is
 * that of 2026, and the others are tried where it fails.
 */
const recipes = [
  { hasTerms: true, hasTrade: true },
  { hasTerms: true, hasTrade: false },
  { hasTerms: false, hasTrade: true },
  { hasTerms: false, hasTrade: false },
] as const

/** Steps of prices, the usual ones first; and of trade prices, in units of `PRICE_UNIT`. */
const ticks = [
  { text: '0.01', millionths: 10_000, tradeStep: 10 },
  { text: '0.001', millionths: 1000, tradeStep: 10 },
  { text: '0.005', millionths: 5000, tradeStep: 10 },
  { text: '0.0025', millionths: 2500, tradeStep: 5 },
] as const

/** Trade prices are counted in ten-thousandths: 1 to 9,999; 0 is no trade so far. */
const PRICE_UNIT = 100
const PRICES = 10_000
const NO_TRADE = 0

/**
 * What goes into a hash beside the levels: indexes of `recipes`, `ticks` and the terms of markets,
 * and a trade price.
 */
type Guess = Readonly<Record<'recipe' | 'tick' | 'price' | 'terms', number>>
const USUAL: Guess = { recipe: 0, tick: 0, price: NO_TRADE, terms: 0 }

const tradeStepOf = ({ tick }: Guess): number => ticks[tick]?.tradeStep ?? PRICES

/** Guesses remembered of each market: trade prices alternate between few. */
const RECENT_MAX = 4
/** How much older than others a book may be that counts with them. */
const BACK_SECONDS_MAX = 60
/** Markets remembered, more than are live at once; the longest unused are forgotten first. */
const MARKETS_MAX = 512

/** What is expected of a market's next book: what was right last, and what was said by then. */
type Memory = {
  recent: readonly Guess[]
  saidTick: number | undefined
  saidPrice: number | undefined
  /** Whether the venue hashes the id of 31 bytes of this market. */
  hasShortId: boolean
}
/** Whether the book's hash is that with this guess. */
type Probe = (guess: Guess) => boolean

/**
 * Creates a verifier that remembers markets from row to row; best fed in order of time. A book that
 * does not reproduce its hash costs 5,300 tries of a block or two, where searches are not limited.
 */
export function createBookVerifier({ searchesMax = Infinity }: VerifierLimits = {}): BookVerifier {
  const text = createBookText()
  const terms = createMarketTerms()
  const tailOf = createTails(terms.textsOf)
  const memories = createCache<string, Memory>(MARKETS_MAX)
  const budget = createBudget(searchesMax)
  /** The one that was right last, of any market: all change at once. */
  let recipe = USUAL.recipe

  function findOther(snapshot: Snapshot, expectation: Expectation): Guess | undefined {
    const prefix = createHash('sha1').update(text.bytes())
    const probe: Probe = (guess) =>
      guess.price % tradeStepOf(guess) === 0 &&
      prefix.copy().update(tailOf(guess)).digest('hex') === snapshot.sourceHash
    if (probe(expectation.hint)) return expectation.hint
    const likely = findLikely(snapshot, expectation, probe)
    if (likely !== undefined || expectation.said.isQuick) return likely
    return budget.take(snapshot.timestampMs) ? search(expectation.last, probe) : undefined
  }

  /** What reproduces the hash, where the venue writes the market's id like that. */
  function findWith(
    snapshot: Snapshot,
    expectation: Expectation,
    marketId: string | undefined,
  ): Guess | undefined {
    const { hint, said } = expectation
    text.write(snapshot, marketId)
    // That settles nearly every book of a stream, so its text is hashed in one piece.
    const isAsExpected =
      said.tradePrices !== undefined && text.hashWith(tailOf(hint)) === snapshot.sourceHash
    return isAsExpected ? hint : findOther(snapshot, expectation)
  }

  return {
    verify(snapshot, said = {}) {
      const { sourceHash, conditionId } = snapshot
      if (sourceHash === undefined) return undefined
      const memory = memories.get(conditionId) ?? createMemory()
      const [last = USUAL] = memory.recent
      const hint = hintOf(said, memory, last)
      const shortId = shortConditionId(conditionId)
      const usualId = memory.hasShortId ? shortId : conditionId
      const otherId = memory.hasShortId ? conditionId : shortId
      let found: Guess | undefined
      for (const index of new Set([terms.indexOf(said, last.terms), last.terms, USUAL.terms])) {
        const expectation = {
          memory,
          hint: { ...hint, terms: index },
          last: { ...last, terms: index },
          said,
          recipe,
        }
        found = findWith(snapshot, expectation, usualId)
        if (found === undefined && otherId !== undefined) {
          found = findWith(snapshot, expectation, otherId)
          if (found !== undefined) memory.hasShortId = otherId === shortId
        }
        if (found !== undefined) break
      }
      if (found === undefined) return false
      recipe = found.recipe
      if (memory.recent.length === 0) memories.set(conditionId, memory, { size: 1 })
      learn(memory, found)
      return true
    },
  }
}

const createMemory = (): Memory => ({
  recent: [],
  saidTick: undefined,
  saidPrice: undefined,
  hasShortId: false,
})

/**
 * What is tried first: what was right last, unless something else was said since. What is said is
 * only a hint, so that whoever hears nothing comes to the same verdict.
 */
function hintOf(said: BookTerms, memory: Memory, last: Guess): Guess {
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
  return hint.price % tradeStepOf(hint) === 0 ? hint : last
}

/** Reads a trade price as the venue prints it, or else; undefined where it is not one to try. */
function toTradePrice(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === '') return NO_TRADE
  const price = (parseMillionths(text) ?? 0) / PRICE_UNIT
  return Number.isInteger(price) && price > 0 && price < PRICES ? price : undefined
}

type Expectation = { memory: Memory; hint: Guess; last: Guess; said: BookTerms; recipe: number }

/** What was said or used lately, or traded at the best prices. */
function findLikely(
  snapshot: Snapshot,
  { memory, hint, last, said, recipe }: Expectation,
  probe: Probe,
): Guess | undefined {
  const { recent, saidTick = last.tick } = memory
  const prices = new Set([
    ...(said.tradePrices ?? []).map((text) => toTradePrice(text) ?? NO_TRADE),
    ...touchOf(snapshot),
    ...recent.map(({ price }) => price),
    NO_TRADE,
  ])
  // Servers of the venue may change their recipe one after the other.
  const likelyRecipes = new Set([last.recipe, recipe, ...recent.map((guess) => guess.recipe)])
  for (const each of likelyRecipes) {
    for (const tick of new Set([hint.tick, last.tick, saidTick])) {
      for (const price of prices) {
        const guess = { recipe: each, tick, price, terms: last.terms }
        if (!isSame(guess, hint) && probe(guess)) return guess
      }
    }
  }
  return undefined
}

function search(last: Guess, probe: Probe): Guess | undefined {
  for (const recipe of new Set([last.recipe, ...recipes.keys()])) {
    const { hasTerms = true, hasTrade = true } = recipes[recipe] ?? {}
    for (const tick of hasTerms ? new Set([last.tick, ...ticks.keys()]) : [0]) {
      const guess = { ...last, recipe, tick }
      const found = hasTrade
        ? searchOutwards(guess, probe)
        : toFound(probe, { ...guess, price: NO_TRADE })
      if (found !== undefined) return found
    }
  }
  return undefined
}

function learn(memory: Memory, found: Guess): void {
  const [last] = memory.recent
  if (last !== undefined && isSame(last, found)) return
  const others = memory.recent.filter((guess) => !isSame(guess, found))
  memory.recent = [found, ...others].slice(0, RECENT_MAX)
}

const isSame = (a: Guess, b: Guess): boolean =>
  a.recipe === b.recipe && a.tick === b.tick && a.price === b.price && a.terms === b.terms

function toFound(probe: Probe, guess: Guess): Guess | undefined {
  return probe(guess) ? guess : undefined
}

/** Returns the guess whose price is nearest to that of `start`. */
function searchOutwards(start: Guess, probe: Probe): Guess | undefined {
  const step = tradeStepOf(start)
  const middle = start.price === NO_TRADE ? PRICES / 2 : start.price - (start.price % step)
  for (let distance = 0; distance < PRICES; distance += step) {
    for (const price of distance === 0 ? [middle] : [middle - distance, middle + distance]) {
      if (price <= NO_TRADE || price >= PRICES) continue
      const guess = { ...start, price }
      if (probe(guess)) return guess
    }
  }
  return toFound(probe, { ...start, price: NO_TRADE })
}

/**
 * Where trades happen: at the best prices of this outcome's book, or of
 * the other's, which mirrors it.
 */
function touchOf({ bids, asks }: Snapshot): number[] {
  const best = [bids.prices[0], asks.prices[0]].flatMap((price) =>
    price === undefined || price % PRICE_UNIT !== 0 ? [] : [price / PRICE_UNIT],
  )
  return [...best, ...best.map((price) => PRICES - price)]
}

/** How often a second something is done at most. */
function createBudget(timesMax: number) {
  let second = -1
  let left = timesMax
  return {
    /** Books may come a little out of order; one that is hours older is of another recording. */
    take(timestampMs: number): boolean {
      const now = Math.floor(timestampMs / 1000)
      if (now > second || now < second - BACK_SECONDS_MAX) {
        second = now
        left = timesMax
      }
      return left-- > 0
    },
  }
}

/** What a book says of its market, which its hash covers. */
type MarketTerms = { minOrderSize: string; isNegRisk: boolean }
const USUAL_TERMS: MarketTerms = { minOrderSize: '5', isNegRisk: false }
/** Terms remembered: recordings of others may name any number of them. */
const TERMS_MAX = 64

function createMarketTerms() {
  const all: MarketTerms[] = [USUAL_TERMS]
  return {
    textsOf: (index: number): MarketTerms => all[index] ?? USUAL_TERMS,
    /** The index of what is said; of what it does not say, that of `usual`. */
    indexOf({ minOrderSize, isNegRisk }: BookTerms, usual: number): number {
      if (minOrderSize === undefined && isNegRisk === undefined) return usual
      const known = all[usual] ?? USUAL_TERMS
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

/** What follows the levels, by what goes into it; made when it is first tried. */
function createTails(textsOf: (index: number) => MarketTerms): (guess: Guess) => Uint8Array {
  const made = new Map<number, Uint8Array>()
  return (guess) => {
    const { recipe, tick, price, terms } = guess
    const key = ((terms * recipes.length + recipe) * ticks.length + tick) * PRICES + price
    const known = made.get(key)
    if (known !== undefined) return known
    const tail = encoder.encode(tailTextOf(guess, textsOf(terms)))
    made.set(key, tail)
    return tail
  }
}

function tailTextOf({ recipe, tick, price }: Guess, market: MarketTerms): string {
  const { hasTerms = true, hasTrade = true } = recipes[recipe] ?? {}
  const { minOrderSize, isNegRisk } = market
  const terms = `,"min_order_size":"${minOrderSize}","tick_size":"${ticks[tick]?.text}","neg_risk":${isNegRisk}`
  const text = price === NO_TRADE ? '' : `0.${String(price).padStart(4, '0').replace(/0$/, '')}`
  return `${hasTerms ? terms : ''}${hasTrade ? `,"last_trade_price":"${text}"` : ''}}`
}
