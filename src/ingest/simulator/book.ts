/**
 * The book of a simulated market as an array of sizes over every price the venue allows: whole cents
 * and, near 0 and 1, tenths of a cent. One number says which side a slot is on: slots up to `bid`
 * hold bids, slots from `ask` on hold asks, slots between are vacant. So a book cannot be crossed.
 * It is the book of Up; that of Down is its exact mirror (up.bids[p] = down.asks[1 - p]).
 */
import { type Micros, MICROS_PER_UNIT } from '#src/core/decimal.ts'
import type { Ladder } from '#src/core/snapshot.ts'
import type { Random } from '#src/lib/random.ts'

import {
  EDGE_DISTANCE_MIN,
  EDGE_PERCENTS,
  FINE_FILL_SHARE,
  HUNDREDTHS,
  lookUp,
  type Model,
  REFILL_SHARE,
  REVERT_SHARE,
  TOUCH_PERCENTS,
} from './model.ts'

const MILLS_PER_UNIT = 1_000
const MILLS_PER_CENT = 10
const CENTS_PER_UNIT = 100
const MICROS_PER_MILL = 1_000
const MICROS_PER_HUNDREDTH = 10_000

/** The finer tick holds below this price and above its complement. */
export const FINE_MILLS = 40

/** The price of each slot in thousandths, ascending: 1 to 40, 50 to 950 by 10, 960 to 999. */
export const slotMills: readonly number[] = listSlotMills()
export const SLOTS = slotMills.length

const slotOfMills = new Map(slotMills.map((mills, slot) => [mills, slot]))
const slotPrices = slotMills.map((mills): Micros => mills * MICROS_PER_MILL)

/** Thick levels vary less in size than others: hundredths of a share, before their percentage. */
const EDGE_SIZE = 400 * HUNDREDTHS

const emptyLadder: Ladder = { prices: [], sizes: [] }

export type BookSides = { bids: Ladder; asks: Ladder }

/** The working state of one book. Sizes are hundredths of a share; 0 is a vacant slot. */
export type SimulatedBook = {
  readonly model: Model
  readonly random: Random
  readonly sizes: Int32Array
  /** The size before the last of each slot. */
  readonly formerSizes: Int32Array
  /** The size that each slot tends to. */
  readonly usualSizes: Int32Array
  /** The slot of the best bid; -1 when there is none. */
  bid: number
  /** The slot of the best ask; `SLOTS` when there is none. */
  ask: number
  /** True while orders at tenths of a cent are allowed. */
  isFine: boolean
  up: BookSides
  down: BookSides
}

/** Opens a book with a spread of one cent around even odds; `sizes` has `SLOTS` entries. */
export function createBook(parts: { model: Model; random: Random; sizes: Int32Array }) {
  const book: SimulatedBook = {
    ...parts,
    formerSizes: new Int32Array(SLOTS),
    usualSizes: new Int32Array(SLOTS),
    bid: -1,
    ask: 0,
    isFine: false,
    up: { bids: emptyLadder, asks: emptyLadder },
    down: { bids: emptyLadder, asks: emptyLadder },
  }
  setTouch(book, slotOfCents(50), slotOfCents(51))
  return book
}

/** Returns the slot of a price in whole cents, 1 to 99. */
export function slotOfCents(cents: number): number {
  return slotOfMills.get(cents * MILLS_PER_CENT) ?? -1
}

/** Returns the first slot above that may hold an order now; `SLOTS` when there is none. */
export function slotAbove(book: SimulatedBook, slot: number): number {
  let above = slot + 1
  while (above < SLOTS && !isAllowed(book, above)) above++
  return above
}

/** Returns the first slot below that may hold an order now; -1 when there is none. */
export function slotBelow(book: SimulatedBook, slot: number): number {
  let below = slot - 1
  while (below >= 0 && !isAllowed(book, below)) below--
  return below
}

/** Moves the touch: fills what either side gained, vacates what lies between. Counts the changes. */
export function setTouch(book: SimulatedBook, bid: number, ask: number): number {
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

/** Gives a slot what its side now asks for. Tells whether anything changed. */
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

/** Changes one level's size, or fills it again if it is vacant. Tells whether anything changed. */
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

/** Vacates a level behind the touch. Tells whether anything changed. */
export function removeLevel(book: SimulatedBook, slot: number): boolean {
  if (slot === book.bid || slot === book.ask || book.sizes[slot] === 0) return false
  book.sizes[slot] = 0
  return true
}

/** Allows orders at tenths of a cent and places some below 0.04 or above 0.96. */
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
 * Renews `up` and `down` from the sizes. What is unchanged keeps its arrays, and both outcomes share
 * the arrays of sizes, so that a state costs little to make and to keep.
 */
export function renewLadders(book: SimulatedBook): void {
  const { up, down } = book
  const bids = listLevels(book, up.bids, { first: book.bid, step: -1 })
  const asks = listLevels(book, up.asks, { first: book.ask, step: 1 })
  book.down = {
    bids: mirror(asks, { former: up.asks, formerMirror: down.bids }),
    asks: mirror(bids, { former: up.bids, formerMirror: down.asks }),
  }
  book.up = { bids, asks }
}

function listLevels(
  book: SimulatedBook,
  former: Ladder,
  { first, step }: { first: number; step: 1 | -1 },
): Ladder {
  const sizes: Micros[] = []
  let arePricesKept = true
  let areSizesKept = true
  for (let slot = first; slot >= 0 && slot < SLOTS; slot += step) {
    const size = (book.sizes[slot] ?? 0) * MICROS_PER_HUNDREDTH
    if (size === 0) continue
    if (former.prices[sizes.length] !== slotPrices[slot]) arePricesKept = false
    if (former.sizes[sizes.length] !== size) areSizesKept = false
    sizes.push(size)
  }
  if (!arePricesKept || sizes.length !== former.prices.length) {
    return { prices: listPrices(book, { first, step }), sizes }
  }
  return areSizesKept ? former : { prices: former.prices, sizes }
}

function listPrices(
  book: SimulatedBook,
  { first, step }: { first: number; step: 1 | -1 },
): Micros[] {
  const prices: Micros[] = []
  for (let slot = first; slot >= 0 && slot < SLOTS; slot += step) {
    if (book.sizes[slot] !== 0) prices.push(slotPrices[slot] ?? 0)
  }
  return prices
}

function mirror(
  ladder: Ladder,
  { former, formerMirror }: { former: Ladder; formerMirror: Ladder },
): Ladder {
  if (ladder === former) return formerMirror
  if (ladder.prices === former.prices) return { prices: formerMirror.prices, sizes: ladder.sizes }
  return { prices: ladder.prices.map((price) => MICROS_PER_UNIT - price), sizes: ladder.sizes }
}

/** Places a fresh order of a size that is usual at this distance from the touch and from the edge. */
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

/** Half of what is no round change is one of whole shares, the rest ends anyhow. */
function otherSize(book: SimulatedBook, slot: number): number {
  const { model, random } = book
  const amount = lookUp(model.otherChanges, random.uniform())
  if (random.uniform() < 0.5) return moveSize(book, slot, amount - (amount % HUNDREDTHS))
  return endSize(book, moveSize(book, slot, amount))
}

/** Adds or takes an amount, towards the usual size when far from it; never takes all there is. */
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

/** Tells whether an order is placed at a slot that falls to a side. */
function isTaken(book: SimulatedBook, slot: number): boolean {
  if (isWholeCent(slot)) return true
  return book.isFine && book.random.uniform() < FINE_FILL_SHARE
}

function isAllowed(book: SimulatedBook, slot: number): boolean {
  return book.isFine || isWholeCent(slot)
}

function isWholeCent(slot: number): boolean {
  return (slotMills[slot] ?? 0) % MILLS_PER_CENT === 0
}

function listSlotMills(): number[] {
  const mills: number[] = []
  for (let price = 1; price < MILLS_PER_UNIT; price++) {
    const isFinePrice = price < FINE_MILLS || price > MILLS_PER_UNIT - FINE_MILLS
    if (isFinePrice || price % MILLS_PER_CENT === 0) mills.push(price)
  }
  return mills
}
