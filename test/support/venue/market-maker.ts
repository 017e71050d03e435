/** Orders around the value of a window's outcome, as the coin's price moves. */
import type { Random } from '#src/platform/random.ts'

import { apply, type Change, emptySides, type Level, readPrice, type Sides } from './book.ts'
import type { Step, Trade, VenueMarket } from './playbook.ts'

const UNIT = 1_000_000
const CENT = 10_000
/** The finer tick applies when the price is nearer to 0 or 1 than this. */
const FINE_BELOW = 40_000
/** The maximum number of steps that the touch moves at once. */
const TICKS_MAX = 3
/** Levels that are filled next to the touch. */
const NEAR_LEVELS = 4
const TRADE_SHARE = 0.15
/** The volatility of a coin's price, per square root of a second. */
const VOLATILITY = 0.0004

export type MakerOptions = {
  random: Random
  spot(atMs: number): number
  fromMs: number
  untilMs: number
  stepsPerSecond: number
  tickChange: { afterSteps: number; tick: string } | undefined
}

/** Every step of a market: first the whole book, then changes, each at a later millisecond. */
export function* quoteMarket(
  market: VenueMarket,
  options: MakerOptions,
): Generator<Step, undefined> {
  const { random, untilMs, tickChange } = options
  const { conditionId, startMs } = market
  let [tick, sides, atMs, count] = [market.tick, emptySides, options.fromMs, 0]
  let middle = UNIT / 2
  if (atMs >= untilMs) return undefined
  const opening = openingBook(readPrice(tick), random)
  sides = opening.reduce(apply, sides)
  yield { atMs, conditionId, changes: opening, isWhole: true }
  for (;;) {
    const isOpen = atMs >= startMs
    const ownMs = 1000 / options.stepsPerSecond
    const meanMs = isOpen ? ownMs : Math.max(1000, ownMs)
    atMs += 1 + random.integer(Math.max(1, Math.round(2 * meanMs) - 1))
    if (atMs >= untilMs) return undefined
    const newTick = ++count === tickChange?.afterSteps ? tickChange.tick : tickAt(tick, middle)
    const step = readPrice(newTick)
    const worth = isOpen ? worthOf(market, options.spot(atMs), atMs) : UNIT / 2
    middle = towards(worth, middle, step)
    const changes = requote(sides, { bid: middle - step, ask: middle + step, step, random })
    const trade = random.uniform() < TRADE_SHARE ? tradeAt(sides, random) : undefined
    sides = changes.reduce(apply, sides)
    yield { atMs, conditionId, changes, trade, tick: newTick === tick ? undefined : newTick }
    tick = newTick
  }
}

const tickAt = (tick: string, middle: number): string =>
  tick === '0.01' && Math.min(middle, UNIT - middle) < FINE_BELOW ? '0.001' : tick

/**
 * Moves the middle a few ticks towards the value of a share, on the grid and strictly between 0 and
 * 1.
 */
function towards(worth: number, middle: number, step: number): number {
  const ticks = Math.round((worth - middle) / step)
  const moved = middle + Math.max(-TICKS_MAX, Math.min(TICKS_MAX, ticks)) * step
  return Math.min(UNIT - step, Math.max(step, Math.round(moved / step) * step))
}

/** The value of a share of Up in millionths, at a price of the coin. */
function worthOf({ strike, endMs }: VenueMarket, spot: number, atMs: number): number {
  const spread = VOLATILITY * Math.sqrt((endMs - atMs) / 1000)
  const distance = (spot / Number(strike) - 1) / spread
  return UNIT / (1 + Math.exp(-1.7 * distance))
}

const sizeOf = (random: Random): string => String((100 + random.integer(400_000)) / 100)

/** Whole cents on both sides of even odds. */
function openingBook(step: number, random: Random): Change[] {
  const cents = Array.from({ length: 99 }, (_, index) => (index + 1) * CENT)
  return cents
    .filter((price) => Math.abs(price - UNIT / 2) >= step)
    .map((price) => ({ side: price < UNIT / 2 ? 'bids' : 'asks', price, size: sizeOf(random) }))
}

type Quote = { bid: number; ask: number; step: number; random: Random }
type Put = (side: Change['side'], price: number, size: string) => void

/** Removes levels that the new touch crosses, fills next to it, then moves a few sizes. */
function requote(sides: Sides, quote: Quote): Change[] {
  const changes = new Map<string, Change>()
  const put: Put = (side, price, size) => changes.set(`${side}${price}`, { side, price, size })
  for (const { price } of sides.bids) if (price > quote.bid) put('bids', price, '0')
  for (const { price } of sides.asks) if (price < quote.ask) put('asks', price, '0')
  fillTouch(sides, quote, put)
  for (let moved = quote.random.integer(3); moved >= 0; moved--) {
    const change = moveSize(sides, quote)
    if (change !== undefined && !changes.has(`${change.side}${change.price}`)) {
      put(change.side, change.price, change.size)
    }
  }
  return [...changes.values()]
}

function fillTouch(sides: Sides, { bid, ask, step, random }: Quote, put: Put): void {
  for (let level = 0; level < NEAR_LEVELS; level++) {
    if (level > 0 && random.uniform() >= 0.3) continue
    const low = bid - level * step
    const high = ask + level * step
    if (low > 0 && !has(sides.bids, low)) put('bids', low, sizeOf(random))
    if (high < UNIT && !has(sides.asks, high)) put('asks', high, sizeOf(random))
  }
}

const has = (levels: readonly Level[], at: number): boolean =>
  levels.findLastIndex(({ price }) => price === at) >= 0

/** Removes levels between cents again, so that the book keeps its depth. */
function moveSize(sides: Sides, { bid, ask, random }: Quote): Change | undefined {
  const side = random.pick(['bids', 'asks'] as const)
  const levels = sides[side]
  const price = levels[Math.max(0, levels.length - 1 - random.integer(12))]?.price
  if (price === undefined) return undefined
  const isLeft = price % CENT !== 0 && price !== bid && price !== ask
  return { side, price, size: isLeft && random.uniform() < 0.7 ? '0' : sizeOf(random) }
}

/** Takes from the best level of a side. */
function tradeAt(sides: Sides, random: Random): Trade | undefined {
  const isBuy = random.uniform() < 0.5
  const price = (isBuy ? sides.asks : sides.bids).at(-1)?.price
  if (price === undefined) return undefined
  const size = String((1_000_000 + random.integer(50_000_000)) / 1_000_000)
  // A buyer of Up and a seller of Down meet the same order.
  return random.uniform() < 0.5
    ? { token: 0, price, size, side: isBuy ? 'BUY' : 'SELL' }
    : { token: 1, price: UNIT - price, size, side: isBuy ? 'SELL' : 'BUY' }
}
