/** Puts plugins and modules together. Nothing here reads the environment or the clock. */
import { type AnyElysia, Elysia } from 'elysia'

import { createAuthenticator } from '#src/access/authenticator.ts'
import { createGate } from '#src/access/gate.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config.ts'
import { createCursorCodec } from '#src/core/cursor.ts'
import { ifSound } from '#src/core/errors.ts'
import { createMarketFinder } from '#src/core/market-name.ts'
import type { Market, MarketAsOf } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createFrontDoor } from '#src/http/front-door.ts'
import type { Gate } from '#src/http/gate.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { createIdempotency } from '#src/http/idempotency.ts'
import { createComponents } from '#src/http/openapi-operation.ts'
import { createErrorTrap } from '#src/http/problem.ts'
import { createRouteTable } from '#src/http/route-table.ts'
import { createRouter, documentRoutes, type Route } from '#src/http/route.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'
import { openapi, swaggerPage } from '#src/http/swagger.ts'
import { createWork } from '#src/http/work.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createClientAddress, createNetworkSet } from '#src/lib/network.ts'
import { createPageCache } from '#src/lib/page-cache.ts'
import { createHub } from '#src/live/hub.ts'
import { createRowReader } from '#src/live/rows.ts'
import { createRunner } from '#src/live/runner.ts'
import { createSpotWatch } from '#src/live/spot.ts'
import { asOfRoutes } from '#src/modules/as-of/index.ts'
import { billingRoutes } from '#src/modules/billing/index.ts'
import { coverageRoutes } from '#src/modules/coverage/index.ts'
import { documentationRoutes, findExample } from '#src/modules/documentation/index.ts'
import { exportRoutes } from '#src/modules/exports/index.ts'
import { fillRoutes } from '#src/modules/fill/index.ts'
import { healthRoutes, type RecordingState } from '#src/modules/health/index.ts'
import { keyRoutes } from '#src/modules/keys/index.ts'
import { liveRoutes } from '#src/modules/live/index.ts'
import { createLiveService, type LiveService } from '#src/modules/live/service.ts'
import { createMarketText, marketRoutes } from '#src/modules/markets/index.ts'
import { MarketAsOfBody, MarketBody } from '#src/modules/markets/model.ts'
import { panelRoutes } from '#src/modules/panel/index.ts'
import { priceRoutes } from '#src/modules/prices/index.ts'
import { PriceRow } from '#src/modules/prices/model.ts'
import { readPrices } from '#src/modules/prices/over-time.ts'
import { quoteRoutes, readQuotes } from '#src/modules/quotes/index.ts'
import { QuoteRow } from '#src/modules/quotes/model.ts'
import { snapshotRoutes } from '#src/modules/snapshots/index.ts'
import { spotRoutes } from '#src/modules/spot/index.ts'
import { SpotRow } from '#src/modules/spot/model.ts'
import { createSpotService, describeTick } from '#src/modules/spot/service.ts'
import { streamDocumentRoutes } from '#src/modules/stream/index.ts'
import {
  type Connection as StreamConnection,
  createStreamService,
  type StreamService,
} from '#src/modules/stream/service.ts'
import { tradeRoutes } from '#src/modules/trades/index.ts'
import { TradeRow } from '#src/modules/trades/model.ts'
import { usageRoutes } from '#src/modules/usage/index.ts'
import type { Screen, SignupState } from '#src/selling/screening.ts'
import type { Wallets } from '#src/selling/wallet.ts'

export type AppDeps = {
  history: MarketHistory
  ledger: Ledger
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  mint: () => string
  randomBytes: (length: number) => Uint8Array
  screen: Screen
  wallets: Wallets
  billing: Billing
  signup: () => SignupState
  /** Undefined where nothing is recorded. */
  recording: () => RecordingState | undefined
  /** Where callers reach the server: `https://api.example.com`. Asked at requests, not before. */
  origin: () => string
  config: Config
  /** Takes lines of the access log, newline included. */
  log: (line: string) => void
  version: string
  /** In place of the real one, to measure what it costs. */
  gate?: Gate
}

/** What the server that listens keeps of a live connection. */
export type StreamData = StreamConnection['data']

export type App = ReturnType<typeof createApp>

export function createApp(deps: AppDeps) {
  let isDraining = false
  const trap = createErrorTrap()
  const ports = createPorts(deps, () => !isDraining)
  const { gate, work, meter } = ports
  const { stream, live } = createStreams(deps, ports)
  const routes = listRoutes(deps, ports, live)
  const elysia = createElysia(deps, trap.plugin, routes)
  const answerRoute = createRouter(routes, ports)
  const front = createFrontDoor({
    ...deps,
    handle: (request, path) => answerRoute(request, path) ?? elysia.fetch(request),
    takeError: trap.take,
    // Those that Elysia has besides ours are of the documentation.
    routes: createRouteTable([...routes, ...elysia.routes]),
    sockets: new Map([['/v1/stream', stream.upgrade]]),
    gate: deps.gate ?? gate,
    work,
    logsEachRequest: deps.config.log === 'json',
  })
  return {
    /** Answers any request; never throws, never rejects. */
    fetch: front,
    elysia,
    /** Live connections; given to the server that listens. */
    stream,
    live,
    /**
     * Hands on what is new to whoever follows; to be called every few milliseconds, and as soon as
     * others had their turn while it returns that there is more.
     */
    tick(): boolean {
      const isOwing = stream.tick()
      live.tick()
      return isOwing
    },
    /** Makes `GET /readyz` fail from now on, so that no new requests are sent here. */
    drain(): void {
      isDraining = true
      stream.stop()
      live.stop()
    },
    /** Moves some of what was used into the ledger; true if there is more. */
    flushUsage: (): boolean => meter.flush(),
  }
}

type Ports = ReturnType<typeof createPorts>

function createPorts(deps: AppDeps, isAccepting: () => boolean) {
  const { history, ledger, config, clock, timer } = deps
  const { signupsPerDay, streamsMax, trustedProxies } = config
  const authenticator = createAuthenticator({ ledger, clock })
  const meter = createUsageMeter({ ledger, clock })
  const addressOf = createClientAddress(createNetworkSet(trustedProxies))
  const gate = createGate({ authenticator, meter, addressOf, signupsPerDay, clock, timer })
  return {
    ...{ gate, meter, authenticate: authenticator.authenticate },
    pages: createPageCache(config.pageCacheBytes),
    findMarket: createMarketFinder(history),
    // One for all: whatever arrives waits for one step of the long work of all routes.
    work: createWork({ timer, streamsMax }),
    takeSignup: gate.takeSignup,
    listTiers: authenticator.listTiers,
    windowsOf: gate.windowsOf,
    usageOf: meter.usageOf,
    isAccepting,
  }
}

/** Every route, in the order of the documentation. */
function listRoutes(deps: AppDeps, ports: Ports, live: LiveService): Route[] {
  const { history, clock, config } = deps
  const { work, pages, isAccepting, listTiers, findMarket } = ports
  const cursors = createCursorCodec(history.cursorKey)
  const idempotency = createIdempotency({ ...deps, store: deps.ledger })
  const { keysPerAccountMax } = config
  const data = { ...deps, cursors, pages, work }
  return [
    marketRoutes(data),
    coverageRoutes(deps),
    snapshotRoutes(data),
    asOfRoutes({ history, clock, findMarket }),
    fillRoutes(deps),
    quoteRoutes(data),
    priceRoutes(data),
    tradeRoutes(data),
    panelRoutes(data),
    exportRoutes({ ...data, findMarket }),
    liveRoutes(live, ports),
    spotRoutes(createSpotService(data)),
    keyRoutes({ ...deps, keysPerAccountMax, idempotency }),
    usageRoutes({ ...ports, clock }),
    billingRoutes({ ...data, listTiers, idempotency }),
    healthRoutes(deps, isAccepting),
    documentationRoutes(),
    streamDocumentRoutes(deps.version, streamRows),
  ].flat()
}

const streamRows = {
  ...{ snapshots: SnapshotBody, quotes: QuoteRow, prices: PriceRow, trades: TradeRow },
  ...{ spot: SpotRow, market: MarketBody, marketAsOf: MarketAsOfBody },
}

function createStreams(deps: AppDeps, ports: Ports): { stream: StreamService; live: LiveService } {
  const { history, clock, timer } = deps
  const { listTiers, meter, work } = ports
  const rows = createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })
  const shared = {
    ...{ ...deps, ...ports, rows },
    cursors: createCursorCodec(history.cursorKey),
    hub: createHub({ ...deps, read: rows }),
    describeMarket: (market: Market | MarketAsOf, nowMs = clock()) =>
      createMarketText(history, nowMs)(market),
  }
  const stream = createStreamService({
    ...shared,
    describeTick,
    spot: createSpotWatch(history, timer),
    runner: createRunner({ turn: work.turn, timer }),
    random: () => fractionOf(deps.randomBytes(FRACTION_BYTES)),
    entitle: (asked) => assertEntitled(asked, listTiers),
    used: (caller, bytes) => meter.addBytes(caller, 'stream', bytes),
  })
  return { stream, live: createLiveService(shared) }
}

const FRACTION_BYTES = 4
const fractionOf = (bytes: Uint8Array): number =>
  Buffer.from(bytes).readUInt32LE() / 2 ** (8 * FRACTION_BYTES)

/** The document and its page, and the answer to what is no route. */
function createElysia(deps: AppDeps, trap: AnyElysia, routes: readonly Route[]): AnyElysia {
  const components = createComponents()
  return new Elysia({
    name: 'bookfeed',
    // Both are part of what is tested: other values change what Elysia accepts.
    aot: true,
    normalize: false,
    // Otherwise a host name of one or two characters breaks the path.
    handler: { standardHostname: false },
  })
    .use(trap)
    .use(openapi(deps.version, components, () => ifSound(() => findExample(deps.history))))
    .use(swaggerPage())
    .use(documentRoutes(routes, components))
    .compile()
}
