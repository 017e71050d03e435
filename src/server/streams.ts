/** Live streams of an app, over WebSocket and as server-sent events. */
import { createCursorCodec } from '#src/domain/cursor.ts'
import { createMarketFinder } from '#src/domain/market-name.ts'
import type { Market, MarketAsOf } from '#src/domain/market.ts'
import { createLiveService, type LiveService } from '#src/features/live/service.ts'
import { createMarketText } from '#src/features/markets/routes.ts'
import { MarketAsOfBody, MarketBody } from '#src/features/markets/schema.ts'
import { readPrices } from '#src/features/prices/over-time.ts'
import { PriceRow } from '#src/features/prices/schema.ts'
import { readQuotes } from '#src/features/quotes/routes.ts'
import { QuoteRow } from '#src/features/quotes/schema.ts'
import { SpotRow } from '#src/features/spot/schema.ts'
import { describeTick } from '#src/features/spot/service.ts'
import type { BeginOptions } from '#src/features/stream/begin.ts'
import { createStreamService, type StreamService } from '#src/features/stream/service.ts'
import { TradeRow } from '#src/features/trades/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'
import { createGapView } from '#src/live/gaps.ts'
import { createMarketWatch } from '#src/live/market-watch.ts'
import { createRowReader } from '#src/live/rows.ts'
import { createRunner } from '#src/live/runner.ts'
import { integerFrom } from '#src/platform/random.ts'

import type { Ports, ReaderDeps } from './app.ts'

export const streamRows = {
  ...{ snapshots: SnapshotBody, quotes: QuoteRow, prices: PriceRow, trades: TradeRow },
  ...{ spot: SpotRow, market: MarketBody, marketAsOf: MarketAsOfBody },
}

export type Streams = { stream: StreamService; live: LiveService; followers: () => number }

/** Replays read the history, also where live streams follow another one. */
export function createStreams(deps: ReaderDeps, ports: Ports): Streams {
  const { followed } = deps
  if (followed === undefined) return createStreamsOf(deps, ports)
  const { history, clock } = followed
  const recorded = { history: deps.history, rows: rowsOf(deps.history), clock: deps.clock }
  const findMarket = createMarketFinder(history)
  return createStreamsOf({ ...deps, history, clock, recorded }, { ...ports, findMarket })
}

const rowsOf = (history: MarketHistory) =>
  createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })

type StreamedDeps = ReaderDeps & Pick<BeginOptions, 'recorded'>

function createStreamsOf(deps: StreamedDeps, ports: Ports): Streams {
  const { history, clock, timer } = deps
  const { listTiers, meter, work, limits, unread } = ports
  const rows = rowsOf(history)
  const markets = createMarketWatch(history, clock)
  const shared = {
    ...{ ...deps, ...ports, rows, markets },
    cursors: createCursorCodec(history.cursorKey),
    gaps: createGapView(deps),
    describeMarket: (market: Market | MarketAsOf, nowMs = clock()) =>
      createMarketText(history, nowMs)(market),
  }
  const stream = createStreamService({
    ...shared,
    describeTick,
    runner: createRunner({ turn: work.turn, timer }),
    connections: limits.connections,
    unread,
    random: () => integerFrom(deps.randomBytes) / 2 ** 32,
    entitle: (asked) => assertEntitled(asked, listTiers),
    used: (caller, bytes) => meter.addBytes(caller, 'stream', bytes),
  })
  return { stream, live: createLiveService(shared), followers: () => stream.followed }
}
