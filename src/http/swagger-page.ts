/**
 * The documentation page. The plugin's own page loads its script from a CDN at a fixed address;
 * this one loads everything from the server, and its policy forbids the rest.
 */
import { Elysia } from 'elysia'
import { version } from 'swagger-ui-dist/package.json'
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }

import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }

const ASSETS_PATH = `/swagger/assets/${version}`

const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Bookfeed API</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="${ASSETS_PATH}/swagger-ui.css">
</head>
<body>
  <div id="swagger-ui"></div>
  <script src="${ASSETS_PATH}/swagger-ui-bundle.js"></script>
  <script src="${ASSETS_PATH}/start.js"></script>
</body>
</html>
`

const start = `window.ui = SwaggerUIBundle({
  url: '/swagger/json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

// Swagger UI draws its icons from data addresses. Its styles are a file and properties, so nothing is inline.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const FOREVER = 'public, max-age=31536000, immutable'
const SCRIPT_TYPE = 'text/javascript; charset=utf-8'

/** Serves `/swagger` and its assets; to be used after the plugin, whose page it replaces. */
export const swaggerPage = () =>
  new Elysia({ name: 'swagger-page', detail: { hide: true } })
    .get('/swagger', () => {
      const headers = {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': POLICY,
      }
      return new Response(page, { headers })
    })
    .get(`${ASSETS_PATH}/start.js`, () => asset(start, SCRIPT_TYPE))
    .get(`${ASSETS_PATH}/swagger-ui-bundle.js`, () => asset(Bun.file(bundlePath), SCRIPT_TYPE))
    .get(`${ASSETS_PATH}/swagger-ui.css`, () =>
      asset(Bun.file(stylePath), 'text/css; charset=utf-8'),
    )

const asset = (body: string | Blob, contentType: string) =>
  new Response(body, { headers: { 'Content-Type': contentType, 'Cache-Control': FOREVER } })
