/**
 * Every open window as one row, read again at most four times a second for all callers together, and
 * printed once for all callers of the same coins.
 */
import { mirrorOf } from '#src/domain/consolidated.ts'
import {
  coverageOf,
  type CoverageTally,
  type Gap,
  hasWindow,
  shareOf,
  tallyCoverage,
  tallyText,
} from '#src/domain/coverage.ts'
import {
  exactMillionths,
  exactNumber,
  formatMillionths,
  type Millionths,
  MILLIONTHS_PER_UNIT,
} from '#src/domain/decimal.ts'
import { isDamaged } from '#src/domain/errors.ts'
import { type Coin, coins, type Market, type Outcome, type Timeframe } from '#src/domain/market.ts'
import { formatMid } from '#src/domain/quote.ts'
import { SETTLEMENT_MS_MAX } from '#src/domain/settlement.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { tagOf } from '#src/domain/tag.ts'
import { type Clock, toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'
import { type MarketHistory, prevailingRange } from '#src/history/history.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { describeSpot, findSpot } from '#src/history/reads/spot-read.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { averageAt, neededAt } from './settlement.ts'

/** A row is read again after this time at the earliest. */
const REFRESH_MS = 250
const MARKETS_A_READ = 200
const POINTS = 60
/** A point is made this long after its moment, because states and prices may come late. */
const POINT_LATE_MS = 2_000
/** A price of the coin that is older is not of the point. */
const SPOT_AGE_MS = 60_000
const TRADES_A_READ = 500
/** A trade may come this much later than newer ones. */
const TRADE_LATE_MS = 10_000
const DEPTH_WITHIN: Millionths = 20_000
/** A slow reader still learns of a window that closed up to this long ago. */
const CLOSED_KEPT_MS = 600_000

/** The coins of the caller's tier, and the length that the caller filters by. */
export type Wanted = { coins: readonly Coin[]; timeframe: Timeframe | undefined }

/** Trades before a moment. */
type Traded = { untilMs: number; count: number; size: Millionths; isSized: boolean }

/** Digits, or `null`, of each point. */
type Points = Record<'mid' | 'spot' | 'average', string[]>

/** Prices in terms of up. */
type Book = {
  of: Outcome
  timestampMs: number
  bids: Ladder
  asks: Ladder
}

type OpenWindow = {
  market: Market
  /** On the monotonic clock. */
  refreshedMs: number
  /** When the book and the trades were read last, Unix milliseconds. */
  readMs: number
  readRevision: number
  book: Book | undefined
  /** Trades that are too old for an earlier one to arrive; they are not read again. */
  settled: Traded
  /** All trades so far. */
  traded: Traded
  points: Points
  /** Whether the last read met damage. */
  isDamaged: boolean
  /** The row without `history` and its closing brace; undefined before it was read once. */
  text: string | undefined
  /** `version` of the board when the text changed last. */
  version: number
  tally: CoverageTally
}

type ClosedWindow = { market: Market; version: number; closedMs: number }

const nothingTraded: Traded = { untilMs: 0, count: 0, size: 0, isSized: false }

export type Board = ReturnType<typeof createBoard>

export function createBoard({
  history,
  served,
  timer,
}: {
  history: MarketHistory
  served: () => ServedMoment
  /** Monotonic milliseconds. */
  timer: Clock
}) {
  /** By condition id. */
  const windows = new Map<string, OpenWindow>()
  let closed: ClosedWindow[] = []
  let listedMs = Number.NEGATIVE_INFINITY
  /** Rises with each change of a row; 0 is before all of them. */
  let version = 1
  /** By coin and source of its markets. */
  const spots = new Map<string, { spot: Spot; readMs: number }>()
  const settlements = new Map<string, { settlement: Settlement; second: number }>()
  /** Bodies since the last change, by coins and length. */
  const printed = new Map<string, { text: string; tag: string; coverage: string }>()

  const isDue = (atMs: number): boolean => timer() - atMs >= REFRESH_MS

  /** Adds windows that have opened, and takes out those that have closed. */
  function* listWindows(): Steps<void> {
    if (!isDue(listedMs)) return
    listedMs = timer()
    const { nowMs } = served()
    const open = new Map<string, Market>()
    for (const coin of coins) {
      const query = {
        coin,
        source: readSource(history, coin, undefined),
        status: 'open',
        nowMs,
        limit: MARKETS_A_READ,
      } as const
      for (const page of marketPages(history, query)) {
        for (const market of page) open.set(market.conditionId, market)
        yield
      }
    }
    for (const [conditionId, { market }] of windows) {
      if (open.has(conditionId)) continue
      windows.delete(conditionId)
      settlements.clear()
      closed.push({ market, version: changed(), closedMs: nowMs })
    }
    closed = closed.filter(({ closedMs }) => nowMs - closedMs < CLOSED_KEPT_MS)
    for (const [conditionId, market] of open) {
      const known = windows.get(conditionId)
      if (known === undefined) windows.set(conditionId, createWindow(market))
      else known.market = market
    }
  }

  /** The price of a coin is read once for all of its windows. */
  function spotOf({ coin, source }: Market, atMs: number): Spot {
    const key = `${coin} ${source}`
    const known = spots.get(key)
    if (known !== undefined && !isDue(known.readMs)) return known.spot
    const spot = describeSpot(history, { coin, source, atMs })
    spots.set(key, { spot, readMs: timer() })
    return spot
  }

  /** As of the last whole second. Windows of a coin share it until the settlement of one begins. */
  function settlementOf(market: Market, nowMs: number): Settlement {
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

  function changed(): number {
    printed.clear()
    return ++version
  }

  /** Damage of one market, or of the prices of its coin, leaves the other windows as they are. */
  function* refreshWindow(window: OpenWindow): Steps<void> {
    window.refreshedMs = timer()
    let text: string
    try {
      text = yield* readWindow(window)
      window.isDamaged = false
    } catch (error) {
      if (!isDamaged(error)) throw error
      text = printDamaged(window.market)
      window.isDamaged = true
    }
    if (text === window.text) return
    window.text = text
    window.version = changed()
  }

  /** Returns the text of the row. Throws `damaged`. */
  function* readWindow(window: OpenWindow): Steps<string> {
    const { market } = window
    const { nowMs, isStale } = served()
    const isSame =
      window.readRevision === market.revision && (market.lastSnapshotMs ?? 0) <= window.readMs
    if (!isSame) {
      window.book = yield* readBook(history, market, nowMs)
      const { settled, traded } = yield* addTrades(history, market, window.settled, nowMs)
      window.settled = settled
      window.traded = traded
      window.readRevision = market.revision
      window.readMs = nowMs
    }
    const question = { market, gaps: history.gaps(market), nowMs, isStale }
    const [coverage] = coverageOf({ ...question, outcome: window.book?.of ?? 'up' })
    const before = tallyText([window.tally])
    window.tally = tallyCoverage({ ...question, fromMs: market.windowStartMs })
    // A body that stays the same may have another coverage, as of the other outcome.
    if (tallyText([window.tally]) !== before) printed.clear()
    yield* addPoints(history, window, coverage?.intervals ?? [], nowMs)
    const lastGap = coverage?.gaps.at(-1)
    const isInGap = lastGap !== undefined && lastGap.toMs > (coverage?.intervals.at(-1)?.toMs ?? 0)
    return printWindow(window, {
      spot: spotOf(market, nowMs),
      ...settlementOf(market, nowMs),
      gap: isInGap ? lastGap : undefined,
    })
  }

  const isWanted = ({ market }: Pick<OpenWindow, 'market'>, { coins: own, timeframe }: Wanted) =>
    own.includes(market.coin) && (timeframe === undefined || market.timeframe === timeframe)

  const wantedWindows = (wanted: Wanted): OpenWindow[] =>
    [...windows.values()]
      .filter((window) => window.text !== undefined && isWanted(window, wanted))
      .sort(compareWindows)

  return {
    /** Reads each window that was not read in the last `REFRESH_MS`. */
    *refresh(): Steps<void> {
      yield* listWindows()
      for (const window of [...windows.values()]) {
        if (window.text !== undefined && !isDue(window.refreshedMs)) continue
        yield* refreshWindow(window)
        yield
      }
    },

    /** All rows, as they were read last. */
    print(wanted: Wanted): { text: string; tag: string; coverage: string } {
      const key = `${wanted.coins.join()} ${wanted.timeframe}`
      const known = printed.get(key)
      if (known !== undefined) return known
      const shown = wantedWindows(wanted)
      const rows = shown.map((window) => `${window.text},"history":${printPoints(window)}}`)
      const text = `{"data":[${rows.join()}],"nextCursor":null}`
      const coverage = tallyText(shown.flatMap((each) => (each.isDamaged ? [] : each.tally)))
      const made = { text, tag: tagOf(text), coverage }
      printed.set(key, made)
      return made
    },

    /**
     * The event of changes after a version: rows without `history`, and windows that closed.
     * Undefined without any.
     */
    printChanges(wanted: Wanted, after: number): string | undefined {
      const rows = wantedWindows(wanted).filter((window) => window.version > after)
      const gone = closed.filter((each) => each.version > after && isWanted(each, wanted))
      if (rows.length + gone.length === 0 && after > 0) return undefined
      const ids = gone.map(({ market }) => `"${market.conditionId}"`)
      const time = toIso(served().nowMs)
      return `{"time":"${time}","data":[${rows.map(({ text }) => `${text}}`).join()}],"closed":[${ids.join()}]}`
    },

    get version() {
      return version
    },
  }
}

const createWindow = (market: Market): OpenWindow => ({
  market,
  refreshedMs: Number.NEGATIVE_INFINITY,
  readMs: Number.NEGATIVE_INFINITY,
  readRevision: Number.NaN,
  book: undefined,
  settled: nothingTraded,
  traded: nothingTraded,
  points: { mid: [], spot: [], average: [] },
  isDamaged: false,
  text: undefined,
  version: 0,
  tally: { totalMs: 0, coveredMs: 0, gaps: new Map() },
})

const compareWindows = ({ market: a }: OpenWindow, { market: b }: OpenWindow): number =>
  coins.indexOf(a.coin) - coins.indexOf(b.coin) ||
  (a.windowEndMs ?? Number.MAX_SAFE_INTEGER) - (b.windowEndMs ?? Number.MAX_SAFE_INTEGER) ||
  Number(a.conditionId > b.conditionId) - Number(a.conditionId < b.conditionId)

/** The book of up; if only down was recorded, its mirror. */
function* readBook(
  history: MarketHistory,
  market: Market,
  timestampMs: number,
): Steps<Book | undefined> {
  for (const outcome of ['up', 'down'] as const) {
    if (market.spans[outcome] === undefined) continue
    yield history.ready([prevailingRange(market, outcome, timestampMs)])
    const row = history.at({ market, outcome, timestampMs })
    if (row === undefined) continue
    const own = row.snapshot()
    const { bids, asks } = outcome === 'up' ? own : mirrorOf(own)
    return { of: outcome, timestampMs: row.timestampMs, bids, asks }
  }
  return undefined
}

/** Adds the trades after `before`, up to `nowMs`. */
function* addTrades(
  history: Pick<MarketHistory, 'trades'>,
  market: Market,
  before: Traded,
  nowMs: number,
): Steps<{ settled: Traded; traded: Traded }> {
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
    yield
  }
  return { settled, traded }
}

function addTrade(sum: Traded, { size }: Trade): void {
  sum.count++
  sum.size += size ?? 0
  sum.isSized ||= size !== undefined
}

const stepMsOf = ({ windowStartMs, windowEndMs }: { windowStartMs: number; windowEndMs: number }) =>
  Math.max(1, Math.ceil((windowEndMs - windowStartMs) / POINTS))

/** Adds the points whose moments are over. */
function* addPoints(
  history: MarketHistory,
  { market, book, points }: OpenWindow,
  known: readonly { fromMs: number; toMs: number }[],
  nowMs: number,
): Steps<void> {
  if (!hasWindow(market)) return
  const outcome = book?.of ?? 'up'
  for (let point = points.mid.length; point < POINTS; point++) {
    const atMs = market.windowStartMs + point * stepMsOf(market)
    if (atMs > nowMs - POINT_LATE_MS) return
    const isKnown = known.some(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs)
    const last = { market, outcome, order: 'desc', toMs: atMs + 1, limit: 1 } as const
    if (isKnown) yield history.ready([{ ...last, withTops: true }])
    // Another request may have made it meanwhile.
    if (points.mid.length > point) continue
    const top = isKnown ? history.tops(last)[0] : undefined
    const tick = findSpot(history, { coin: market.coin, source: market.source, atMs })
    const isOfPoint = tick !== undefined && atMs - tick.timestampMs <= SPOT_AGE_MS
    // A read that meets damage adds to none of the lines.
    const average = averageAt(history, market, atMs)?.price ?? 'null'
    points.mid.push(top === undefined ? 'null' : midOf(outcome, top.bidPrice, top.askPrice))
    points.spot.push(isOfPoint ? tick.price : 'null')
    points.average.push(average)
    yield
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

type Spot = ReturnType<typeof describeSpot>
type Settlement = ReturnType<typeof describeSettlement>

type Beside = Settlement & {
  spot: Spot
  /** The gap in which the window is now. */
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

/** What is known of the market, and nothing that is read of its history. */
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
    spot: Spot
    volume: unknown
    trades: number | null
    recording: Record<string, unknown>
  }

function printRow(market: Market, { spot, average, needed, ...values }: RowValues): string {
  const row = {
    conditionId: market.conditionId,
    symbol: market.coin,
    timeframe: market.timeframe,
    source: market.source,
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
    spread: isWhole ? exactSigned(ask - bid) : null,
    bidDepth: isWhole ? exactMillionths(depthOf(book.bids, bid + ask)) : null,
    askDepth: isWhole ? exactMillionths(depthOf(book.asks, bid + ask)) : null,
  }
}

/** A book may be crossed for a moment. */
const exactSigned = (value: Millionths): unknown =>
  exactNumber(value < 0 ? `-${formatMillionths(-value)}` : formatMillionths(value))

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
