/**
 * Verifies a book against the venue's hash of it: the SHA-1 of the book as compact JSON, best level
 * last on both sides, followed by the market's minimum size, tick and last trade price, and in
 * protocol V2 the version.
 *
 * A recipe is what the hash covers; every market has one. The recipe that fitted the market's
 * previous books is tried first, then likely guesses. If the market's recipe is known, every trade
 * price of its tick is tried with that recipe, so that a book is only called false for a reason.
 * Rarely, every known recipe is tried.
 */

import { createHash, type Hash } from 'node:crypto'

import { shortConditionId } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'
import { createSha1Search } from '#src/platform/sha1-search.ts'

import type { BookTerms, BookVerifier } from '../venue.ts'
import {
  bestPrices,
  createTails,
  FINE_TICK,
  type Guess,
  isPossible,
  isSame,
  isSameRecipe,
  listRecipes,
  mayBeFine,
  NO_TRADE,
  toTick,
  toTradePrice,
  USUAL,
  USUAL_TICK,
  V1,
  V2,
} from './book-recipe.ts'
import { createBookText } from './book-text.ts'

/** Guesses cached per market: its trade prices alternate between a few. */
const RECENT_MAX = 4
/** Recipes cached per market, with their ticks and terms. */
const RECIPES_MAX = 8
/** Markets cached, more than are live at once; the least recently used are evicted first. */
const MARKETS_MAX = 512
/**
 * Searches through every recipe, eleven thousand guesses each: a market starts with `SEARCHES_MAX`,
 * and earns another with every `BOOKS_PER_SEARCH` books. So a market with an unknown recipe adds
 * little to the cost of each of its books.
 */
const SEARCHES_MAX = 2
const BOOKS_PER_SEARCH = 256

/** Expectations for a market's next book. */
type Memory = {
  /** Guesses that were right, the latest first. */
  recent: readonly Guess[]
  /** Recipes and ticks that were right, with any price. */
  recipes: readonly Guess[]
  /** Tick and price in the stream at that time. */
  saidTick: number | undefined
  saidPrice: number | undefined
  /** True if the venue hashes the 31-byte id of this market. */
  hasShortId: boolean
  searchesLeft: number
}

/** The id of a market as it is hashed, the first guess to try, and the last right one. */
type Form = { marketId: string; hint: Guess; last: Guess }

/**
 * Creates a verifier that caches what it learns about markets; works best on books in order of
 * time. `limits` cap the searches per second, over all markets.
 */
export function createBookVerifier(limits?: { searchesMax: number; clock: Clock }): BookVerifier {
  const text = createBookText()
  const tails = createTails()
  const sha1 = createSha1Search()
  const memories = createCache<string, Memory>(MARKETS_MAX)
  /** The recipe that was right last, for any market: if one market changes, others may follow. */
  let lastRecipe = V1
  let written: { snapshot: Snapshot; marketId: string; prefix: Hash | undefined } | undefined
  let second = -1
  let searchesLeft = 0

  function write(snapshot: Snapshot, marketId: string): void {
    if (written?.snapshot === snapshot && written.marketId === marketId) return
    text.write(snapshot, marketId)
    written = { snapshot, marketId, prefix: undefined }
  }

  /** The hash of the current book under a guess. */
  function hashOf(guess: Guess): string | undefined {
    if (written === undefined) return undefined
    written.prefix ??= createHash('sha1').update(text.bytes())
    return written.prefix.copy().update(tails.tailOf(guess)).digest('hex')
  }

  function takeSearch(memory: Memory): boolean {
    if (memory.searchesLeft < 1) return false
    if (limits !== undefined) {
      const now = Math.floor(limits.clock() / 1000)
      if (now !== second) {
        second = now
        searchesLeft = limits.searchesMax
      }
      if (searchesLeft-- <= 0) return false
    }
    memory.searchesLeft--
    return true
  }

  function remember(conditionId: string): Memory {
    const known = memories.get(conditionId)
    if (known !== undefined) return known
    const memory: Memory = {
      recent: [],
      recipes: [],
      saidTick: undefined,
      saidPrice: undefined,
      hasShortId: false,
      searchesLeft: SEARCHES_MAX,
    }
    memories.set(conditionId, memory, { size: 1 })
    return memory
  }

  function listForms({ conditionId }: Snapshot, said: BookTerms, memory: Memory): Form[] {
    const shortId = shortConditionId(conditionId)
    // Apart from chance, only markets of protocol V2 have a short id.
    const isV2 = said.version === 'v2' || (said.version === undefined && shortId !== undefined)
    const [last = { ...USUAL, recipe: isV2 ? V2 : V1 }] = memory.recent
    const hint = toHint(said, memory, last)
    const ids = shortId === undefined ? [conditionId] : [conditionId, shortId]
    if (memory.hasShortId) ids.reverse()
    const terms = new Set([tails.indexOfTerms(said, last.terms), last.terms, USUAL.terms])
    return [...terms].flatMap((index) =>
      ids.map((marketId) => ({
        marketId,
        hint: { ...hint, terms: index },
        last: { ...last, terms: index },
      })),
    )
  }

  /** If the recipe of a market is known, so is the form of its id. */
  const listOwnForms = ([first, ...others]: readonly Form[], { recent }: Memory): Form[] =>
    first === undefined
      ? []
      : [
          first,
          ...others.filter(({ marketId }) => recent.length === 0 || marketId === first.marketId),
        ]

  /** Returns the likely guess that reproduces the hash. */
  function findLikely(
    snapshot: Snapshot,
    said: BookTerms,
    memory: Memory,
    { marketId, hint, last }: Form,
  ): Guess | undefined {
    const { sourceHash } = snapshot
    write(snapshot, marketId)
    // The hint settles nearly every book of a stream, so its text is hashed in one piece.
    if (said.tradePrices !== undefined && text.hashWith(tails.tailOf(hint)) === sourceHash)
      return hint
    const fits = (guess: Guess): boolean => isPossible(guess) && hashOf(guess) === sourceHash
    if (fits(hint)) return hint
    const { recent, saidTick = last.tick } = memory
    const prices = new Set([
      ...(said.tradePrices ?? []).map((price) => toTradePrice(price) ?? NO_TRADE),
      ...bestPrices(snapshot),
      ...recent.map(({ price }) => price),
      NO_TRADE,
    ])
    const own = recent.length === 0 ? [V1, V2] : recent.map(({ recipe }) => recipe)
    for (const recipe of new Set([last.recipe, ...own, lastRecipe]))
      for (const tick of new Set([hint.tick, last.tick, saidTick]))
        for (const price of prices) {
          const guess = { recipe, tick, price, terms: last.terms }
          if (!isSame(guess, hint) && fits(guess)) return guess
        }
    return undefined
  }

  /** Tries recipes with their trade prices, those near a guess first. */
  function findPrice(
    snapshot: Snapshot,
    marketId: string,
    wanted: Iterable<Guess>,
    which: 'of_tick' | 'all',
  ): Guess | undefined {
    const { sourceHash = '' } = snapshot
    write(snapshot, marketId)
    sha1.begin(text.bytes())
    for (const each of wanted) {
      const untraded = { ...each, price: NO_TRADE }
      if (hashOf(untraded) === sourceHash) return untraded
      const around = tails.aroundPrice(each)
      if (around === undefined) continue
      for (const list of tails.pricesOf(each, which)) {
        const near = list.prices.findIndex((price) => price >= each.price)
        const found = sha1.find(sourceHash, list, around, near)
        const price = list.prices[found]
        if (price !== undefined) return { ...each, price }
      }
    }
    return undefined
  }

  /** The recipes to try on a book of a market whose recipe is known. */
  function listOwn(snapshot: Snapshot, memory: Memory, { last }: Form): Guess[] {
    const known =
      memory.recipes.length > 0
        ? memory.recipes
        : [V1, V2].map((recipe) => ({ ...last, recipe, tick: USUAL_TICK }))
    const own = known.map((each) => ({ ...each, price: last.price }))
    if (!mayBeFine(snapshot)) return own
    const fine = own.map((each) => ({ ...each, tick: FINE_TICK }))
    return [...own, ...fine].filter(
      (each, at, all) => all.findIndex((other) => isSameRecipe(each, other)) === at,
    )
  }

  /** Returns the result of a search, and whether the market's recipe is known. */
  function search(snapshot: Snapshot, said: BookTerms, memory: Memory, forms: readonly Form[]) {
    const isKnown = memory.recent.length > 0 || said.isProved === true
    if (isKnown)
      for (const form of listOwnForms(forms, memory)) {
        const guess = findPrice(snapshot, form.marketId, listOwn(snapshot, memory, form), 'of_tick')
        if (guess !== undefined) return { found: { guess, marketId: form.marketId }, isKnown }
      }
    if (takeSearch(memory))
      for (const { marketId, last } of forms) {
        const guess = findPrice(snapshot, marketId, listRecipes(last), 'all')
        if (guess !== undefined) return { found: { guess, marketId }, isKnown }
      }
    return { found: undefined, isKnown }
  }

  function keep(memory: Memory, snapshot: Snapshot, right: Guess, marketId: string): void {
    lastRecipe = right.recipe
    memory.hasShortId = marketId !== snapshot.conditionId
    const [last] = memory.recent
    if (last !== undefined && isSame(last, right)) return
    const others = memory.recent.filter((guess) => !isSame(guess, right))
    memory.recent = [right, ...others].slice(0, RECENT_MAX)
    if (last !== undefined && isSameRecipe(last, right)) return
    const recipes = memory.recipes.filter((guess) => !isSameRecipe(guess, right))
    memory.recipes = [right, ...recipes].slice(0, RECIPES_MAX)
  }

  return {
    verify(snapshot, said = {}) {
      if (snapshot.sourceHash === undefined) return undefined
      const memory = remember(snapshot.conditionId)
      const forms = listForms(snapshot, said, memory)
      for (const form of listOwnForms(forms, memory)) {
        const guess = findLikely(snapshot, said, memory, form)
        if (guess === undefined) continue
        keep(memory, snapshot, guess, form.marketId)
        return true
      }
      if (said.isQuick) return undefined
      memory.searchesLeft = Math.min(memory.searchesLeft + 1 / BOOKS_PER_SEARCH, SEARCHES_MAX)
      const { found, isKnown } = search(snapshot, said, memory, forms)
      if (found === undefined) return isKnown ? false : undefined
      keep(memory, snapshot, found.guess, found.marketId)
      return true
    },
  }
}

/**
 * The first guess: the last right one, unless the stream has changed since. Only a hint, so that
 * the verdict is the same without the stream.
 */
function toHint(said: BookTerms, memory: Memory, last: Guess): Guess {
  const saidTick = toTick(said.tickSize)
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
  return isPossible(hint) ? hint : last
}
