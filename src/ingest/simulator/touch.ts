import { setTouch, type SimulatedBook, slotAbove, slotBelow, slotMills, SLOTS } from './book.ts'
/** How the touch of a simulated book follows the fair price: late, by a tick on one side, or at once. */
import { CLOSE_SHARE, FOLLOW_MILLS, JUMP_MILLS, JUMP_SPREADS, OPEN_SHARE } from './model.ts'

/** At the finer tick the touch follows the price more closely. */
const FINE_TICK_DIVISOR = 4

/** Moves the touch towards a price in thousandths. Returns how many levels that changed. */
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

/** Empties the asks of a book that is going to 1, or the bids of one that is going to 0. */
export function withdrawSide(book: SimulatedBook, isUp: boolean): number {
  return isUp
    ? setTouch(book, slotBelow(book, SLOTS), SLOTS)
    : setTouch(book, -1, slotAbove(book, -1))
}

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
function closeIn(book: SimulatedBook, isUp: boolean): number {
  return isUp
    ? setTouch(book, slotAbove(book, book.bid), book.ask)
    : setTouch(book, book.bid, slotBelow(book, book.ask))
}

/** Takes the best level that the price goes to, unless it is the last. */
function moveAway(book: SimulatedBook, isUp: boolean): number {
  const slot = isUp ? slotAbove(book, book.ask) : slotBelow(book, book.bid)
  if (slot < 0 || slot >= SLOTS) return 0
  return isUp ? setTouch(book, book.bid, slot) : setTouch(book, slot, book.ask)
}
