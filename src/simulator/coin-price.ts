/** A coin's price in a simulated window, once a second as in real feeds, and the final price. */

import { type Coin, coinTable, type Outcome } from '#src/domain/market.ts'
import { averageOf } from '#src/domain/settlement.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Random } from '#src/platform/random.ts'

const TICK_MS = 1000
/** Standard deviation of a coin's relative move in a window; roughly Bitcoin's in 5m. */
export const VOLATILITY = 0.0008

/** Prices in USD as printed. */
export type Opening = {
  strike: string
  /** The coin's price when the window opens; differs from the strike if that is an average. */
  price: string
}

type Terms = Opening & {
  coin: Coin
  random: Random
  windowStartMs: number
  windowEndMs: number
  /** Length of the average at the end that is the final price; 0 for the price at the end. */
  averageMs: number
}

export type CoinPrice = ReturnType<typeof createCoinPrice>

/** A random walk, determined by its terms alone. */
export function createCoinPrice(terms: Terms) {
  const { coin, random, windowStartMs, windowEndMs, averageMs } = terms
  const strike = readPrice(coin, terms.strike)
  const averageFromMs = windowEndMs - averageMs
  const windowSigma = strike * VOLATILITY
  const tickSigma = windowSigma * Math.sqrt(TICK_MS / (windowEndMs - windowStartMs))
  /** In the coin's smallest unit, with a fraction. */
  let units = readPrice(coin, terms.price)
  let nextMs = windowStartMs
  /** Sum of the prices in the average, each times the milliseconds for which it held. */
  let averaged = 0
  /** Ticks since the start of the average. */
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

    /** Undefined until the window ends. */
    get finalPrice() {
      return finalPrice
    },

    get lastPrice() {
      return printPrice(coin, Math.round(units))
    },

    /** Undefined until the window ends: Up wins at the strike or above. */
    get winner(): Outcome | undefined {
      if (finalPrice === undefined) return undefined
      return readPrice(coin, finalPrice) >= strike ? 'up' : 'down'
    },

    /** Advances to a time; returns the new prices, the last of which is at the end. */
    advance(untilMs: number): SpotTick[] {
      const ticks: SpotTick[] = []
      for (; nextMs <= Math.min(untilMs, windowEndMs); nextMs += TICK_MS) {
        const tick = drawTick()
        ticks.push(tick)
        if (nextMs >= averageFromMs) lastTicks.push(tick)
        if (nextMs < windowEndMs) continue
        // An average over no time is undefined.
        finalPrice =
          averageOf(lastTicks, { fromMs: averageFromMs, toMs: windowEndMs }) ?? tick.price
        lastTicks = []
      }
      return ticks
    },

    /** The expected lead of Up over the strike at the end, in deviations of a whole window. */
    get lead() {
      const lastMs = nextMs - TICK_MS
      const isAveraged = averageMs > 0 && lastMs >= averageFromMs
      const expected = isAveraged ? (averaged + units * (windowEndMs - lastMs)) / averageMs : units
      return (expected - strike) / windowSigma
    },

    /**
     * The time over which the price varies as much as the settlement price still does, this long
     * before the end. The past part of an average is fixed, so the rest moves it less and less.
     */
    variableMs: (remainingMs: number): number =>
      remainingMs < averageMs
        ? remainingMs ** 3 / (3 * averageMs ** 2)
        : remainingMs - (2 * averageMs) / 3,
  }
}

/** The first price of a coin, in its smallest unit. */
export const firstPriceOf = (coin: Coin): number => readPrice(coin, coinTable[coin].simulatedPrice)

/** Converts a printed price into the coin's smallest unit. */
const readPrice = (coin: Coin, digits: string): number =>
  Math.round(Number(digits) * 10 ** decimalsOf(coin))

export const printPrice = (coin: Coin, units: number): string => {
  const decimals = decimalsOf(coin)
  return (units / 10 ** decimals).toFixed(decimals)
}

const decimalsOf = (coin: Coin): number => coinTable[coin].simulatedPrice.split('.')[1]?.length ?? 0
