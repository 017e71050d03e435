/** Addresses of pages for people and of the document that describes the routes. */
import { pagePaths } from '#web/paths.ts'

const paths = [
  ...['/swagger', '/swagger/json', '/swagger/assets/:version/:name', '/assets/:name'],
  ...pagePaths,
]

export const pageRoutes = paths.map((path) => ({ method: 'GET', path }))

const pattern = new RegExp(`^(${paths.map((path) => path.replace(/:\w+/g, '[^/]+')).join('|')})/?$`)

export const isPage = (path: string): boolean => pattern.test(path)
