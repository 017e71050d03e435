/** Addresses with a password in them, such as `postgres://user:password@host:5432/database`. */

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Undefined for what is none. A password with `/`, `?`, `#`, `@` or `%` that is not encoded would
 * be read as something else, and shown.
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

/** What `accepts` says after the example. */
export const ENCODED = 'with / ? # @ % in a password as %2F %3F %23 %40 %25'
