/**
 * The document of the routes, and Swagger UI, which shows its operations at `/swagger`. The plugin's
 * page loads its script from a CDN, so only its document is used: the page of the dashboard loads
 * Swagger UI from this server when an operation is opened.
 */
import { isDeepStrictEqual, promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { type AnyElysia, Elysia } from 'elysia'
import { version } from 'swagger-ui-dist/package.json'
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }

import { tagOf } from '#src/domain/tag.ts'

import type { DeclaredRoute } from './api.ts'
import type { Access } from './call.ts'
import {
  EXAMPLE_RANGE_MS,
  type ExampleDay,
  exampleDay,
  type ExampleMarket,
  exampleMarket,
} from './fields.ts'
import { createFixedText } from './fixed-text.ts'
import {
  completePaths,
  type Components,
  createComponents,
  generateDocument,
  type Paths,
} from './openapi.ts'

import style from './swagger.css' with { type: 'text' }
import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }

const description = `Order-book history of prediction markets.

- Times are UTC; \`from\` is inclusive, \`to\` exclusive. Send Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC).
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

/** The market and the day of this server that examples name. */
export type HeldExamples = { market?: ExampleMarket | undefined; day?: Partial<ExampleDay> }

/**
 * Returns, as of now, what finds `x-payment-info` of a route (draft-payment-discovery); undefined of
 * one without a price.
 */
export type Prices = () => (route: DeclaredRoute) => object | undefined

/** The operations with their prices, and with 402 where they have one. */
function withPrices(
  paths: Paths,
  routes: readonly DeclaredRoute[],
  components: Components,
  prices: Prices,
): Paths {
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
 * Serves the document of an app, in which examples are of a market and a day that are held, as soon
 * as there are some, so that they find something.
 */
export function openapi(
  paths: readonly string[],
  { app, version: appVersion, routes, findExamples, prices }: OpenapiOptions,
) {
  const components = createComponents()
  const documentation = {
    tags,
    servers: [{ url: '/', description: 'This server.' }],
    security: [],
    info: {
      title: 'Bookfeed',
      version: appVersion,
      description,
      license: { name: 'UNLICENSED' },
    },
  }
  const generate = async () => {
    const generated = await generateDocument(app, documentation)
    return { generated, plain: completePaths(generated.paths, components, isPublic) }
  }
  let generating: ReturnType<typeof generate> | undefined
  let shown: { held: HeldExamples; paths: Paths } = { held: {}, paths: {} }
  let answer: ReturnType<typeof createFixedText> | undefined

  async function answerDocument(request: Request): Promise<Response> {
    generating ??= generate()
    const { generated, plain } = await generating
    // Examples and prices may change.
    const held = isWhole(shown.held) ? shown.held : findExamples()
    const now = { held, paths: withPrices(plain, routes, components, prices) }
    if (answer === undefined || !isDeepStrictEqual(now, shown)) {
      const all = { ...components.all, securitySchemes: { apiKey } }
      const document = JSON.stringify({ ...generated, paths: now.paths, components: all })
      answer = createFixedText({ text: showing(held, document), contentType: 'application/json' })
    }
    shown = now
    return answer(request)
  }

  const plugin = new Elysia({ name: 'openapi', detail: { hide: true } })
  for (const path of paths) plugin.get(path, ({ request }) => answerDocument(request))
  return plugin
}

type OpenapiOptions = {
  app: AnyElysia
  version: string
  routes: readonly DeclaredRoute[]
  findExamples: () => HeldExamples
  prices: Prices
}

const isPublic = (access: Access): boolean => access !== 'operator'

/** True if all examples are held. */
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
    .replaceAll(`:${tsMs + EXAMPLE_RANGE_MS}`, `:${market.tsMs + EXAMPLE_RANGE_MS}`)
    .replaceAll(`"example":"${exampleMarket.day}"`, `"example":"${market.day}"`)
    .replaceAll(`"example":"${coin}"`, `"example":"${market.coin}"`)
    .replaceAll(`"example":"${timeframe}"`, `"example":"${market.timeframe}"`)
}

// A change of our style is another address, because browsers keep what is at an address for ever.
const ASSETS_PATH = `/swagger/assets/${version}-${tagOf(style)}`

/** The first content of the page of the reference: everything but the operations themselves. */
export type ApiIndex = {
  version: string
  /** Markup of our own text. */
  about: string
  /** Loaded when the first operation is opened, as are the styles. */
  script: string
  styles: string[]
  tags: { name: string; description: string; operations: IndexedOperation[] }[]
}
type IndexedOperation = { method: string; path: string; id: string; summary: string }

/** The index in the head of the page at `/swagger`. */
export function swaggerHead(appVersion: string, routes: readonly DeclaredRoute[]): string {
  const byTag = Map.groupBy(
    routes.filter(({ access }) => isPublic(access)),
    ({ detail }) => detail.tags[0],
  )
  const index: ApiIndex = {
    version: appVersion,
    about: Bun.markdown.html(description),
    script: `${ASSETS_PATH}/swagger-ui-bundle.js`,
    styles: [`${ASSETS_PATH}/swagger-ui.css`, `${ASSETS_PATH}/page.css`],
    tags: tags.map((tag) => ({
      name: tag.name,
      description: tag.description,
      operations: (byTag.get(tag.name) ?? []).map(({ method, path, detail }) => ({
        method: method.toUpperCase(),
        path: path.replace(/:(\w+)/g, '{$1}'),
        id: detail.operationId,
        summary: detail.summary,
      })),
    })),
  }
  const text = JSON.stringify(index).replaceAll('<', '\\u003c')
  return `\n  <script type="application/json" id="api">${text}</script>`
}

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

const gzipAside = promisify<string, Buffer<ArrayBuffer>>(gzip)

/** A file, read and compressed beside this thread when it is first asked for. */
function createFileAsset(path: string, contentType: string) {
  let made: Promise<ReturnType<typeof createFixedText>> | undefined
  const make = async () => {
    const text = await Bun.file(path).text()
    const gzipped = await gzipAside(text)
    return createFixedText({ text, contentType, caching: FOREVER, gzipped })
  }
  return async (request: Request): Promise<Response> => {
    made ??= make()
    return (await made)(request)
  }
}
