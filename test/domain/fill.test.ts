import { describe, expect, test } from 'bun:test'

import type { TaggedLadder } from '#src/domain/consolidated.ts'
import { type Exact, type Fill, fill, formatExact, type Order } from '#src/domain/fill.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

const ladder = (...levels: [price: number, size: number][]): TaggedLadder => ({
  prices: levels.map(([price]) => price),
  sizes: levels.map(([, size]) => size),
  sources: levels.map(() => 'own'),
})

const noFee = { kind: 'bps', value: 0 } as const
const shares = (amount: number) => ({ unit: 'shares', amount }) as const
const usdc = (amount: number) => ({ unit: 'usdc', amount }) as const

const money = (amount: Exact): string => formatExact(amount, 6)

const figures = (done: Fill) => ({
  filled: money(done.filled),
  notional: money(done.notional),
  fee: money(done.fee),
  total: money(done.total),
  average: done.averagePrice && formatExact(done.averagePrice, 9),
  slippage: done.slippage && formatExact(done.slippage, 9),
  worst: done.worstPrice,
  best: done.bestPrice,
  unfilled: money(done.unfilled),
  levels: done.levels.map(({ price, shares: taken }) => [price, taken]),
})

// 100 at 0.5, 50 at 0.52, 1000 at 0.6.
const asks = ladder([500_000, 100_000_000], [520_000, 50_000_000], [600_000, 1_000_000_000])
// 100 at 0.48, 50 at 0.45.
const bids = ladder([480_000, 100_000_000], [450_000, 50_000_000])

describe('fill', () => {
  test('default: a buy of shares takes asks from the best on', () => {
    const done = fill(asks, { side: 'buy', asked: shares(120_000_000), fee: noFee })
    // 100 × 0.5 + 20 × 0.52 = 60.4; 60.4 / 120 = 0.50333…
    expect(figures(done)).toEqual({
      filled: '120',
      notional: '60.4',
      fee: '0',
      total: '60.4',
      average: '0.503333333',
      slippage: '0.003333333',
      worst: 520_000,
      best: 500_000,
      unfilled: '0',
      levels: [
        [500_000, 100_000_000],
        [520_000, 20_000_000],
      ],
    })
  })

  test('default: a sell takes bids, and its fee is taken from what it brings', () => {
    const fee = { kind: 'bps', value: 25_000_000 } as const
    const done = fill(bids, { side: 'sell', asked: shares(200_000_000), fee })
    // 100 × 0.48 + 50 × 0.45 = 70.5, of which 25 basis points are 0.17625.
    expect(figures(done)).toMatchObject({
      filled: '150',
      notional: '70.5',
      fee: '0.17625',
      total: '70.32375',
      average: '0.47',
      slippage: '0.01',
      worst: 450_000,
      unfilled: '50',
    })
  })

  test("behavior: by the venue's rate each level costs shares × rate × price × (1 - price)", () => {
    const fee = { kind: 'rate', value: 70_000 } as const
    const done = fill(asks, { side: 'buy', asked: shares(120_000_000), fee })
    // 0.07 × (100 × 0.5 × 0.5 + 20 × 0.52 × 0.48) = 0.07 × 29.992
    expect(figures(done)).toMatchObject({ fee: '2.09944', total: '62.49944' })
  })

  test('behavior: USDC buys shares rounded down, and what is too little for more is not left over', () => {
    const done = fill(ladder([300_000, 10_000_000]), {
      side: 'buy',
      asked: usdc(1_000_000),
      fee: noFee,
    })
    // 1 / 0.3 = 3.333333…, which costs 0.9999999.
    expect(figures(done)).toMatchObject({
      filled: '3.333333',
      notional: '1',
      average: '0.3',
      unfilled: '0',
    })
    expect(done.notional).toEqual({ value: 999_999_900_000n, decimals: 12 })
  })

  test('behavior: what the book cannot take is left in the unit that was asked', () => {
    const done = fill(asks, { side: 'buy', asked: usdc(1_000_000_000), fee: noFee })
    // The asks are worth 50 + 26 + 600 USDC, of 1000 requested.
    expect(figures(done)).toMatchObject({ filled: '1150', notional: '676', unfilled: '324' })
    const sold = fill(bids, { side: 'sell', asked: usdc(48_000_000), fee: noFee })
    expect(figures(sold)).toMatchObject({ filled: '100', notional: '48', unfilled: '0' })
  })

  test('behavior: levels beyond the limit are left alone, one at the limit is not', () => {
    const buy = (limitPrice: number) =>
      figures(fill(asks, { side: 'buy', asked: shares(200_000_000), fee: noFee, limitPrice }))
    expect(buy(520_000)).toMatchObject({ filled: '150', unfilled: '50', worst: 520_000 })
    expect(buy(519_999)).toMatchObject({ filled: '100', unfilled: '100', worst: 500_000 })
    const sold = fill(bids, {
      side: 'sell',
      asked: shares(200_000_000),
      fee: noFee,
      limitPrice: 450_001,
    })
    expect(figures(sold)).toMatchObject({ filled: '100', worst: 480_000 })
  })

  test('behavior: where nothing can be filled there is no average, but the best price is told', () => {
    const order: Order = { side: 'buy', asked: shares(1), fee: noFee }
    const nothing = { filled: '0', notional: '0', total: '0', unfilled: '0.000001', levels: [] }
    const none = { average: undefined, slippage: undefined, worst: undefined }
    expect(figures(fill(ladder(), order))).toMatchObject({ ...nothing, ...none, best: undefined })
    const limited = fill(asks, { ...order, limitPrice: 499_999 })
    expect(figures(limited)).toMatchObject({ ...nothing, ...none, best: 500_000 })
  })

  test('behavior: the largest book and order are exact', () => {
    const huge = ladder([999_999, Number.MAX_SAFE_INTEGER], [999_999.5, 0])
    const done = fill(ladder([999_999, huge.sizes[0] ?? 0]), {
      side: 'buy',
      asked: shares(9_000_000_000_000_000),
      fee: { kind: 'bps', value: 10_000_000_000 },
    })
    expect(done.notional.value).toBe(9_000_000_000_000_000n * 999_999n)
    expect(money(done.total)).toBe('17999982000')
  })

  test('behavior: on random books it is what one share after the other would have cost', () => {
    const random = createRandom('fill')
    for (let round = 0; round < 500; round++) checkRandom(random)
  })
})

describe('formatExact', () => {
  test.each([
    [{ value: 5n, decimals: 1 }, 0, '1'],
    [{ value: 4n, decimals: 1 }, 0, '0'],
    [{ value: -5n, decimals: 1 }, 0, '-1'],
    [{ value: -4n, decimals: 1 }, 0, '0'],
    [{ value: 1_499_999n, decimals: 12 }, 6, '0.000001'],
    [{ value: 1_500_000n, decimals: 12 }, 6, '0.000002'],
    [{ value: 12n, decimals: 1 }, 6, '1.2'],
    [{ value: 10n, decimals: 1 }, 6, '1'],
    [{ value: 0n, decimals: 12 }, 6, '0'],
  ])('behavior: %p to %p decimals is %p', (amount, decimals, text) => {
    expect(formatExact(amount, decimals)).toBe(text)
  })
})

/** Few shares, so that they can be bought one millionth after the other. */
function checkRandom(random: Random): void {
  const side = random.pick(['buy', 'sell'] as const)
  const prices = Array.from({ length: random.integer(6) }, () => 1 + random.integer(999_999))
  const sorted = [...new Set(prices)].sort((a, b) => (side === 'buy' ? a - b : b - a))
  const book = ladder(...sorted.map((price): [number, number] => [price, 1 + random.integer(40)]))
  const asked =
    random.integer(2) === 0 ? shares(1 + random.integer(120)) : usdc(1 + random.integer(60))
  const limitPrice = random.integer(3) === 0 ? 1 + random.integer(999_999) : undefined
  const fee = { kind: random.pick(['bps', 'rate'] as const), value: random.integer(1_000_000) }
  const done = fill(book, { side, asked, fee, limitPrice })
  const plain = buyOneByOne(book, { side, asked, fee, limitPrice })
  expect(done.filled.value).toBe(plain.count)
  expect(done.notional.value).toBe(plain.cost)
  expect(done.fee.value).toBe(plain.fee)
  expect(done.unfilled.value === 0n).toBe(plain.isEnough)
  const sign = side === 'buy' ? 1n : -1n
  const scale = 10n ** BigInt(done.fee.decimals - 12)
  expect(done.total).toEqual({
    value: plain.cost * scale + sign * plain.fee,
    decimals: done.fee.decimals,
  })
  if (done.averagePrice !== undefined) {
    // Rounded: at most half of the last decimal away.
    const distance = 2n * (done.averagePrice.value * plain.count - plain.cost * 1000n)
    expect(distance <= plain.count && -distance <= plain.count).toBe(true)
    expect((done.slippage?.value ?? -1n) >= 0n).toBe(true)
  }
}

function buyOneByOne({ prices, sizes }: TaggedLadder, { side, asked, fee, limitPrice }: Order) {
  const units = prices.flatMap((price, index) => Array<number>(sizes[index] ?? 0).fill(price))
  const allowed = units.filter((price) => {
    if (limitPrice === undefined) return true
    return side === 'buy' ? price <= limitPrice : price >= limitPrice
  })
  const isShares = asked.unit === 'shares'
  let left = BigInt(asked.amount) * (isShares ? 1n : 1_000_000n)
  const sum = { count: 0n, cost: 0n, fee: 0n, isEnough: false }
  for (const price of allowed) {
    const cost = BigInt(price)
    const taken = isShares ? 1n : cost
    if (left < taken) {
      sum.isEnough = true
      break
    }
    left -= taken
    sum.count++
    sum.cost += cost
    sum.fee += BigInt(fee.value) * cost * (fee.kind === 'bps' ? 1n : 1_000_000n - cost)
  }
  sum.isEnough ||= left === 0n
  return sum
}
