/**
 * The app of a server: who may call it, its data, the plugin of each feature, and what a server
 * that listens needs of it.
 */
import type { AnyElysia } from 'elysia'

import type { Authenticator, LedgerCopy } from '#src/access/authenticator.ts'
import type { Refuse } from '#src/access/gate.ts'
import { createLimits, type Limits } from '#src/access/limits.ts'
import { createSampleChoice, type SampleChoice } from '#src/access/sample.ts'
import type { Config } from '#src/config/config.ts'
import { createCursorCodec } from '#src/domain/cursor.ts'
import { ifReadable } from '#src/domain/errors.ts'
import { createMarketFinder } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import { asOfRoutes } from '#src/features/as-of/routes.ts'
import { boardRoutes } from '#src/features/board/routes.ts'
import { changeRoutes } from '#src/features/changes/routes.ts'
import { coverageRoutes } from '#src/features/coverage/routes.ts'
import { createExportRecords, type ExportRecords } from '#src/features/exports/records.ts'
import { exportRoutes } from '#src/features/exports/routes.ts'
import { fillRoutes } from '#src/features/fill/routes.ts'
import { heatmapRoutes } from '#src/features/heatmap/routes.ts'
import { incidentRoutes } from '#src/features/incidents/routes.ts'
import { liveRoutes } from '#src/features/live/routes.ts'
import { marketRoutes } from '#src/features/markets/routes.ts'
import { panelRoutes } from '#src/features/panel/routes.ts'
import { priceRoutes } from '#src/features/prices/routes.ts'
import { quoteRoutes } from '#src/features/quotes/routes.ts'
import { settlementRoutes } from '#src/features/settlement/routes.ts'
import { snapshotRoutes } from '#src/features/snapshots/routes.ts'
import { spotRoutes } from '#src/features/spot/routes.ts'
import { streamRoute } from '#src/features/stream/routes.ts'
import { tradeRoutes } from '#src/features/trades/routes.ts'
import { addCounts, type MarketHistory, nothingAsked } from '#src/history/history.ts'
import { noSilences, type Silences, withDowntime } from '#src/history/reads/with-downtime.ts'
import { compose, createApi, type DeclaredRoute, declaredRoutes } from '#src/http/api.ts'
import { bindPeers, type PeerSource } from '#src/http/call.ts'
import { createKeptPages } from '#src/http/kept-pages.ts'
import {
  type Gauges,
  makeMeterMemory,
  type Meters,
  openMeters,
  OTHER,
  PAGES,
  SOCKETS,
} from '#src/http/meters.ts'
import { type CountedRoute, createPromises, methodsAt, STREAM_PATH } from '#src/http/promises.ts'
import { type Gate, UNROUTED, usageOf } from '#src/http/rights.ts'
import { createRounds, type Rounds } from '#src/http/rounds.ts'
import {
  createTargetReader,
  isAbsolute,
  isRewritten,
  pathOf,
  searchOf,
  targetOf,
} from '#src/http/target.ts'
import { createTasks } from '#src/http/tasks.ts'
import { createUnread } from '#src/http/unread.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createPageCache } from '#src/platform/page-cache.ts'
import type { Pool } from '#src/platform/pool/pool.ts'

import { createCallers, describeWaysIn } from './callers.ts'
import { isKeyless, type ServerExtension } from './extension.ts'
import { createFirstThreadRoutes, type FirstThreadParts } from './first-thread.ts'
import { pageRoutes, PAGES_NAME } from './page-routes.ts'
import { createStreams, type Source } from './streams.ts'

/** The parts that an app is built from. Nothing here reads the environment or the clock. */
export type AppParts = {
  history: MarketHistory
  /** In a thread that only reads, writes fail. */
  ledger: Ledger
  config: Config
  extensions: readonly ServerExtension[]
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  createId: () => string
  randomBytes: (length: number) => Uint8Array
  /** Writes lines of the access log, newline included. */
  log: (line: string) => void
  version: string
  /** Silent sources of the history: recorders, its copy. None by default. */
  silences?: Silences | undefined
  /** The copy of the ledger in which keys are found; undefined if the ledger is a file. */
  ledgerCopy?: LedgerCopy | undefined
  /** Counters of this app, or of all threads. */
  limits?: Limits | undefined
  meters?: Meters | undefined
  sampleChoice?: SampleChoice | undefined
  /** Records the state of an export; by default, the records of this app. */
  reportExport?: ExportRecords['put'] | undefined
  /** Runs long work; without it, long work is done in this thread. */
  pool?: Pick<Pool, 'run' | 'stream' | 'waiting' | 'counts'> | undefined
  /** Simulated data and their callers, in place of real ones. */
  simulated?: SimulatedParts | undefined
  /** The parts of the thread that writes; without them, the app answers requests for data only. */
  first?: FirstThreadParts | undefined
  /** Tests and benchmarks replace these parts of the app. */
  replaced?: { gate?: Gate; rounds?: Rounds }
}

export type SimulatedParts = {
  authenticator: Authenticator
  /** Returns the reason to refuse a request before it is counted. */
  refuse: Refuse
  /** The source of live streams; the history of the app by default. */
  followed?: Source | undefined
}

export type App = ReturnType<typeof createApp>

/** An app as the dispatch by keys sees it: requests, live connections and usage. */
export type ServedApp = Pick<
  App,
  'fetch' | 'stream' | 'tick' | 'drain' | 'flushUsage' | 'takeUsage' | 'putUsage'
>

/** Builds an app. */
export function createApp({
  history: stored,
  ledger,
  config,
  extensions,
  clock,
  timer,
  createId,
  randomBytes,
  log,
  version,
  silences = noSilences,
  ledgerCopy,
  limits = createLimits(config.streamsMax),
  meters = openMeters(makeMeterMemory()),
  sampleChoice = createSampleChoice(),
  reportExport,
  pool,
  simulated,
  first,
  replaced = {},
}: AppParts) {
  // All routes and streams read gaps from here, so that they report the same.
  const history = withDowntime(stored, { clock, silences })
  const findMarket = createMarketFinder(history)
  const cursors = createCursorCodec(history.cursorKey)
  const tasks = createTasks({
    pool,
    ports: { history, cursors, clock },
    moment: () => ({ nowMs: clock(), silences: silences() }),
    jobs: limits.jobs,
  })
  const callers = createCallers({
    history,
    findMarket,
    ledger,
    ledgerCopy,
    config,
    clock,
    timer,
    randomBytes,
    limits,
    sampleChoice,
    isKeyless: simulated === undefined && isKeyless(extensions, config),
    authenticator: simulated?.authenticator,
    refuse: simulated?.refuse,
    operator: first?.operator?.access,
  })
  const { gate, listTiers, meter, sample, assertOperator } = callers
  const rounds = replaced.rounds ?? createRounds(timer)
  const unread = createUnread(limits)
  const pages = createPageCache(config.pageCacheBytes)
  const kept = createKeptPages({
    assertOperator,
    listTiers,
    sample,
    findMarket,
    pages,
    silences,
  })
  const api = createApi({
    assertOperator,
    listTiers,
    sample,
    findMarket,
    chargeSignup: gate.chargeSignup,
    kept,
    silences,
  })
  const { stream, ...streams } = createStreams({
    history,
    clock,
    followed: simulated?.followed && {
      clock: simulated.followed.clock,
      history: withDowntime(simulated.followed.history, {
        clock: simulated.followed.clock,
        silences,
      }),
    },
    timer,
    randomBytes,
    cursors,
    findMarket,
    listTiers,
    authenticator: callers.authenticator,
    meter,
    tasks,
    rounds,
    limits,
    unread,
  })
  const exports = first?.exports ?? createExportRecords(clock)

  const lists = { history, cursors, clock, pages, tasks }
  const data = { history, tasks, cursors, clock, config, listTiers, links: callers.links }
  const dataRoutes: AnyElysia[] = [
    marketRoutes(api, { history, clock, tasks }),
    coverageRoutes(api, lists),
    settlementRoutes(api, lists),
    incidentRoutes(api, tasks),
    snapshotRoutes(api, lists),
    changeRoutes(api, lists),
    asOfRoutes(api, lists),
    fillRoutes(api, { history, clock, tasks, listTiers }),
    quoteRoutes(api, lists),
    ...priceRoutes(api, lists),
    boardRoutes(api, {
      board: streams.board,
      stream: streams.boardStream,
      pages,
      identify: gate.identify,
      listTiers,
      connections: limits.connections,
    }),
    tradeRoutes(api, lists),
    panelRoutes(api, tasks),
    heatmapRoutes(api, lists),
    exportRoutes(api, {
      history,
      tasks,
      clock,
      timer,
      createId,
      report: reportExport ?? exports.put,
      streams: limits.streams,
      silences,
    }),
    liveRoutes(api, streams.live, {
      identify: gate.identify,
      listTiers,
      streams: limits.streams,
    }),
    spotRoutes(api, tasks),
    ...extensions.flatMap((each) => each.dataRoutes?.(api, data) ?? []),
  ]
  const app = compose([])
  /** Answers any request; never throws, never rejects. */
  const fetch = (request: Request, peers?: PeerSource): Response | Promise<Response> =>
    app.fetch(bindPeers(request, peers))
  const firstThread =
    first &&
    createFirstThreadRoutes(first, {
      api,
      dataRoutes,
      data,
      ledger,
      callers,
      exports,
      extensions,
      app: {
        fetch,
        fetchAgain: (request, changes, body) => promises.fetchAgain(request, changes, body),
      },
      program: { createId, randomBytes, version },
      timer,
    })

  const plugins = firstThread?.plugins ?? dataRoutes
  const declared = declaredRoutes(plugins)
  const { countedRoutes, timedNames } = countRoutes(declared)
  const promises = createPromises({
    app,
    readTarget: createTargetReader(declared, { get: kept.targetOf }),
    routes: countedRoutes,
    unrouted: { row: OTHER, usageOf: () => UNROUTED, isShared: false },
    gate: replaced.gate ?? gate,
    waysIn: () => describeWaysIn(config, firstThread?.isSignupOpen()),
    answerUnpaid: firstThread?.answerUnpaid,
    findPage: firstThread?.findPage,
    rounds,
    unread,
    meters,
    logsAs: config.log,
    log,
    clock,
    createId,
    timer,
  })
  // Their hooks of `onRequest` run in this order.
  app.use(promises.plugin)
  for (const plugin of firstThread?.hooks ?? []) app.use(plugin)
  app.use(kept.plugin(promises.finish)).use(streamRoute(stream, promises.writeHeaders))
  for (const plugin of plugins) app.use(plugin)

  const refuse = (): void => firstThread?.refuse()

  return {
    fetch,
    /**
     * True if this app has the route of a request, or refuses the request before routing. The first
     * thread answers all other requests.
     */
    isRouted(request: Request): boolean {
      const { method, url } = request
      if (!isAbsolute(url) || isRewritten(request)) return true
      if (method !== 'GET' && method !== 'HEAD') return !otherMethods.has(method)
      const path = pathOf(targetOf(url))
      return methodsAt(app, path).length > 0
    },
    /** The paths that are requested most often; parameters are written as `:coin`. */
    frequentPaths: declared
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/v1/:coin/markets/:conditionId/snapshots')),
    timedNames,
    gauges(): Gauges {
      const page = pages.counts()
      const chunk = history.cacheCounts()
      const read = { ...nothingAsked, ...pool?.counts() }
      const bucket = addCounts(history.archiveCounts(), read)
      return {
        pageCacheBytes: page.bytes,
        pageCacheHits: page.hits,
        pageCacheMisses: page.misses,
        chunkCacheBytes: chunk.bytes,
        chunkCacheHits: chunk.hits,
        chunkCacheMisses: chunk.misses,
        bucketAnswered: bucket.answered,
        bucketFailed: bucket.failed,
        bucketMs: bucket.ms,
        bucketBytes: bucket.bytes,
        waiting: rounds.waiting() + tasks.waiting(),
        followers: stream.followed,
      }
    },
    /** Live connections, for the server that listens. */
    stream,
    live: streams.live,
    /**
     * Sends new rows to subscribers. Call it every few milliseconds, and again after the next turn
     * of the event loop while it returns true.
     */
    tick: streams.tick,
    /** Makes `GET /readyz` fail from now on, so that balancers send requests elsewhere. */
    refuse,
    /** As `refuse`, and closes live connections with a reason. */
    drain(): void {
      refuse()
      streams.stop()
    },
    /** Writes some of the usage to the ledger; returns true if some is left. */
    flushUsage: meter.flush,
    /** Moves usage from one thread to another before it is in a ledger. */
    takeUsage: meter.take,
    putUsage: meter.put,
    /** Pages for people; undefined if another thread answers them. */
    pages: firstThread?.pages,
    /** True if the request has the key of a pack. */
    isMetered: (request: Request, peers: PeerSource | undefined): boolean =>
      ifReadable(() => gate.identify({ request, peers }))?.standing.isMetered === true,
  }
}

/** The methods besides GET and HEAD with which Bun can make a `Request`. */
const otherMethods = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** How the responses of each route are counted, and the name of each row of the meters. */
function countRoutes(declared: readonly DeclaredRoute[]) {
  const countedRoutes = new Map<string, CountedRoute>()
  const timedNames: string[] = []
  timedNames[OTHER] = 'ANY other'
  timedNames[PAGES] = PAGES_NAME
  timedNames[SOCKETS] = `GET ${STREAM_PATH}`
  const page = { row: PAGES, usageOf: () => UNROUTED, isShared: false }
  countedRoutes.set(PAGES_NAME, page)
  for (const { path } of pageRoutes) countedRoutes.set(`GET ${path}`, page)
  const socket = { row: SOCKETS, usageOf: () => 'stream', isShared: false }
  countedRoutes.set(`GET ${STREAM_PATH}`, socket)
  for (const { method, path, access, accessAt, isAsStored = false } of declared) {
    const name = `${method} ${path}`
    const row = timedNames.push(name) - 1
    const usage = usageOf(access)
    const usageAt = ({ url }: Request): string =>
      accessAt === undefined ? usage : usageOf(accessAt(new URLSearchParams(searchOf(url))))
    countedRoutes.set(name, { row, usageOf: usageAt, isShared: isAsStored })
  }
  return { countedRoutes, timedNames }
}
