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

/** Its content is in its name. */
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

/** What a page may not do, beside its policy of content. */
const guards = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
}

type Answer = (request: Request) => Response

export type PageDeps = {
  build?: () => Promise<WebFiles>
  /** What a page receives with its document, so that it need not request it. */
  facts: (request: Request) => object
  /** The market that a path names, for the head of its document. Throws `damaged`. */
  findMarket: (name: string) => Market | undefined
  /** Where callers reach the server; empty if the operator did not say. */
  publicUrl: string
  /** What the venue is called, and where its page of a market is, without `https:` and before the slug. */
  venue: { name: string; marketPage: string }
  clock: Clock
  /** By path what else the head of a document has. */
  extras: Readonly<Record<string, string>>
}

/** Pages are one script that reads the address. Made when first asked for. */
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
      // A path without parameters has none.
      const parts: Readonly<Record<string, string>> = params ?? {}
      const { coin, market: name, name: guide } = parts
      const title = guide === undefined ? undefined : titleOf(files, guide)
      if (coin !== undefined && coinNameOf(coin) === undefined) return answerLost(request, files)
      const module = moduleOf(path)
      const market = name === undefined ? undefined : lookUp(name)
      const isOfCoin =
        market !== undefined && market !== 'damaged' && market.coin === coin?.toLowerCase()
      // The page says what is missing. Whether a damaged market is of the coin is not known.
      const isMissing =
        (name !== undefined && market !== 'damaged' && !isOfCoin) ||
        (guide !== undefined && title === undefined)
      const html = toHtml(files, {
        module,
        card: isOfCoin
          ? cardOfMarket(describePublic(market, clock()))
          : cardOfPage(module, { coinName: coinNameOf(coin), title }),
        // A market has one address, also if its slug is in this one.
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
    if (asset === undefined) throw new AppError('not_found', 'No such file. Load the page again.')
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

/** The title of a guide; undefined if there is none of that name. */
const titleOf = ({ guides }: WebFiles, name: string): string | undefined =>
  Object.hasOwn(guides, name) ? guides[name] : undefined

/** What the document of a market's page says: nothing that a tier sells. */
const describePublic = (market: Market, nowMs: number): PublicMarket => ({
  symbol: market.coin,
  timeframe: market.timeframe,
  source: market.source,
  status: statusOf(market, nowMs),
  slug: market.slug ?? null,
  windowStart: toIsoOrNull(market.windowStartMs),
  windowEnd: toIsoOrNull(market.windowEndMs),
})

/** The path of a page without its query, with the coin in small letters. */
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
  // A browser that has it already gets the same 404 again.
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
