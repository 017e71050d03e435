/** Pages for people and the API document. The module is loaded when one is first requested. */
import { type AnyElysia, Elysia } from 'elysia'

import { ifSound } from '#src/domain/errors.ts'
import { dashboardPages, type PageDeps } from '#src/features/dashboard/routes.ts'
import { compose, declaredRoutes } from '#src/http/api.ts'
import {
  type HeldExamples,
  openapi,
  type Prices,
  swaggerAssets,
  swaggerHead,
} from '#src/http/swagger.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { OPENAPI_PATH } from './page-routes.ts'

export type PagesOptions = Pick<PageDeps, 'facts' | 'findMarket' | 'publicUrl' | 'clock'> & {
  version: string
  findExamples: () => HeldExamples
  prices: Prices
}

export type Pages = ReturnType<typeof createPages>

/** Lets an error reach the app that asks for a page. */
const throwing: AnyElysia = new Elysia({ name: 'throwing' }).onError(
  { as: 'global' },
  ({ error }) => {
    throw error
  },
)

export function createPages(
  { version, findExamples, prices, facts, findMarket, publicUrl, clock }: PagesOptions,
  plugins: readonly AnyElysia[],
) {
  const declared = declaredRoutes(plugins)
  const own = compose([
    throwing,
    openapi(['/swagger/json', OPENAPI_PATH], {
      app: compose(plugins),
      version,
      routes: declared,
      findExamples: () => ifSound(findExamples) ?? {},
      prices,
    }),
    swaggerAssets(),
    dashboardPages({
      facts,
      findMarket,
      publicUrl,
      venue: homeVenue,
      clock,
      extras: { '/swagger': swaggerHead(version, declared) },
    }),
  ])
  return {
    /** Rejects with the error of a page. */
    fetch: async (request: Request): Promise<Response> => own.fetch(request),
    /** The routes of pages, and those of the API document. */
    routes: [...own.routes, ...declared],
  }
}
