/** The addresses of pages: the server answers these, and the page finds its way by them. */

export const pagePaths = [
  '/',
  '/markets/:coin',
  '/markets/:coin/:market',
  '/coverage',
  '/coverage/:coin',
  '/pricing',
  '/account',
  '/docs',
  '/docs/:name',
  '/admin',
] as const

export type PagePath = (typeof pagePaths)[number]
export type Params = Readonly<Record<string, string>>

/** The page at a path, and the parts that its pattern names; undefined where there is none. */
export function matchPath(path: string): { page: PagePath; params: Params } | undefined {
  const parts = path.split('/')
  for (const page of pagePaths) {
    const params = matchParts(page.split('/'), parts)
    if (params !== undefined) return { page, params }
  }
  return undefined
}

function matchParts(pattern: readonly string[], parts: readonly string[]): Params | undefined {
  if (pattern.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, name] of pattern.entries()) {
    const part = parts[index] ?? ''
    if (!name.startsWith(':')) {
      if (name !== part) return undefined
    } else if (part === '') return undefined
    else params[name.slice(1)] = decodeURIComponent(part)
  }
  return params
}
