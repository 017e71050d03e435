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
  /** Rate of the fee: shares × rate × price × (1 − price) at each level. */
  feeRate: number
}

const MILLION = 1_000_000
export const toMillionths = (decimal: number): number => Math.round(decimal * MILLION)
/** A number as a parameter: no typed number gets an exponent. */
export const toDecimal = (millionths: number): string => String(millionths / MILLION)

/** A rule on the ask buys at no higher price than it names; any other buys at any price. */
export const limitOf = ({ measure, comparison, price }: Rule): number | undefined =>
  measure === 'ask' && comparison === 'most' ? price : undefined

export type Entries = {
  rows: Observation[]
  leftOut: Omit<LeftOut, 'noWinner'>
  /** Rows at a price at which the rule does not buy. */
  notMet: number
}

/** The rows at which the rule buys, in the order of their ends. Winners are not used. */
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

/** True if the best ask is smaller than the order, so that deeper levels are needed. */
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
  /** True if the book, or the part within the limit, had fewer shares than the rule asks for. */
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
  /** Entries from the first one whose book was not read. */
  notRead: number
}

/** Fills the entries in order, up to the first whose ladder is needed and missing. */
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
  /** Mean price of a share, before fees. */
  meanPrice: number
  /** Mean return of a trade: profit over cost with fees. */
  meanReturn: number
  returnInterval: Interval | undefined
  profit: number
  fees: number
  /** The largest fall of the sum of profits from its highest value before, or from 0. */
  drawdown: number
}

/** Undefined without trades. */
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
    // A trade can lose its whole cost, and no more.
    returnInterval: interval && { ...interval, low: Math.max(interval.low, -1) },
    profit: net.at(-1) ?? 0,
    fees: add(({ fee }) => fee),
    drawdown,
  }
}
