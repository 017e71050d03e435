/** What the server is: an Elysia app of features and extensions. Nothing here reads the environment or the clock. */

import { type AnyElysia, Elysia } from 'elysia'

import type { OperatorAccess } from '#src/access/operator.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config/config.ts'
import { AppError, ifReadable, ifSound } from '#src/domain/errors.ts'
import { coins, coinTable } from '#src/domain/market.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import type { Wallets } from '#src/domain/selling/wallet.ts'
import { alwaysCurrent, createServedMoment } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import type { OperatorPorts } from '#src/features/admin/ports.ts'
import { adminRoutes } from '#src/features/admin/routes.ts'
import { asOfRoutes } from '#src/features/as-of/routes.ts'
import { billingRoutes } from '#src/features/billing/routes.ts'
import { boardRoutes } from '#src/features/board/routes.ts'
import { coverageRoutes } from '#src/features/coverage/routes.ts'
import { documentationRoutes, findExamples } from '#src/features/documentation/routes.ts'
import { createExportRecords, type ExportRecords } from '#src/features/exports/records.ts'
import { exportListRoutes, exportRoutes } from '#src/features/exports/routes.ts'
import { createExportThread } from '#src/features/exports/thread.ts'
import { fillRoutes } from '#src/features/fill/routes.ts'
import { healthRoutes, type RecordingState } from '#src/features/health/routes.ts'
import { heatmapRoutes } from '#src/features/heatmap/routes.ts'
import { keyRoutes, testKeyRoutes } from '#src/features/keys/routes.ts'
import { liveRoutes } from '#src/features/live/routes.ts'
import { marketRoutes } from '#src/features/markets/routes.ts'
import { panelRoutes } from '#src/features/panel/routes.ts'
import { priceRoutes } from '#src/features/prices/routes.ts'
import { quoteRoutes } from '#src/features/quotes/routes.ts'
import { describeSample, sampleRoutes } from '#src/features/sample/routes.ts'
import { snapshotRoutes } from '#src/features/snapshots/routes.ts'
import { spotRoutes } from '#src/features/spot/routes.ts'
import { createSpotService } from '#src/features/spot/service.ts'
import { streamDocumentRoutes } from '#src/features/stream/routes.ts'
import { tradeRoutes } from '#src/features/trades/routes.ts'
import { usageRoutes } from '#src/features/usage/routes.ts'
import { addCounts, nothingAsked } from '#src/history/history.ts'
import { withDowntime } from '#src/history/reads/with-downtime.ts'
import { declaredRoutes, knownRoutes } from '#src/http/api.ts'
import type { AssertOperator } from '#src/http/gate.ts'
import { createIdempotency } from '#src/http/idempotency.ts'
import { MissingRoute } from '#src/http/problem.ts'
import { createRouteTable } from '#src/http/route-table.ts'
import { type PeerSource, visitOf } from '#src/http/visit.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'

import { createCore, type ReaderDeps } from './core.ts'
import { compose, createServer } from './create-server.ts'
import type { AppServices } from './extension.ts'
import { isLost, pageRoutes } from './page-routes.ts'
import type { Pages, PagesOptions } from './pages.ts'
import { createStreams, streamRows } from './streams.ts'

export type AppDeps = ReaderDeps & {
  exports?: ExportRecords | undefined
  testExports?: ExportRecords | undefined
  /** A replica of the ledger, in which keys are found; `ledger` by default. */
  servedLedger?: Ledger | undefined
  screen: Screen
  wallets: Wallets
  billing: Billing
  /** Says which nodes of chains are on a wrong one; by default none. */
  nodes?: { onOtherChains: () => readonly { reason: string }[] } | undefined
  signup: () => SignupState
  /** Undefined where nothing is recorded. */
  recording: () => RecordingState | undefined
  /** Why the clock of this machine cannot be used; absent where there is no other clock. */
  clockFault?: (() => string | undefined) | undefined
  /** Where callers reach the server: `https://api.example.com`. Asked at requests, not before. */
  origin: () => string
  /** Answers requests that extensions make; this app by default. */
  ownFetch?: Reader['fetch'] | undefined
  /** Takes lines about the server itself; by default nothing does. */
  say?: Log | undefined
  /** False until the jobs of the server run; true by default. */
  isStarted?: (() => boolean) | undefined
  /** What the page of the operator shows; undefined where there is none. */
  operator?: (OperatorPorts & { access: OperatorAccess }) | undefined
}

const STARTING = 'The server is starting.'

export type App = ReturnType<typeof createApp>
export type Reader = ReturnType<typeof createReader>

/** Answers requests for data; the first thread answers all others. */
export function createReader(options: ReaderDeps) {
  const { config, timer, createId, log } = options
  const { app, clock, core, streams, counted } = createDataApp(options)
  const server = createServer({
    app,
    routes: createRouteTable(knownRoutes(app), core.targets),
    waysIn: () => describeWaysIn(config, undefined),
    onDrain: () => undefined,
    counted,
    config,
    clock,
    timer,
    createId,
    log,
    gate: options.gate ?? core.gate,
    core,
    streams,
  })
  return {
    ...server,
    /** Whether the request comes with the key of a pack. */
    isMetered: (request: Request, peers: PeerSource | undefined): boolean =>
      ifReadable(() => core.gate.identify({ request, peers }))?.standing.isMetered === true,
  }
}

/** What becomes of the exports of all threads: of those of callers, and of test keys. */
export const createExportLists = (clock: Clock) => ({
  real: createExportRecords(clock),
  test: createExportRecords(clock),
})

/** Answers every request. */
export function createApp(options: AppDeps) {
  const { ledger, config, timer, createId, randomBytes, log, version } = options
  const { billing, screen, signup, wallets, origin, recording, operator, extensions } = options
  const { say = () => undefined, isStarted = () => true } = options
  const { exports = createExportRecords(options.clock) } = options
  const data = createDataApp({ ...options, exports }, operator?.access)
  const { clock, core, streams, history, counted } = data
  const { api, gate, sample, meter, cursors, listTiers, assertOperator, sellsWithoutKey } = core
  const { keysPerAccountMax, hasTestMode } = config
  const { windowsOf, charge, chargeWindow } = gate
  let isDraining = false

  const services: AppServices = {
    history,
    cursors,
    clock,
    config,
    listTiers,
    dataRoutes: () => declaredRoutes(data.app),
    fetch: options.ownFetch ?? ((request, peers) => server.fetch(request, peers)),
    ledger,
    billing,
    wallets,
    randomBytes,
    sellsWithoutKey,
    charge,
    chargeWindow,
    origin,
    version,
  }
  const ofExtensions = extensions.flatMap(({ routes }) => routes?.(api, services) ?? [])

  const idempotency = createIdempotency({ store: ledger, clock, randomBytes })
  const documented = compose([
    data.app,
    exportListRoutes(api, exports),
    ...(hasTestMode ? [testKeyRoutes(api, randomBytes)] : []),
    keyRoutes(api, {
      ledger,
      clock,
      randomBytes,
      createId,
      wallets,
      origin,
      screen,
      signup,
      keysPerAccountMax,
      idempotency,
    }),
    usageRoutes(api, {
      clock,
      windowsOf,
      usageOf: meter.usageOf,
      creditsOf: ({ accountId }) => ledger.payments.listCredits(accountId),
    }),
    sampleRoutes(api, sample),
    billingRoutes(api, { billing, listTiers, cursors, clock, idempotency, randomBytes }),
    healthRoutes(
      api,
      {
        history,
        ledger: options.servedLedger ?? ledger,
        timer,
        staleSince: options.staleSince ?? alwaysCurrent,
        clockFault: options.clockFault ?? (() => undefined),
        signup,
        recording,
        billing,
        nodesOnOtherChains: options.nodes?.onOtherChains ?? (() => []),
        version,
        say,
      },
      () => (isStarted() ? { holds: !isDraining } : { holds: false, reason: STARTING }),
    ),
    documentationRoutes(api),
    streamDocumentRoutes(api, version, streamRows),
    ...(operator === undefined
      ? []
      : [
          adminRoutes(api, {
            history,
            ledger,
            clock,
            createId,
            randomBytes,
            screen,
            signup,
            billing,
            config,
            version,
            operator,
          }),
        ]),
    ...ofExtensions.flatMap(({ plugins }) => plugins),
  ])

  const { loadPages, answerPage, plugin } = createPagePlugin({
    documented,
    version,
    findExamples: () =>
      findExamples(
        history,
        extensions.flatMap((extension) => extension.findExamples?.(services) ?? []),
      ),
    prices() {
      // Where the ledger does not answer, the document has no prices.
      const all = ifSound(() => ofExtensions.flatMap(({ prices }) => prices?.() ?? [])) ?? []
      return (route) => all.map((priceOf) => priceOf(route)).find((price) => price !== undefined)
    },
    findMarket: core.findMarket,
    publicUrl: config.publicUrl,
    clock,
    facts: (request) => ({
      coins: Object.fromEntries(coins.map((coin) => [coin, coinTable[coin].name])),
      sample: ifSound(() => describeSample(sample)),
      isSelling: billing.sales().state !== 'closed',
      hasPayments: billing.isOpen,
      isSignupOpen: signup().isOpen,
      operator: operator === undefined ? 'off' : isOperator(request, assertOperator),
    }),
  })

  const server = createServer({
    app: compose([documented, plugin]),
    routes: createRouteTable([...knownRoutes(documented), ...pageRoutes], core.targets),
    around: ofExtensions.flatMap(({ around }) => around ?? []),
    answerMissing({ request, target: { path } }) {
      if (!isLost(request, path)) throw new MissingRoute()
      return answerPage(request)
    },
    waysIn: () =>
      describeWaysIn(
        config,
        ifSound(() => signup().isOpen),
      ),
    onDrain() {
      isDraining = true
    },
    counted,
    config,
    clock,
    timer,
    createId,
    log,
    gate: options.gate ?? core.gate,
    core,
    streams,
  })
  return { ...server, loadPages }
}

/** The routes that every serving thread answers, and what is behind them. */
function createDataApp(options: ReaderDeps, operator?: OperatorAccess) {
  const { timer, createId, randomBytes, config, extensions, followed, silence } = options
  const { clock: now, staleSince = alwaysCurrent } = options
  const served = createServedMoment(staleSince, now)
  const clock = (): number => served().nowMs
  // All routes and streams read gaps from here, so that they report the same.
  const history = withDowntime(options.history, { clock, silence })
  const core = createCore(options, now, operator)
  const { api, gate, limits, meter, work, pages, unread, findMarket, cursors, listTiers } = core
  const { authenticate } = core
  const streams = createStreams({
    history,
    clock: now,
    staleSince,
    followed: followed && {
      ...followed,
      history: withDowntime(followed.history, { clock: followed.clock, silence }),
    },
    timer,
    randomBytes,
    cursors,
    findMarket,
    listTiers,
    authenticate,
    catchUp: options.catchUp,
    meter,
    work,
    limits,
    unread,
  })
  const lists = { history, cursors, served, pages }
  const { path, chunkCache } = history
  const exportThread = path === undefined ? undefined : createExportThread({ path, chunkCache })
  const app = compose([
    marketRoutes(api, { history, cursors, clock }),
    coverageRoutes(api, { history, served }),
    snapshotRoutes(api, lists),
    asOfRoutes(api, { history, served, findMarket }),
    fillRoutes(api, { history, served }),
    quoteRoutes(api, lists),
    ...priceRoutes(api, lists),
    boardRoutes(api, {
      board: streams.board,
      stream: streams.boardStream,
      pages,
      identify: gate.identify,
      listTiers,
      work,
      connections: limits.connections,
    }),
    tradeRoutes(api, lists),
    panelRoutes(api, { history, cursors, clock }),
    heatmapRoutes(api, { history, pages, served }),
    exportRoutes(api, {
      history,
      thread: exportThread,
      clock,
      timer,
      served,
      createId,
      report: (now) => options.exports?.put(now),
      work,
      findMarket,
      staleSince,
    }),
    liveRoutes(api, streams.live, { identify: gate.identify, listTiers, work }),
    spotRoutes(api, createSpotService({ history, cursors })),
    ...extensions.flatMap(
      ({ dataRoutes }) => dataRoutes?.(api, { history, cursors, clock, config, listTiers }) ?? [],
    ),
  ])
  const counted = {
    cacheCounts: history.cacheCounts,
    archiveCounts: () =>
      addCounts(history.archiveCounts(), exportThread?.archiveCounts() ?? nothingAsked),
  }
  return { app, clock: now, core, streams, history, counted }
}

/** Pages for people, which are loaded when one is first asked for: a start takes a third longer with them. */
function createPagePlugin({ documented, ...options }: PagesOptions & { documented: AnyElysia }) {
  let pages: Promise<Pages> | undefined
  const loadPages = (): Promise<Pages> =>
    (pages ??= import('./pages.ts').then((module) => module.createPages(options, documented)))
  async function answerPage(request: Request): Promise<Response> {
    visitOf(request).timedAs = 'GET pages'
    return (await loadPages()).fetch(request)
  }
  const plugin = new Elysia({ name: 'pages' })
  for (const { path } of pageRoutes) plugin.get(path, ({ request }) => answerPage(request))
  return { loadPages, answerPage, plugin }
}

/** Whether the operator's page opens for this request, or with the token alone. */
function isOperator(request: Request, assertOperator: AssertOperator): 'open' | 'token' {
  try {
    assertOperator(request, visitOf(request))
    return 'open'
  } catch (error) {
    if (error instanceof AppError) return 'token'
    throw error
  }
}

/** What a caller can do who has no key. Whether signup is open, only the first thread knows. */
function describeWaysIn(config: Config, isSignupOpen: boolean | undefined): string {
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
  if (ways.length === 0) return 'The operator of this server issues keys.'
  return `Without one: ${ways.join('; ')}.`
}
