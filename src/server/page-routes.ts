/** Addresses of pages for people and of the document that describes the routes. */
import { preferredType } from '#src/http/negotiation.ts'
import { pagePaths } from '#web/paths.ts'

/** Where agents look for what `/swagger/json` is. */
export const OPENAPI_PATH = '/openapi.json'

const paths = [
  OPENAPI_PATH,
  '/swagger/json',
  '/swagger/assets/:version/:name',
  '/assets/:name',
  ...pagePaths,
]

export const pageRoutes = paths.map((path) => ({ method: 'GET', path }))

const pattern = new RegExp(`^(${paths.map((path) => path.replace(/:\w+/g, '[^/]+')).join('|')})/?$`)

export const isPage = (path: string): boolean => pattern.test(path)

const mediaTypes = { json: 'application/json', html: 'text/html' }

/** Whether a person asks for what is not there: programs ask below `/v1`, and for no document. */
export const isLost = (request: Request, path: string): boolean =>
  request.method === 'GET' &&
  !/^\/(v1|admin\/api)(\/|$)/.test(path) &&
  preferredType(request, mediaTypes, 'json') === 'html'
