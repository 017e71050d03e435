/** Recipes: the text that the venue hashes after the levels of a book, for each guess. */

import { parseMillionths } from '#src/domain/decimal.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Endings } from '#src/platform/sha1-search.ts'

import type { BookTerms } from '../venue.ts'

/**
 * Members after the levels, by version of the venue's protocol. The venue has added members over
 * time and may add more: the first two recipes are those of 2026, the others are tried if these
 * fail.
 */
const recipes = [
  { hasTerms: true, hasTrade: true, version: '' },
  { hasTerms: true, hasTrade: true, version: ',"version":"v2"' },
  { hasTerms: true, hasTrade: false, version: '' },
  { hasTerms: false, hasTrade: true, version: '' },
  { hasTerms: false, hasTrade: false, version: '' },
] as const

/**
 * Ticks, the usual ones first. All trades seen are at multiples of the tick (220,487 recorded
 * books); `tradeStep` is the step of trade prices in units of `PRICE_UNIT`.
 */
const ticks = [
  { text: '0.01', millionths: 10_000, tradeStep: 10 },
  { text: '0.001', millionths: 1000, tradeStep: 10 },
  { text: '0.005', millionths: 5000, tradeStep: 10 },
  { text: '0.0025', millionths: 2500, tradeStep: 5 },
] as const

/** The unit of trade prices in millionths. Prices are 1 to 9,999; 0 means no trade so far. */
const PRICE_UNIT = 100
const PRICES = 10_000
export const NO_TRADE = 0

/**
 * A guess at the hashed text after the levels: indexes of `recipes`, `ticks` and market terms, and
 * a trade price.
 */
export type Guess = Readonly<Record<'recipe' | 'tick' | 'price' | 'terms', number>>

/** Indexes of `recipes` and `ticks`. */
export const V1 = 0
export const V2 = 1
export const USUAL_TICK = 0
export const FINE_TICK = 1
export const USUAL: Guess = { recipe: V1, tick: USUAL_TICK, price: NO_TRADE, terms: 0 }

export const isSame = (a: Guess, b: Guess): boolean => isSameRecipe(a, b) && a.price === b.price

/** True if two guesses differ at most in the trade price. */
export const isSameRecipe = (a: Guess, b: Guess): boolean =>
  a.recipe === b.recipe && a.tick === b.tick && a.terms === b.terms

const tradeStepOf = ({ tick }: Guess): number => ticks[tick]?.tradeStep ?? PRICES
export const isPossible = (guess: Guess): boolean => guess.price % tradeStepOf(guess) === 0

/** All recipes and ticks, those of `first` first; a recipe without terms has no tick. */
export function* listRecipes(first: Guess): Generator<Guess> {
  for (const recipe of new Set([first.recipe, ...recipes.keys()])) {
    const own = recipes[recipe]?.hasTerms ? new Set([first.tick, ...ticks.keys()]) : [USUAL_TICK]
    for (const tick of own) yield { ...first, recipe, tick }
  }
}

/** The index of a tick from the stream; undefined if no recipe has it. */
export function toTick(millionths: number | undefined): number | undefined {
  const tick = ticks.findIndex((each) => each.millionths === millionths)
  return tick < 0 ? undefined : tick
}

/** Parses a trade price of the venue; undefined if it cannot be in a hash. */
export function toTradePrice(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === '') return NO_TRADE
  const price = (parseMillionths(text) ?? 0) / PRICE_UNIT
  return Number.isInteger(price) && price > 0 && price < PRICES ? price : undefined
}

/** Likely trade prices: the best prices of this book, and of the other outcome's as its mirror. */
export function bestPrices({ bids, asks }: Snapshot): number[] {
  const best = [bids.prices[0], asks.prices[0]].flatMap((price) =>
    price === undefined || price % PRICE_UNIT !== 0 ? [] : [price / PRICE_UNIT],
  )
  return [...best, ...best.map((price) => PRICES - price)]
}

/** A market gets the finer tick when a price is beyond 0.04 or 0.96; with a margin. */
const EDGE = 50_000
const UNIT = 1_000_000

/** True if the market of a book may have the finer tick. */
export function mayBeFine({ bids, asks }: Snapshot): boolean {
  const [bid = 0] = bids.prices
  const [ask = UNIT] = asks.prices
  if (Math.min(bid, UNIT - bid) <= EDGE || Math.min(ask, UNIT - ask) <= EDGE) return true
  return [bids, asks].some(({ prices }) =>
    prices.some((price) => price % ticks[USUAL_TICK].millionths !== 0),
  )
}

/** Usual terms of a market; the hash covers them. */
const USUAL_TERMS = { minOrderSize: '5', isNegRisk: false }
/** Maximum number of cached terms: foreign recordings may contain any number. */
const TERMS_MAX = 64

function createMarketTerms() {
  const all = [USUAL_TERMS]
  const findTerms = (index: number) => all[index] ?? USUAL_TERMS
  return {
    findTerms,
    /** The index of a book's terms; terms that it does not name are taken from `usual`. */
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

/** The digits of a trade price after the point: three, or four for the finer tick. */
const digitsOf = (price: number): string => String(price).padStart(4, '0').replace(/0$/, '')

/** Trade prices with the same number of digits. */
type PriceList = Endings & { prices: readonly number[] }

function listPrices(step: number, digits: number): PriceList {
  const all = Array.from({ length: PRICES / step - 1 }, (_, at) => (at + 1) * step)
  const prices = all.filter((price) => digitsOf(price).length === digits)
  return { prices, bytes: encoder.encode(prices.map(digitsOf).join('')), length: digits }
}

/** Prints the text after the levels for each guess, once each. */
export function createTails() {
  const terms = createMarketTerms()
  const tails = new Map<number, Uint8Array>()
  const around = new Map<number, { before: Uint8Array; after: Uint8Array }>()
  const lists = new Map<number, readonly PriceList[]>()

  const keyOf = (guess: Guess): number =>
    (guess.terms * recipes.length + guess.recipe) * ticks.length + guess.tick

  /** The text before and after the price of the last trade, and whether the recipe has one. */
  function textsOf(guess: Guess): { before: string; after: string; hasTrade: boolean } {
    const { hasTerms = true, hasTrade = true, version = '' } = recipes[guess.recipe] ?? {}
    const { minOrderSize, isNegRisk } = terms.findTerms(guess.terms)
    const own = `,"min_order_size":"${minOrderSize}","tick_size":"${ticks[guess.tick]?.text}","neg_risk":${isNegRisk}`
    const before = hasTerms ? own : ''
    if (!hasTrade) return { before, after: `${version}}`, hasTrade }
    return { before: `${before},"last_trade_price":"`, after: `"${version}}`, hasTrade }
  }

  return {
    indexOfTerms: terms.indexOf,

    tailOf(guess: Guess): Uint8Array {
      const key = keyOf(guess) * PRICES + guess.price
      const known = tails.get(key)
      if (known !== undefined) return known
      const { before, after, hasTrade } = textsOf(guess)
      const price = guess.price === NO_TRADE || !hasTrade ? '' : `0.${digitsOf(guess.price)}`
      const tail = encoder.encode(before + price + after)
      tails.set(key, tail)
      return tail
    },

    /** The texts around the digits of a trade price; undefined if the recipe has none. */
    aroundPrice(guess: Guess): { before: Uint8Array; after: Uint8Array } | undefined {
      const key = keyOf(guess)
      const known = around.get(key)
      if (known !== undefined) return known
      const { before, after, hasTrade } = textsOf(guess)
      if (!hasTrade) return undefined
      const made = { before: encoder.encode(`${before}0.`), after: encoder.encode(after) }
      around.set(key, made)
      return made
    },

    /** The trade prices that are multiples of a guess's tick, or all possible ones. */
    pricesOf(guess: Guess, which: 'of_tick' | 'all'): readonly PriceList[] {
      const { millionths } = ticks[guess.tick] ?? ticks[USUAL_TICK]
      const step = which === 'all' ? tradeStepOf(guess) : millionths / PRICE_UNIT
      const known = lists.get(step)
      if (known !== undefined) return known
      const made = [3, 4].map((digits) => listPrices(step, digits))
      const some = made.filter(({ prices }) => prices.length > 0)
      lists.set(step, some)
      return some
    },
  }
}
