import { type Millionths, MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import { parameterError } from '#src/domain/errors.ts'
import type { FeeTerms, FillAmount, Order } from '#src/domain/fill.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'

import type { FillQuery, RestingQuery } from './schema.ts'

/** Bounds of a decimal in millionths, inclusive. */
type Bounds = { min: Millionths; max: Millionths; step?: Millionths; expected: string }

const amountBounds: Bounds = {
  min: 1,
  max: 9_000_000_000 * MILLIONTHS_PER_UNIT,
  expected: 'above 0 and at most 9000000000 with at most six decimals, such as 12.5',
}
const bpsBounds: Bounds = {
  min: 0,
  max: 10_000 * MILLIONTHS_PER_UNIT,
  step: 100,
  expected: 'from 0 to 10000 with at most four decimals, such as 12.5',
}
const rateBounds: Bounds = {
  min: 0,
  max: MILLIONTHS_PER_UNIT,
  expected: 'from 0 to 1 with at most six decimals, such as 0.07',
}
const priceBounds: Bounds = {
  min: 1,
  max: MILLIONTHS_PER_UNIT - 1,
  expected: 'above 0 and below 1 with at most six decimals, such as 0.55',
}

/** An order whose fees the request may leave to the market. Throws `invalid_parameter`. */
export const readOrder = (
  query: FillQuery,
): Omit<Order, 'fee'> & { fee: FeeTerms | undefined } => ({
  side: query.side,
  asked: readAmount(query),
  fee: readFee(query),
  limitPrice: read('limitPrice', query.limitPrice, priceBounds),
})

/** Throws `invalid_parameter`. */
export function readResting({ price, size }: RestingQuery): {
  price: Millionths
  size: Millionths
} {
  return {
    price: read('price', price, priceBounds) ?? 0,
    size: read('size', size, amountBounds) ?? 0,
  }
}

function readAmount(query: FillQuery): FillAmount {
  const size = read('size', query.size, amountBounds)
  const usdc = read('usdc', query.usdc, amountBounds)
  if (size !== undefined && usdc !== undefined) {
    throw parameterError('usdc', 'Send either `size` or `usdc`, not both.')
  }
  if (size !== undefined) return { unit: 'shares', amount: size }
  if (usdc !== undefined) return { unit: 'usdc', amount: usdc }
  throw parameterError('size', '`size` is missing. Send it, in shares, or `usdc` instead.')
}

/** Undefined to use the fees of the market. */
function readFee(query: FillQuery): FeeTerms | undefined {
  const bps = read('feeBps', query.feeBps, bpsBounds)
  const rate = read('feeRate', query.feeRate, rateBounds)
  if (bps !== undefined && rate !== undefined) {
    throw parameterError('feeRate', 'Send either `feeBps` or `feeRate`, not both.')
  }
  const isStated = bps !== undefined || rate !== undefined
  if (query.fees === 'none' && isStated) {
    throw parameterError('fees', 'Send `fees=none`, or a fee, not both.')
  }
  if (rate !== undefined) return { kind: 'rate', value: rate }
  if (bps !== undefined) return { kind: 'bps', value: bps }
  return query.fees === 'none' ? { kind: 'bps', value: 0 } : undefined
}

function read(param: string, text: string | undefined, bounds: Bounds): Millionths | undefined {
  if (text === undefined) return undefined
  const { min, max, step = 1, expected } = bounds
  const value = parseMillionths(text)
  if (value !== undefined && value >= min && value <= max && value % step === 0) return value
  const sent = `\`${param}\` is "${excerpt(text)}"`
  throw parameterError(param, `${sent}, but must be a plain decimal ${expected}.`)
}
