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
