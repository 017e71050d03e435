/**
 * The documentation page. The plugin's own page loads its script from a CDN at a fixed address;
 * this one loads everything from the server, and its policy forbids the rest.
 */
import { Elysia } from 'elysia'
import { version } from 'swagger-ui-dist/package.json'
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }

import { tagOf } from '#src/core/tag.ts'

import { compressAside } from './data-response.ts'
import { createFixedText } from './fixed-text.ts'

import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }

/** The key is kept as long as the tab is, so that a reload does not ask for it again. */
const start = `const KEPT = 'bookfeed.authorization'

const keepAuthorization = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (authorize) => (given) => {
          sessionStorage.setItem(KEPT, JSON.stringify(given))
          return authorize(given)
        },
        logout: (logout) => (names) => {
          sessionStorage.removeItem(KEPT)
          return logout(names)
        },
      },
    },
  },
})

window.ui = SwaggerUIBundle({
  url: '/swagger/json',
  dom_id: '#swagger-ui',
  plugins: [keepAuthorization],
  onComplete() {
    const kept = sessionStorage.getItem(KEPT)
    if (kept !== null) window.ui.authActions.authorize(JSON.parse(kept))
  },
  deepLinking: true,
  defaultModelRendering: 'example',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/**
 * An opened operation fits on two screens: what is long is scrolled in its place. The rows of the
 * live table, which shows the answer to a request, have no `data-code`. No operation has links.
 */
const style = `.swagger-ui .opblock .opblock-section-header { min-height: 0; padding: 4px 20px }
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
`

// Of ours a change is another address, because all are kept for ever.
const ASSETS_PATH = `/swagger/assets/${version}-${tagOf(start + style)}`

const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Bookfeed API</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="${ASSETS_PATH}/swagger-ui.css">
  <link rel="stylesheet" href="${ASSETS_PATH}/page.css">
</head>
<body>
  <div id="swagger-ui"></div>
  <script src="${ASSETS_PATH}/swagger-ui-bundle.js"></script>
  <script src="${ASSETS_PATH}/start.js"></script>
</body>
</html>
`

// Swagger UI draws its icons from data addresses. Its styles are a file and properties, so nothing
// is inline.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const FOREVER = 'public, max-age=31536000, immutable'
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
const STYLE_TYPE = 'text/css; charset=utf-8'

/** Serves `/swagger` and its assets; to be used after the plugin, whose page it replaces. */
export const swaggerPage = () => {
  const assets: [name: string, answer: (request: Request) => Response | Promise<Response>][] = [
    ['start.js', createAsset(start, SCRIPT_TYPE)],
    ['page.css', createAsset(style, STYLE_TYPE)],
    ['swagger-ui-bundle.js', createFileAsset(bundlePath, SCRIPT_TYPE)],
    ['swagger-ui.css', createFileAsset(stylePath, STYLE_TYPE)],
  ]
  const app = new Elysia({ name: 'swagger-page', detail: { hide: true } }).get('/swagger', () => {
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': POLICY,
    }
    return new Response(page, { headers })
  })
  for (const [name, answer] of assets) {
    app.get(`${ASSETS_PATH}/${name}`, ({ request }) => answer(request))
  }
  return app
}

const createAsset = (text: string, contentType: string) =>
  createFixedText({ text, contentType, caching: FOREVER })

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
