/** The fill of a hypothetical order, in integers: nothing is rounded before it is printed. */
import type { LevelSource, TaggedLadder } from './consolidated.ts'
import { type Millionths, MILLIONTHS_PER_UNIT } from './decimal.ts'

/** A buy takes asks, a sell takes bids. */
type Side = 'buy' | 'sell'

/** Shares, or USDC before fees: the amount to spend on a buy, or to receive from a sell. */
export type FillAmount = { unit: 'shares' | 'usdc'; amount: Millionths }

/**
 * Millionths. `bps`: a share of the traded value; `rate`: shares × rate × (price × (1 - price)) to
 * the power of `exponent`, an integer, 1 by default.
 */
export type FeeTerms = { kind: 'bps' | 'rate'; value: Millionths; exponent?: number }

export type Order = {
  side: Side
  asked: FillAmount
  fee: FeeTerms
  limitPrice?: Millionths | undefined
}

type FilledLevel = {
  price: Millionths
  /** Shares taken; never 0. */
  shares: Millionths
  source: LevelSource
}

/** An exact amount: `value` units of 10^-`decimals`. */
export type Exact = { value: bigint; decimals: number }

export type Fill = {
  levels: FilledLevel[]
  /** Shares. */
  filled: Exact
  /** USDC before fees. */
  notional: Exact
  fee: Exact
  /** Total paid by a buy, or received by a sell. */
  total: Exact
  /** Notional over shares, to nine decimals; undefined if nothing was filled, like the next two. */
  averagePrice: Exact | undefined
  worstPrice: Millionths | undefined
  /** Difference between the average and the best price, to nine decimals; never negative. */
  slippage: Exact | undefined
  /** Best price of the ladder, filled or not; undefined if the ladder is empty. */
  bestPrice: Millionths | undefined
  /** Unfilled rest in the unit of the order; 0 if it is too small for a millionth of a share. */
  unfilled: Exact
}

const MILLIONTHS = 6
const PICOS = 12
const AVERAGE_DECIMALS = 9
const BPS_DECIMALS = 10
const ONE = BigInt(MILLIONTHS_PER_UNIT)

export function fill(ladder: TaggedLadder, order: Order): Fill {
  const { levels, left } = take(ladder, order)
  const filled = sumOf(levels, ({ shares }) => BigInt(shares))
  const notional = sumOf(levels, costOf)
  const fee = feeOf(levels, order.fee)
  const { decimals } = fee
  const scaled = notional * 10n ** BigInt(decimals - PICOS)
  const [bestPrice] = ladder.prices
  const atBest = filled * BigInt(bestPrice ?? 0)
  const loss = order.side === 'buy' ? notional - atBest : atBest - notional
  return {
    levels,
    filled: { value: filled, decimals: MILLIONTHS },
    notional: { value: notional, decimals: PICOS },
    fee,
    total: { value: order.side === 'buy' ? scaled + fee.value : scaled - fee.value, decimals },
    averagePrice: perShare(notional, filled),
    worstPrice: levels.at(-1)?.price,
    slippage: perShare(loss, filled),
    bestPrice,
    unfilled: left,
  }
}

export const costOf = ({ price, shares }: FilledLevel): bigint => BigInt(price) * BigInt(shares)

/** Prints an exact amount rounded to at most `decimals` digits, half away from zero. */
export function formatExact({ value, decimals }: Exact, printed: number): string {
  const rounded = round(value, 10n ** BigInt(Math.max(decimals - printed, 0)))
  const digits = String(rounded < 0n ? -rounded : rounded)
  const places = Math.min(decimals, printed)
  const padded = digits.padStart(places + 1, '0')
  const fraction = padded.slice(padded.length - places).replace(/0+$/, '')
  const whole = padded.slice(0, padded.length - places)
  return `${rounded < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

function take(ladder: TaggedLadder, order: Order): { levels: FilledLevel[]; left: Exact } {
  const isShares = order.asked.unit === 'shares'
  const reach = reachOf(ladder, order)
  const levels: FilledLevel[] = []
  let left = BigInt(order.asked.amount) * (isShares ? 1n : ONE)
  for (let index = 0; index < reach && left > 0n; index++) {
    const price = ladder.prices[index] ?? 0
    const offered = BigInt(ladder.sizes[index] ?? 0)
    const cost = isShares ? 1n : BigInt(price)
    const wanted = left / cost
    const shares = wanted < offered ? wanted : offered
    if (shares > 0n) {
      levels.push({ price, shares: Number(shares), source: ladder.sources[index] ?? 'own' })
    }
    // If the level offers more than is wanted, the rest is too small for a millionth of a share.
    left = wanted < offered ? 0n : left - shares * cost
  }
  return { levels, left: { value: left, decimals: isShares ? MILLIONTHS : PICOS } }
}

function reachOf({ prices }: TaggedLadder, { side, limitPrice }: Order): number {
  if (limitPrice === undefined) return prices.length
  const isBeyond = (price: Millionths) => (side === 'buy' ? price > limitPrice : price < limitPrice)
  const first = prices.findIndex(isBeyond)
  return first < 0 ? prices.length : first
}

function feeOf(levels: readonly FilledLevel[], { kind, value, exponent = 1 }: FeeTerms): Exact {
  const factor = BigInt(value)
  if (kind === 'bps') {
    return { value: sumOf(levels, costOf) * factor, decimals: PICOS + BPS_DECIMALS }
  }
  const base = sumOf(levels, ({ price, shares }) => {
    const spread = BigInt(price) * (ONE - BigInt(price))
    return BigInt(shares) * spread ** BigInt(exponent)
  })
  // A power of a product of millionths has twelve decimals for each factor.
  return { value: base * factor, decimals: MILLIONTHS + PICOS * exponent + MILLIONTHS }
}

function perShare(amount: bigint, shares: bigint): Exact | undefined {
  if (shares === 0n) return undefined
  // Millionths of millionths divided by millionths are millionths.
  const scale = 10n ** BigInt(AVERAGE_DECIMALS - MILLIONTHS)
  return { value: round(amount * scale, shares), decimals: AVERAGE_DECIMALS }
}

const sumOf = (levels: readonly FilledLevel[], amountOf: (level: FilledLevel) => bigint): bigint =>
  levels.reduce((sum, level) => sum + amountOf(level), 0n)

/** Divides and rounds half away from zero; `divisor` is positive. */
function round(value: bigint, divisor: bigint): bigint {
  const size = value < 0n ? -value : value
  const rounded = (2n * size + divisor) / (2n * divisor)
  return value < 0n ? -rounded : rounded
}
