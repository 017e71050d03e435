/** Iterates over lists of markets, and finds the market shown as an example. */
import { tallyCoverage } from '#src/domain/coverage.ts'
import {
  type Coin,
  coins,
  type Market,
  type Outcome,
  outcomes,
  type Source,
  type SourceChoice,
  sources,
} from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { CoinTotals, MarketHistory, MarketQuery } from '../history.ts'

/** The verbs that iterate over lists of markets. */
export type MarketLists = Pick<MarketHistory, 'listMarkets' | 'skipMarkets'>

/** Markets examined per page, matching or not: a millisecond of work. */
const LOOKED_AT_MAX = 500

/**
 * All markets of a query in pages of at most `limit`, each read on demand. If few markets match, a
 * page may be empty, which lets the caller pause.
 */
export function* marketPages(
  history: MarketLists,
  query: MarketQuery,
  lookedAtMax = LOOKED_AT_MAX,
): Generator<Market[]> {
  const { status, winner, source } = query
  const isFiltered = (status ?? winner ?? source) !== undefined
  let { after } = query
  for (;;) {
    const upTo = isFiltered ? history.skipMarkets({ ...query, after }, lookedAtMax) : undefined
    const page = history.listMarkets({ ...query, after, upTo })
    const isFull = page.length === query.limit
    if (page.length > 0 || upTo !== undefined) yield page
    if (!isFull && upTo === undefined) return
    after = isFull ? page.at(-1) : upTo
  }
}

/**
 * The `source` of a query for markets of a coin: recorded ones as soon as one exists, unless others
 * are requested. Undefined if no market is excluded.
 */
export function readSource(
  history: Pick<MarketHistory, 'sourcesOf'>,
  coin: Coin,
  asked: SourceChoice | undefined,
): Source | undefined {
  if (asked === 'all') return undefined
  const held = history.sourcesOf(coin)
  const wanted = asked ?? (held.includes('recorded') ? 'recorded' : 'simulated')
  return held.every((source) => source === wanted) ? undefined : wanted
}

/** Examined markets of each coin and source. */
const NEWEST_COUNT = 20
const PAGE_MARKETS = 100
/** The largest distance between a window and its snapshots; lists do not look further. */
const APART_MS = 30 * DAY_MS
/** The covered share that a market needs to be preferred. */
const COVERED_MIN = 0.5

type Reads = MarketLists & Pick<MarketHistory, 'coinTotals' | 'gaps' | 'trades' | 'spot'>

/**
 * The best finished market to show, if at least `COVERED_MIN` of it is covered. The order: recorded
 * before simulated, then with a winner, with books of both outcomes, with a strike; among the
 * newest of these the best covered one with trades and spot prices; among equal ones that of the
 * first coin whose final price was closest to its strike. If none is covered that well, the first
 * in this order.
 */
export function findExampleMarket(
  history: Reads,
  among: readonly Coin[] = coins,
): Market | undefined {
  const held = history.coinTotals(0).filter(({ snapshots }) => snapshots > 0)
  const found: Market[] = []
  for (const source of sources) {
    const newest = among.flatMap((coin) => {
      const totals = held.filter((total) => total.coin === coin && total.source === source)
      return totals.length === 0
        ? []
        : [...listHeld(history, { coin, source }, totals).take(NEWEST_COUNT)].sort(
            (a, b) => moveOf(a) - moveOf(b),
          )
    })
    const byRank = Map.groupBy(newest, rankOf)
    for (const rank of [...byRank.keys()].sort((a, b) => b - a)) {
      // Only markets of the best rank are read further.
      const best = findBest(history, byRank.get(rank) ?? [])
      if (best === undefined) continue
      if (best.isClosed && isCovered(history, best, COVERED_MIN)) return best
      found.push(best)
    }
  }
  return found.find(({ isClosed }) => isClosed) ?? found[0]
}

/**
 * The relative distance of the final price from the strike: the smaller, the longer both outcomes
 * were open.
 */
const moveOf = ({ strike, finalPrice }: Market): number =>
  strike === undefined || finalPrice === undefined
    ? Number.MAX_VALUE
    : Math.abs(Number(finalPrice) / Number(strike) - 1)

/** Each criterion outweighs all that follow it. */
const rankOf = (market: Market): number =>
  [
    market.isClosed,
    market.winner !== undefined,
    hasBoth(market),
    market.strike !== undefined,
  ].reduce((rank, has) => 2 * rank + Number(has), 0)

/** Coverage counts ten times as much as trades or prices of the coin. */
const COVERED_WEIGHT = 10
const SCORE_MAX = COVERED_WEIGHT + 2

/** Returns the best market; the first if several are equal. */
function findBest(history: Reads, markets: readonly Market[]): Market | undefined {
  let best = markets[0]
  let most = -1
  for (const market of markets.length > 1 ? markets : []) {
    const score = COVERED_WEIGHT * coveredOf(history, market) + seriesOf(history, market)
    if (score > most) {
      best = market
      most = score
    }
    if (score === SCORE_MAX) break
  }
  return best
}

/** True if a share of one outcome is covered: the other one is its mirror. */
export const isCovered = (history: Pick<Reads, 'gaps'>, market: Market, share: number): boolean =>
  outcomes.some((outcome) => coveredOf(history, market, outcome) >= share)

/** The covered share of an outcome, or of both. */
function coveredOf(history: Pick<Reads, 'gaps'>, market: Market, outcome?: Outcome): number {
  const nowMs = market.windowEndMs ?? market.lastSnapshotMs ?? 0
  const gaps = history.gaps(market)
  const { coveredMs, totalMs } = tallyCoverage({ market, outcome, nowMs, gaps })
  return totalMs === 0 ? 0 : coveredMs / totalMs
}

function seriesOf(history: Reads, market: Market): number {
  const { coin, windowStartMs: fromMs, windowEndMs: toMs } = market
  const trades = history.trades({ market, first: 1, isTrade: true })
  const spot = history.spot({ coin, fromMs, toMs, order: 'asc', limit: 1 })
  return Number(trades.length > 0) + Number(spot.length > 0)
}

/** The share of the snapshots of one outcome that the other must have. */
const OTHER_MIN = 0.1

/** True if each outcome has more than a few snapshots relative to the other. */
function hasBoth({ snapshotCounts: { up, down } }: Market): boolean {
  return Math.min(up, down) > OTHER_MIN * Math.max(up, down)
}

/**
 * Markets of a coin and source with snapshots, newest first; excludes markets that only appear in a
 * list.
 */
function* listHeld(
  history: Reads,
  { coin, source }: { coin: Coin; source: Source },
  totals: readonly CoinTotals[],
) {
  const fromMs = Math.min(...totals.map(({ firstSnapshotMs = 0 }) => firstSnapshotMs)) - APART_MS
  const toMs = Math.max(...totals.map(({ lastSnapshotMs = 0 }) => lastSnapshotMs)) + APART_MS
  // Without a filter the list is checked against another index, which detects damage.
  for (const page of marketPages(history, { coin, fromMs, toMs, limit: PAGE_MARKETS })) {
    yield* page.filter((market) => market.source === source && market.lastSnapshotMs !== undefined)
  }
}
