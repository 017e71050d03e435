/**
 * The document of the routes, and Swagger UI, which shows it at `/swagger`. The plugin's own page
 * loads its script from a CDN at a fixed address; that of the dashboard loads it from this server.
 */
import { isDeepStrictEqual } from 'node:util'

import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import { version } from 'swagger-ui-dist/package.json'
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }

import { tagOf } from '#src/domain/tag.ts'

import type { DeclaredRoute } from './api.ts'
import { compressAside } from './data-response.ts'
import { type ExampleDay, exampleDay, type ExampleMarket, exampleMarket } from './fields.ts'
import { createFixedText } from './fixed-text.ts'
import { type Components, describeRoutes } from './openapi-operation.ts'

import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }

const description = `Order-book history of prediction markets.

- Times are UTC; \`from\` is inclusive, \`to\` exclusive. Send Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z.
- A market has three names: its \`conditionId\`, its slug, and the id of either of its assets.
- Lists are paged: send \`nextCursor\` as \`cursor\` until it is \`null\`.
- Every failure is a problem document (RFC 9457); branch on its \`code\`. All codes: [/errors](/errors).
- Data needs an API key: \`Authorization: Bearer bf_live_…\`. \`POST /v1/keys/challenge\` begins a signup with a wallet.
- A test key, \`bf_test_…\` (\`POST /v1/keys/test\`), is a sandbox key for every route: two simulated hours, and faults on request with the header \`Bookfeed-Fault\`. Every response to it has \`Bookfeed-Mode: test\`.
- Limits are exact, per key and minute; every response says what is left. Billing has a window of its own.
- Every response carries \`X-Request-Id\`. \`HEAD\` works wherever \`GET\` does.`

const tags = [
  { name: 'markets', description: 'What is recorded.' },
  { name: 'snapshots', description: 'Full-depth books of one market over time.' },
  { name: 'quotes', description: 'Best bid and ask of one market over time.' },
  { name: 'prices', description: 'Mids and last trades, over time and now.' },
  { name: 'exports', description: 'Markets and days as files, made when they are asked for.' },
  { name: 'files', description: 'Files of days that are final.' },
  { name: 'trust', description: 'What changed, what was known, and how to prove it.' },
  { name: 'live', description: 'Rows as they are written, as events.' },
  { name: 'account', description: 'Keys, and what was used.' },
  { name: 'billing', description: 'What is sold, and how it is paid.' },
  { name: 'health', description: 'For load balancers and operators.' },
  { name: 'documentation', description: 'This document and its companions.' },
]

const apiKey = {
  type: 'http' as const,
  scheme: 'bearer',
  description: 'An API key: `Authorization: Bearer bf_live_…`; or a test key, `bf_test_…`.',
}

/** What a server holds of what examples are about. */
export type HeldExamples = { market?: ExampleMarket | undefined; day?: Partial<ExampleDay> }

/**
 * Returns, as of now, what finds `x-payment-info` of a route (draft-payment-discovery); undefined of
 * one without a price.
 */
export type Prices = () => (route: DeclaredRoute) => object | undefined

/** The operations with their prices, and with 402 where they have one. */
function withPrices(
  paths: ReturnType<typeof describeRoutes>,
  routes: readonly DeclaredRoute[],
  components: Components,
  prices: Prices,
): ReturnType<typeof describeRoutes> {
  const priceOf = prices()
  const priced = { ...paths }
  for (const route of routes) {
    const price = priceOf(route)
    if (price === undefined) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const method = route.method.toLowerCase()
    const operation = priced[path]?.[method] as { responses: object } | undefined
    if (operation === undefined) continue
    const demand = components.failures(new Set(['payment_required']))
    const responses = { ...demand, ...operation.responses }
    priced[path] = {
      ...priced[path],
      [method]: { ...operation, responses, 'x-payment-info': price },
    }
  }
  return priced
}

/**
 * Serves the document at `/swagger/json`; `components` are what the routes of the app share. Its
 * examples are of a market and a day that are held, as soon as there are some, so that they find
 * something.
 */
export const openapi = (
  appVersion: string,
  routes: readonly DeclaredRoute[],
  components: Components,
  findExamples: () => HeldExamples,
  prices: Prices,
) => {
  const { all } = components
  const shown = routes.filter(isPublic)
  const plain = describeRoutes(shown, components)
  const pricedPaths = () => withPrices(plain, shown, components, prices)
  let paths = pricedPaths()
  let held: HeldExamples = {}
  let answer: ReturnType<typeof createFixedText> | undefined
  return new Elysia({ name: 'openapi' })
    .mapResponse(({ request, responseValue }) => {
      const before = { held, paths }
      if (!isWhole(held)) held = findExamples()
      paths = pricedPaths()
      // Every route is there by the first request; examples and prices may change.
      if (answer === undefined || !isDeepStrictEqual({ held, paths }, before)) {
        const text = showing(held, JSON.stringify({ ...(responseValue as object), paths }))
        answer = createFixedText({ text, contentType: 'application/json' })
      }
      return answer(request)
    })
    .use(
      swagger({
        provider: 'swagger-ui',
        path: '/swagger',
        // A route is no file because of the dot in its name.
        excludeStaticFile: false,
        documentation: {
          tags,
          servers: [{ url: '/', description: 'This server.' }],
          security: [],
          components: { ...all, securitySchemes: { apiKey } },
          info: {
            title: 'Bookfeed',
            version: appVersion,
            description,
            license: { name: 'UNLICENSED' },
          },
        },
      }),
    )
}

const isPublic = ({ access }: DeclaredRoute): boolean => access !== 'operator'

/** Whether nothing can be added to what is held. */
const isWhole = ({ market, day }: HeldExamples): boolean =>
  market !== undefined && day?.citation !== undefined && day.file !== undefined

function showing({ market, day = {} }: HeldExamples, document: string): string {
  const { citation = exampleDay.citation, file = exampleDay.file } = day
  const ofDay = document
    .replaceAll(exampleDay.citation, citation)
    .replaceAll(exampleDay.file, file)
    .replaceAll(`"example":"${exampleDay.day}"`, `"example":"${day.day ?? exampleDay.day}"`)
  if (market === undefined) return ofDay
  const { coin, timeframe, conditionId, tsMs } = exampleMarket
  return ofDay
    .replaceAll(conditionId, market.conditionId)
    .replaceAll(`:${tsMs}`, `:${market.tsMs}`)
    .replaceAll(`"example":"${exampleMarket.day}"`, `"example":"${market.day}"`)
    .replaceAll(`"example":"${coin}"`, `"example":"${market.coin}"`)
    .replaceAll(`"example":"${timeframe}"`, `"example":"${market.timeframe}"`)
}

/**
 * Part of the documentation. An opened operation fits on two screens: what is long is scrolled. The
 * rows of the live table, which shows the answer to a request, have no `data-code`. No operation
 * has links. Colours that Swagger UI gives too little contrast are those of the dashboard, or darker.
 */
const style = `html.dark-mode { background: none }
html .swagger .swagger-ui, html .swagger .swagger-ui .scheme-container { background: none; box-shadow: none }
.swagger .swagger-ui .wrapper { max-width: none; padding: 0 }
.swagger .swagger-ui .info { margin: 0 }
.swagger .swagger-ui .scheme-container { margin: 0; padding: 16px 0 }
.swagger .swagger-ui .block { padding: 0 }
.swagger-ui .opblock .opblock-section-header { min-height: 0; padding: 4px 20px }
.swagger-ui .opblock-description-wrapper p { margin: 0 0 4px }
.swagger-ui table.parameters > tbody > tr > td { padding: 4px 0 }
.swagger-ui .parameters-container { max-height: 60vh; overflow: auto }
.swagger-ui .responses-inner { padding: 4px 20px }
.swagger-ui .responses-table:not(.live-responses-table) { display: block; padding: 0; max-height: 70vh; overflow: auto }
.swagger-ui .response-col_links { display: none }
.swagger-ui .live-responses-table .response-col_description > div > .microlight { max-height: 8rem; overflow: auto }
.swagger-ui .response[data-code] .highlight-code > .microlight { max-height: 12rem }
.swagger-ui .response[data-code] .headers-wrapper { max-height: 6rem; overflow: auto }
.swagger-ui .response[data-code]:not([data-code^='2']) .headers-wrapper { display: none }
.swagger-ui .response[data-code]:not([data-code^='2']) .highlight-code > .microlight { max-height: 5rem }
.swagger .swagger-ui :is(.info, .renderedMarkdown, .markdown) a, .swagger .swagger-ui .info .url { color: var(--accent) }
.swagger .swagger-ui .btn.authorize { color: var(--bid); border-color: var(--bid) }
.swagger .swagger-ui .btn.authorize svg { fill: var(--bid) }
html .swagger .swagger-ui .opblock .try-out__btn.btn.cancel { color: var(--ask); border-color: var(--ask) }
.swagger .swagger-ui :is(.parameter__in, .prop-format, .parameter__extension) { color: var(--ink-soft) }
.swagger .swagger-ui .parameter__name.required::after, .swagger .swagger-ui .parameter__name.required span { color: var(--ask) }
.swagger .swagger-ui .response-control-media-type__accept-message { color: var(--bid) }
.swagger .swagger-ui .headers-wrapper td { color: var(--ink) }
.swagger .swagger-ui .microlight span[style*='211, 99, 99'] { color: #ff9c9c !important }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5b6270 }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4a6800 }
html:not(.dark-mode) .swagger-ui .renderedMarkdown code { color: #7a0bd6 }
html .swagger .swagger-ui .download-contents { background: #5b6270 }
html:not(.dark-mode) .swagger-ui .btn.execute { background: #1b64b0; border-color: #1b64b0 }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #1b64b0 }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #17734a }
html:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #8f5200 }
html:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #0b6d5e }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #b8202c }
`

// Of ours a change is another address, because all are kept for ever.
const ASSETS_PATH = `/swagger/assets/${version}-${tagOf(style)}`

/** What the page of the dashboard needs in its head; it begins when all of it is there. */
export const swaggerHead = `
  <link rel="stylesheet" href="${ASSETS_PATH}/swagger-ui.css">
  <link rel="stylesheet" href="${ASSETS_PATH}/page.css">
  <script defer src="${ASSETS_PATH}/swagger-ui-bundle.js"></script>`

const FOREVER = 'public, max-age=31536000, immutable'
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
const STYLE_TYPE = 'text/css; charset=utf-8'

export const swaggerAssets = () => {
  const assets: [name: string, answer: (request: Request) => Response | Promise<Response>][] = [
    ['page.css', createFixedText({ text: style, contentType: STYLE_TYPE, caching: FOREVER })],
    ['swagger-ui-bundle.js', createFileAsset(bundlePath, SCRIPT_TYPE)],
    ['swagger-ui.css', createFileAsset(stylePath, STYLE_TYPE)],
  ]
  const app = new Elysia({ name: 'swagger-assets', detail: { hide: true } })
  for (const [name, answer] of assets) {
    app.get(`${ASSETS_PATH}/${name}`, ({ request }) => answer(request))
  }
  return app
}

/** A file, read and compressed beside this thread when it is first asked for. */
function createFileAsset(path: string, contentType: string) {
  let made: Promise<ReturnType<typeof createFixedText>> | undefined
  const make = async () => {
    const text = await Bun.file(path).text()
    const gzipped = await compressAside(new TextEncoder().encode(text))
    return createFixedText({ text, contentType, caching: FOREVER, gzipped })
  }
  return async (request: Request): Promise<Response> => {
    made ??= make()
    return (await made)(request)
  }
}
