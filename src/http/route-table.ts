/** Elysia answers a wrong method with 404; this table knows better. Used on failures only. */

export type RouteTable = {
  /** Returns the methods that some route has at this path, HEAD and OPTIONS included; or nothing. */
  methodsAt(path: string): string[]
}

/** Reads the routes of an app, `/a/:b/*` patterns, once. */
export function createRouteTable(routes: readonly { method: string; path: string }[]): RouteTable {
  const table = routes.map(({ method, path }) => ({ method, pattern: toPattern(path) }))
  return {
    methodsAt(path) {
      const hits = table.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
      const methods = new Set(hits)
      if (methods.has('GET')) methods.add('HEAD')
      if (methods.size > 0) methods.add('OPTIONS')
      return [...methods].sort()
    },
  }
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
