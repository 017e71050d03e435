import { type AnyElysia, Elysia } from 'elysia'

import { AppError } from '#src/core/errors.ts'
import { createFixedText } from '#src/http/fixed-text.ts'
import { ASSETS_PATH, buildWebFiles, type WebFiles } from '#web/build.ts'
import { pagePaths } from '#web/paths.ts'

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

/** Each page is the same document: its script reads the address. Made when first asked for. */
export function dashboardPages(build: () => Promise<WebFiles> = buildWebFiles): AnyElysia {
  let made: Promise<{ page: Answer; assets: Map<string, Answer> }> | undefined
  const files = () => (made ??= build().then(toAnswers))
  const app = new Elysia({ name: 'dashboard', detail: { hide: true } })
  for (const path of pagePaths) {
    app.get(path, async ({ request }) => (await files()).page(request))
  }
  return app.get(`${ASSETS_PATH}/:name`, async ({ request, params: { name } }) => {
    const asset = (await files()).assets.get(name)
    if (asset === undefined) throw new AppError('not_found', 'No such file. Load the page again.')
    return asset(request)
  })
}

function toAnswers(files: WebFiles) {
  const contentType = 'text/html; charset=utf-8'
  const policy = policyOf(files)
  const html = createFixedText({ text: files.html, contentType, caching: 'no-cache', policy })
  const page: Answer = (request) => {
    const response = html(request)
    for (const [name, value] of Object.entries(guards)) response.headers.set(name, value)
    return response
  }
  const assets = new Map<string, Answer>()
  for (const [name, asset] of files.assets) {
    const gzipped = Bun.gzipSync(asset.text, { level: GZIP_LEVEL })
    assets.set(name, createFixedText({ ...asset, caching: FOREVER, gzipped }))
  }
  return { page, assets }
}
