/** Reads markets; knows stored markets and wire shapes, nothing of HTTP. */
import { shareOf, spanOf, tallyCoverage } from '#src/core/coverage.ts'
import {
  type CursorCodec,
  decodeMarketPlace,
  encodeMarketPlace,
  startOfMarkets,
} from '#src/core/cursor.ts'
import { exactMillionths, exactNumber } from '#src/core/decimal.ts'
import { AppError } from '#src/core/errors.ts'
import {
  type Coin,
  isTimeframe,
  type Market,
  type Outcome,
  outcomes,
  statusOf,
} from '#src/core/market.ts'
import { type Clock, readRange, toIso } from '#src/core/time.ts'
import type { MarketHistory, MarketQuery } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import type { ListQuery } from './model.ts'

type Deps = {
  history: Pick<MarketHistory, 'listMarkets' | 'findMarketBySlug' | 'gaps'>
  cursors: CursorCodec
  clock: Clock
}

export type ListPage = { body: string; resumeCursor: string | undefined }

/** Markets that are read in one step. */
const BLOCK = 50

/** Makes the service of a history. */
export function createMarketService({ history, cursors, clock }: Deps) {
  const bodyOf = (market: Market, nowMs: number) => ({
    ...describeMarket(market, nowMs),
    outcomes: outcomes.map((outcome) =>
      describeOutcome(market, outcome, coveredOf({ history, market, outcome, nowMs })),
    ),
    ...describeHoldings(market),
  })

  /** Reads markets from a place on, and says whether there are more after the last. */
  function* readList(
    query: MarketQuery,
    nowMs: number,
  ): Steps<{ texts: string[]; last: Market | undefined; hasMore: boolean }> {
    const texts: string[] = []
    let last: Market | undefined
    for (;;) {
      const count = Math.min(BLOCK, query.limit - texts.length)
      const after = last ?? query.after
      // One more than asked shows whether a next page exists.
      const found = history.listMarkets({ ...query, nowMs, limit: count + 1, after })
      for (const market of found.slice(0, count)) {
        texts.push(JSON.stringify(bodyOf(market, nowMs)))
        last = market
        yield
      }
      const hasMore = found.length > count
      if (!hasMore || texts.length === query.limit) return { texts, last, hasMore }
    }
  }

  function bySlug(coin: Coin, query: ListQuery): readonly Market[] {
    for (const filter of ['timeframe', 'status', 'from', 'to', 'outcome', 'cursor'] as const) {
      if (query[filter] === undefined) continue
      throw new AppError(
        'invalid_parameter',
        `\`slug\` names one market, so \`${filter}\` cannot be sent with it. Leave out one of the two.`,
        { param: filter },
      )
    }
    const market = history.findMarketBySlug(query.slug?.toLowerCase() ?? '')
    return market?.coin === coin ? [market] : []
  }

  return {
    /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
    *list(coin: Coin, query: ListQuery): Steps<ListPage> {
      const nowMs = clock()
      if (query.slug !== undefined) {
        const rows = bySlug(coin, query).map((market) => JSON.stringify(bodyOf(market, nowMs)))
        return { body: `{"data":[${rows}],"nextCursor":null}`, resumeCursor: undefined }
      }
      const { limit, cursor } = query
      const { scope, filters } = toFilters(coin, query)
      const after =
        cursor === undefined ? undefined : decodeMarketPlace(cursors.decode(scope, cursor))
      const { texts, last, hasMore } = yield* readList({ ...filters, limit, after }, nowMs)
      const place = last ?? after ?? startOfMarkets(filters)
      const resumeCursor = cursors.encode(scope, encodeMarketPlace(place))
      const nextCursor = hasMore ? `"${resumeCursor}"` : 'null'
      const rows = texts.join(',')
      return { body: `{"data":[${rows}],"nextCursor":${nextCursor}}`, resumeCursor }
    },

    /** The JSON of one market, the same as in a list. */
    text: (market: Market): string => JSON.stringify(bodyOf(market, clock())),
  }
}

export type MarketService = ReturnType<typeof createMarketService>

/** A list's filters, and the scope of its cursors: the same filters are the same scope. */
function toFilters(coin: Coin, query: ListQuery) {
  const { status, outcome: winner, order } = query
  const { fromMs, toMs } = readRange(query)
  const { timeframe } = query
  const filters = {
    ...{ coin, status, winner, order, fromMs, toMs },
    timeframe: timeframe !== undefined && isTimeframe(timeframe) ? timeframe : undefined,
  } satisfies Partial<MarketQuery>
  const named = Object.entries({ timeframe, status, fromMs, toMs, winner })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${value}`)
  // Without filters it is the scope of the first release, whose cursors are still about.
  const scope = `markets ${coin}${named.join('')}${order === 'asc' ? ' asc' : ''}`
  return { scope, filters }
}

type Covered = { covered: unknown; gaps: number }

/** How much of the market's trading window an outcome is recorded. */
function coveredOf(call: {
  history: Deps['history']
  market: Market
  outcome: Outcome
  nowMs: number
}): Covered {
  const { history, ...facts } = call
  const question = { ...facts, gaps: history.gaps(call.market) }
  const { fromMs, toMs } = spanOf(question)
  if (toMs === fromMs) return { covered: null, gaps: 0 }
  const tally = tallyCoverage(question)
  let gaps = 0
  for (const [reason, { count }] of tally.gaps) if (reason !== 'window_unknown') gaps += count
  const share = tally.totalMs === 0 ? undefined : shareOf(tally.coveredMs, tally.totalMs)
  return { covered: exactMillionths(share), gaps }
}

const describeMarket = (market: Market, nowMs: number) => ({
  conditionId: market.conditionId,
  symbol: market.coin,
  timeframe: market.timeframe,
  source: market.source,
  status: statusOf(market, nowMs),
  slug: market.slug ?? null,
  question: market.question ?? null,
  windowStart: toIsoOrNull(market.windowStartMs),
  windowEnd: toIsoOrNull(market.windowEndMs),
  tickSize: exactMillionths(market.tickSize),
  strike: exactOrNull(market.strike),
  finalPrice: exactOrNull(market.finalPrice),
  winner: market.winner ?? null,
  winnerSource: market.winnerSource ?? null,
})

function describeOutcome(market: Market, outcome: Outcome, { covered, gaps }: Covered) {
  const snapshots = market.snapshotCounts[outcome]
  const verifiedSnapshots = market.verifiedCounts[outcome]
  const verified = snapshots === 0 ? undefined : shareOf(verifiedSnapshots, snapshots)
  return {
    outcome,
    assetId: market.assetIds[outcome] ?? null,
    snapshots,
    verifiedSnapshots,
    firstSnapshot: toIsoOrNull(market.spans[outcome]?.firstMs),
    lastSnapshot: toIsoOrNull(market.spans[outcome]?.lastMs),
    coverage: {
      covered,
      gaps,
      longestSilenceMs: market.longestSilenceMs[outcome] ?? null,
      verified: exactMillionths(verified),
    },
  }
}

const describeHoldings = (market: Market) => ({
  snapshots: market.snapshotCounts.up + market.snapshotCounts.down,
  firstSnapshot: toIsoOrNull(market.firstSnapshotMs),
  lastSnapshot: toIsoOrNull(market.lastSnapshotMs),
  revision: market.revision,
})

const toIsoOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : toIso(timeMs)

const exactOrNull = (text: string | undefined): unknown =>
  text === undefined ? null : exactNumber(text)
