/** The expected quotes and prices, computed from books and trades by lists and long division. */
import type { Outcome } from '#src/domain/market.ts'
import type { Ladder, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, START_MS } from '../history/books.ts'
import { NOW_MS } from './harness.ts'
import { snapshotRuns } from './snapshot-runs.ts'

export const iso = (timeMs: number): string => new Date(timeMs).toISOString()

/** The shortest decimal of `value` / 10^`places`. */
export function exact(value: bigint, places: number): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const sign = value < 0n ? '-' : ''
  return `${sign}${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}

const millionths = (value: number | undefined): string =>
  value === undefined ? 'null' : exact(BigInt(value), 6)

const best = ({ prices, sizes }: Ladder): [price: number, size: number] | [] => {
  const price = prices[0]
  const size = sizes[0]
  return price === undefined || size === undefined ? [] : [price, size]
}

/** Ten millionths of half the sum; undefined if a side is empty. */
function midOf({ bids, asks }: Snapshot): bigint | undefined {
  const [[bid], [ask]] = [best(bids), best(asks)]
  return bid === undefined || ask === undefined ? undefined : (BigInt(bid) + BigInt(ask)) * 5n
}

const midText = (mid: bigint | undefined): string => (mid === undefined ? 'null' : exact(mid, 7))

function imbalanceText(bid: bigint, ask: bigint): string {
  const difference = bid < ask ? ask - bid : bid - ask
  const sum = bid + ask
  const scaled = difference * 1_000_000n
  const rounded = scaled / sum + (2n * (scaled % sum) >= sum ? 1n : 0n)
  return exact(bid < ask ? -rounded : rounded, 6)
}

/** The four numbers whose change makes a new quote. */
export const quoteKey = ({ bids, asks }: Snapshot): string =>
  JSON.stringify([best(bids), best(asks)])

/** The members of a quote after those of an interval. */
export function quoteRow(row: StoredSnapshot): string {
  const [[bid, bidSize], [ask, askSize]] = [best(row.bids), best(row.asks)]
  const head = `"id":"${row.id}","outcome":"${row.outcome}","timestamp":"${iso(row.timestampMs)}"`
  const sides = `"bid":${millionths(bid)},"bidSize":${millionths(bidSize)},"ask":${millionths(ask)},"askSize":${millionths(askSize)}`
  if (bidSize === undefined || askSize === undefined) {
    return `${head},${sides},"mid":null,"spread":null,"imbalance":null`
  }
  const spread = exact(BigInt(ask ?? 0) - BigInt(bid ?? 0), 6)
  const imbalance = imbalanceText(BigInt(bidSize), BigInt(askSize))
  return `${head},${sides},"mid":${midText(midOf(row))},"spread":${spread},"imbalance":${imbalance}`
}

type Range = { outcome?: Outcome; from?: number; to?: number }

export const inRange = <Row extends { timestampMs: number; outcome: Outcome }>(
  rows: readonly Row[],
  { outcome, from = 0, to = Number.POSITIVE_INFINITY }: Range,
): Row[] =>
  rows.filter(
    (row) =>
      row.timestampMs >= from && row.timestampMs < to && (outcome ?? row.outcome) === row.outcome,
  )

/** Rows whose `keyOf` differs from that of the previous row of the same outcome. */
export const changesOf = <Row extends { outcome: Outcome }>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Row[] =>
  rows.filter((row, index) => {
    const before = rows.slice(0, index).findLast((other) => other.outcome === row.outcome)
    return before === undefined || keyOf(before) !== keyOf(row)
  })

export const lastTradeAt = (trades: readonly Trade[], timeMs: number): Trade | undefined =>
  trades.findLast((trade) => trade.timestampMs <= timeMs)

const tradePrice = (trade: Trade | undefined, outcome: Outcome): string => {
  if (trade === undefined) return 'null'
  const isOther = trade.outcome !== undefined && trade.outcome !== outcome
  return millionths(isOther ? 1_000_000 - trade.price : trade.price)
}

/** The values whose change makes a new price. */
export const priceKey =
  (trades: readonly Trade[]) =>
  (row: Snapshot): string => {
    const trade = lastTradeAt(trades, row.timestampMs)
    const shown = [trade?.timestampMs, trade?.price, trade?.outcome]
    return JSON.stringify([midText(midOf(row)), ...shown])
  }

export function priceRow(row: StoredSnapshot, trades: readonly Trade[]): string {
  const [[bid], [ask]] = [best(row.bids), best(row.asks)]
  const head = `"id":"${row.id}","outcome":"${row.outcome}","timestamp":"${iso(row.timestampMs)}"`
  const sides = `"bid":${millionths(bid)},"ask":${millionths(ask)},"mid":${midText(midOf(row))}`
  return `{${head},${sides},${tradeMembers(lastTradeAt(trades, row.timestampMs), row.outcome)}}`
}

function tradeMembers(trade: Trade | undefined, outcome: Outcome): string {
  const time = trade === undefined ? 'null' : `"${iso(trade.timestampMs)}"`
  const traded = trade?.outcome === undefined ? 'null' : `"${trade.outcome}"`
  return `"lastTrade":${tradePrice(trade, outcome)},"lastTradeTime":${time},"lastTradeOutcome":${traded}`
}

export type BarStep = { startMs: number; stepMs: number; outcome: Outcome }

/** A bar without its last member, `covered`; undefined if there is no state. */
export function barText(
  { startMs, stepMs, outcome }: BarStep,
  rows: readonly Snapshot[],
  trades: readonly Trade[],
): string | undefined {
  const endMs = startMs + stepMs
  const own = inRange(rows, { outcome, from: startMs, to: endMs })
  if (own.length === 0) return undefined
  const mids = own.map(midOf).filter((mid) => mid !== undefined)
  const sorted = mids.toSorted((a, b) => Number(a - b))
  const four = `"open":${midText(mids[0])},"high":${midText(sorted.at(-1))},"low":${midText(sorted[0])},"close":${midText(mids.at(-1))}`
  const last = trades.findLast((trade) => trade.timestampMs < endMs)
  const count = trades.filter(
    ({ timestampMs }) => timestampMs >= startMs && timestampMs < endMs,
  ).length
  const place = `"outcome":"${outcome}","start":"${iso(startMs)}","end":"${iso(endMs)}"`
  return `{${place},${four},${tradeMembers(last, outcome)},"lastTradeUpdates":${count},"states":${own.length}`
}

const drawLadder = (random: Random, size: () => number): Ladder => {
  if (random.integer(6) === 0) return { prices: [], sizes: [] }
  // Few prices, so that books repeat; odd millionths, so that mids have seven decimals.
  const price = random.pick([480_000, 490_001, 500_000, 510_000, 1, 999_999])
  return { prices: [price], sizes: [size()] }
}

const sizes = [1, 1_000_000, 1_000_001, 2_500_000, 12_480_060_000, 2 ** 51]

/**
 * Books of market 1, many of which repeat the previous one, with pauses longer and shorter than a
 * gap.
 */
export function randomBooks(random: Random, count: number): Snapshot[] {
  const size = () => random.pick(sizes)
  let timestampMs = START_MS + random.integer(2_000)
  return Array.from({ length: count }, () => {
    if (random.integer(4) > 0) {
      timestampMs += random.integer(random.integer(15) === 0 ? 20_000 : 900)
    }
    return aSnapshot({
      outcome: random.pick(['up', 'down']),
      timestampMs,
      bids: drawLadder(random, size),
      asks: drawLadder(random, size),
    })
  })
}

/** Trades around the books of market 1, of known and unknown outcomes, some at the same moment. */
export const randomTrades = (random: Random, count: number): Trade[] =>
  Array.from({ length: count }, () => ({
    timestampMs: START_MS + random.integer(random.pick([10, 20_000, 90_000])),
    price: 1 + random.integer(999_999),
    outcome: random.pick([undefined, 'up', 'down']),
  }))

/** Stores books and trades in a history; returns the stored ones in its order. */
export async function fill(
  history: MarketHistory,
  { books, trades = [] }: { books: readonly Snapshot[]; trades?: readonly Trade[] },
) {
  const conditionId = conditionIdOf(1)
  await history.putMarket({
    ...({ conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' } as const),
    windowStartMs: START_MS,
    windowEndMs: Math.max(START_MS + 300_000, NOW_MS),
  })
  if (books.length > 0) await appendAll(history, books)
  if (trades.length > 0)
    await history.putTrades({ id: `trades ${trades.length}`, conditionId, trades })
  const market = getMarket(history)
  const rows = [...snapshotRuns(history, { market })].flat()
  return { rows, trades: history.trades({ market }), base: `/v1/btc/markets/${conditionId}` }
}
