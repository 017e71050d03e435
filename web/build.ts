/**
 * Makes the files of the dashboard from its source, in memory and within some 70 ms: from a
 * checkout nothing has to be built before, and an executable can hold what this returned. The page
 * loads only what is named here, by names that change with the content.
 */

import { guidePlugin } from './guide-plugin.ts'

export type WebFiles = {
  /** By name, without a folder. */
  assets: ReadonlyMap<string, { text: string; contentType: string }>
  html: string
  /** For the policy: the hash of the one script in the page. */
  inlineScriptHash: string
}

const ENTRY = new URL('main.tsx', import.meta.url).pathname
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }
export const ASSETS_PATH = '/assets'

/** Before the first paint, so that a chosen theme does not flash in the other one. */
const inlineScript =
  "try{const t=localStorage.getItem('bookfeed.theme');if(t)document.documentElement.dataset.theme=t}catch{}"

export async function buildWebFiles(): Promise<WebFiles> {
  const { outputs } = await Bun.build({
    entrypoints: [ENTRY],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
    publicPath: `${ASSETS_PATH}/`,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [guidePlugin],
    jsx: { runtime: 'automatic', importSource: 'preact' },
  })
  const assets = new Map<string, { text: string; contentType: string }>()
  let script = ''
  const styles: string[] = []
  for (const output of outputs) {
    const name = output.path.replace(/^.*\//, '')
    const text = await output.text()
    if (output.kind === 'entry-point') script = name
    if (!name.endsWith('.css')) assets.set(name, { text, contentType: TYPES.js })
    // Those of the frame go before those of pages.
    else if (name.startsWith('main-')) styles.unshift(text)
    else styles.push(text)
  }
  // Styles are small, and one that came with its page would move what is there.
  const text = styles.join('\n')
  const style = `style-${Bun.hash(text).toString(36)}.css`
  assets.set(style, { text, contentType: TYPES.css })
  const inlineScriptHash = new Bun.CryptoHasher('sha256').update(inlineScript).digest('base64')
  return { assets, html: toHtml(script, style), inlineScriptHash }
}

const toHtml = (script: string, style: string) => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Bookfeed</title>
  <meta name="description" content="Order books of prediction markets, recorded at full depth: see them, replay them, get a key.">
  <meta name="color-scheme" content="light dark">
  <link rel="icon" href="data:,">
  <script>${inlineScript}</script>
  <link rel="stylesheet" href="${ASSETS_PATH}/${style}">
  <script type="module" src="${ASSETS_PATH}/${script}"></script>
</head>
<body>
  <div id="app"></div>
  <noscript>The dashboard needs JavaScript. The API does not: <a href="/llms.txt">what there is</a>.</noscript>
</body>
</html>
`
