/** Paths of pages: the server serves these, and the page routes by them. */

/** The module in `pages/` for each pattern. */
const pages = {
  '/': 'board/board-page',
  '/markets/:coin': 'explore/explore-page',
  '/markets/:coin/:market': 'market/market-page',
  '/coverage': 'coverage/coverage-page',
  '/coverage/:coin': 'coverage/coverage-page',
  '/calibration': 'calibration/calibration-page',
  '/calibration/:coin': 'calibration/calibration-page',
  '/pricing': 'pricing/pricing-page',
  '/account': 'account/account-page',
  '/docs': 'docs/docs-page',
  '/docs/:name': 'docs/docs-page',
  '/swagger': 'docs/swagger-page',
  '/admin': 'admin/admin-page',
} as const

type PagePath = keyof typeof pages
export type PageModule = (typeof pages)[PagePath]
export const pagePaths = Object.keys(pages) as PagePath[]
export const moduleOf = (path: PagePath): PageModule => pages[path]

/** Titles of pages. */
const names: Readonly<Record<PageModule, string>> = {
  'board/board-page': 'Open windows',
  'explore/explore-page': 'Markets',
  'market/market-page': 'Market',
  'coverage/coverage-page': 'Coverage',
  'calibration/calibration-page': 'Calibration',
  'pricing/pricing-page': 'Pricing',
  'account/account-page': 'Account',
  'docs/docs-page': 'Docs',
  'docs/swagger-page': 'API reference',
  'admin/admin-page': 'Admin',
}

/** `Bitcoin markets`, `Pricing`; without a page, `Page not found`. */
export function pageName(module: PageModule | undefined, coinName?: string): string {
  const name = module === undefined ? 'Page not found' : names[module]
  return coinName === undefined ? name : `${coinName} ${name.toLowerCase()}`
}

export type Params = Readonly<Record<string, string>>
export type Found = { module: PageModule; params: Params }

/** The page at a path, and the parts that its pattern names; undefined if there is none. */
export function matchPath(path: string): Found | undefined {
  const parts = path.split('/')
  for (const page of pagePaths) {
    const params = matchParts(page.split('/'), parts)
    if (params !== undefined) return { module: pages[page], params }
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
