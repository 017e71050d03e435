/** Puts plugins and modules together. Nothing here reads the environment or the clock. */

import { type AnyElysia, Elysia } from 'elysia'

import { type Authenticator, createAuthenticator } from '#src/access/authenticator.ts'
import { createGate, type Refuse } from '#src/access/gate.ts'
import { createLimits, type Limits } from '#src/access/limits.ts'
import { createOperatorCheck, type OperatorAccess } from '#src/access/operator.ts'
import { createSample } from '#src/access/sample.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config/config.ts'
import { createCursorCodec } from '#src/domain/cursor.ts'
import { AppError, ifSound } from '#src/domain/errors.ts'
import { createMarketFinder } from '#src/domain/market-name.ts'
import { coins, coinTable } from '#src/domain/market.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import type { Wallets } from '#src/domain/selling/wallet.ts'
import type { Clock } from '#src/domain/time.ts'
import { adminRoutes, type OperatorPorts } from '#src/features/admin/routes.ts'
import { asOfRoutes } from '#src/features/as-of/routes.ts'
import { billingRoutes } from '#src/features/billing/routes.ts'
import { coverageRoutes } from '#src/features/coverage/routes.ts'
import { documentationRoutes, findExamples } from '#src/features/documentation/routes.ts'
import { exportRoutes } from '#src/features/exports/routes.ts'
import { fillRoutes } from '#src/features/fill/routes.ts'
import { healthRoutes, type RecordingState } from '#src/features/health/routes.ts'
import { heatmapRoutes } from '#src/features/heatmap/routes.ts'
import { keyRoutes, testKeyRoutes } from '#src/features/keys/routes.ts'
import { liveRoutes } from '#src/features/live/routes.ts'
import type { LiveService } from '#src/features/live/service.ts'
import { marketRoutes } from '#src/features/markets/routes.ts'
import { panelRoutes } from '#src/features/panel/routes.ts'
import { priceRoutes } from '#src/features/prices/routes.ts'
import { quoteRoutes } from '#src/features/quotes/routes.ts'
import { describeSample, sampleRoutes } from '#src/features/sample/routes.ts'
import { snapshotRoutes } from '#src/features/snapshots/routes.ts'
import { spotRoutes } from '#src/features/spot/routes.ts'
import { createSpotService } from '#src/features/spot/service.ts'
import { streamDocumentRoutes } from '#src/features/stream/routes.ts'
import type { Connection as StreamConnection } from '#src/features/stream/sockets.ts'
import { tradeRoutes } from '#src/features/trades/routes.ts'
import { usageRoutes } from '#src/features/usage/routes.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import {
  answerAtOnce,
  createApi,
  type DeclaredRoute,
  declaredRoutes,
  knownRoutes,
} from '#src/http/api.ts'
import { createErrorTrap } from '#src/http/error-trap.ts'
import { createFrontDoor } from '#src/http/front-door.ts'
import { type Arrived, type Gate, visitOf } from '#src/http/gate.ts'
import { createIdempotency } from '#src/http/idempotency.ts'
import { createKeptAnswers } from '#src/http/kept-answers.ts'
import {
  FIRST_ROUTE,
  type Gauges,
  makeMeterMemory,
  type Meters,
  openMeters,
  PAGES,
} from '#src/http/meters.ts'
import { MissingRoute } from '#src/http/problem.ts'
import { isRewritten } from '#src/http/raw-target.ts'
import { createRouteTable, type Place, type RouteTable } from '#src/http/route-table.ts'
import { createUnread } from '#src/http/unread.ts'
import { isAbsolute, pathOf, targetOf } from '#src/http/url.ts'
import { createWork, type Work } from '#src/http/work.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { CacheCounts } from '#src/platform/cache.ts'
import { after, stillInReads } from '#src/platform/eventually.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'
import { createPageCache } from '#src/platform/page-cache.ts'

import type { AppServices, Around, ServerExtension } from './extension.ts'
import { isLost, pageRoutes } from './page-routes.ts'
import type { Pages } from './pages.ts'
import { createStreams, streamRows, type Streams } from './streams.ts'

/** What each thread has that answers requests for data. */
export type ReaderDeps = {
  history: MarketHistory
  ledger: Ledger
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  createId: () => string
  randomBytes: (length: number) => Uint8Array
  config: Config
  extensions: readonly ServerExtension[]
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
  /** In place of one that reads the ledger. */
  authenticator?: Authenticator | undefined
  /** Why a request is refused, before it is counted. */
  refuse?: Refuse | undefined
  /** What live streams follow, if it is not the history as it is written. */
  followed?: Followed | undefined
  /** Whether callers may pay in place of sending a key; by default as extensions say. */
  sellsWithoutKey?: boolean
  /** In place of the real one, to test what does not depend on time. */
  work?: Work
}

/** A history and the clock that its rows are followed by. */
export type Followed = { history: MarketHistory; clock: Clock }

export type AppDeps = ReaderDeps & {
  screen: Screen
  wallets: Wallets
  billing: Billing
  signup: () => SignupState
  /** Undefined where nothing is recorded. */
  recording: () => RecordingState | undefined
  /** Where callers reach the server: `https://api.example.com`. Asked at requests, not before. */
  origin: () => string
  /** Answers requests that extensions make; this app by default. */
  ownFetch?: Reader['fetch'] | undefined
  /** What the page of the operator shows; undefined where there is none. */
  operator?: (OperatorPorts & { access: OperatorAccess }) | undefined
}

/** What the server that listens keeps of a live connection. */
export type StreamData = StreamConnection['data']

export type App = ReturnType<typeof createApp>
export type Reader = ReturnType<typeof createReader>

/** Answers every request. */
export function createApp(given: AppDeps) {
  const deps = { ...given, clock: stillInReads(given.clock) }
  let isDraining = false
  const ports = createPorts(deps, () => !isDraining)
  const streams = createStreams(deps, ports)
  const ofData = compose(listDataRoutes(deps, ports, streams.live))
  const { history, clock, config, extensions, origin, version } = deps
  const services: AppServices = {
    history,
    cursors: createCursorCodec(history.cursorKey),
    clock,
    config,
    listTiers: ports.listTiers,
    dataRoutes: () => declaredRoutes(ofData),
    fetch: deps.ownFetch ?? ((request, peers) => app.fetch(request, peers)),
    ledger: deps.ledger,
    billing: deps.billing,
    wallets: deps.wallets,
    randomBytes: deps.randomBytes,
    sellsWithoutKey: ports.sellsWithoutKey,
    charge: ports.charge,
    chargeWindow: ports.chargeWindow,
    origin,
    version,
  }
  const ofExtensions = extensions.flatMap(({ routes }) => routes?.(ports.api, services) ?? [])
  const plugins = ofExtensions.flatMap((own) => own.plugins)
  const api = compose([ofData, ...listOwnRoutes(deps, ports), ...plugins])
  let pages: Promise<Pages> | undefined
  /** A start takes a third longer with them. */
  const loadPages = (): Promise<Pages> =>
    (pages ??= import('./pages.ts').then(({ createPages }) =>
      createPages({ version, findExamples: findHeld, facts }, api),
    ))
  const findHeld = () =>
    findExamples(
      history,
      extensions.flatMap((extension) => extension.findExamples?.(services) ?? []),
    )
  /** What a page is told with its document. */
  const facts = (request: Request) => ({
    coins: Object.fromEntries(coins.map((coin) => [coin, coinTable[coin].name])),
    sample: ifSound(() => describeSample(ports.sample)),
    isSelling: deps.billing.isOpen,
    isSignupOpen: deps.signup().isOpen,
    operator: deps.operator === undefined ? 'off' : stateFor(request, ports),
  })
  async function answerPage(request: Request): Promise<Response> {
    visitOf(request).timedAs = PAGES
    return (await loadPages()).fetch(request)
  }
  const ofPages = new Elysia({ name: 'pages' })
  for (const { path } of pageRoutes) ofPages.get(path, ({ request }) => answerPage(request))
  const app = assemble(deps, {
    ...{ ports, streams },
    app: compose([api, ofPages]),
    around: ofExtensions.flatMap(({ around }) => around ?? []),
    table: createRouteTable([...knownRoutes(api), ...pageRoutes]),
    answerMissing({ request, place: { path } }) {
      if (!isLost(request, path)) throw new MissingRoute()
      return answerPage(request)
    },
    isSignupOpen: () => ifSound(() => deps.signup().isOpen),
    onDrain() {
      isDraining = true
    },
  })
  return { ...app, loadPages }
}

/** One Elysia app of several plugins. */
function compose(plugins: readonly AnyElysia[]): AnyElysia {
  const app: AnyElysia = new Elysia({
    // All are part of what is tested: other values change what Elysia accepts.
    aot: true,
    normalize: false,
    // Otherwise a host name of one or two characters breaks the path.
    handler: { standardHostname: false },
  })
  for (const plugin of plugins) app.use(plugin)
  return app
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

/** Answers requests for data: it neither writes, nor knows more than the two files. */
export function createReader(given: ReaderDeps) {
  const deps = { ...given, clock: stillInReads(given.clock) }
  const ports = createPorts(deps, () => true)
  const streams = createStreams(deps, ports)
  const app = compose(listDataRoutes(deps, ports, streams.live))
  return assemble(deps, {
    ...{ app, ports, streams },
    around: [],
    table: createRouteTable(knownRoutes(app)),
    answerMissing: () => {
      throw new MissingRoute()
    },
    onDrain: () => undefined,
  })
}

type Handle = (arrived: Arrived) => Response | Promise<Response>

type Parts = {
  app: AnyElysia
  table: RouteTable
  /** Answers at a path that no route has. */
  answerMissing: Handle
  /** What surrounds all of it; the first is the innermost. */
  around: readonly Around[]
  /** Undefined where only another thread knows. */
  isSignupOpen?: () => boolean | undefined
  onDrain: () => void
  ports: Ports
  streams: Streams
}

/** What a caller can do who has no key. */
function describeWaysIn({ config }: ReaderDeps, isSignupOpen: boolean | undefined): string {
  const ways: string[] = []
  if (config.sampleMarket !== 'off') {
    ways.push('`Authorization: Bearer sample` reads what GET /v1/sample lists')
  }
  if (config.hasTestMode) {
    ways.push(`\`Bearer ${PUBLIC_TEST_KEY}\` reads simulated data with every route`)
  }
  if (isSignupOpen !== false) {
    const where = isSignupOpen === undefined ? ', where it is open' : ''
    ways.push(`POST /v1/keys/challenge begins a signup${where}`)
  }
  if (ways.length === 0) return 'The operator of this server gives keys.'
  return `Without one: ${ways.join('; ')}.`
}

/** Of no other can a `Request` be made for another thread. */
const otherMethods = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function assemble(deps: ReaderDeps, { ports, streams, ...parts }: Parts) {
  const { gate, work, meter } = ports
  const { stream, live } = streams
  const routes = declaredRoutes(parts.app)
  for (const [index, { method, path }] of routes.entries())
    ports.timed.set(`${method} ${path}`, FIRST_ROUTE + index)
  ports.keepPlacesBy(parts.table)
  const sockets = new Map([['/v1/stream', stream.upgrade]])
  const trap = createErrorTrap()
  const app = compose([trap.plugin, parts.app])
  answerAtOnce(app)
  function settle(arrived: Arrived, response: Response): Response | Promise<Response> {
    try {
      return trap.settle(arrived.request, response)
    } catch (error) {
      if (error instanceof MissingRoute) return parts.answerMissing(arrived)
      throw error
    }
  }
  const answer: Handle = (arrived) =>
    ports.eventually(
      () =>
        ports.kept.answer(arrived) ??
        after(app.fetch(arrived.request), (response) => settle(arrived, response)),
    )
  return {
    /** Answers any request; never throws, never rejects. */
    fetch: createFrontDoor({
      ...deps,
      handle: parts.around.reduce<Handle>(
        (next, around) => (arrived) => around(arrived, next),
        answer,
      ),
      meters: ports.meters,
      routes: parts.table,
      sockets,
      gate: deps.gate ?? gate,
      waysIn: () => describeWaysIn(deps, parts.isSignupOpen?.()),
      work,
      unread: ports.unread,
      logsAs: deps.config.log,
    }),
    /**
     * Whether this app has the route of a request, or refuses it before any route: the first thread
     * answers all others.
     */
    isRouted(request: Request): boolean {
      const { method, url } = request
      if (!isAbsolute(url) || isRewritten(request)) return true
      if (method !== 'GET' && method !== 'HEAD') return !otherMethods.has(method)
      const path = pathOf(targetOf(url))
      return sockets.has(path) || parts.table.hasPath(path)
    },
    /** The paths that are requested most often; parameters are written as `:coin`. */
    frequentPaths: routes
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/v1/:coin/markets/:conditionId/snapshots')),
    /** What time is counted under, by its place. */
    timedNames: ['ANY other', 'GET pages', 'GET /v1/stream', ...routes.map(nameOf)],
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
    flushUsage: meter.flush,
    /** What was used and is not written, moved from the app of one thread to that of another. */
    takeUsage: meter.take,
    putUsage: meter.put,
  }
}

export type Ports = ReturnType<typeof createPorts>

function createPorts(deps: ReaderDeps & Pick<AppDeps, 'operator'>, isAccepting: () => boolean) {
  const { history, ledger, config, clock, timer } = deps
  const { signupsPerDay, streamsMax, trustedProxies } = config
  const limits = deps.limits ?? createLimits(streamsMax)
  const authenticator = deps.authenticator ?? createAuthenticator({ ledger, clock })
  const meter = createUsageMeter(deps)
  const addressOf = createClientAddress(createNetworkSet(trustedProxies))
  const findMarket = createMarketFinder(history)
  const sample = createSample({
    ...{ choice: config.sampleMarket, findMarket, listTiers: authenticator.listTiers },
    findExample: () => findExampleMarket(history),
  })
  const shared = { authenticator, meter, limits, clock, timer, sampleTerms: sample.terms }
  const { sellsWithoutKey = deps.extensions.some((own) => own.sellsWithoutKey?.(config)) } = deps
  const gate = createGate({
    ...shared,
    addressOf,
    signupsPerDay,
    refuse: deps.refuse,
    isKeyless: sellsWithoutKey,
  })
  const pages = createPageCache(config.pageCacheBytes)
  // One for all: whatever arrives waits for one step of the long work of all routes.
  const work = deps.work ?? createWork({ timer, limits })
  const assertOperator = createOperatorCheck({
    ...(deps.operator?.access ?? { token: '', trustsLoopback: false }),
    ...{ addressOf, timer },
  })
  const timed = new Map<string, number>()
  let keep: RouteTable['keep'] = () => undefined
  const { listTiers } = authenticator
  const places = { keep: (place: Place) => keep(place) }
  const admission = { assertOperator, listTiers, sample, findMarket }
  const kept = createKeptAnswers({ ...admission, pages, work, places })
  const api = createApi({
    ...admission,
    work,
    kept,
    chargeSignup: gate.chargeSignup,
    timedAs: (method, path) => timed.get(`${method} ${path}`),
  })
  return {
    ...{ gate, meter, limits, sample },
    authenticate: authenticator.authenticate,
    identify: gate.identify,
    ...{ api, kept, timed },
    keepPlacesBy(table: Pick<RouteTable, 'keep'>): void {
      keep = table.keep
    },
    meters: deps.meters ?? openMeters(makeMeterMemory()),
    pages,
    unread: createUnread(limits),
    findMarket,
    eventually: history.eventually,
    work,
    assertOperator,
    charge: gate.charge,
    chargeSignup: gate.chargeSignup,
    chargeWindow: gate.chargeWindow,
    sellsWithoutKey,
    creditsOf: ({ accountId }: Caller) => ledger.payments.listCredits(accountId),
    listTiers,
    windowsOf: gate.windowsOf,
    usageOf: meter.usageOf,
    isAccepting,
  }
}

/** Of data, in the order of the documentation. */
function listDataRoutes(deps: ReaderDeps, ports: Ports, live: LiveService): AnyElysia[] {
  const { api } = ports
  const { history, clock, config, extensions } = deps
  const { work, pages, findMarket, listTiers } = ports
  const cursors = createCursorCodec(history.cursorKey)
  const data = { ...deps, cursors, pages, work }
  return [
    marketRoutes(api, data),
    coverageRoutes(api, deps),
    snapshotRoutes(api, data),
    asOfRoutes(api, { history, clock, findMarket }),
    fillRoutes(api, deps),
    quoteRoutes(api, data),
    priceRoutes(api, data),
    tradeRoutes(api, data),
    panelRoutes(api, data),
    heatmapRoutes(api, data),
    exportRoutes(api, { ...data, findMarket }),
    liveRoutes(api, live, ports),
    spotRoutes(api, createSpotService(data)),
    extensions.flatMap(
      ({ dataRoutes }) => dataRoutes?.(api, { history, cursors, clock, config, listTiers }) ?? [],
    ),
  ].flat()
}

/** Of what there is once: accounts, sales, health, documentation. */
function listOwnRoutes(deps: AppDeps, ports: Ports): AnyElysia[] {
  const { api } = ports
  const { history, clock, config } = deps
  const { isAccepting, listTiers } = ports
  const cursors = createCursorCodec(history.cursorKey)
  const idempotency = createIdempotency({ ...deps, store: deps.ledger })
  const { keysPerAccountMax } = config
  return [
    config.hasTestMode ? testKeyRoutes(api, deps.randomBytes) : [],
    keyRoutes(api, { ...deps, keysPerAccountMax, idempotency }),
    usageRoutes(api, { ...ports, clock }),
    sampleRoutes(api, ports.sample),
    billingRoutes(api, { ...deps, cursors, listTiers, idempotency }),
    healthRoutes(api, deps, isAccepting),
    documentationRoutes(api),
    streamDocumentRoutes(api, deps.version, streamRows),
    deps.operator === undefined ? [] : adminRoutes(api, { ...deps, operator: deps.operator }),
  ].flat()
}

const nameOf = ({ method, path }: DeclaredRoute): string => `${method} ${path}`

const countsOf = <K extends string>(name: K, { bytes, hits, misses }: CacheCounts) =>
  ({ [`${name}Bytes`]: bytes, [`${name}Hits`]: hits, [`${name}Misses`]: misses }) as {
    [part in `${K}${'Bytes' | 'Hits' | 'Misses'}`]: number
  }
