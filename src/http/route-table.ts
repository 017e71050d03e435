/** What the front door must know of routes: Elysia answers a wrong method with 404. */
import { assert } from '#src/lib/assert.ts'

import type { Allowance } from './gate.ts'

type KnownRoute = { method: string; path: string; allowance?: Allowance }
export type RouteTable = ReturnType<typeof createRouteTable>

/** `routes` have `/a/:b/*` patterns. */
export function createRouteTable(routes: readonly KnownRoute[]) {
  const table = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }))
  const ofBilling = routes.filter(({ allowance }) => allowance === 'billing')
  const billingAreas = [...new Set(ofBilling.map(({ path }) => areaOf(path)))]

  /** The window that a request is taken from: that of the routes which begin like `target`. */
  function allowanceAt(target: string): Allowance {
    if (!isApi(target)) return 'none'
    return billingAreas.some((area) => isWithin(target, area)) ? 'billing' : 'data'
  }

  for (const { path, allowance = allowanceAt(path) } of routes) {
    assert(allowance === allowanceAt(path), 'Routes that begin alike take from the same window.')
  }
  return {
    allowanceAt,

    /** The methods that some route has at this path, HEAD and OPTIONS included; or nothing. */
    methodsAt(path: string): string[] {
      const hits = table.filter(({ pattern }) => pattern.test(path))
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
  target.startsWith(area) && /^[/?]?$/.test(target.charAt(area.length))

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
