/** What people read in a browser, and the document of the routes: loaded when first asked for. */
import type { AnyElysia } from 'elysia'

import { ifSound } from '#src/domain/errors.ts'
import { dashboardPages, type PageDeps } from '#src/features/dashboard/routes.ts'
import { declaredRoutes } from '#src/http/api.ts'
import { createComponents } from '#src/http/openapi-operation.ts'
import { createErrorTrap } from '#src/http/problem.ts'
import {
  type HeldExamples,
  openapi,
  type Prices,
  swaggerAssets,
  swaggerHead,
} from '#src/http/swagger.ts'
import { pathOf, targetOf } from '#src/http/target.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { compose } from './create-server.ts'
import { OPENAPI_PATH } from './page-routes.ts'

export type PagesOptions = Pick<PageDeps, 'facts' | 'findMarket' | 'publicUrl' | 'clock'> & {
  version: string
  findExamples: () => HeldExamples
  prices: Prices
}

export type Pages = ReturnType<typeof createPages>

export function createPages(
  { version, findExamples, prices, facts, findMarket, publicUrl, clock }: PagesOptions,
  api: AnyElysia,
) {
  const components = createComponents()
  const declared = declaredRoutes(api)
  const trap = createErrorTrap()
  const own = compose([
    trap.plugin,
    openapi(version, declared, components, () => ifSound(findExamples) ?? {}, prices),
    swaggerAssets(),
    // Of `/swagger` it replaces the page of the plugin.
    dashboardPages({
      facts,
      findMarket,
      publicUrl,
      venue: homeVenue,
      clock,
      extras: { '/swagger': swaggerHead },
    }),
  ])
  const ownRoutes = [...own.routes]
  const elysia = own.use(api).compile()
  return {
    async fetch(request: Request): Promise<Response> {
      const isDocument = pathOf(targetOf(request.url)) === OPENAPI_PATH
      const inner = isDocument
        ? new Request(String(new URL('/swagger/json', request.url)), request)
        : request
      return trap.settle(inner, await elysia.fetch(inner))
    },
    /** With those that the document describes. */
    routes: [...ownRoutes, ...declared],
  }
}
