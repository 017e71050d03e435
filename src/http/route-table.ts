/**
 * What the front door must know of routes before and after Elysia: it
 * answers a wrong method with 404.
 */
import { assert } from '#src/lib/assert.ts'

import type { Allowance } from './gate.ts'
import { pathOf } from './url.ts'

export type RouteTable = {
  /**
   * The window that a request is taken from: that of the routes whose
   * addresses begin like `target`.
   */
  allowanceAt(target: string): Allowance
  /**
   * Returns the methods that some route has at this path, HEAD and OPTIONS included; or nothing.
   */
  methodsAt(path: string): string[]
}

type KnownRoute = { method: string; path: string; allowance?: Allowance }

/** Reads the routes of an app, `/a/:b/*` patterns, once. */
export function createRouteTable(routes: readonly KnownRoute[]): RouteTable {
  const table = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }))
  const areas = new Map<string, Allowance>()
  for (const { path, allowance } of routes) {
    if (allowance === undefined) continue
    const area = areaOf(path)
    const known = areas.get(area) ?? allowance
    assert(known === allowance, 'Routes that begin alike take from the same window.')
    areas.set(area, allowance)
  }
  return {
    allowanceAt: (target) => areas.get(areaOf(target)) ?? (isApi(target) ? 'data' : 'none'),

    methodsAt(path) {
      const hits = table.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
      const methods = new Set(hits)
      if (methods.has('GET')) methods.add('HEAD')
      if (methods.size > 0) methods.add('OPTIONS')
      return [...methods].sort()
    },
  }
}

/** Where a route is not known: health, documentation and the rest outside of `/v1` take nothing. */
const isApi = (target: string): boolean => /^\/v1(?:[/?]|$)/.test(target)

/** The first two parts of a path, such as `/v1/billing`. */
function areaOf(target: string): string {
  const path = pathOf(target)
  const second = path.indexOf('/', 1)
  const end = second < 0 ? -1 : path.indexOf('/', second + 1)
  return end < 0 ? path : path.slice(0, end)
}

function toPattern(path: string): RegExp {
  const segments = path.split('/').filter((segment) => segment !== '')
  const parts = segments.map((segment) => {
    if (segment === '*') return '/.*'
    if (segment.startsWith(':')) return segment.endsWith('?') ? '(?:/[^/]+)?' : '/[^/]+'
    return `/${segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`
  })
  return new RegExp(`^${parts.join('')}/?$`)
}
