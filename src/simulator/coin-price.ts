/** The price of a coin in a simulated window, once a second as feeds have it, and what it settles on. */

import { type Coin, coinTable, type Outcome } from '#src/domain/market.ts'
import { averageOf } from '#src/domain/settlement.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Random } from '#src/platform/random.ts'

const TICK_MS = 1000
/** Standard deviation of what a coin moves in a window, as a share; roughly Bitcoin's in 5m. */
export const VOLATILITY = 0.0008

/** Prices in USD as they are printed. */
export type Opening = {
  strike: string
  /** The price of the coin when the window opens: not the strike, if that is an average. */
  price: string
}

type Terms = Opening & {
  coin: Coin
  random: Random
  windowStartMs: number
  windowEndMs: number
  /** The time before the end whose average is the final price; 0 for the price of the end. */
  averageMs: number
}

export type CoinPrice = ReturnType<typeof createCoinPrice>

/** A random walk: what happens in it follows from its terms alone. */
export function createCoinPrice(terms: Terms) {
  const { coin, random, windowStartMs, windowEndMs, averageMs } = terms
  const strike = readPrice(coin, terms.strike)
  const averageFromMs = windowEndMs - averageMs
  const windowSigma = strike * VOLATILITY
  const tickSigma = windowSigma * Math.sqrt(TICK_MS / (windowEndMs - windowStartMs))
  /** In the coin's smallest unit, with a fraction. */
  let units = readPrice(coin, terms.price)
  let nextMs = windowStartMs
  /** Prices that the average is of, each times the milliseconds for which it held. */
  let averaged = 0
  /** Ticks from the start of the average on. */
  let lastTicks: SpotTick[] = []
  let finalPrice: string | undefined

  function drawTick(): SpotTick {
    if (nextMs > windowStartMs) {
      if (nextMs > averageFromMs) averaged += units * TICK_MS
      units += random.normal() * tickSigma
    }
    const price = printPrice(coin, Math.round(units))
    return { coin, source: 'simulated', windowSeconds: 0, timestampMs: nextMs, price }
  }

  return {
    strike: terms.strike,

    /** Known from the end of the window on. */
    get finalPrice() {
      return finalPrice
    },

    get lastPrice() {
      return printPrice(coin, Math.round(units))
    },

    /** Known from the end of the window on: Up wins at the strike or above. */
    get winner(): Outcome | undefined {
      if (finalPrice === undefined) return undefined
      return readPrice(coin, finalPrice) >= strike ? 'up' : 'down'
    },

    /** Moves on to a time; returns the prices that are new, the last one that of the end. */
    advance(untilMs: number): SpotTick[] {
      const ticks: SpotTick[] = []
      for (; nextMs <= Math.min(untilMs, windowEndMs); nextMs += TICK_MS) {
        const tick = drawTick()
        ticks.push(tick)
        if (nextMs >= averageFromMs) lastTicks.push(tick)
        if (nextMs < windowEndMs) continue
        // The average of no time is not known.
        finalPrice =
          averageOf(lastTicks, { fromMs: averageFromMs, toMs: windowEndMs }) ?? tick.price
        lastTicks = []
      }
      return ticks
    },

    /** How far Up is expected to end ahead of the strike, in standard deviations of a whole window. */
    get lead() {
      const lastMs = nextMs - TICK_MS
      const isAveraged = averageMs > 0 && lastMs >= averageFromMs
      const expected = isAveraged ? (averaged + units * (windowEndMs - lastMs)) / averageMs : units
      return (expected - strike) / windowSigma
    },

    /**
     * The time in which the price varies as much as what it settles on still does, this long before
     * the end. What is over of an average is certain, so its rest moves it less and less.
     */
    variableMs: (remainingMs: number): number =>
      remainingMs < averageMs
        ? remainingMs ** 3 / (3 * averageMs ** 2)
        : remainingMs - (2 * averageMs) / 3,
  }
}

/** The first price of a coin, in its smallest unit. */
export const firstPriceOf = (coin: Coin): number => readPrice(coin, coinTable[coin].simulatedPrice)

/** A printed price in the coin's smallest unit. */
const readPrice = (coin: Coin, digits: string): number =>
  Math.round(Number(digits) * 10 ** decimalsOf(coin))

export const printPrice = (coin: Coin, units: number): string => {
  const decimals = decimalsOf(coin)
  return (units / 10 ** decimals).toFixed(decimals)
}

const decimalsOf = (coin: Coin): number => coinTable[coin].simulatedPrice.split('.')[1]?.length ?? 0
