/** Reads the rows of the board, on a thread of the pool. */
import { mirrorOf } from '#src/domain/consolidated.ts'
import {
  coverageOf,
  type CoverageTally,
  type Gap,
  hasWindow,
  REPLICA_BEHIND,
  shareOf,
  type Span,
  tallyCoverage,
  type WindowedMarket,
} from '#src/domain/coverage.ts'
import {
  exactMillionths,
  exactNumber,
  type Millionths,
  MILLIONTHS_PER_UNIT,
} from '#src/domain/decimal.ts'
import { isDamaged } from '#src/domain/errors.ts'
import { coins, type Market, type Outcome } from '#src/domain/market.ts'
import { formatMid } from '#src/domain/quote.ts'
import { SETTLEMENT_MS_MAX } from '#src/domain/settlement.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'
import { type MarketHistory, prevailingRange } from '#src/history/history.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { averageAt, neededAt } from '#src/history/reads/settlement-read.ts'
import { createSpotReader, findSpot } from '#src/history/reads/spot-read.ts'
import { marketValues } from '#src/http/fields.ts'
import type { Task, TaskPorts } from '#src/http/tasks.ts'

const MARKETS_A_READ = 200
const POINTS = 60
/** Delay of a point after its moment, because snapshots and prices may arrive late. */
const POINT_LATE_MS = 2_000
/** Oldest spot price that is used for a point. */
const SPOT_AGE_MS = 60_000
const TRADES_A_READ = 500
/** Longest delay with which a trade may arrive after newer ones. */
const TRADE_LATE_MS = 10_000
const DEPTH_WITHIN: Millionths = 20_000
/** An open window as the board shows it. */
export type BoardRow = Pick<Market, 'conditionId' | 'coin' | 'timeframe' | 'windowEndMs'> & {
  /** The row without `history` and its closing brace. */
  text: string
  /** The member `history`. */
  history: string
  /** True if the last read met damage. */
  isDamaged: boolean
  tally: CoverageTally
}

/** Trades before a moment. */
type Traded = { untilMs: number; count: number; size: Millionths; isSized: boolean }

/** Printed number or `null` of each point. */
type Points = Record<'mid' | 'spot' | 'average', string[]>

/** Prices in terms of up. */
type Book = {
  of: Outcome
  timestampMs: number
  bids: Ladder
  asks: Ladder
}

/** A window, and what was read of it so far. */
type OpenWindow = {
  market: Market
  /** The time of the last read of the book and the trades. */
  readMs: number
  readRevision: number
  book: Book | undefined
  /** Sum of trades that are old enough to be final; they are not read again. */
  settled: Traded
  /** All trades so far. */
  traded: Traded
  points: Points
  isDamaged: boolean
  tally: CoverageTally
}

const nothingTraded: Traded = { untilMs: 0, count: 0, size: 0, isSized: false }

/** Keeps what earlier reads found, so that the next one reads only what is new. */
function createReader() {
  /** Open windows by condition id. */
  let windows = new Map<string, OpenWindow>()
  const settlements = new Map<string, { settlement: Settlement; second: number }>()

  function listWindows(history: MarketHistory, nowMs: number): void {
    const open = new Map<string, OpenWindow>()
    for (const coin of coins) {
      const source = readSource(history, coin, undefined)
      const query = { coin, source, status: 'open', nowMs, limit: MARKETS_A_READ } as const
      for (const page of marketPages(history, query)) {
        for (const market of page) {
          const window = windows.get(market.conditionId) ?? createWindow(market)
          open.set(market.conditionId, Object.assign(window, { market }))
        }
      }
    }
    if ([...windows.keys()].some((conditionId) => !open.has(conditionId))) settlements.clear()
    windows = open
  }

  /**
   * Settlement average as of the last whole second. Windows of a coin share it until the settlement
   * time of one begins.
   */
  function settlementOf(history: MarketHistory, market: Market, nowMs: number): Settlement {
    const second = Math.floor(nowMs / 1000)
    const { coin, source, settlementRule, windowEndMs = Infinity, strike } = market
    const own = windowEndMs - nowMs > SETTLEMENT_MS_MAX ? '' : `${windowEndMs} ${strike}`
    const key = `${coin} ${source} ${settlementRule} ${own}`
    const known = settlements.get(key)
    if (known?.second === second) return known.settlement
    const settlement = describeSettlement(history, market, second * 1000)
    settlements.set(key, { settlement, second })
    return settlement
  }

  /** Returns the text of the row. Throws `damaged`. */
  async function readWindow(
    history: MarketHistory,
    window: OpenWindow,
    nowMs: number,
    spotOf: ReadSpot,
  ): Promise<string> {
    const { market } = window
    const isSame =
      window.readRevision === market.revision && (market.lastSnapshotMs ?? 0) <= window.readMs
    if (!isSame) {
      window.book = await readBook(history, market, nowMs)
      const { settled, traded } = addTrades(history, market, window.settled, nowMs)
      window.settled = settled
      window.traded = traded
      window.readRevision = market.revision
      window.readMs = nowMs
    }
    const question = { market, gaps: history.gaps(market), nowMs }
    const [coverage] = coverageOf({ ...question, outcome: window.book?.of ?? 'up' })
    window.tally = tallyCoverage({ ...question, fromMs: market.windowStartMs })
    await addPoints(history, window, coverage?.intervals ?? [], nowMs)
    const lastGap = coverage?.gaps.at(-1)
    const isInGap = lastGap !== undefined && lastGap.toMs > (coverage?.intervals.at(-1)?.toMs ?? 0)
    const gap = isInGap ? lastGap : undefined
    return printWindow(window, {
      spot: spotOf(market),
      // A replica that is behind may lack prices of the average too.
      ...(gap?.reason === REPLICA_BEHIND ? notKnown : settlementOf(history, market, nowMs)),
      gap,
    })
  }

  /** Damage of one market, or of the prices of its coin, does not affect other windows. */
  async function readRow(...read: Parameters<typeof readWindow>): Promise<BoardRow> {
    const [, window] = read
    let text: string
    try {
      text = await readWindow(...read)
      window.isDamaged = false
    } catch (error) {
      if (!isDamaged(error)) throw error
      text = printDamaged(window.market)
      window.isDamaged = true
    }
    const { market, isDamaged: isBroken, tally } = window
    const { conditionId, coin, timeframe, windowEndMs } = market
    const points = printPoints(window)
    return {
      conditionId,
      coin,
      timeframe,
      windowEndMs,
      text,
      history: points,
      isDamaged: isBroken,
      tally,
    }
  }

  return async (history: MarketHistory, nowMs: number): Promise<BoardRow[]> => {
    listWindows(history, nowMs)
    const spotOf = createSpotReader(history, nowMs)
    const rows: BoardRow[] = []
    for (const window of [...windows.values()].sort(compareWindows))
      rows.push(await readRow(history, window, nowMs, spotOf))
    return rows
  }
}

/** The readers of this thread, one for each history that it has opened. */
const readers = new WeakMap<TaskPorts['cursors'], ReturnType<typeof createReader>>()

/** Reads all rows, in the order in which the board has them. */
export const boardTask: Task<{ nowMs: number }, BoardRow[]> = {
  name: 'board',
  run({ history, cursors }, { nowMs }) {
    const read = readers.get(cursors) ?? createReader()
    readers.set(cursors, read)
    return read(history, nowMs)
  },
}

const createWindow = (market: Market): OpenWindow => ({
  market,
  readMs: Number.NEGATIVE_INFINITY,
  readRevision: Number.NaN,
  book: undefined,
  settled: nothingTraded,
  traded: nothingTraded,
  points: { mid: [], spot: [], average: [] },
  isDamaged: false,
  tally: { totalMs: 0, coveredMs: 0, gaps: new Map() },
})

const compareWindows = ({ market: a }: OpenWindow, { market: b }: OpenWindow): number =>
  coins.indexOf(a.coin) - coins.indexOf(b.coin) ||
  (a.windowEndMs ?? Number.MAX_SAFE_INTEGER) - (b.windowEndMs ?? Number.MAX_SAFE_INTEGER) ||
  Number(a.conditionId > b.conditionId) - Number(a.conditionId < b.conditionId)

/** Book of up; if only down was recorded, its mirror. */
async function readBook(
  history: MarketHistory,
  market: Market,
  timestampMs: number,
): Promise<Book | undefined> {
  for (const outcome of ['up', 'down'] as const) {
    if (market.spans[outcome] === undefined) continue
    await history.ready([prevailingRange(market, outcome, timestampMs)])
    const row = history.at({ market, outcome, timestampMs })
    if (row === undefined) continue
    const own = row.snapshot()
    const { bids, asks } = outcome === 'up' ? own : mirrorOf(own)
    return { of: outcome, timestampMs: row.timestampMs, bids, asks }
  }
  return undefined
}

/** Adds the trades after `before`, up to `nowMs`. */
function addTrades(
  history: Pick<MarketHistory, 'trades'>,
  market: Market,
  before: Traded,
  nowMs: number,
): { settled: Traded; traded: Traded } {
  const settledMs = Math.max(before.untilMs, nowMs - TRADE_LATE_MS)
  const settled = { ...before, untilMs: settledMs }
  const traded = { ...before }
  while (traded.untilMs <= nowMs) {
    const trades = history.trades({
      market,
      fromMs: traded.untilMs,
      toMs: nowMs + 1,
      first: TRADES_A_READ,
      isTrade: true,
    })
    for (const trade of trades) {
      addTrade(traded, trade)
      if (trade.timestampMs < settledMs) addTrade(settled, trade)
    }
    const last = trades.at(-1)
    if (last === undefined || trades.length < TRADES_A_READ) break
    traded.untilMs = last.timestampMs + 1
  }
  return { settled, traded }
}

function addTrade(sum: Traded, { size }: Trade): void {
  sum.count++
  sum.size += size ?? 0
  sum.isSized ||= size !== undefined
}

const stepMsOf = ({ windowStartMs, windowEndMs }: WindowedMarket): number =>
  Math.max(1, Math.ceil((windowEndMs - windowStartMs) / POINTS))

/** Adds the points whose moments have passed. */
async function addPoints(
  history: MarketHistory,
  { market, book, points }: OpenWindow,
  known: readonly Span[],
  nowMs: number,
): Promise<void> {
  if (!hasWindow(market)) return
  const outcome = book?.of ?? 'up'
  for (let point = points.mid.length; point < POINTS; point++) {
    const atMs = market.windowStartMs + point * stepMsOf(market)
    if (atMs > nowMs - POINT_LATE_MS) return
    const isKnown = known.some(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs)
    const last = { market, outcome, order: 'desc', toMs: atMs + 1, limit: 1 } as const
    if (isKnown) await history.ready([{ ...last, withTops: true }])
    const top = isKnown ? history.tops(last)[0] : undefined
    const tick = findSpot(history, { coin: market.coin, source: market.source, atMs })
    const isOfPoint = tick !== undefined && atMs - tick.timestampMs <= SPOT_AGE_MS
    // A read that meets damaged data adds to no series.
    const average = averageAt(history, market, atMs)?.price ?? 'null'
    points.mid.push(top === undefined ? 'null' : midOf(outcome, top.bidPrice, top.askPrice))
    points.spot.push(isOfPoint ? tick.price : 'null')
    points.average.push(average)
  }
}

/** A side without orders has the price 0. */
function midOf(outcome: Outcome, bidPrice: Millionths, askPrice: Millionths): string {
  if (bidPrice === 0 || askPrice === 0) return 'null'
  return outcome === 'up'
    ? formatMid(bidPrice, askPrice)
    : formatMid(MILLIONTHS_PER_UNIT - askPrice, MILLIONTHS_PER_UNIT - bidPrice)
}

function printPoints({ market, points, isDamaged }: OpenWindow): string {
  if (!hasWindow(market) || isDamaged) return 'null'
  const { mid, spot, average } = points
  const head = `{"from":"${toIso(market.windowStartMs)}","stepMs":${stepMsOf(market)}`
  return `${head},"mid":[${mid.join()}],"spot":[${spot.join()}],"average":[${average.join()}]}`
}

function describeSettlement(history: MarketHistory, market: Market, atMs: number) {
  const needed = neededAt(history, market, atMs)
  return {
    average: describeAverage(averageAt(history, market, atMs)),
    needed: needed === undefined ? null : { price: exactNumber(needed), from: toIso(atMs) },
  }
}

function describeAverage(average: ReturnType<typeof averageAt>) {
  if (average === undefined) return null
  const { price, fromMs, toMs, source, isSettlement } = average
  return { price: exactNumber(price), from: toIso(fromMs), to: toIso(toMs), source, isSettlement }
}

const notKnown = { average: null, needed: null } satisfies Settlement

type ReadSpot = ReturnType<typeof createSpotReader>
type Settlement = ReturnType<typeof describeSettlement>

type Beside = Settlement & {
  spot: ReturnType<ReadSpot>
  /** Gap at the current time. */
  gap: Gap | undefined
}

function printWindow({ market, book, traded, tally }: OpenWindow, beside: Beside): string {
  const { spot, average, needed, gap } = beside
  return printRow(market, {
    spot,
    average,
    needed,
    ...describeBook(book),
    volume: traded.isSized ? exactMillionths(traded.size) : null,
    trades: traded.count,
    recording: describeRecording(market, tally, gap),
  })
}

/** Row with the facts of the market only, without data of its history. */
const printDamaged = (market: Market): string =>
  printRow(market, {
    spot: null,
    average: null,
    needed: null,
    ...describeBook(undefined),
    volume: null,
    trades: null,
    recording: { state: 'damaged', reason: null, since: null, covered: null },
  })

type RowValues = ReturnType<typeof describeBook> &
  Settlement & {
    spot: ReturnType<ReadSpot>
    volume: unknown
    trades: number | null
    recording: Record<string, unknown>
  }

function printRow(market: Market, { spot, average, needed, ...values }: RowValues): string {
  const row = {
    ...marketValues(market),
    slug: market.slug ?? null,
    windowStart: toIsoOrNull(market.windowStartMs),
    windowEnd: toIsoOrNull(market.windowEndMs),
    settlementRule: market.settlementRule ?? null,
    strike: exactNumber(market.strike),
    spot,
    average,
    needed,
    ...values,
  }
  return JSON.stringify(row).slice(0, -1)
}

function describeBook(book: Book | undefined) {
  const bid = book?.bids.prices[0]
  const ask = book?.asks.prices[0]
  const isWhole = book !== undefined && bid !== undefined && ask !== undefined
  return {
    bookOf: book?.of ?? null,
    timestamp: toIsoOrNull(book?.timestampMs),
    bid: exactMillionths(bid),
    ask: exactMillionths(ask),
    mid: isWhole ? exactNumber(formatMid(bid, ask)) : null,
    spread: isWhole ? exactMillionths(ask - bid) : null,
    bidDepth: isWhole ? exactMillionths(depthOf(book.bids, bid + ask)) : null,
    askDepth: isWhole ? exactMillionths(depthOf(book.asks, bid + ask)) : null,
  }
}

/** Shares at prices within `DEPTH_WITHIN` of the mid. `doubleMid`: bid plus ask, which is exact. */
function depthOf({ prices, sizes }: Ladder, doubleMid: Millionths): Millionths {
  let sum = 0
  for (const [index, price] of prices.entries()) {
    if (Math.abs(2 * price - doubleMid) > 2 * DEPTH_WITHIN) break
    sum += sizes[index] ?? 0
  }
  return sum
}

function describeRecording(
  market: Market,
  { coveredMs, totalMs }: CoverageTally,
  gap: Gap | undefined,
) {
  const hasBooks = market.lastSnapshotMs !== undefined
  const share = Math.floor(shareOf(coveredMs, totalMs) / 1000) / 1000
  const state = gap === undefined ? 'recorded' : 'gap'
  return {
    state: hasBooks ? state : 'none',
    reason: hasBooks && gap !== undefined ? gap.reason : null,
    since: hasBooks && gap !== undefined ? toIso(gap.fromMs) : null,
    covered: hasWindow(market) && totalMs > 0 ? share : null,
  }
}
