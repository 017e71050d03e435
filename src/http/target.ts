/**
 * The target of a request. `request.url` is not the target as it was sent: Bun has resolved
 * `.` and `..`, also percent-encoded, and has read `\` as `/`. A proxy compares its rules with the
 * target as it was sent, so `/.\admin` would pass a rule for `/admin`. Bun's router matches the
 * target as it was sent, and so its parameters show what `request.url` hides.
 */

import { assert } from '#src/platform/assert.ts'

const REWRITTEN = Symbol('rewritten')
type Marked = Request & { [REWRITTEN]?: true }

/** True of a request whose target is not the path that `request.url` has. */
export const isRewritten = (request: Marked): boolean => request[REWRITTEN] === true

/** Bun joins the values of repeated headers, and a name of a host has no comma. */
export const hasManyHosts = ({ headers }: Request): boolean =>
  headers.get('host')?.includes(',') ?? false

/** More than the path of any route has. */
const SEGMENTS_MAX = 12
const names = Array.from({ length: SEGMENTS_MAX }, (_, index) => `p${index}`)

type Answer<Peers> = (request: Request, peers: Peers) => Response | Promise<Response>

/**
 * Options of `Bun.serve` that give every request to `answer`, marked for `isRewritten` where Bun
 * rewrote the target. No other pattern may be added to the routes.
 *
 * Targets of `frequentPaths`, which have parameters like `:coin`, take half of the time: Bun compares
 * their other segments with the target as it was sent, so only the parameters are left to check.
 * More than a few such paths would make Bun's search for a pattern slower.
 */
export function markRewritten<Peers>(answer: Answer<Peers>, frequentPaths: readonly string[]) {
  const routes: Record<string, Answer<Peers>> = { '/': answer }

  function add(pattern: string, parameters: readonly string[]): void {
    const checked: Answer<Peers> = (request, peers) => {
      const { params } = request as Request & { params: Record<string, string> }
      for (const name of parameters) {
        if (!isPlain(params[name] ?? '')) {
          mark(request)
          break
        }
      }
      return answer(request, peers)
    }
    routes[pattern] = parameters.length === 0 ? answer : checked
    routes[`${pattern}/`] = routes[pattern]
  }

  for (const path of frequentPaths) add(path, path.match(/(?<=\/:)\w+/g) ?? [])
  let pattern = ''
  for (const [index, name] of names.entries()) {
    pattern += `/:${name}`
    add(pattern, names.slice(0, index + 1))
  }
  return {
    routes,
    /** Answers targets with an empty segment, or with too many: no route has such a path. */
    fetch: (request: Request, peers: Peers) => answer(mark(request), peers),
  }
}

/** Parameters are percent-decoded. */
const isPlain = (segment: string): boolean =>
  segment !== '.' && segment !== '..' && !segment.includes('\\')

function mark(request: Marked): Request {
  request[REWRITTEN] = true
  return request
}

/**
 * Parts of absolute URLs, as Bun normalises them: to cut strings is several times faster than `new
 * URL`, and right because no other is let through (`isAbsolute`).
 */
// After `http://` and at least one character of the host.
const HOST_START = 8

/** False where the host is absent or malformed: Bun then leaves what was sent. */
export const isAbsolute = (url: string): boolean => /^https?:\/\//.test(url) && URL.canParse(url)

/** Path and query, as sent; of what is not absolute, whatever begins with a slash. */
export function targetOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', HOST_START)
  return start < 0 ? '/' : url.slice(start)
}

/** The path of what `targetOf` returned, still percent-encoded. */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** The query of an absolute URL without its `?`, still percent-encoded; empty if none. */
export function searchOf(url: string): string {
  const start = url.indexOf('?', HOST_START)
  return start < 0 ? '' : url.slice(start + 1)
}

/** Undefined if the percent-encoding is malformed. */
export function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The rate window that a request is taken from; nothing outside of `/v1` takes from any. */
export type Allowance = 'none' | 'data' | 'billing'

/** Facts that follow from the address of a request alone. */
export type RequestTarget = Readonly<{
  /** As sent. */
  pathAndQuery: string
  /** Still percent-encoded. */
  path: string
  isAbsolute: boolean
  /** True if the percent-encoding of the path is malformed. */
  isMalformed: boolean
  allowance: Allowance
  /** True of what an overloaded server still answers: billing, health, the operator. */
  isUrgent: boolean
  /** True in the areas of the operator, which no page of another origin may read. */
  isPrivate: boolean
}>

type AddressedRoute = {
  path: string
  allowance?: Exclude<Allowance, 'none'>
  access?: string
  isUrgent?: boolean
}

/**
 * Returns the function that reads the URL of a request, by what the routes of an app declare.
 * `kept` has targets of pages that are requested again.
 */
export function createTargetReader(
  routes: readonly AddressedRoute[],
  kept?: { get(url: string): RequestTarget | undefined },
): (url: string) => RequestTarget {
  const ofBilling = routes.filter(({ allowance }) => allowance === 'billing')
  const ofOperator = routes.filter(({ access }) => access === 'operator')
  const privateAreas = [...new Set(ofOperator.map(({ path }) => areaOf(path)))]
  const billingAreas = [...new Set(ofBilling.map(({ path }) => areaOf(path)))]
  const urgentAreas = [...billingAreas, ...privateAreas]
  const urgentPaths = new Set(routes.filter(({ isUrgent }) => isUrgent).map(({ path }) => path))

  function allowanceAt(target: string): Allowance {
    if (!isWithin(target, '/v1')) return 'none'
    return isIn(target, billingAreas) ? 'billing' : 'data'
  }

  for (const { path, allowance = allowanceAt(path) } of routes) {
    assert(allowance === allowanceAt(path), 'Routes that begin alike take from the same window.')
  }

  function read(url: string): RequestTarget {
    const pathAndQuery = targetOf(url)
    const path = pathOf(pathAndQuery)
    return {
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
  return (url) => kept?.get(url) ?? read(url)
}

const isIn = (target: string, areas: readonly string[]): boolean =>
  areas.some((area) => isWithin(target, area))

const isWithin = (target: string, area: string): boolean =>
  target.startsWith(area) && endsPart.has(target.charAt(area.length))
const endsPart = new Set(['', '/', '?'])

/** The first two parts of a path, such as `/v1/billing`. */
const areaOf = (path: string): string => path.split('/', 3).join('/')
