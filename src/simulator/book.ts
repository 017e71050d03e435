/**
 * The book of a simulated market: an array of sizes over every price that the venue allows, whole
 * cents and, near 0 and 1, tenths of a cent. Slots up to `bid` hold bids, slots from `ask` on hold
 * asks, so the book cannot be crossed. It is the book of Up; that of Down is its exact mirror.
 */
import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import type { Random } from '#src/platform/random.ts'

import { HUNDREDTHS, lookUp, type Model } from './model.ts'

const MILLS_PER_UNIT = 1_000
const MILLS_PER_CENT = 10
const CENTS_PER_UNIT = 100
const MILLIONTHS_PER_MILL = 1_000
const MILLIONTHS_PER_HUNDREDTH = 10_000
/** The finer tick applies below this price and above its complement. */
export const FINE_MILLS = 40

/** The price of each slot in thousandths, ascending: 1 to 40, 50 to 950 by 10, 960 to 999. */
export const slotMills: readonly number[] = Array.from(
  { length: MILLS_PER_UNIT - 1 },
  (_, index) => index + 1,
).filter(
  (mills) => Math.min(mills, MILLS_PER_UNIT - mills) < FINE_MILLS || mills % MILLS_PER_CENT === 0,
)
export const SLOTS = slotMills.length

const slotOfMills = new Map(slotMills.map((mills, slot) => [mills, slot]))
const slotPrices = slotMills.map((mills): Millionths => mills * MILLIONTHS_PER_MILL)

/** Thick levels vary less than others. In hundredths of a share, before their percentage. */
const EDGE_SIZE = 400 * HUNDREDTHS
/** Levels near the touch are thinner; by distance from it in ticks. */
const TOUCH_PERCENTS = [50, 72, 88, 97] as const
/** Cheap orders far from the touch are thicker; by distance in ticks from 0 (bids) or 1 (asks). */
const EDGE_PERCENTS = [3_000, 720, 500, 230, 220, 110, 120] as const
/** Distance from the touch in ticks beyond which `EDGE_PERCENTS` applies. */
const EDGE_DISTANCE_MIN = 12
/** In 13 % of changes, a level returns to the size before the last one. */
const REVERT_SHARE = 0.11
/** Most vacant levels that are drawn are refilled: half of all states have all 99 levels. */
const REFILL_SHARE = 0.8
/** Thousandths between the fair price and the middle beyond which the touch follows. */
const FOLLOW_MILLS = 19
/** Distance in thousandths beyond which both sides are requoted at once: 3 % of states. */
const JUMP_MILLS = 31
/** Chance at each state that a spread of two or more ticks narrows by one. */
const CLOSE_SHARE = 0.5
/** Chance at each state that a spread of one tick loses a best level. */
const OPEN_SHARE = 0.015
/** Spreads in ticks after a jump. Of all states, 79 % have one tick, 12 % two, 4 % three. */
const JUMP_SPREADS = [1, 1, 2, 2, 3, 3, 4, 5, 7, 10] as const
/** Share of levels that are occupied at the finer tick (4 to 35 levels recorded). */
const FINE_FILL_SHARE = 0.4
/** At the finer tick, the touch follows the price more closely. */
const FINE_TICK_DIVISOR = 4

const emptyLadder: Ladder = { prices: [], sizes: [] }
const emptySides = { bids: emptyLadder, asks: emptyLadder }

/** The working state of a book. Sizes are hundredths of a share; 0 is a vacant slot. */
export type SimulatedBook = ReturnType<typeof createBook>

/** Opens a book with a spread of one cent around even odds; `sizes` has `SLOTS` entries. */
export function createBook(parts: { model: Model; random: Random; sizes: Int32Array }) {
  const book = {
    ...parts,
    /** The size before the last change of each slot. */
    formerSizes: new Int32Array(SLOTS),
    /** The size that each slot tends to. */
    usualSizes: new Int32Array(SLOTS),
    /** Slots of the best levels; -1 and `SLOTS` if there is none. */
    bid: -1,
    ask: 0,
    /** Orders at tenths of a cent are allowed. */
    isFine: false,
    up: emptySides,
    down: emptySides,
  }
  setTouch(book, slotOfCents(50), slotOfCents(51))
  return book
}

/** The slot of a price in whole cents, 1 to 99. */
export const slotOfCents = (cents: number): number => slotOfMills.get(cents * MILLS_PER_CENT) ?? -1

/** The next slot up (`step` 1) or down (-1) that may hold an order; `SLOTS` or -1 if none. */
function slotBeside(book: SimulatedBook, from: number, step: 1 | -1): number {
  let slot = from + step
  while (slot >= 0 && slot < SLOTS && !book.isFine && !isWholeCent(slot)) slot += step
  return slot
}

const slotAbove = (book: SimulatedBook, slot: number): number => slotBeside(book, slot, 1)
const slotBelow = (book: SimulatedBook, slot: number): number => slotBeside(book, slot, -1)

/**
 * Moves the touch: fills the levels that a side gained and clears those in between. Returns the
 * number of changes.
 */
function setTouch(book: SimulatedBook, bid: number, ask: number): number {
  const former = { bid: book.bid, ask: book.ask }
  const first = Math.max(0, Math.min(bid, former.bid))
  const last = Math.min(SLOTS - 1, Math.max(ask, former.ask))
  book.bid = bid
  book.ask = ask
  let changes = 0
  for (let slot = first; slot <= last; slot++) {
    const isOnSameSide = (slot <= bid && slot <= former.bid) || (slot >= ask && slot >= former.ask)
    if (renewSlot(book, slot, isOnSameSide)) changes++
  }
  return changes
}

/**
 * Fills or clears a slot according to its side. Like the functions below, returns true on change.
 */
function renewSlot(book: SimulatedBook, slot: number, isOnSameSide: boolean): boolean {
  const isTouch = slot === book.bid || slot === book.ask
  const isVacant = book.sizes[slot] === 0
  if (isOnSameSide && !(isTouch && isVacant)) return false
  const isBetween = slot > book.bid && slot < book.ask
  if (isTouch || (!isBetween && isTaken(book, slot))) {
    fill(book, slot)
    return true
  }
  book.sizes[slot] = 0
  return !isVacant
}

export function changeLevel(book: SimulatedBook, slot: number): boolean {
  const { model, random, sizes } = book
  const size = sizes[slot] ?? 0
  if (size === 0) {
    if (random.uniform() >= REFILL_SHARE) return false
    fill(book, slot)
    return true
  }
  const former = book.formerSizes[slot] ?? 0
  const round = lookUp(model.roundChanges, random.uniform())
  let next = size
  if (former > 0 && random.uniform() < REVERT_SHARE) next = former
  else if (round > 0) next = moveSize(book, slot, round)
  else next = otherSize(book, slot)
  if (next === size) next += 5 * HUNDREDTHS
  book.formerSizes[slot] = size
  sizes[slot] = next
  return true
}

export function removeLevel(book: SimulatedBook, slot: number): boolean {
  if (slot === book.bid || slot === book.ask || book.sizes[slot] === 0) return false
  book.sizes[slot] = 0
  return true
}

/** Allows orders at tenths of a cent, and places some below 0.04 or above 0.96. */
export function refineTick(book: SimulatedBook, isHigh: boolean): void {
  book.isFine = true
  for (let slot = 0; slot < SLOTS; slot++) {
    const mills = slotMills[slot] ?? 0
    const isNear = isHigh ? mills > MILLS_PER_UNIT - FINE_MILLS : mills < FINE_MILLS
    const isVacant = book.sizes[slot] === 0 && (slot < book.bid || slot > book.ask)
    if (isNear && isVacant && isTaken(book, slot)) fill(book, slot)
  }
}

/**
 * Updates `up` and `down` from the sizes. Unchanged sides keep their arrays, and both outcomes
 * share the size arrays, so that a state is cheap to make and to keep.
 */
export function renewLadders(book: SimulatedBook): void {
  const { up, down } = book
  const bids = listLevels(book, up.bids, -1)
  const asks = listLevels(book, up.asks, 1)
  book.up = { bids, asks }
  book.down = { bids: mirror(asks, up.asks, down.bids), asks: mirror(bids, up.bids, down.asks) }
}

function listLevels(book: SimulatedBook, former: Ladder, step: 1 | -1): Ladder {
  const prices: Millionths[] = []
  const sizes: Millionths[] = []
  let arePricesKept = true
  let areSizesKept = true
  for (let slot = step < 0 ? book.bid : book.ask; slot >= 0 && slot < SLOTS; slot += step) {
    const size = (book.sizes[slot] ?? 0) * MILLIONTHS_PER_HUNDREDTH
    if (size === 0) continue
    const price = slotPrices[slot] ?? 0
    if (former.prices[sizes.length] !== price) arePricesKept = false
    if (former.sizes[sizes.length] !== size) areSizesKept = false
    prices.push(price)
    sizes.push(size)
  }
  if (!arePricesKept || sizes.length !== former.prices.length) return { prices, sizes }
  return areSizesKept ? former : { prices: former.prices, sizes }
}

function mirror(ladder: Ladder, former: Ladder, formerMirror: Ladder): Ladder {
  if (ladder === former) return formerMirror
  const { prices, sizes } = ladder
  const areKept = prices === former.prices
  return {
    prices: areKept ? formerMirror.prices : prices.map((price) => MILLIONTHS_PER_UNIT - price),
    sizes,
  }
}

/** Places an order with a size that is usual at this distance from the touch and the edge. */
function fill(book: SimulatedBook, slot: number): void {
  const { model, random } = book
  const isBid = slot <= book.bid
  const cents = Math.floor((slotMills[slot] ?? 0) / MILLS_PER_CENT)
  const touch = Math.floor((slotMills[isBid ? book.bid : book.ask] ?? 0) / MILLS_PER_CENT)
  const distance = Math.abs(touch - cents)
  const fromEdge = isBid ? cents : CENTS_PER_UNIT - cents
  const edgePercent = distance > EDGE_DISTANCE_MIN ? (EDGE_PERCENTS[fromEdge - 1] ?? 100) : 100
  const drawn = lookUp(model.levelSizes, random.uniform())
  const base = edgePercent > 100 ? Math.floor((drawn + 3 * EDGE_SIZE) / 4) : drawn
  const usual = Math.floor((base * edgePercent) / 100)
  book.usualSizes[slot] = usual
  book.formerSizes[slot] = 0
  book.sizes[slot] = endSize(book, Math.floor((usual * (TOUCH_PERCENTS[distance] ?? 100)) / 100))
}

/** Half of the other changes are whole shares; the rest end in any digits. */
function otherSize(book: SimulatedBook, slot: number): number {
  const { model, random } = book
  const amount = lookUp(model.otherChanges, random.uniform())
  if (random.uniform() < 0.5) return moveSize(book, slot, amount - (amount % HUNDREDTHS))
  return endSize(book, moveSize(book, slot, amount))
}

/** Adds or removes an amount, towards the usual size if far from it; never a whole level. */
function moveSize(book: SimulatedBook, slot: number, amount: number): number {
  const size = book.sizes[slot] ?? 0
  const usual = book.usualSizes[slot] ?? 0
  const isCoinUp = book.random.uniform() < 0.5
  const isUp = 3 * size > 4 * usual ? false : 4 * size < 3 * usual || isCoinUp
  if (isUp) return size + amount
  return size > amount ? size - amount : Math.max(HUNDREDTHS, usual)
}

/** Gives a size a usual ending: most are whole or in tenths. */
function endSize(book: SimulatedBook, size: number): number {
  const { model, random } = book
  const drawn = lookUp(model.sizeEndings, random.uniform())
  const ending = drawn >= 0 ? drawn : random.integer(10) * 10 + 1 + random.integer(9)
  return Math.max(HUNDREDTHS, size - (size % HUNDREDTHS)) + ending
}

/** True if an order is placed at a slot that changes sides. */
const isTaken = (book: SimulatedBook, slot: number): boolean =>
  isWholeCent(slot) || (book.isFine && book.random.uniform() < FINE_FILL_SHARE)

const isWholeCent = (slot: number): boolean => (slotMills[slot] ?? 0) % MILLS_PER_CENT === 0

/**
 * Moves the touch towards a price in thousandths: later, by a tick, or at once. Returns the number
 * of changes.
 */
export function followPrice(book: SimulatedBook, mills: number): number {
  if (book.bid < 0 || book.ask >= SLOTS) return requote(book, mills)
  const deviation = mills - ((slotMills[book.bid] ?? 0) + (slotMills[book.ask] ?? 0)) / 2
  const size = Math.abs(deviation) * (book.isFine ? FINE_TICK_DIVISOR : 1)
  if (size > JUMP_MILLS) return requote(book, mills)
  const isWide = slotAbove(book, book.bid) !== book.ask
  const isUp = deviation > 0
  if (size > FOLLOW_MILLS) return isWide ? closeIn(book, isUp) : moveAway(book, isUp)
  if (isWide) return book.random.uniform() < CLOSE_SHARE ? closeIn(book, isUp) : 0
  return book.random.uniform() < OPEN_SHARE ? moveAway(book, isUp) : 0
}

/** Removes the asks of a book that goes to 1, or the bids of one that goes to 0. */
export const withdrawSide = (book: SimulatedBook, isUp: boolean): number =>
  isUp ? setTouch(book, slotBelow(book, SLOTS), SLOTS) : setTouch(book, -1, slotAbove(book, -1))

function requote(book: SimulatedBook, mills: number): number {
  let ask = slotAbove(book, -1)
  const last = slotBelow(book, SLOTS)
  while (ask < last && (slotMills[ask] ?? 0) <= mills) ask = slotAbove(book, ask)
  if (slotBelow(book, ask) < 0) ask = slotAbove(book, ask)
  let bid = slotBelow(book, ask)
  for (let spread = book.random.pick(JUMP_SPREADS); spread > 1; spread--) {
    const isAskMoved = book.random.uniform() < 0.5
    if (isAskMoved && ask < last) ask = slotAbove(book, ask)
    if (!isAskMoved && slotBelow(book, bid) >= 0) bid = slotBelow(book, bid)
  }
  return bid === book.bid && ask === book.ask ? 0 : setTouch(book, bid, ask)
}

/** Narrows a wide spread from the side that the price comes from. */
const closeIn = (book: SimulatedBook, isUp: boolean): number =>
  isUp
    ? setTouch(book, slotAbove(book, book.bid), book.ask)
    : setTouch(book, book.bid, slotBelow(book, book.ask))

/** Removes the best level that the price moves towards, unless it is the last. */
function moveAway(book: SimulatedBook, isUp: boolean): number {
  const slot = isUp ? slotAbove(book, book.ask) : slotBelow(book, book.bid)
  if (slot < 0 || slot >= SLOTS) return 0
  return isUp ? setTouch(book, book.bid, slot) : setTouch(book, slot, book.ask)
}
