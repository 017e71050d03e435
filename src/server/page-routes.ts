/** The addresses of pages for people and of the API document. */
import { preferredType } from '#src/http/negotiation.ts'
import { pagePaths } from '#web/paths.ts'

/** The address at which agents look for `/swagger/json`. */
export const OPENAPI_PATH = '/openapi.json'

const paths = [
  OPENAPI_PATH,
  '/swagger/json',
  '/swagger/assets/:version/:name',
  '/assets/:name',
  ...pagePaths,
]

/** The name that the time of pages is counted under. */
export const PAGES_NAME = 'GET pages'

export const pageRoutes = paths.map((path) => ({ method: 'GET', path }))

const pattern = new RegExp(`^(${paths.map((path) => path.replace(/:\w+/g, '[^/]+')).join('|')})/?$`)

export const isPage = (path: string): boolean => pattern.test(path)

const mediaTypes = { json: 'application/json', html: 'text/html' }

/** True if a person requests a missing page: programs request paths below `/v1`, and no HTML. */
export const isLost = (request: Request, path: string): boolean =>
  request.method === 'GET' &&
  !/^\/(v1|admin\/api)(\/|$)/.test(path) &&
  preferredType(request, mediaTypes, 'json') === 'html'
