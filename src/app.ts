/** Puts plugins and modules together. Nothing here reads the environment or the clock. */
import { createAuthenticator } from '#src/access/authenticator.ts'
import { createGate } from '#src/access/gate.ts'
import { createLimits, type Limits, makeLimitMemory } from '#src/access/limits.ts'
import { createOperatorCheck, type OperatorAccess } from '#src/access/operator.ts'
import { createSample } from '#src/access/sample.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config.ts'
import { createCursorCodec } from '#src/core/cursor.ts'
import { AppError, ifSound } from '#src/core/errors.ts'
import { createMarketFinder } from '#src/core/market-name.ts'
import { coins, type Market, type MarketAsOf } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { ErrorTrap } from '#src/http/error-trap.ts'
import { createFrontDoor } from '#src/http/front-door.ts'
import { type Arrived, assertEntitled, type Gate, visitOf } from '#src/http/gate.ts'
import { createIdempotency } from '#src/http/idempotency.ts'
import { type Gauges, makeMeterMemory, type Meters, openMeters, PAGES } from '#src/http/meters.ts'
import { MissingRoute } from '#src/http/problem.ts'
import { createRouteTable, type RouteTable } from '#src/http/route-table.ts'
import { createRouter, type Route } from '#src/http/route.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'
import { isAbsolute, pathOf, targetOf } from '#src/http/url.ts'
import { createWork, type Work } from '#src/http/work.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { CacheCounts } from '#src/lib/cache.ts'
import { createClientAddress, createNetworkSet } from '#src/lib/network.ts'
import { createPageCache } from '#src/lib/page-cache.ts'
import { createGapView } from '#src/live/gaps.ts'
import { createHub } from '#src/live/hub.ts'
import { createRowReader } from '#src/live/rows.ts'
import { createRunner } from '#src/live/runner.ts'
import { createSpotWatch } from '#src/live/spot.ts'
import { adminRoutes, type OperatorPorts } from '#src/modules/admin/index.ts'
import { asOfRoutes } from '#src/modules/as-of/index.ts'
import { billingRoutes } from '#src/modules/billing/index.ts'
import { coverageRoutes } from '#src/modules/coverage/index.ts'
import { documentationRoutes } from '#src/modules/documentation/index.ts'
import { exportRoutes } from '#src/modules/exports/index.ts'
import { fillRoutes } from '#src/modules/fill/index.ts'
import { healthRoutes, type RecordingState } from '#src/modules/health/index.ts'
import { heatmapRoutes } from '#src/modules/heatmap/index.ts'
import { keyRoutes } from '#src/modules/keys/index.ts'
import { liveRoutes } from '#src/modules/live/index.ts'
import { createLiveService, type LiveService } from '#src/modules/live/service.ts'
import { createMarketText, marketRoutes } from '#src/modules/markets/index.ts'
import { MarketAsOfBody, MarketBody } from '#src/modules/markets/model.ts'
import { createMcpAnswer, mcpRoute } from '#src/modules/mcp/index.ts'
import { panelRoutes } from '#src/modules/panel/index.ts'
import { priceRoutes } from '#src/modules/prices/index.ts'
import { PriceRow } from '#src/modules/prices/model.ts'
import { readPrices } from '#src/modules/prices/over-time.ts'
import { quoteRoutes, readQuotes } from '#src/modules/quotes/index.ts'
import { QuoteRow } from '#src/modules/quotes/model.ts'
import { describeSample, sampleRoutes } from '#src/modules/sample/index.ts'
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
import { trustRoutes } from '#src/modules/trust/index.ts'
import { usageRoutes } from '#src/modules/usage/index.ts'
import type { Screen, SignupState } from '#src/selling/screening.ts'
import type { Wallets } from '#src/selling/wallet.ts'

import { isLost, isPage, pageRoutes } from './page-routes.ts'
import type { Pages } from './pages.ts'

/** What each thread has that answers requests for data. */
export type ReaderDeps = {
  history: MarketHistory
  ledger: Ledger
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  mint: () => string
  randomBytes: (length: number) => Uint8Array
  config: Config
  /** Where they are shared with other threads. */
  limits?: Limits | undefined
  /** Where what was answered is counted, if others are to know. */
  meters?: Meters | undefined
  /** Takes lines of the access log, newline included. */
  log: (line: string) => void
  version: string
  /** When a recorder that fell silent was last heard of; undefined while none is silent. */
  silence?: (() => number | undefined) | undefined
  /** In place of the real one, to measure what it costs. */
  gate?: Gate
  /** In place of the real one, to test what does not depend on time. */
  work?: Work
}

export type AppDeps = ReaderDeps & {
  screen: Screen
  wallets: Wallets
  billing: Billing
  signup: () => SignupState
  /** Undefined where nothing is recorded. */
  recording: () => RecordingState | undefined
  /** Where callers reach the server: `https://api.example.com`. Asked at requests, not before. */
  origin: () => string
  /** What the page of the operator shows; undefined where there is none. */
  operator?: (OperatorPorts & { access: OperatorAccess }) | undefined
}

/** What the server that listens keeps of a live connection. */
export type StreamData = StreamConnection['data']

export type App = ReturnType<typeof createApp>
export type Reader = ReturnType<typeof createReader>

/** Answers every request. */
export function createApp(deps: AppDeps) {
  let isDraining = false
  const ports = createPorts(deps, () => !isDraining)
  const streams = createStreams(deps, ports)
  const ofData = listDataRoutes(deps, ports, streams.live)
  const routes = [...ofData, ...listOwnRoutes(deps, ports)]
  const answerAgent = createMcpAnswer({
    ...{ ...deps, routes: ofData },
    fetch: (request, peers) => app.fetch(request, peers),
  })
  let pages: Promise<Pages> | undefined
  let loaded: Pages | undefined
  /** A start takes a third longer with them. */
  const loadPages = (): Promise<Pages> =>
    (pages ??= import('./pages.ts').then(
      ({ createPages }) => (loaded = createPages({ ...deps, facts }, routes)),
    ))
  /** What a page is told with its document. */
  const facts = (request: Request) => ({
    sample: ifSound(() => describeSample(ports.sample)),
    isSelling: deps.billing.isOpen,
    isSignupOpen: deps.signup().isOpen,
    operator: deps.operator === undefined ? 'off' : stateFor(request, ports),
  })
  const app = assemble(deps, {
    ...{ routes, ports, streams },
    table: createRouteTable([...routes, ...pageRoutes, mcpRoute]),
    async otherwise({ request, path, visit }) {
      if (path === mcpRoute.path) return answerAgent(request)
      if (!isPage(path) && !isLost(request, path)) throw new MissingRoute()
      visit.timedAs = PAGES
      return (await loadPages()).fetch(request)
    },
    takeError: (request) => loaded?.takeError(request),
    onDrain() {
      isDraining = true
    },
  })
  return { ...app, loadPages }
}

/** Whether the operator's page opens for whoever asks, or with the token alone. */
function stateFor(request: Request, { assertOperator }: Ports): 'open' | 'token' {
  try {
    assertOperator(request, visitOf(request))
    return 'open'
  } catch (error) {
    if (error instanceof AppError) return 'token'
    throw error
  }
}

/** Answers what `isForReader` is true of: it neither writes, nor knows more than the two files. */
export function createReader(deps: ReaderDeps) {
  const ports = createPorts(deps, () => true)
  const streams = createStreams(deps, ports)
  const routes = listDataRoutes(deps, ports, streams.live)
  return assemble(deps, {
    ...{ routes, ports, streams },
    table: createRouteTable(routes),
    otherwise: () => {
      throw new MissingRoute()
    },
    takeError: () => undefined,
    onDrain: () => undefined,
  })
}

const readingPath = new RegExp(
  `^/v1/(coins|exports|stream|revisions|manifests?|cite|${coins.join('|')})(/|$)`,
  'i',
)

/** Whether a reader answers it: what is for data, by method and path, and what is malformed. */
export const isForReader = ({ method, url }: Request): boolean =>
  method === 'GET' || method === 'HEAD'
    ? readingPath.test(pathOf(targetOf(url))) || !isAbsolute(url)
    : !otherMethods.has(method) || !isAbsolute(url)

/** Of no other can a `Request` be made. */
const otherMethods = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

type Parts = {
  routes: readonly Route[]
  table: RouteTable
  /** For a path that none of the routes has. */
  otherwise: (arrived: Arrived) => Response | Promise<Response>
  takeError: ErrorTrap['take']
  onDrain: () => void
  ports: Ports
  streams: Streams
}

function assemble(deps: ReaderDeps, { ports, streams, ...parts }: Parts) {
  const { gate, work, meter } = ports
  const { stream, live } = streams
  const answerRoute = createRouter(parts.routes, ports)
  return {
    /** Answers any request; never throws, never rejects. */
    fetch: createFrontDoor({
      ...deps,
      handle: (arrived) => answerRoute(arrived) ?? parts.otherwise(arrived),
      meters: ports.meters,
      takeError: parts.takeError,
      routes: parts.table,
      sockets: new Map([['/v1/stream', stream.upgrade]]),
      gate: deps.gate ?? gate,
      work,
      logsAs: deps.config.log,
    }),
    /** What time is counted under, by its place. */
    timedNames: ['ANY other', 'GET pages', 'GET /v1/stream', ...parts.routes.map(nameOf)],
    gauges: (): Gauges => ({
      ...countsOf('pageCache', ports.pages.counts()),
      ...countsOf('chunkCache', deps.history.cacheCounts()),
      waiting: ports.work.waiting(),
      followers: streams.followers(),
    }),
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
    refuse: parts.onDrain,
    /** As `refuse`, and ends live connections; each is told. */
    drain(): void {
      parts.onDrain()
      stream.stop()
      live.stop()
    },
    /** Moves some of what was used into the ledger; true if there is more. */
    flushUsage: (): boolean => meter.flush(),
    /** What was used and is not written, moved from the app of one thread to that of another. */
    takeUsage: meter.take,
    putUsage: meter.put,
  }
}

type Ports = ReturnType<typeof createPorts>

function createPorts(deps: ReaderDeps & Pick<AppDeps, 'operator'>, isAccepting: () => boolean) {
  const { history, ledger, config, clock, timer } = deps
  const { signupsPerDay, streamsMax, trustedProxies } = config
  const seed = integerOf(deps.randomBytes(INTEGER_BYTES))
  const limits = deps.limits ?? createLimits(makeLimitMemory(seed), streamsMax)
  const authenticator = createAuthenticator({ ledger, clock })
  const meter = createUsageMeter({ ledger, clock })
  const addressOf = createClientAddress(createNetworkSet(trustedProxies))
  const findMarket = createMarketFinder(history)
  const sample = createSample({
    ...{ choice: config.sampleMarket, findMarket, listTiers: authenticator.listTiers },
    findExample: () => findExampleMarket(history),
  })
  const shared = { authenticator, meter, limits, seed, clock, timer, sampleTerms: sample.terms }
  const gate = createGate({ ...shared, addressOf, signupsPerDay })
  return {
    ...{ gate, meter, limits, sample, authenticate: authenticator.authenticate },
    meters: deps.meters ?? openMeters(makeMeterMemory()),
    pages: createPageCache(config.pageCacheBytes),
    findMarket,
    // One for all: whatever arrives waits for one step of the long work of all routes.
    work: deps.work ?? createWork({ timer, limits }),
    assertOperator: createOperatorCheck({
      ...(deps.operator?.access ?? { token: '', trustsLoopback: false }),
      ...{ addressOf, timer, seed },
    }),
    takeSignup: gate.takeSignup,
    listTiers: authenticator.listTiers,
    windowsOf: gate.windowsOf,
    usageOf: meter.usageOf,
    isAccepting,
  }
}

/** Of data, in the order of the documentation. */
function listDataRoutes(deps: ReaderDeps, ports: Ports, live: LiveService): Route[] {
  const { history, clock } = deps
  const { work, pages, findMarket, listTiers } = ports
  const data = { ...deps, cursors: createCursorCodec(history.cursorKey), pages, work }
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
    heatmapRoutes(data),
    exportRoutes({ ...data, findMarket }),
    liveRoutes(live, ports),
    spotRoutes(createSpotService(data)),
    trustRoutes({ ...data, listTiers }),
  ].flat()
}

/** Of what there is once: accounts, sales, health, documentation. */
function listOwnRoutes(deps: AppDeps, ports: Ports): Route[] {
  const { history, clock, config } = deps
  const { isAccepting, listTiers } = ports
  const cursors = createCursorCodec(history.cursorKey)
  const idempotency = createIdempotency({ ...deps, store: deps.ledger })
  const { keysPerAccountMax } = config
  return [
    keyRoutes({ ...deps, keysPerAccountMax, idempotency }),
    usageRoutes({ ...ports, clock }),
    sampleRoutes(ports.sample),
    billingRoutes({ ...deps, cursors, listTiers, idempotency }),
    healthRoutes(deps, isAccepting),
    documentationRoutes(),
    streamDocumentRoutes(deps.version, streamRows),
    deps.operator === undefined ? [] : adminRoutes({ ...deps, operator: deps.operator }),
  ].flat()
}

const streamRows = {
  ...{ snapshots: SnapshotBody, quotes: QuoteRow, prices: PriceRow, trades: TradeRow },
  ...{ spot: SpotRow, market: MarketBody, marketAsOf: MarketAsOfBody },
}

type Streams = { stream: StreamService; live: LiveService; followers: () => number }

function createStreams(deps: ReaderDeps, ports: Ports): Streams {
  const { history, clock, timer } = deps
  const { listTiers, meter, work, limits } = ports
  const rows = createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })
  const shared = {
    ...{ ...deps, ...ports, rows },
    cursors: createCursorCodec(history.cursorKey),
    hub: createHub({ ...deps, read: rows }),
    gaps: createGapView(deps),
    describeMarket: (market: Market | MarketAsOf, nowMs = clock()) =>
      createMarketText(history, nowMs)(market),
  }
  const stream = createStreamService({
    ...shared,
    describeTick,
    spot: createSpotWatch(history, timer),
    runner: createRunner({ turn: work.turn, timer }),
    connections: limits.connections,
    random: () => integerOf(deps.randomBytes(INTEGER_BYTES)) / 2 ** (8 * INTEGER_BYTES),
    entitle: (asked) => assertEntitled(asked, listTiers),
    used: (caller, bytes) => meter.addBytes(caller, 'stream', bytes),
  })
  return { stream, live: createLiveService(shared), followers: () => shared.hub.followers }
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`

const countsOf = <K extends string>(name: K, { bytes, hits, misses }: CacheCounts) =>
  ({ [`${name}Bytes`]: bytes, [`${name}Hits`]: hits, [`${name}Misses`]: misses }) as {
    [part in `${K}${'Bytes' | 'Hits' | 'Misses'}`]: number
  }

const INTEGER_BYTES = 4
const integerOf = (bytes: Uint8Array): number => Buffer.from(bytes).readUInt32LE()
