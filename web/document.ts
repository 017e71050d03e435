/** The document of a page: it names the files that `build.ts` made. */
import { showMarket, titleOf } from './lib/format.ts'
import { type PageModule, pageName } from './paths.ts'

export const ASSETS_PATH = '/assets'

/** Plain data, so that an executable can hold them. */
export type WebFiles = {
  /** By name, without a folder. */
  assets: ReadonlyMap<string, { text: string; contentType: string }>
  /** The picture in link cards, a PNG in base64. */
  picture: { name: string; base64: string }
  /** The script that every page starts with. */
  script: string
  style: string
  /** Titles of guides, by their names in `/docs/:name`. */
  guides: Readonly<Record<string, string>>
  /** Scripts that each page needs besides. */
  chunks: Readonly<Partial<Record<PageModule, readonly string[]>>>
  /** For the policy: the hash of the one script in the page. */
  inlineScriptHash: string
}

/** Before the first paint, so that a chosen theme does not flash in the other one. */
export const inlineScript =
  "try{const t=localStorage.getItem('bookfeed.theme');if(t)document.documentElement.dataset.theme=t}catch{}"

/** The title of a page, and the card that other sites show for a link to it. */
export type Card = { name: string; description: string }

/** Size of `web/card.png`, as link cards have it. */
const picture = {
  width: 1200,
  height: 630,
  alt: 'Bookfeed: order books of prediction markets, recorded at full depth',
}

type Shown = {
  /** Undefined for an address without a page. */
  module: PageModule | undefined
  card: Card
  /** The one address of the page, for cards; undefined where the server does not know its own. */
  url: string | undefined
  facts: object
  extra?: string | undefined
}

/** `title` is that of a guide; other pages have the name of their module. */
export const cardOfPage = (
  module: PageModule | undefined,
  { coinName, title }: { coinName?: string | undefined; title?: string | undefined } = {},
): Card => ({
  name: title ?? pageName(module, coinName),
  description:
    'Order books of prediction markets, recorded at full depth: view them, replay them, and get a key.',
})

/** The facts of a market that can be read without a key. */
export type PublicMarket = {
  symbol: string
  timeframe: string
  source: 'recorded' | 'simulated'
  status: string
  slug: string | null
  windowStart: string | null
  windowEnd: string | null
}

export function cardOfMarket(market: PublicMarket): Card {
  const { slug, status, source } = market
  const kind = source === 'simulated' ? 'Simulated market' : 'Market'
  const label = slug === null ? '' : ` ${slug}`
  return {
    name: showMarket(market),
    description: `${kind}${label} (${status}): order books at full depth, heat map, trades and replay.`,
  }
}

export const toHtml = (
  files: WebFiles,
  { module, card: { name, description }, url, facts, extra = '' }: Shown,
) => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${Bun.escapeHTML(titleOf(name))}</title>
  <meta name="description" content="${Bun.escapeHTML(description)}">
  <meta property="og:site_name" content="Bookfeed">
  <meta property="og:type" content="website">
  <meta property="og:title" content="${Bun.escapeHTML(name)}">
  <meta property="og:description" content="${Bun.escapeHTML(description)}">
${url === undefined ? '  <meta name="twitter:card" content="summary">' : toAddresses(files, url)}
  <meta name="color-scheme" content="light dark">
  <link rel="icon" href="data:,">
  <script>${inlineScript}</script>
  <link rel="stylesheet" href="${ASSETS_PATH}/${files.style}">
  <script type="module" src="${ASSETS_PATH}/${files.script}"></script>${((module && files.chunks[module]) ?? []).map(toPreload).join('')}${extra}
</head>
<body>
  <div id="app"></div>
  <script type="application/json" id="facts">${JSON.stringify(facts).replaceAll('<', '\\u003c')}</script>
  <noscript>The dashboard needs JavaScript. The API does not: see <a href="/llms.txt">llms.txt</a>.</noscript>
</body>
</html>
`

/** The parts of a card that need absolute addresses: page and picture. */
const toAddresses = (files: WebFiles, url: string): string => {
  const image = new URL(`${ASSETS_PATH}/${files.picture.name}`, url).href
  return `  <meta property="og:url" content="${Bun.escapeHTML(url)}">
  <meta property="og:image" content="${Bun.escapeHTML(image)}">
  <meta property="og:image:width" content="${picture.width}">
  <meta property="og:image:height" content="${picture.height}">
  <meta property="og:image:alt" content="${picture.alt}">
  <meta name="twitter:card" content="summary_large_image">`
}

const toPreload = (name: string): string =>
  `\n  <link rel="modulepreload" href="${ASSETS_PATH}/${name}">`
