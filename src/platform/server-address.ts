/** URLs that may contain a password, such as `postgres://user:password@host:5432/database`. */

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Parses a URL; undefined if it is invalid. A password with an unencoded `/`, `?`, `#`, `@` or `%`
 * is refused: it would be parsed as another part, and shown.
 */
export function parseServerAddress(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.parse(text)
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') return undefined
  const [authority = ''] = text.slice(text.indexOf('//') + 2).split(/[/?#]/)
  const after = `${url.pathname}${url.search}`
  const isPlain = authority.split('@').length <= 2 && !/[@#]|\/.*\//.test(after) && !url.hash
  const parts = [url.username, url.password, url.pathname]
  return isPlain && parts.every(isDecodable) ? url : undefined
}

/** The rule that `accepts` adds to the example. */
export const ENCODED = 'with / ? # @ % in a password as %2F %3F %23 %40 %25'
