/** An Elysia app behind the front door, with its live streams and counters: what listens. */
import { type AnyElysia, Elysia } from 'elysia'

import type { Config } from '#src/config/config.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { answerAtOnce, declaredRoutes } from '#src/http/api.ts'
import { createFrontDoor } from '#src/http/front-door.ts'
import type { Gate } from '#src/http/gate.ts'
import { type Gauges, OTHER, PAGES, SOCKETS } from '#src/http/meters.ts'
import { createErrorTrap, MissingRoute } from '#src/http/problem.ts'
import type { RouteTable } from '#src/http/route-table.ts'
import { isAbsolute, isRewritten, pathOf, targetOf } from '#src/http/target.ts'
import type { Arrived } from '#src/http/visit.ts'
import { after } from '#src/platform/maybe-promise.ts'

import type { Core } from './core.ts'
import type { Around, Handle } from './extension.ts'
import type { Streams } from './streams.ts'

/** One Elysia app of several plugins. */
export function compose(plugins: readonly AnyElysia[]): AnyElysia {
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

const throwMissing = (): never => {
  throw new MissingRoute()
}

/** The methods besides GET and HEAD with which Bun can make a `Request`. */
const otherMethods = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

export function createServer({
  app,
  routes,
  around = [],
  answerMissing = throwMissing,
  waysIn,
  onDrain,
  counted,
  config,
  clock,
  timer,
  createId,
  log,
  gate,
  core: { work, kept, pages, unread, meter, meters },
  streams: { stream, live, boardStream },
}: {
  app: AnyElysia
  routes: RouteTable
  /** What surrounds every route; the first is the innermost. */
  around?: readonly Around[]
  /** Answers at a path that no route has. */
  answerMissing?: Handle
  /** How a caller without a key gets access; part of a 401. */
  waysIn: () => string
  /** Called when the server stops accepting requests. */
  onDrain: () => void
  /** Of the history, and of exports that are made on a thread. */
  counted: Pick<MarketHistory, 'cacheCounts' | 'archiveCounts'>
  config: Pick<Config, 'log'>
  clock: Clock
  timer: Clock
  createId: () => string
  log: (line: string) => void
  /** Admits each request; the gate of `core`, unless a test or a bench replaces it. */
  gate: Gate
  core: Pick<Core, 'work' | 'kept' | 'pages' | 'unread' | 'meter' | 'meters'>
  streams: Streams
}) {
  const declared = declaredRoutes(app)
  /** What time is counted under: each in the row of its index. */
  const timedNames: string[] = []
  timedNames[OTHER] = 'ANY other'
  timedNames[PAGES] = 'GET pages'
  timedNames[SOCKETS] = 'GET /v1/stream'
  for (const { method, path } of declared) timedNames.push(`${method} ${path}`)
  const sockets = new Map([['/v1/stream', stream.upgrade]])
  const trap = createErrorTrap()
  const inner = compose([trap.plugin, app])
  answerAtOnce(inner)

  function settle(arrived: Arrived, response: Response): Response | Promise<Response> {
    try {
      return trap.settle(arrived.request, response)
    } catch (error) {
      if (error instanceof MissingRoute) return answerMissing(arrived)
      throw error
    }
  }
  const answer: Handle = (arrived) =>
    kept.answer(arrived) ??
    after(inner.fetch(arrived.request), (response) => settle(arrived, response))
  return {
    /** Answers any request; never throws, never rejects. */
    fetch: createFrontDoor({
      handle: around.reduce<Handle>((next, outer) => (arrived) => outer(arrived, next), answer),
      routes,
      sockets,
      gate,
      waysIn,
      work,
      unread,
      meters,
      timedRows: new Map(timedNames.map((name, row) => [name, row])),
      logsAs: config.log,
      log,
      clock,
      createId,
      timer,
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
      return sockets.has(path) || routes.hasPath(path)
    },
    /** The paths that are requested most often; parameters are written as `:coin`. */
    frequentPaths: declared
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/v1/:coin/markets/:conditionId/snapshots')),
    timedNames,
    gauges(): Gauges {
      const page = pages.counts()
      const chunk = counted.cacheCounts()
      const bucket = counted.archiveCounts()
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
        waiting: work.waiting(),
        followers: stream.followed,
      }
    },
    /** Live connections; given to the server that listens. */
    stream,
    live,
    /**
     * Sends new rows to subscribers. Call it every few milliseconds, and again after the next turn
     * of the event loop while it returns true.
     */
    tick(): boolean {
      const hasBacklog = stream.tick()
      live.tick()
      boardStream.tick()
      return hasBacklog
    },
    /** Makes `GET /readyz` fail from now on, so that no new requests are sent here. */
    refuse: onDrain,
    /** As `refuse`, and closes live connections with a reason. */
    drain(): void {
      onDrain()
      stream.stop()
      live.stop()
      boardStream.stop()
    },
    /** Writes some of the usage to the ledger; returns whether there is more. */
    flushUsage: meter.flush,
    /** Moves usage that is not in the ledger yet from one thread to another. */
    takeUsage: meter.take,
    putUsage: meter.put,
  }
}
