/**
 * The target of a request. What Bun does not say of it: `request.url` is the target after Bun has resolved
 * `.` and `..`, also percent-encoded, and has read `\` as `/`. A proxy compares its rules with the
 * target as it was sent, so `/.\admin` would pass a rule for `/admin`. Bun's router matches the
 * target as it was sent, and so its parameters show what `request.url` hides.
 */

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
    /** Of a target with an empty segment, or with too many: no route has such a path. */
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
 * URL`, and right because the front door lets no other through (`isAbsolute`).
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
