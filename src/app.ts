/** Puts plugins and modules together. Nothing here reads the environment or the clock. */
import { type AnyElysia, Elysia } from 'elysia'

import type { Config } from '#src/config.ts'
import { createCursorCodec } from '#src/core/cursor.ts'
import type { Clock } from '#src/core/time.ts'
import { createErrorTrap } from '#src/http/errors.ts'
import { createFrontDoor, type Decorate, type Handle } from '#src/http/front-door.ts'
import { openapi } from '#src/http/openapi.ts'
import { createRouteTable } from '#src/http/route-table.ts'
import { swaggerPage } from '#src/http/swagger-page.ts'
import { documentation } from '#src/modules/documentation/index.ts'
import { type CheckReadiness, health } from '#src/modules/health/index.ts'
import { markets } from '#src/modules/markets/index.ts'
import { createMarketService } from '#src/modules/markets/service.ts'
import { snapshots } from '#src/modules/snapshots/index.ts'
import { createSnapshotService } from '#src/modules/snapshots/service.ts'
import type { HistoryStore } from '#src/store/history.ts'

export type AppDeps = {
  history: HistoryStore
  clock: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  mint: () => string
  config: Config
  /** Takes lines of the access log, newline included. */
  log: (line: string) => void
  version: string
}

export type App = {
  /** Answers any request; never throws, never rejects. */
  fetch: Handle
  elysia: AnyElysia
  /** Makes `GET /readyz` fail from now on, so that no new requests are sent here. */
  drain(): void
}

/** Headers for every response; rate limits will be the first. */
const decorate: readonly Decorate[] = []

/** Creates the whole server, not listening yet. */
export function createApp(deps: AppDeps): App {
  let isDraining = false
  const trap = createErrorTrap()
  const elysia = createRoutes(deps, {
    trap: trap.plugin,
    checkReadiness: () => ({ history: canRead(deps.history), accepting: !isDraining }),
  })
  const front = createFrontDoor({
    handle: (request) => elysia.fetch(request),
    takeError: trap.take,
    routes: createRouteTable(elysia.routes),
    decorate,
    logsEachRequest: deps.config.log === 'json',
    log: deps.log,
    clock: deps.clock,
    mint: deps.mint,
    timer: () => performance.now(),
  })
  return {
    fetch: front,
    elysia,
    drain() {
      isDraining = true
    },
  }
}

function createRoutes(
  deps: AppDeps,
  ports: { trap: AnyElysia; checkReadiness: CheckReadiness },
): AnyElysia {
  const { version, history, clock, config } = deps
  const cursors = createCursorCodec(history.cursorKey)
  const { findMarket } = history
  // Each module is an Elysia plugin; the order is that of the documentation.
  const modules = [
    markets({ service: createMarketService({ history, cursors, clock }), findMarket }),
    snapshots({
      service: createSnapshotService({ history, cursors, cacheBytesMax: config.pageCacheBytes }),
      findMarket,
    }),
    health({ checkReadiness: ports.checkReadiness, version }),
    documentation(),
  ]
  const app = new Elysia({
    name: 'bookfeed',
    // Both are part of what is tested: other values change what Elysia accepts.
    aot: true,
    normalize: false,
    // Otherwise a host name of one or two characters breaks the path.
    handler: { standardHostname: false },
  })
    .use(ports.trap)
    .use(openapi(version))
    .use(swaggerPage())
  for (const module of modules) app.use(module)
  return app.compile()
}

/** One row is enough: it goes through the file, its locks and its schema. */
function canRead(history: HistoryStore): boolean {
  try {
    history.listMarkets({ coin: 'btc', limit: 1 })
    return true
  } catch {
    return false
  }
}
