/** What the front door must know of routes: Elysia answers a wrong method with 404. */
import { assert } from '#src/platform/assert.ts'
import { createCache } from '#src/platform/cache.ts'

import { decodePart, isAbsolute, pathOf, targetOf } from './target.ts'
import type { Allowance, RequestTarget } from './visit.ts'

type KnownRoute = {
  method: string
  path: string
  allowance?: Allowance
  access?: string
  isUrgent?: boolean
}
export type RouteTable = ReturnType<typeof createRouteTable>

/** Targets that are kept, of pages that are requested again; one takes about 2 kB. */
const TARGETS_MAX = 4_096

/** Targets by URL, of pages that are requested again. */
export const createTargetCache = () => createCache<string, RequestTarget>(TARGETS_MAX)
export type TargetCache = ReturnType<typeof createTargetCache>

/** `routes` have `/a/:b/*` patterns. */
export function createRouteTable(
  routes: readonly KnownRoute[],
  kept: Pick<TargetCache, 'get'> = createTargetCache(),
) {
  const table = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }))
  const fixed = Map.groupBy(
    routes.filter(({ path }) => !/[:*]/.test(path)),
    ({ path }) => path,
  )
  /** Of all routes in one: a request is compared with each of them in a tenth of the time. */
  const anyPattern = new RegExp(table.map(({ pattern }) => pattern.source).join('|'))
  const fixedAt = (path: string) =>
    fixed.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)
  const ofBilling = routes.filter(({ allowance }) => allowance === 'billing')
  const ofOperator = routes.filter(({ access }) => access === 'operator')
  const privateAreas = [...new Set(ofOperator.map(({ path }) => areaOf(path)))]
  const billingAreas = [...new Set(ofBilling.map(({ path }) => areaOf(path)))]

  const urgentAreas = [...billingAreas, ...privateAreas]
  const urgentPaths = new Set(routes.filter(({ isUrgent }) => isUrgent).map(({ path }) => path))

  /** The window that a request is taken from: that of the routes which begin like `target`. */
  function allowanceAt(target: string): Allowance {
    if (!isApi(target)) return 'none'
    return billingAreas.some((area) => isWithin(target, area)) ? 'billing' : 'data'
  }

  for (const { path, allowance = allowanceAt(path) } of routes) {
    assert(allowance === allowanceAt(path), 'Routes that begin alike take from the same window.')
  }
  const isIn = (target: string, areas: readonly string[]): boolean =>
    areas.some((area) => isWithin(target, area))

  function makeTarget(url: string): RequestTarget {
    const pathAndQuery = targetOf(url)
    const path = pathOf(pathAndQuery)
    return {
      url,
      pathAndQuery,
      path,
      isAbsolute: isAbsolute(url),
      // Elysia would hand a handler an empty parameter for `%zz`.
      isMalformed: path.includes('%') && decodePart(path) === undefined,
      allowance: allowanceAt(pathAndQuery),
      isUrgent: isIn(pathAndQuery, urgentAreas) || urgentPaths.has(path),
      isPrivate: isIn(pathAndQuery, privateAreas),
    }
  }
  return {
    targetAt: (url: string): RequestTarget => kept.get(url) ?? makeTarget(url),

    /** True at a fixed path without the method, where Elysia may find a pattern that has it. */
    isRefused: (method: string, path: string): boolean =>
      fixedAt(path)?.every((route) => route.method !== method) ?? false,

    /** Whether a route has the path, with any method. */
    hasPath: (path: string): boolean => anyPattern.test(path),

    /** The methods of the fixed path, else of the patterns, with HEAD and OPTIONS; or nothing. */
    methodsAt(path: string): string[] {
      const hits = fixedAt(path) ?? table.filter(({ pattern }) => pattern.test(path))
      const methods = new Set(hits.map(({ method }) => method))
      if (methods.has('GET')) methods.add('HEAD')
      if (methods.size > 0) methods.add('OPTIONS')
      return [...methods].sort()
    },
  }
}

/** Health, documentation and the rest outside of `/v1` take from no window. */
const isApi = (target: string): boolean => isWithin(target, '/v1')

const isWithin = (target: string, area: string): boolean =>
  target.startsWith(area) && endsPart.has(target.charAt(area.length))
const endsPart = new Set(['', '/', '?'])

/** The first two parts of a path, such as `/v1/billing`. */
const areaOf = (path: string): string => path.split('/', 3).join('/')

function toPattern(path: string): RegExp {
  const segments = path.split('/').filter((segment) => segment !== '')
  const parts = segments.map((segment) => {
    if (segment === '*') return '/.*'
    if (segment.startsWith(':')) return segment.endsWith('?') ? '(?:/[^/]+)?' : '/[^/]+'
    return `/${segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`
  })
  return new RegExp(`^${parts.join('')}/?$`)
}
