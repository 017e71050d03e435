/**
 * The backtest of a rule: buy an outcome at a price some time before the end, and hold it to the
 * end. Entries, fills and fees are as of the moment of entry; the winner only settles.
 */

import { type Exact, fill, type Order } from '#src/domain/fill.ts'

import type { Level, Outcome } from './bodies.ts'
import { type Interval, type LeftOut, meanOf, type Observation, wilson } from './calibration.ts'

/** Prices, shares and rates in millionths, as `domain/fill.ts` has them. */
export type Rule = {
  outcome: Outcome
  measure: 'ask' | 'mid'
  comparison: 'most' | 'least'
  price: number
  beforeMs: number
  /** Shares. */
  size: number
  /** Of the fee: shares × rate × price × (1 − price) at each level. */
  feeRate: number
}

const MILLION = 1_000_000
export const toMillionths = (decimal: number): number => Math.round(decimal * MILLION)
/** As parameters have it: no exponent for what can be typed. */
export const toDecimal = (millionths: number): string => String(millionths / MILLION)

/** A rule on the ask buys at no higher price than it names; any other buys at any price. */
export const limitOf = ({ measure, comparison, price }: Rule): number | undefined =>
  measure === 'ask' && comparison === 'most' ? price : undefined

export type Entries = {
  rows: Observation[]
  leftOut: Omit<LeftOut, 'noWinner'>
  /** Rows with a price that the rule does not buy at. */
  notMet: number
}

/** The rows at which the rule buys, in the order of their ends. Their winners are not looked at. */
export function findEntries(observations: readonly Observation[], rule: Rule): Entries {
  const { outcome, measure, comparison, price, beforeMs } = rule
  const leftOut = { gap: 0, noPrice: 0 }
  const rows: Observation[] = []
  let notMet = 0
  for (const row of observations) {
    if (row.offsetMs !== (-beforeMs || 0)) continue
    const state = row[outcome]
    const measured = state?.[measure] ?? null
    if (!row.covered[outcome]) leftOut.gap++
    else if (measured === null || state?.ask == null) leftOut.noPrice++
    else {
      const value = toMillionths(measured)
      if (comparison === 'most' ? value <= price : value >= price) rows.push(row)
      else notMet++
    }
  }
  rows.sort((a, b) => Date.parse(a.windowEnd) - Date.parse(b.windowEnd))
  return { rows, leftOut, notMet }
}

/** Whether the best ask has too little for the order, so that the other levels are needed. */
export const needsDepth = (row: Observation, { outcome, size }: Rule): boolean =>
  toMillionths(row[outcome]?.askSize ?? 0) < size

export type Trade = {
  conditionId: string
  endMs: number
  shares: number
  /** Before fees, in USDC. */
  cost: number
  fee: number
  isWon: boolean
  /** After fees, in USDC. */
  profit: number
  /** Whether there was less in the book, or within the limit, than the size of the rule. */
  isPartial: boolean
}

/** Asks of the books of entries whose best level was too small, by market. */
export type Ladders = ReadonlyMap<string, readonly Level[]>

export type Run = {
  trades: Trade[]
  /** Entries without a winner, unresolved or void. */
  noWinner: number
  /** Entries at which nothing could be bought. */
  notFilled: number
  /** Entries from the first one on whose book was not read. */
  notRead: number
}

/** Fills the entries one after the other; ends at the first whose ladder is needed and not there. */
export function runRule(entries: readonly Observation[], rule: Rule, ladders: Ladders): Run {
  const run: Run = { trades: [], noWinner: 0, notFilled: 0, notRead: 0 }
  for (const [index, row] of entries.entries()) {
    const asks = needsDepth(row, rule) ? ladders.get(row.conditionId) : bestAsk(row, rule)
    if (asks === undefined) {
      run.notRead = entries.length - index
      break
    }
    const order: Order = {
      side: 'buy',
      asked: { unit: 'shares', amount: rule.size },
      fee: { kind: 'rate', value: rule.feeRate },
      limitPrice: limitOf(rule),
    }
    const ladder = {
      prices: asks.map(({ price }) => toMillionths(price)),
      sizes: asks.map(({ size }) => toMillionths(size)),
      sources: asks.map(() => 'own' as const),
    }
    const { filled, notional, fee, total, unfilled } = fill(ladder, order)
    if (filled.value === 0n) run.notFilled++
    else if (row.winner === null) run.noWinner++
    else {
      const isWon = row.winner === rule.outcome
      run.trades.push({
        conditionId: row.conditionId,
        endMs: Date.parse(row.windowEnd),
        shares: toNumber(filled),
        cost: toNumber(notional),
        fee: toNumber(fee),
        isWon,
        profit: (isWon ? toNumber(filled) : 0) - toNumber(total),
        isPartial: unfilled.value > 0n,
      })
    }
  }
  return run
}

const bestAsk = (row: Observation, { outcome }: Rule): Level[] => {
  const { ask = null, askSize = null } = row[outcome] ?? {}
  return ask === null || askSize === null ? [] : [{ price: ask, size: askSize }]
}

const toNumber = ({ value, decimals }: Exact): number => Number(value) / 10 ** decimals

export type Equity = { times: number[]; net: number[]; gross: number[] }

/** Profits added up in the order of ends, after fees and before them. */
export function equityOf(trades: readonly Trade[]): Equity {
  let net = 0
  let gross = 0
  const equity: Equity = { times: [], net: [], gross: [] }
  for (const { endMs, profit, fee } of trades) {
    net += profit
    gross += profit + fee
    equity.times.push(endMs)
    equity.net.push(net)
    equity.gross.push(gross)
  }
  return equity
}

export type Summary = {
  count: number
  wins: number
  partial: number
  winInterval: Interval
  /** Of a share, before fees. */
  meanPrice: number
  /** Of profit over what was paid with fees, by trade. */
  meanReturn: number
  returnInterval: Interval | undefined
  profit: number
  fees: number
  /** The largest fall of the sum of profits from its highest value before, or from 0. */
  drawdown: number
}

/** Undefined of no trade. */
export function sumUp(trades: readonly Trade[]): Summary | undefined {
  if (trades.length === 0) return undefined
  const count = trades.length
  const wins = trades.filter(({ isWon }) => isWon).length
  const add = (numberOf: (trade: Trade) => number) =>
    trades.reduce((sum, trade) => sum + numberOf(trade), 0)
  const { mean, interval } = meanOf(trades.map(({ profit, cost, fee }) => profit / (cost + fee)))
  let peak = 0
  let drawdown = 0
  const { net } = equityOf(trades)
  for (const sum of net) {
    peak = Math.max(peak, sum)
    drawdown = Math.max(drawdown, peak - sum)
  }
  return {
    count,
    wins,
    partial: trades.filter(({ isPartial }) => isPartial).length,
    winInterval: wilson(wins, count),
    meanPrice: add(({ cost }) => cost) / add(({ shares }) => shares),
    meanReturn: mean,
    // No more than all can be lost.
    returnInterval: interval && { ...interval, low: Math.max(interval.low, -1) },
    profit: net.at(-1) ?? 0,
    fees: add(({ fee }) => fee),
    drawdown,
  }
}
