import { type AnyElysia, Elysia } from 'elysia'

import { AppError, isDamaged } from '#src/domain/errors.ts'
import { coinTable, isCoin, type Market, statusOf } from '#src/domain/market.ts'
import { type Clock, toIsoOrNull } from '#src/domain/time.ts'
import { createFixedText } from '#src/http/fixed-text.ts'
import { buildWebFiles } from '#web/build.ts'
import {
  ASSETS_PATH,
  cardOfMarket,
  cardOfPage,
  type PublicMarket,
  toHtml,
  type WebFiles,
} from '#web/document.ts'
import { moduleOf, pagePaths } from '#web/paths.ts'

/** For files whose name contains their hash. */
const FOREVER = 'public, max-age=31536000, immutable'
const GZIP_LEVEL = 9

const policyOf = ({ inlineScriptHash }: WebFiles): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${inlineScriptHash}'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** Headers that restrict a page, besides its Content-Security-Policy. */
const guards = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
}

type Answer = (request: Request) => Response

export type PageDeps = {
  build?: () => Promise<WebFiles>
  /** Data in the document of a page, so that the page need not request it. */
  facts: (request: Request) => object
  /** Finds the market in a path, for the title and description of its page. Throws `damaged`. */
  findMarket: (name: string) => Market | undefined
  /** Public URL of the server; empty if the operator set none. */
  publicUrl: string
  /** Name of the venue, and the start of its market pages, without `https:` and the slug. */
  venue: { name: string; marketPage: string }
  clock: Clock
  /** More elements of a document's head, by path. */
  extras: Readonly<Record<string, string>>
}

/** The pages of the dashboard: one script that reads the URL. Built at the first request. */
export function dashboardPages({
  build = buildWebFiles,
  facts,
  findMarket,
  publicUrl,
  venue,
  clock,
  extras,
}: PageDeps): AnyElysia {
  let made: Promise<{ files: WebFiles; assets: Map<string, Answer> }> | undefined
  const toUrl = (path: string) => (publicUrl === '' ? undefined : `${publicUrl}${path}`)
  const load = () => (made ??= build().then((files) => ({ files, assets: toAnswers(files) })))
  const app = new Elysia({ name: 'dashboard', detail: { hide: true } })
  const factsFor = (request: Request) => ({
    ...facts(request),
    venue: { name: venue.name, marketPage: venue.marketPage },
  })
  for (const path of pagePaths) {
    app.get(path, async ({ request, params }) => {
      const { files } = await load()
      // Without parameters, the router leaves `params` undefined.
      const parts: Readonly<Record<string, string>> = params ?? {}
      const { coin, market: name, name: guide } = parts
      const title = guide === undefined ? undefined : titleOf(files, guide)
      if (coin !== undefined && coinNameOf(coin) === undefined) return answerLost(request, files)
      const module = moduleOf(path)
      const market = name === undefined ? undefined : lookUp(name)
      const isOfCoin =
        market !== undefined && market !== 'damaged' && market.coin === coin?.toLowerCase()
      // The page reports a missing market itself. A damaged market may belong to any coin.
      const isMissing =
        (name !== undefined && market !== 'damaged' && !isOfCoin) ||
        (guide !== undefined && title === undefined)
      const html = toHtml(files, {
        module,
        card: isOfCoin
          ? cardOfMarket(describePublic(market, clock()))
          : cardOfPage(module, { coinName: coinNameOf(coin), title }),
        // The canonical URL of a market has its condition id, even if this one has its slug.
        url: isMissing
          ? undefined
          : toUrl(
              isOfCoin ? `/markets/${market.coin}/${market.conditionId}` : fillPath(path, parts),
            ),
        facts: factsFor(request),
        extra: extras[path],
      })
      return isMissing ? answerMissing(request, files, html) : answerPage(request, files, html)
    })
  }
  app.get(`${ASSETS_PATH}/:name`, async ({ request, params: { name } }) => {
    const { files, assets } = await load()
    if (name === files.picture.name) return answerPicture(files.picture)
    const asset = assets.get(name)
    if (asset === undefined)
      throw new AppError('not_found', 'The file does not exist. Reload the page.')
    return asset(request)
  })
  return app.get('/*', async ({ request }) => answerLost(request, (await load()).files))

  function lookUp(name: string): Market | 'damaged' | undefined {
    try {
      return findMarket(name)
    } catch (error) {
      if (isDamaged(error)) return 'damaged'
      throw error
    }
  }

  function answerLost(request: Request, files: WebFiles): Response {
    const html = toHtml(files, {
      module: undefined,
      card: cardOfPage(undefined),
      url: undefined,
      facts: factsFor(request),
    })
    return answerMissing(request, files, html)
  }
}

/** Title of a guide; undefined if there is no such guide. */
const titleOf = ({ guides }: WebFiles, name: string): string | undefined =>
  Object.hasOwn(guides, name) ? guides[name] : undefined

/** Describes a market with public facts only, not with what a tier sells. */
const describePublic = (market: Market, nowMs: number): PublicMarket => ({
  symbol: market.coin,
  timeframe: market.timeframe,
  source: market.source,
  status: statusOf(market, nowMs),
  slug: market.slug ?? null,
  windowStart: toIsoOrNull(market.windowStartMs),
  windowEnd: toIsoOrNull(market.windowEndMs),
})

/** Path of a page without its query, with the coin in lower case. */
const fillPath = (pattern: string, parts: Readonly<Record<string, string>>): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => {
    const part = parts[name] ?? ''
    return encodeURIComponent(name === 'coin' ? part.toLowerCase() : part)
  })

function coinNameOf(symbol = ''): string | undefined {
  const coin = symbol.toLowerCase()
  return isCoin(coin) ? coinTable[coin].name : undefined
}

function answerPage(request: Request, files: WebFiles, text: string): Response {
  const contentType = 'text/html; charset=utf-8'
  const policy = policyOf(files)
  const response = createFixedText({ text, contentType, caching: 'no-cache', policy })(request)
  for (const [name, value] of Object.entries(guards)) response.headers.set(name, value)
  return response
}

function answerMissing(request: Request, files: WebFiles, text: string): Response {
  // Ignores `If-None-Match`: a missing page is always a 404 and never a 304.
  request.headers.delete('if-none-match')
  const { body, headers } = answerPage(request, files, text)
  return new Response(body, { status: 404, headers })
}

const answerPicture = ({ base64 }: WebFiles['picture']): Response =>
  new Response(Uint8Array.fromBase64(base64), {
    headers: { 'Content-Type': 'image/png', 'Cache-Control': FOREVER },
  })

const toAnswers = ({ assets }: WebFiles): Map<string, Answer> =>
  new Map(
    [...assets].map(([name, asset]) => {
      const gzipped = Bun.gzipSync(asset.text, { level: GZIP_LEVEL })
      return [name, createFixedText({ ...asset, caching: FOREVER, gzipped })]
    }),
  )
