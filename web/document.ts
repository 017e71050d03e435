/** The document of a page: it names the files that `build.ts` made. */
import type { PageModule } from './paths.ts'

export const ASSETS_PATH = '/assets'

/** Plain data, so that an executable can hold them. */
export type WebFiles = {
  /** By name, without a folder. */
  assets: ReadonlyMap<string, { text: string; contentType: string }>
  /** What every page starts with. */
  script: string
  style: string
  /** Those that a page needs besides. */
  chunks: Readonly<Partial<Record<PageModule, readonly string[]>>>
  /** For the policy: the hash of the one script in the page. */
  inlineScriptHash: string
}

/** Before the first paint, so that a chosen theme does not flash in the other one. */
export const inlineScript =
  "try{const t=localStorage.getItem('bookfeed.theme');if(t)document.documentElement.dataset.theme=t}catch{}"

/** Without a module it is that of no page. */
type Shown = { module: PageModule | undefined; facts: object; extra?: string | undefined }

export const toHtml = (
  { script, style, chunks }: WebFiles,
  { module, facts, extra = '' }: Shown,
) => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Bookfeed</title>
  <meta name="description" content="Order books of prediction markets, recorded at full depth: view them, replay them, and get a key.">
  <meta name="color-scheme" content="light dark">
  <link rel="icon" href="data:,">
  <script>${inlineScript}</script>
  <link rel="stylesheet" href="${ASSETS_PATH}/${style}">
  <script type="module" src="${ASSETS_PATH}/${script}"></script>${((module && chunks[module]) ?? []).map(toPreload).join('')}${extra}
</head>
<body>
  <div id="app"></div>
  <script type="application/json" id="facts">${JSON.stringify(facts).replaceAll('<', '\\u003c')}</script>
  <noscript>The dashboard needs JavaScript. The API does not: see <a href="/llms.txt">llms.txt</a>.</noscript>
</body>
</html>
`

const toPreload = (name: string): string =>
  `\n  <link rel="modulepreload" href="${ASSETS_PATH}/${name}">`
